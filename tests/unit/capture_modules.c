/* SPDX-License-Identifier: MIT */
#include "capture/modules.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "capture/capture.h"
#include "test.h"

static struct xp_capture_thread thread;

static void start(void)
{
    static bool done;
    struct xp_capture_options options = {.depth = 0};

    if (!done)
        CHECK_EQ(xp_capture_init(&options), 0);
    done = true;
}

/* ---- captures through a plugin ---- */

static __thread struct {
    xp_node node;
    unsigned flags;
} probed;
static __thread struct xp_capture_thread *thread_of_probe;

static __attribute__((noinline)) void probe(void)
{
    struct xp_regs regs = xp_regs_of_caller();
    probed.node = xp_capture(thread_of_probe ? thread_of_probe : &thread, &regs,
                             (uintptr_t)probe + 1, &probed.flags);
}

typedef void (*plugin_fn)(void (*fn)(void));

struct plugin {
    void *handle;
    plugin_fn call, other;
};

static void open_path(const char *path, struct plugin *ret_plugin)
{
    ret_plugin->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!ret_plugin->handle)
        test_fail(__FILE__, __LINE__, "%s", dlerror());
    ret_plugin->call = (plugin_fn)dlsym(ret_plugin->handle, "plugin_call");
    ret_plugin->other = (plugin_fn)dlsym(ret_plugin->handle, "plugin_other");
    CHECK(ret_plugin->call && ret_plugin->other);
}

static const char *plugin_path(const char *edition)
{
    static char path[4200];
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    CHECK(n > 0);
    self[n] = 0;
    *strrchr(self, '/') = 0;
    snprintf(path, sizeof(path), "%s/../programs/unwind_plugin_%s.so", self, edition);
    if (access(path, R_OK) != 0)
        test_skip("plugins are not built");
    return path;
}

/* Resolved, as the kernel shows it. */
static const char *real_plugin_path(const char *edition)
{
    static char real[2][4200];
    static int turn;
    turn ^= 1;
    CHECK(realpath(plugin_path(edition), real[turn]) != NULL);
    return real[turn];
}

static void open_plugin(const char *edition, struct plugin *ret_plugin)
{
    open_path(real_plugin_path(edition), ret_plugin);
}

static xp_node capture_through(plugin_fn fn)
{
    fn(probe);
    CHECK_EQ(probed.flags, 0);
    return probed.node;
}

/* The frame of the plugin: the one outside of probe's own. */
static uintptr_t plugin_pc(xp_node node)
{
    uintptr_t pcs[64];
    size_t count = xp_tree_pcs(node, pcs, 64);

    CHECK(count >= 4); /* whatever the frame sizes: up to main and beyond */
    CHECK_EQ(pcs[0], (uintptr_t)probe + 1);
    return pcs[1];
}

struct search {
    uintptr_t pc;
    struct xp_module module;
    int hits;
};

static void look(const struct xp_module *module, void *arg)
{
    struct search *search = arg;
    if (search->pc - module->start < module->end - module->start) {
        search->module = *module;
        search->hits++;
    }
}

/* The one module that pc lies in. */
static struct xp_module module_of(uintptr_t pc)
{
    struct search search = {.pc = pc};

    xp_modules_each(look, &search);
    CHECK_EQ(search.hits, 1);
    return search.module;
}

TEST(each_edition_keeps_its_name_when_their_addresses_coincide)
{
    struct plugin first, second;

    start();
    open_plugin("first", &first);
    uintptr_t place = (uintptr_t)first.call;
    xp_node first_node = capture_through(first.call);
    uintptr_t first_pc = plugin_pc(first_node);
    CHECK_EQ(first_pc - place, 9);
    CHECK(module_of(first_pc).loaded);
    xp_modules_changed();
    dlclose(first.handle);
    xp_modules_changed();

    open_plugin("second", &second);
    CHECK_EQ((uintptr_t)second.call, place);
    xp_node second_node = capture_through(second.call);
    CHECK(second_node != first_node);
    CHECK_EQ(plugin_pc(second_node), first_pc);

    uintptr_t moved_pc = plugin_pc(first_node);
    CHECK(moved_pc != first_pc && moved_pc < (uintptr_t)1 << 47);
    struct xp_module gone = module_of(moved_pc), here = module_of(first_pc);
    CHECK(!gone.loaded && here.loaded);
    CHECK_STR(gone.path, real_plugin_path("first"));
    CHECK_STR(here.path, real_plugin_path("second"));
    CHECK_EQ(moved_pc - gone.start, first_pc - here.start);
    CHECK(gone.text_start <= moved_pc && moved_pc < gone.text_end);
    CHECK_EQ(gone.build_id_size, 20);
    CHECK(memcmp(gone.build_id, here.build_id, 20) != 0);
    dlclose(second.handle);
    xp_modules_changed();
}

