/* SPDX-License-Identifier: MIT */
#include "profile/profile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/message.h"
#include "format/heap_read.h"
#include "profile_fakes.h"
#include "test.h"

/* ---- a dump, read back ---- */

static struct {
    struct pp_counts header, sum;
    int rows, mappings;
    bool negative, inuse_above_alloc, bytes_without_objects;
    char comments[64][512];
    int comment_count;
} dump;

static int on_header(const struct pp_header *header, void *arg)
{
    (void)arg;
    dump.header = header->totals;
    return 0;
}

static int on_row(const struct pp_row *row, uint64_t line, void *arg)
{
    const struct pp_counts *c = &row->counts;

    (void)line;
    (void)arg;
    dump.rows++;
    dump.sum.inuse_objects += c->inuse_objects;
    dump.sum.inuse_bytes += c->inuse_bytes;
    dump.sum.alloc_objects += c->alloc_objects;
    dump.sum.alloc_bytes += c->alloc_bytes;
    dump.negative |= c->inuse_objects < 0 || c->inuse_bytes < 0;
    dump.inuse_above_alloc |=
        c->inuse_objects > c->alloc_objects || c->inuse_bytes > c->alloc_bytes;
    dump.bytes_without_objects |= (c->inuse_bytes > 0 && c->inuse_objects == 0) ||
                                  (c->alloc_bytes > 0 && c->alloc_objects == 0);
    return 0;
}

static int on_comment(const char *text, size_t length, uint64_t line, void *arg)
{
    (void)line;
    (void)arg;
    CHECK(dump.comment_count < 64);
    snprintf(dump.comments[dump.comment_count++], 512, "%.*s", (int)length, text);
    return 0;
}

static int on_mapping(const struct pp_mapping *mapping, uint64_t line, void *arg)
{
    (void)mapping;
    (void)line;
    (void)arg;
    dump.mappings++;
    return 0;
}

/* The value of a comment; fails when it is missing. */
static const char *comment(const char *key)
{
    size_t length;

    for (int i = 0; i < dump.comment_count; i++) {
        const char *value =
            pp_comment_value(dump.comments[i], strlen(dump.comments[i]), key, &length);
        if (value)
            return value;
    }
    test_fail(__FILE__, __LINE__, "no comment '%s'", key);
}

static void read_dump(const char *path)
{
    static const struct pp_heap_visitor visitor = {on_header, on_row, on_comment, on_mapping, NULL};
    static char text[4 << 20];
    struct pp_heap_reader *reader = malloc(pp_heap_reader_size());
    struct pp_error error = {0};

    memset(&dump, 0, sizeof(dump));
    ssize_t n = xp_os_read_file(path, text, sizeof(text));
    if (n < 0)
        test_fail(__FILE__, __LINE__, "%s: %zd", path, n);
    pp_heap_reader_init(reader, &visitor, NULL);
    int r = pp_heap_reader_push(reader, text, (size_t)n, &error);
    if (r == 0)
        r = pp_heap_reader_finish(reader, &error);
    if (r < 0)
        test_fail(__FILE__, __LINE__, "%s:%llu: %s", path, (unsigned long long)error.line,
                  error.text);
    free(reader);
    CHECK_EQ(dump.header.inuse_objects, dump.sum.inuse_objects);
    CHECK_EQ(dump.header.inuse_bytes, dump.sum.inuse_bytes);
    CHECK_EQ(dump.header.alloc_objects, dump.sum.alloc_objects);
    CHECK_EQ(dump.header.alloc_bytes, dump.sum.alloc_bytes);
    CHECK(!dump.negative && !dump.inuse_above_alloc && !dump.bytes_without_objects);
}

/* ---- a folder, and a process of its own for each test ---- */

static char folder[64];

static const char *in_folder(const char *name)
{
    static char paths[8][512];
    static int turn;
    char *path = paths[turn++ % 8];

    snprintf(path, 512, "%s/%s", folder, name);
    return path;
}

