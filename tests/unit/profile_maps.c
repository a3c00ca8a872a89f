/* SPDX-License-Identifier: MIT */
#include "profile/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/maps_line.h"
#include "profile_fakes.h"
#include "test.h"

static char text[1 << 22];

static const char *written(bool has_nested)
{
    struct xp_maps maps;
    struct xp_out out;

    xp_out_init(&out, -1, text, sizeof(text) - 1);
    xp_maps_read(&maps);
    xp_maps_write(&maps, &out, has_nested);
    xp_maps_fini(&maps);
    CHECK_EQ(out.error, 0);
    text[out.length] = 0;
    return text;
}

static const char head[] = "\nMAPPED_LIBRARIES:\n";

static void program_path(char *path, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", path, size - 1);

    CHECK(n > 0);
    path[n] = 0;
}

TEST(executable_mappings_are_listed_and_the_program_comes_first)
{
    char path[4096];
    struct pp_mapping m;
    bool has_libc = false, has_vdso = false;
    int lines = 0;

    program_path(path, sizeof(path));
    const char *at = written(false);
    CHECK(strncmp(at, head, sizeof(head) - 1) == 0);
    for (at += sizeof(head) - 1; *at; at = strchr(at, '\n') + 1) {
        CHECK_EQ(pp_maps_line(at, strcspn(at, "\n"), &m), 0);
        CHECK(m.executable);
        if (lines++ == 0) {
            CHECK_EQ(m.path_length, strlen(path));
            CHECK(memcmp(m.path, path, m.path_length) == 0);
        }
        has_libc |= m.path_length > 9 && memmem(m.path, m.path_length, "libc.so.6", 9);
        has_vdso |= m.path_length == 6 && memcmp(m.path, "[vdso]", 6) == 0;
    }
    CHECK(lines >= 3);
    CHECK(has_libc);
    CHECK(has_vdso);
    CHECK(strstr(text, "[nested]") == NULL);
}

TEST(code_without_a_file_is_listed_as_the_kernel_names_it)
{
    char line[64];
    void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *gap = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(p != MAP_FAILED);
    snprintf(line, sizeof(line), "%lx r-xp 00000000 00:00 0", (unsigned long)p + 4096);
    CHECK(strstr(written(false), line) != NULL);
    munmap(p, 4096);
    munmap(gap, 4096);
}

TEST(deleted_files_keep_their_plain_path)
{
    char path[] = "/tmp/unit_profile_maps.XXXXXX", line[128];
    int fd = mkstemp(path);

    CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
    void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    CHECK(p != MAP_FAILED);
    unlink(path);
    close(fd);
    snprintf(line, sizeof(line), " %s\n", path);
    CHECK(strstr(written(false), line) != NULL);
    CHECK(strstr(text, "(deleted)") == NULL);
    munmap(p, 4096);
}