TEST(a_library_that_comes_back_has_its_old_stacks_again)
{
    struct plugin first;
    xp_node first_node = XP_NODE_ROOT;
    uintptr_t first_pc = 0;

    start();
    for (volatile int i = 0; i < 5; i++) { /* one call site, also when the loop is unrolled */
        open_plugin("first", &first);
        xp_node node = capture_through(first.call);
        uintptr_t pc = plugin_pc(node);
        if (i == 0) {
            first_node = node;
            first_pc = pc;
        }
        CHECK_EQ(node, first_node);
        CHECK_EQ(pc, first_pc);
        dlclose(first.handle);
        xp_modules_changed();
        CHECK(plugin_pc(node) != pc);
    }
}

TEST(an_unnoticed_exchange_is_noticed_at_the_first_new_address)
{
    struct plugin first, second;

    start();
    open_plugin("first", &first);
    xp_node first_node = capture_through(first.call);
    uintptr_t pc = plugin_pc(first_node);
    dlclose(first.handle);
    open_plugin("second", &second);
    CHECK_EQ((uintptr_t)second.call, pc - 9);
    capture_through(second.other);
    xp_node second_node = capture_through(second.call);
    CHECK(second_node != first_node);
    CHECK_EQ(plugin_pc(second_node), pc);
    CHECK_STR(module_of(plugin_pc(first_node)).path, real_plugin_path("first"));
    dlclose(second.handle);
    xp_modules_changed();
}

static void copy_file(const char *from, const char *to)
{
    char command[9000];
    snprintf(command, sizeof(command), "cp '%s' '%s'", from, to);
    CHECK_EQ(system(command), 0);
}

TEST(two_files_of_one_name_are_told_apart_by_their_build_ids)
{
    char path[] = "/tmp/unwind_plugin_XXXXXX";
    struct plugin plugin;

    start();
    CHECK(mkdtemp(path) != NULL);
    char file[64];
    snprintf(file, sizeof(file), "%s/x.so", path);
    copy_file(real_plugin_path("first"), file);
    open_path(file, &plugin);
    xp_node first_node = capture_through(plugin.call);
    dlclose(plugin.handle);
    xp_modules_changed();
    unlink(file);
    copy_file(real_plugin_path("second"), file);
    open_path(file, &plugin);
    unlink(file); /* while it is mapped */
    rmdir(path);
    xp_node second_node = capture_through(plugin.call);
    CHECK(first_node != second_node);
    struct xp_module gone = module_of(plugin_pc(first_node));
    struct xp_module here = module_of(plugin_pc(second_node));
    CHECK_STR(gone.path, file);
    CHECK_STR(here.path, file); /* not "... (deleted)" */
    CHECK(memcmp(gone.build_id, here.build_id, 20) != 0);
    dlclose(plugin.handle);
    xp_modules_changed();
}

TEST(a_library_that_no_stack_saw_leaves_no_trace)
{
    char path[] = "/tmp/unwind_plugin_XXXXXX", file[64];
    struct plugin plugin;

    start();
    CHECK(mkdtemp(path) != NULL);
    snprintf(file, sizeof(file), "%s/unseen.so", path);
    copy_file(real_plugin_path("first"), file);
    open_path(file, &plugin);
    uintptr_t pc = (uintptr_t)plugin.call;
    CHECK_STR(module_of(pc).path, file);
    dlclose(plugin.handle);
    xp_modules_changed();
    unlink(file);
    rmdir(path);
    struct search search = {.pc = pc};
    xp_modules_each(look, &search);
    CHECK_EQ(search.hits, 0);
}

TEST(a_relative_name_is_shown_as_the_absolute_file)
{
    struct plugin plugin;
    char old[4096], real[4096];

    start();
    CHECK(getcwd(old, sizeof(old)) != NULL);
    strcpy(real, real_plugin_path("first"));
    char *slash = strrchr(real, '/');
    *slash = 0;
    CHECK_EQ(chdir(real), 0);
    open_path("./unwind_plugin_first.so", &plugin);
    CHECK_EQ(chdir("/"), 0);
    xp_node node = capture_through(plugin.call);
    *slash = '/';
    CHECK_STR(module_of(plugin_pc(node)).path, real);
    CHECK_EQ(chdir(old), 0);
    dlclose(plugin.handle);
    xp_modules_changed();
}