static void make_folder(void)
{
    strcpy(folder, "/tmp/unit_profile.XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
}

static int files_in_folder(void)
{
    DIR *d = opendir(folder);
    int count = 0;

    CHECK(d != NULL);
    for (struct dirent *entry; (entry = readdir(d));)
        count += entry->d_name[0] != '.';
    closedir(d);
    return count;
}

static void remove_folder(void)
{
    DIR *d = opendir(folder);

    for (struct dirent *entry; d && (entry = readdir(d));) {
        if (entry->d_name[0] != '.')
            unlink(in_folder(entry->d_name));
    }
    if (d)
        closedir(d);
    rmdir(folder);
}

static struct xp_profile_options options;

static void start(void)
{
    xp_message_init(NULL);
    xp_profile_init(&options);
}

/* An allocation that stays. */
static void allocate(uint32_t node, uint64_t size, double weight)
{
    xp_profile_note_alloc(fake_record(node, size, weight));
}

static char said[65536];

/* Runs body in a process of its own with dumps in a new folder; what it prints is in said. The
 * body's CHECKs end that process with 1. */
static void run(void (*body)(void))
{
    make_folder();
    options.prefix = in_folder("hp");
    int status = test_fork((void (*)(void *))(void *)body, NULL, said, sizeof(said));
    if (status != 0)
        test_fail(__FILE__, __LINE__, "status %x, said: %s", status, said);
}

/* A failed CHECK jumps to the test that failed; in the child that must end it. */
#define BODY(x)                                                                                    \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            dprintf(2, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                     \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* ---- facts ---- */

static void body_two_dumps(void)
{
    options.command = "prog --with\nnewline \\ done";
    options.start_time_ns = 1700000000123456789;
    options.seed = 23;
    fake.sample_bytes = 524288;
    start();
    for (int i = 0; i < 23; i++)
        allocate(7, 101, 1);
    for (int i = 0; i < 29; i++)
        allocate(XP_NODE_NESTED, 103, 1.25);
    BODY(xp_profile_dump("first", NULL, 0) == 0);
    for (int i = 0; i < 5; i++)
        xp_profile_note_free(&fake.records[i]);
    memmove(fake.records, fake.records + 5, (fake.record_count - 5) * sizeof(fake.records[0]));
    fake.record_count -= 5;
    char path[256];
    BODY(xp_profile_dump("second", path, sizeof(path)) == 0);
    BODY(strcmp(path, in_folder("hp.0002.heap")) == 0);
}

TEST(dumps_hold_what_was_allocated_and_what_is_alive)
{
    char want[1024];

    run(body_two_dumps);
    snprintf(want, sizeof(want),
             "Starting tracking the heap\n"
             "Dumping heap profile to %s/hp.0001.heap (first)\n"
             "Dumping heap profile to %s/hp.0002.heap (second)\n",
             folder, folder);
    CHECK_STR(said, want);

    read_dump(in_folder("hp.0001.heap"));
    CHECK_EQ(dump.rows, 2);
    CHECK_NEAR((double)dump.sum.alloc_objects, 23 + 29 * 1.25, 1);
    CHECK_NEAR((double)dump.sum.alloc_bytes, 23 * 101 + 29 * 1.25 * 103, 1);
    CHECK_EQ(dump.sum.inuse_bytes, dump.sum.alloc_bytes);
    char run_id[32], sequence[32];
    snprintf(run_id, sizeof(run_id), "%s", comment("run"));
    snprintf(sequence, sizeof(sequence), "%s", comment("sequence"));
    CHECK_EQ(strlen(run_id), 16);
    CHECK_STR(sequence, "1");
    CHECK_STR(comment("command"), "prog --with\\nnewline \\\\ done");
    CHECK_STR(comment("started"), "1700000000.123456789");
    CHECK_STR(comment("interval"), "524288");
    CHECK_STR(comment("reason"), "first");
    CHECK_STR(comment("nodes"), "31 997");
    CHECK_STR(comment("captures"), "29 cut 3 guessed 0 no-cfi 0 bad 0");
    CHECK_STR(comment("unwinder"), "cfi");
    CHECK(strncmp(comment("rss"), "VmHWM ", 6) == 0);
    CHECK(strncmp(comment("allocator"), "mapped 2323 committed 101 ", 26) == 0);

    struct pp_counts first = dump.sum;
    read_dump(in_folder("hp.0002.heap"));
    CHECK_STR(comment("run"), run_id);
    CHECK_STR(comment("sequence"), "2");
    CHECK_EQ(dump.sum.alloc_bytes, first.alloc_bytes);
    CHECK_EQ(dump.sum.inuse_objects, first.inuse_objects - 5);
    CHECK_EQ(dump.sum.inuse_bytes, first.inuse_bytes - 5 * 101);
    CHECK_EQ(files_in_folder(), 2);
    remove_folder();
}

static void body_no_prefix(void)
{
    options.prefix = NULL;
    start();
    allocate(7, 101, 1);
    BODY(xp_profile_dump("x", NULL, 0) == -ENOENT);
    xp_profile_dump_at_exit();
    BODY(xp_profile_tick() == UINT64_MAX);
    int fd = open(in_folder("out"), O_WRONLY | O_CREAT, 0600);
    BODY(xp_profile_write(fd, "to a descriptor") == 0);
}

TEST(without_a_prefix_nothing_is_dumped_but_to_a_descriptor)
{
    run(body_no_prefix);
    CHECK_STR(said, "");
    CHECK_EQ(files_in_folder(), 1);
    read_dump(in_folder("out"));
    CHECK_EQ(dump.sum.inuse_bytes, 101);
    CHECK_STR(comment("reason"), "to a descriptor");
    remove_folder();
}

static void body_resized(void)
{
    options.inuse_interval = 1000003;
    start();
    for (int i = 0; i < 997; i++) {
        struct xp_record record = {.size = 30011, .weight = 1.5, .node = 9};
        xp_profile_note_alloc(&record);
        record.size -= 1009;
        record.resized = -1009;
        xp_profile_note_free(&record);
        BODY(!xp_profile_dump_due());
    }
    xp_profile_dump_at_exit();
}

TEST(blocks_that_shrank_in_place_leave_nothing_in_use)
{
    run(body_resized);
    CHECK(strstr(said, "(Exiting, 0 bytes in use)") != NULL);
    CHECK_EQ(files_in_folder(), 1);
    remove_folder();
}

static void body_triggers(void)
{
    options.alloc_interval = 1000003;
    start();
    for (int i = 0; i < 99; i++) {
        struct xp_record record = {.size = 30011, .weight = 1, .node = 9};
        xp_profile_note_alloc(&record);
        xp_profile_note_free(&record);
        if (xp_profile_dump_due())
            xp_profile_dump_if_due();
    }
    xp_profile_dump_at_exit();
    xp_profile_dump_at_exit();
}

TEST(allocation_trigger_fires_each_interval_and_exit_once)
{
    run(body_triggers);
    /* 99 x 30011 = 2971089: twice above the interval, then the exit. */
    CHECK_EQ(files_in_folder(), 3);
    CHECK(strstr(said, "hp.0001.heap (0 MB allocated cumulatively, 0 MB currently in use)\n"));
    CHECK(strstr(said, "hp.0003.heap (Exiting, 0 bytes in use)\n"));
    options.alloc_interval = 0;
    remove_folder();
}

static void body_exit_reason(void)
{
    start();
    allocate(7, 5 << 20, 1);
    xp_profile_dump_at_exit();
}

TEST(exit_reason_counts_in_the_unit_that_fits)
{
    run(body_exit_reason);
    CHECK(strstr(said, "(Exiting, 5 MB in use)\n"));
    remove_folder();
}

static void body_tick(void)
{
    options.time_interval_ns = 40000000;
    start();
    uint64_t wait = xp_profile_tick();
    BODY(wait > 0 && wait <= 40000000);
    xp_os_sleep_ns(45000000);
    BODY(xp_profile_tick() == 40000000);
}

TEST(time_trigger_dumps_when_its_time_has_come)
{
    run(body_tick);
    CHECK_EQ(files_in_folder(), 1);
    CHECK(strstr(said, "hp.0001.heap (0 sec since the last dump)\n"));
    options.time_interval_ns = 0;
    remove_folder();
}

static void body_collision(void)
{
    BODY(close(open(in_folder("hp.0001.heap"), O_WRONLY | O_CREAT, 0600)) == 0);
    BODY(symlink("/nonexistent/target", in_folder("hp.0002.heap")) == 0);
    start();
    allocate(7, 101, 1);
    BODY(xp_profile_dump("x", NULL, 0) == 0);
}

TEST(names_that_are_taken_are_passed_over)
{
    struct stat st;

    run(body_collision);
    CHECK(strstr(said, "hp.0003.heap (x)\n"));
    CHECK_EQ(files_in_folder(), 3);
    CHECK(stat(in_folder("hp.0001.heap"), &st) == 0 && st.st_size == 0);
    read_dump(in_folder("hp.0003.heap"));
    remove_folder();
}

static void body_fork(void)
{
    start();
    allocate(7, 101, 1);
    BODY(xp_profile_dump("parent", NULL, 0) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        xp_profile_fork_child();
        allocate(8, 103, 1);
        BODY(xp_profile_dump("child", NULL, 0) == 0);
        BODY(rename(in_folder("hp.0001.heap"), in_folder("parent")) == 0);
        char name[128];
        snprintf(name, sizeof(name), "hp_%d.0001.heap", getpid());
        BODY(rename(in_folder(name), in_folder("child")) == 0);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    BODY(status == 0);
}

TEST(a_forked_child_keeps_the_sums_and_has_names_and_a_run_of_its_own)
{
    char run_id[32];

    run(body_fork);
    read_dump(in_folder("parent"));
    snprintf(run_id, sizeof(run_id), "%s", comment("run"));
    CHECK_EQ(dump.sum.alloc_bytes, 101);
    read_dump(in_folder("child"));
    CHECK(strcmp(run_id, comment("run")) != 0);
    CHECK_STR(comment("sequence"), "1");
    CHECK_EQ(dump.sum.alloc_bytes, 204);
    remove_folder();
}

/* ---- what goes wrong ---- */

static int lines_with(const char *text)
{
    int count = 0;

    for (const char *at = said; (at = strstr(at, text)); at++)
        count++;
    return count;
}

static void fill(void)
{
    for (uint32_t i = 0; i < 3000; i++)
        allocate(100 + i, 101, 1);
}

static void body_no_folder(void)
{
    options.prefix = in_folder("missing/hp");
    start();
    allocate(7, 101, 1);
    BODY(xp_profile_dump("x", NULL, 0) == -ENOENT);
    BODY(xp_profile_dump("x", NULL, 0) == -ENOENT);
    BODY(mkdir(in_folder("missing"), 0700) == 0);
    BODY(xp_profile_dump("x", NULL, 0) == 0);
    BODY(unlink(in_folder("missing/hp.0001.heap")) == 0);
    BODY(rmdir(in_folder("missing")) == 0);
    BODY(xp_profile_dump("x", NULL, 0) == -ENOENT);
}

TEST(a_missing_folder_is_said_once_and_again_after_it_was_there)
{
    run(body_no_folder);
    CHECK_EQ(lines_with("Failed dumping heap profile to "), 2);
    CHECK_EQ(lines_with("missing/hp.0001.heap. Numeric errno is 2: the folder does not exist"), 1);
    CHECK_EQ(lines_with("the program goes on\n"), 2);
    remove_folder();
}

static void body_fault(int error, enum xp_os_call call)
{
    start();
    fill();
    xp_os_fault_every(1, 1u << call, error);
    int r = xp_profile_dump("x", NULL, 0);
    xp_os_fault_every(0, 0, 0);
    BODY(r == -error);
}

static void body_read_only(void)
{
    body_fault(EROFS, XP_OS_OPEN);
}

static void body_denied(void)
{
    body_fault(EACCES, XP_OS_OPEN);
}

TEST(a_folder_that_cannot_be_written_to_is_one_clear_line)
{
    run(body_read_only);
    CHECK_EQ(lines_with("Numeric errno is 30: the file system is read-only"), 1);
    CHECK_EQ(files_in_folder(), 0);
    remove_folder();
    run(body_denied);
    CHECK_EQ(lines_with("Numeric errno is 13: no permission"), 1);
    CHECK_EQ(files_in_folder(), 0);
    remove_folder();
}

/* Fails the n-th write of a regular file from now on. */
static int writes_left;
static int fail_write(enum xp_os_call call)
{
    return call == XP_OS_WRITE && writes_left-- == 0 ? ENOSPC : 0;
}

static void body_full_disk_at_each_write(void)
{
    options.time_interval_ns = 0;
    xp_profile_init(&options);
    xp_message_init(NULL);
    fill();
    int failures = 0;
    for (int n = 0;; n++) {
        writes_left = n;
        xp_os_fault_set(fail_write);
        int r = xp_profile_dump("x", NULL, 0);
        xp_os_fault_set(NULL);
        if (r == 0)
            break;
        BODY(r == -ENOSPC);
        BODY(files_in_folder() == 0);
        failures++;
    }
    BODY(failures >= 2);
    BODY(files_in_folder() == 1);
}

TEST(a_disk_that_is_full_at_any_write_leaves_no_file_and_one_line)
{
    run(body_full_disk_at_each_write);
    CHECK_EQ(lines_with("Failed dumping"), 1);
    CHECK_EQ(lines_with("Numeric errno is 28: the disk is full"), 1);
    read_dump(in_folder("hp.0001.heap"));
    CHECK_EQ(dump.sum.inuse_objects, 3000);
    remove_folder();
}

/* Every system call of a dump fails once; then one goes well. */
static int calls_left, fail_with;
static int fail_call(enum xp_os_call call)
{
    (void)call;
    return calls_left-- == 0 ? fail_with : 0;
}

static void body_each_call(void)
{
    static const int errors[] = {ENOMEM, EPERM, EIO};

    start();
    fill();
    xp_message_set_quiet(true);
    for (size_t e = 0; e < XP_ARRAY_LENGTH(errors); e++) {
        for (int n = 0;; n++) {
            int before = files_in_folder();
            calls_left = n;
            fail_with = errors[e];
            xp_os_fault_set(fail_call);
            int r = xp_profile_dump("x", NULL, 0);
            xp_os_fault_set(NULL);
            int after = files_in_folder();
            /* The draft may stay beside the dump only where its removal is what failed. */
            BODY(after - before <= 1 + (r == 0));
            BODY(r < 0 || after > before);
            if (calls_left >= 0)
                break;
        }
    }
}

TEST(any_single_system_call_may_fail)
{
    run(body_each_call);
    DIR *d = opendir(folder);
    int dumps = 0;
    for (struct dirent *entry; (entry = readdir(d));) {
        if (strstr(entry->d_name, ".heap")) {
            read_dump(in_folder(entry->d_name));
            CHECK_EQ(dump.sum.inuse_objects, 3000);
            dumps++;
        }
    }
    closedir(d);
    CHECK(dumps > 3);
    remove_folder();
}

/* Hard links fail as they do on vfat: the first call of the kind after the last write. */
static bool written;
static int no_links(enum xp_os_call call)
{
    if (call == XP_OS_WRITE)
        written = true;
    if (call == XP_OS_NAME && written) {
        written = false;
        return EPERM;
    }
    return 0;
}

static void body_no_links(void)
{
    BODY(close(open(in_folder("hp.0001.heap"), O_WRONLY | O_CREAT, 0600)) == 0);
    start();
    allocate(7, 101, 1);
    xp_os_fault_set(no_links);
    BODY(xp_profile_dump("x", NULL, 0) == 0);
    xp_os_fault_set(NULL);
}

TEST(without_hard_links_nothing_is_overwritten_either)
{
    struct stat st;

    run(body_no_links);
    CHECK(stat(in_folder("hp.0001.heap"), &st) == 0 && st.st_size == 0);
    CHECK_EQ(files_in_folder(), 2);
    read_dump(in_folder("hp.0002.heap"));
    CHECK_EQ(dump.sum.inuse_bytes, 101);
    remove_folder();
}

static void body_size_limit(void)
{
    start();
    fill();
    const struct rlimit limit = {10007, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
    BODY(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    BODY(xp_profile_dump("x", NULL, 0) == -EFBIG);
    BODY(setrlimit(RLIMIT_FSIZE, &none) == 0);
}

TEST(a_file_size_limit_is_an_error_and_no_signal)
{
    run(body_size_limit);
    CHECK_EQ(lines_with("Numeric errno is 27: the file would be larger than the size limit"), 1);
    CHECK_EQ(files_in_folder(), 0);
    remove_folder();
}

static void body_no_memory(void)
{
    body_fault(ENOMEM, XP_OS_MAP);
}

TEST(without_memory_for_the_table_the_dump_fails_with_a_line)
{
    run(body_no_memory);
    CHECK_EQ(lines_with("Numeric errno is 12: no memory for the table"), 1);
    CHECK_EQ(files_in_folder(), 0);
    remove_folder();
}

static void body_long_prefix(void)
{
    static char prefix[5000];

    memset(prefix, 'x', sizeof(prefix) - 1);
    prefix[0] = '/';
    options.prefix = prefix;
    start();
    BODY(xp_profile_dump("x", NULL, 0) == -ENAMETOOLONG);
}

TEST(a_prefix_of_any_length_is_survived)
{
    run(body_long_prefix);
    CHECK_EQ(lines_with("Failed dumping"), 1);
    remove_folder();
}

static void body_errno(void)
{
    start();
    options.prefix = NULL;
    errno = 101;
    allocate(7, 101, 1);
    xp_profile_dump("x", NULL, 0);
    xp_profile_dump_if_due();
    xp_profile_tick();
    BODY(errno == 101);
}

TEST(errno_is_left_alone)
{
    run(body_errno);
    remove_folder();
}