TEST(maps_of_thousands_of_lines_are_not_cut)
{
    /* Every second page is code: one line each, and a read of /proc gives 4 KiB at a time. */
    const size_t pages = 6000;
    char *p = mmap(NULL, pages * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char line[64];
    int found = 0;

    CHECK(p != MAP_FAILED);
    for (size_t i = 0; i < pages; i += 2)
        CHECK(mprotect(p + i * 4096, 4096, PROT_READ | PROT_EXEC) == 0);
    const char *at = written(false);
    for (size_t i = 0; i < pages; i += 2) {
        snprintf(line, sizeof(line), "\n%lx-%lx r-xp ", (unsigned long)(p + i * 4096),
                 (unsigned long)(p + i * 4096) + 4096);
        const char *hit = strstr(at, line);
        found += hit != NULL;
        if (hit)
            at = hit;
    }
    CHECK_EQ(found, pages / 2);
    munmap(p, pages * 4096);
}

TEST(unloaded_modules_follow_at_the_range_they_were_moved_to)
{
    fake.modules[0] = (struct xp_module){.start = 0x100000,
                                         .end = 0x140000,
                                         .text_start = 0x110000,
                                         .text_end = 0x120000,
                                         .text_offset = 0x10000,
                                         .build_id = {0x01, 0xab, 0xff},
                                         .build_id_size = 3,
                                         .path = "/opt/gone.so"};
    fake.module_count = 1;
    written(true);
    fake.module_count = 0;
    CHECK(strstr(text, "\n# buildid 00100000-00140000 01abff\n"
                       "00110000-00120000 r-xp 00010000 00:00 0 /opt/gone.so\n"
                       "00010000-00011000 r-xp 00000000 00:00 0 [nested]\n"));
}

TEST(a_loaded_module_gives_its_build_id_to_the_kernels_line)
{
    struct pp_mapping m;
    const char *first = written(false) + sizeof(head) - 1;
    char want[256];

    CHECK_EQ(pp_maps_line(first, strcspn(first, "\n"), &m), 0);
    snprintf(want, sizeof(want), "# buildid %lx-%lx 0203\n%.*s\n", (unsigned long)m.start - 0x1000,
             (unsigned long)m.limit, (int)strcspn(first, "\n"), first);
    fake.modules[0] = (struct xp_module){.start = m.start - 0x1000,
                                         .end = m.limit,
                                         .loaded = true,
                                         .build_id = {2, 3},
                                         .build_id_size = 2,
                                         .path = "/not/shown"};
    fake.module_count = 1;
    written(false);
    fake.module_count = 0;
    CHECK(strncmp(text + sizeof(head) - 1, want, strlen(want)) == 0);
    CHECK(strstr(text, "/not/shown") == NULL);
}

TEST(a_module_that_ends_within_its_last_page_is_the_kernels_line_all_the_same)
{
    struct pp_mapping m;
    const char *first = written(false) + sizeof(head) - 1;

    CHECK_EQ(pp_maps_line(first, strcspn(first, "\n"), &m), 0);
    fake.modules[0] = (struct xp_module){.start = m.start,
                                         .end = m.limit - 0x123,
                                         .loaded = true,
                                         .build_id = {7},
                                         .build_id_size = 1,
                                         .path = "x"};
    fake.module_count = 1;
    written(false);
    fake.module_count = 0;
    CHECK(strstr(text, " 07\n"));
}

TEST(without_proc_the_modules_stand_for_the_maps)
{
    fake.modules[0] = (struct xp_module){.start = 0x600000,
                                         .end = 0x640000,
                                         .text_start = 0x610000,
                                         .text_end = 0x620000,
                                         .loaded = true,
                                         .path = "/lib/other.so"};
    /* This program: what holds the program headers. */
    fake.modules[1] = (struct xp_module){.start = 0x1000,
                                         .end = UINTPTR_MAX,
                                         .text_start = 0x2000,
                                         .text_end = 0x3000,
                                         .loaded = true,
                                         .path = "/bin/program"};
    fake.module_count = 2;
    xp_os_fault_every(1, 1u << XP_OS_OPEN, EACCES);
    written(false);
    xp_os_fault_every(0, 0, 0);
    CHECK_STR(text, "\nMAPPED_LIBRARIES:\n"
                    "00002000-00003000 r-xp 00000000 00:00 0 /bin/program\n"
                    "00610000-00620000 r-xp 00000000 00:00 0 /lib/other.so\n");
    /* The same when reading breaks off, or there is no memory to read into. */
    xp_os_fault_every(2, 1u << XP_OS_READ, EIO);
    CHECK(strstr(written(false), "/lib/other.so\n"));
    xp_os_fault_every(1, 1u << XP_OS_MAP, ENOMEM);
    CHECK_STR(written(false), "\nMAPPED_LIBRARIES:\n");
    xp_os_fault_every(0, 0, 0);
    fake.module_count = 0;
}