/* ---- the list ---- */

struct list {
    struct xp_module modules[64];
    size_t count;
};

static void add(const struct xp_module *module, void *arg)
{
    struct list *list = arg;
    if (list->count < 64)
        list->modules[list->count++] = *module;
}

static int check_listed(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct list *list = arg;
    (void)size;

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + h->p_vaddr;
        if (h->p_type != PT_LOAD || !(h->p_flags & PF_X))
            continue;
        size_t hits = 0;
        for (size_t m = 0; m < list->count; m++) {
            const struct xp_module *module = &list->modules[m];
            if (from - module->start < module->end - module->start) {
                hits++;
                if (module->text_start > from || module->text_end < from + h->p_memsz ||
                    from - module->text_start + module->text_offset != h->p_offset)
                    return -1;
            }
        }
        if (hits != 1)
            return -1;
    }
    return 0;
}

TEST(every_module_the_loader_knows_is_listed_once_with_its_text)
{
    struct list list = {.count = 0};

    start();
    xp_modules_each(add, &list);
    CHECK(list.count >= 4); /* program, libc, loader, vdso */
    for (size_t i = 0; i < list.count; i++)
        CHECK(list.modules[i].path && strchr("/[", list.modules[i].path[0]));
    CHECK_EQ(dl_iterate_phdr(check_listed, &list), 0);
    CHECK_STR(module_of(getauxval(AT_SYSINFO_EHDR)).path, "[vdso]");

    char self[4096] = "";
    CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    CHECK_STR(module_of((uintptr_t)start).path, self);
}

TEST(build_ids_are_those_that_readelf_reads_from_the_files)
{
    struct list list = {.count = 0};
    size_t compared = 0;

    start();
    xp_modules_each(add, &list);
    for (size_t i = 0; i < list.count; i++) {
        const struct xp_module *module = &list.modules[i];
        char command[5000], line[512], theirs[200] = "", ours[2 * XP_BUILD_ID_MAX + 1] = "";
        if (module->path[0] != '/' || !module->loaded || access(module->path, R_OK) != 0)
            continue;
        snprintf(command, sizeof(command), "readelf -n '%s' 2>/dev/null", module->path);
        FILE *readelf = popen(command, "r");
        while (fgets(line, sizeof(line), readelf)) {
            if (strstr(line, "Build ID: "))
                sscanf(strstr(line, "Build ID: "), "Build ID: %199s", theirs);
        }
        pclose(readelf);
        for (int b = 0; b < module->build_id_size; b++)
            sprintf(ours + 2 * b, "%02x", module->build_id[b]);
        if (!theirs[0])
            continue;
        if (strcmp(ours, theirs) != 0)
            test_fail(__FILE__, __LINE__, "%s: %s, %s", module->path, ours, theirs);
        compared++;
    }
    if (compared < 3)
        test_skip("no readelf");
}

/* ---- many threads open and close ---- */

TEST(before_a_close_has_returned_its_place_may_hold_another_library)
{
    struct plugin first, second;

    start();
    open_plugin("first", &first);
    xp_node first_node = capture_through(first.call);
    uintptr_t pc = plugin_pc(first_node);
    xp_modules_closing();
    dlclose(first.handle);
    /* What another thread does meanwhile. */
    open_plugin("second", &second);
    CHECK_EQ((uintptr_t)second.call, pc - 9);
    xp_node second_node = capture_through(second.call);
    xp_modules_closed();
    CHECK(second_node != first_node);
    CHECK_EQ(plugin_pc(second_node), pc);
    CHECK_STR(module_of(plugin_pc(first_node)).path, real_plugin_path("first"));
    CHECK_STR(module_of(plugin_pc(second_node)).path, real_plugin_path("second"));
    xp_modules_closing();
    dlclose(second.handle);
    xp_modules_closed();
}

static struct {
    _Atomic int wrong, rounds;
} churn;

