/* SPDX-License-Identifier: MIT */
#include "format/maps_line.h"

#include <errno.h>

#include "test.h"

static struct pp_mapping parse(const char *line)
{
    struct pp_mapping m;

    CHECK_EQ(pp_maps_line(line, strlen(line), &m), 0);
    return m;
}

static bool path_is(const struct pp_mapping *m, const char *path)
{
    return m->path_length == strlen(path) && memcmp(m->path, path, m->path_length) == 0;
}

TEST(full_line_gives_every_field)
{
    struct pp_mapping m =
        parse("7f0123456000-7f0123479000 r-xs 00017000 fe:1a 1048577   /lib/a b.so");

    CHECK_EQ(m.start, 0x7f0123456000);
    CHECK_EQ(m.limit, 0x7f0123479000);
    CHECK_EQ(m.offset, 0x17000);
    CHECK_EQ(m.device, (uint64_t)0xfe << 32 | 0x1a);
    CHECK_EQ(m.inode, 1048577);
    CHECK(m.readable && !m.writable && m.executable && !m.is_private && !m.deleted);
    CHECK(path_is(&m, "/lib/a b.so"));
    CHECK(m.build_id == NULL);
}

TEST(deleted_is_cut_off_and_remembered)
{
    struct pp_mapping m = parse("1000-2000 r-xp 00000000 08:01 7 /tmp/x (deleted)");

    CHECK(m.deleted);
    CHECK(path_is(&m, "/tmp/x"));
}

TEST(anonymous_and_special_mappings_have_their_names)
{
    struct pp_mapping m = parse("1000-2000 rw-p 00000000 00:00 0 ");
    CHECK_EQ(m.path_length, 0);
    CHECK(!m.executable && m.writable);
    m = parse("1000-2000 rw-p 00000000 00:00 0");
    CHECK_EQ(m.path_length, 0);
    m = parse("7ffc1000-7ffc2000 r-xp 00000000 00:00 0                          [vdso]");
    CHECK(path_is(&m, "[vdso]"));
    m = parse("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]");
    CHECK_EQ(m.start, 0xffffffffff600000);
}

TEST(brief_forms_are_code)
{
    struct pp_mapping m = parse("40000000-40015000: /lib/ld-2.3.2.so");
    CHECK_EQ(m.start, 0x40000000);
    CHECK(m.executable);
    CHECK(path_is(&m, "/lib/ld-2.3.2.so"));

    m = parse("0x400000-0x500000 r-xp /bin/prog (@1000) abcdef0123");
    CHECK_EQ(m.offset, 0x1000);
    CHECK(path_is(&m, "/bin/prog"));
    CHECK_EQ(m.build_id_length, 10);
    CHECK(memcmp(m.build_id, "abcdef0123", 10) == 0);

    m = parse("400000-500000 r-xp /bin/prog 0123456789abcdef0123456789abcdef01234567");
    CHECK(path_is(&m, "/bin/prog"));
    CHECK_EQ(m.build_id_length, 40);

    m = parse("400000-500000 r-xp /bin/prog (@2000)");
    CHECK(path_is(&m, "/bin/prog"));
    CHECK_EQ(m.offset, 0x2000);
    CHECK(m.build_id == NULL);

    m = parse("400000-500000: /bin/my face");
    CHECK(path_is(&m, "/bin/my face"));
}

TEST(lines_that_are_none_are_refused)
{
    static const char *const lines[] = {
        "",
        "1000",
        "1000-",
        "-2000 r-xp 0 0:0 0",
        "2000-1000 r-xp 00000000 00:00 0 /x",
        "1000-1000 r-xp 00000000 00:00 0 /x",
        "10000000000000000-20000000000000000 r-xp 0 0:0 0 /x",
        "1000-2000x r-xp",
        "build=/home",
        "heap profile: 1: 2 [1: 2] @",
        "# comment",
    };
    struct pp_mapping m;

    for (size_t i = 0; i < XP_ARRAY_LENGTH(lines); i++) {
        if (pp_maps_line(lines[i], strlen(lines[i]), &m) != -EPROTO)
            test_fail(__FILE__, __LINE__, "accepted '%s'", lines[i]);
    }
}

TEST(every_line_of_our_own_maps_is_understood)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[8192];
    int count = 0;

    CHECK(file != NULL);
    while (fgets(line, sizeof(line), file)) {
        struct pp_mapping m;
        char perms[8];
        unsigned long start, limit;

        CHECK_EQ(sscanf(line, "%lx-%lx %7s", &start, &limit, perms), 3);
        CHECK_EQ(pp_maps_line(line, strcspn(line, "\n"), &m), 0);
        CHECK_EQ(m.start, start);
        CHECK_EQ(m.limit, limit);
        CHECK_EQ(m.executable, perms[2] == 'x');
        count++;
    }
    fclose(file);
    CHECK(count > 5);
}