static void *open_capture_close(void *arg)
{
    struct xp_capture_thread own = {0};
    const char *path = arg;

    for (int i = 0; i < 400; i++) {
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        plugin_fn call = handle ? (plugin_fn)dlsym(handle, "plugin_call") : NULL;
        if (!call) {
            churn.wrong++;
            break;
        }
        thread_of_probe = &own;
        call(probe);
        if (probed.flags != 0)
            churn.wrong++;
        /* While the library is here its pcs are the real ones, under its own name. */
        uintptr_t pcs[64];
        size_t count = xp_tree_pcs(probed.node, pcs, 64);
        struct search search = {.pc = count > 1 ? pcs[1] : 0};
        if (i % 16 == 0) {
            xp_modules_each(look, &search);
            if (search.hits != 1 || strcmp(search.module.path, path) != 0)
                churn.wrong++;
        }
        if (count < 3 || pcs[1] - (uintptr_t)call != 9)
            churn.wrong++;
        xp_modules_closing();
        dlclose(handle);
        xp_modules_closed();
        churn.rounds++;
    }
    return NULL;
}

TEST(threads_that_exchange_libraries_never_see_each_others)
{
    pthread_t threads[2];
    char first[4200], second[4200];

    start();
    strcpy(first, real_plugin_path("first"));
    strcpy(second, real_plugin_path("second"));
    pthread_create(&threads[0], NULL, open_capture_close, first);
    pthread_create(&threads[1], NULL, open_capture_close, second);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    CHECK_EQ(churn.rounds, 800);
    CHECK_EQ(churn.wrong, 0);
}

/* ---- shortage, locks, fork ---- */

TEST(without_the_kernels_list_what_was_seen_is_still_listed)
{
    struct plugin plugin;

    start();
    open_plugin("first", &plugin);
    uintptr_t pc = plugin_pc(capture_through(plugin.call));
    xp_os_fault_every(1, 1u << XP_OS_OPEN, EMFILE);
    struct search search = {.pc = pc};
    xp_modules_each(look, &search);
    xp_os_fault_every(0, 0, 0);
    CHECK_EQ(search.hits, 1);
    CHECK_STR(search.module.path, real_plugin_path("first"));
    dlclose(plugin.handle);
    xp_modules_changed();
}

TEST(a_module_is_walked_although_every_system_call_fails)
{
    struct plugin plugin;

    start();
    open_plugin("second", &plugin);
    xp_os_fault_every(1, ~0u, ENOMEM);
    plugin.other(probe);
    xp_os_fault_every(0, 0, 0);
    /* The tables could not be bounded, so the frame may be missing; nothing worse happens. */
    CHECK((probed.flags & ~(unsigned)(XP_STACK_NO_CFI | XP_STACK_GUESSED | XP_STACK_FULL)) == 0);
    xp_node node = capture_through(plugin.call);
    CHECK_STR(module_of(plugin_pc(node)).path, real_plugin_path("second"));
    dlclose(plugin.handle);
    xp_modules_changed();
}

static void *list_and_capture(void *arg)
{
    struct list list = {.count = 0};
    const struct plugin *plugin = arg;

    xp_modules_each(add, &list);
    plugin->call(probe);
    return list.count >= 4 && probed.flags == 0 ? arg : NULL;
}

static int inside_the_loaders_lock(struct dl_phdr_info *info, size_t size, void *arg)
{
    pthread_t t;
    void *result = NULL;
    (void)info;
    (void)size;

    pthread_create(&t, NULL, list_and_capture, arg);
    pthread_join(t, &result);
    return result ? 1 : -1;
}

TEST(listing_and_capturing_need_no_lock_of_the_loader)
{
    struct plugin plugin;

    start();
    open_plugin("first", &plugin);
    alarm(20); /* a deadlock ends the test */
    CHECK_EQ(dl_iterate_phdr(inside_the_loaders_lock, &plugin), 1);
    alarm(0);
    dlclose(plugin.handle);
    xp_modules_changed();
}

static void capture_in_child(void *arg)
{
    struct plugin *plugin = arg;
    struct list list = {.count = 0};

    alarm(20);
    xp_modules_each(add, &list);
    plugin->call(probe);
    _exit(probed.flags == 0 && list.count >= 4 ? 23 : 1);
}

TEST(a_child_forked_while_the_lock_is_held_goes_on)
{
    struct plugin plugin;

    start();
    open_plugin("second", &plugin);
    xp_capture_fork_prepare();
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        xp_capture_fork_child();
        capture_in_child(&plugin);
    }
    xp_capture_fork_parent();
    int status = 0;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 23);
    xp_modules_changed();
    dlclose(plugin.handle);
    xp_modules_changed();
}
