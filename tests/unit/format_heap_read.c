/* SPDX-License-Identifier: MIT */
#include "format/heap_read.h"

#include <errno.h>
#include <stdlib.h>

#include "test.h"

/* All that a profile holds, in a form to compare. */
static struct {
    struct pp_header header;
    int headers, rows, comments, mappings, symbols;
    struct pp_counts sum;
    uint64_t last_pcs[8];
    size_t last_depth;
    uint64_t last_line;
    char last_comment[256];
    char last_path[256], last_build_id[256], last_symbol[256];
    bool last_deleted;
    int row_result;
} seen;

static void keep(char *into, const char *text, size_t length)
{
    if (length > 255)
        length = 255;
    memcpy(into, text, length);
    into[length] = 0;
}

static int on_header(const struct pp_header *header, void *arg)
{
    (void)arg;
    seen.header = *header;
    seen.headers++;
    return 0;
}

static int on_row(const struct pp_row *row, uint64_t line, void *arg)
{
    (void)arg;
    seen.rows++;
    seen.sum.inuse_objects += row->counts.inuse_objects;
    seen.sum.inuse_bytes += row->counts.inuse_bytes;
    seen.sum.alloc_objects += row->counts.alloc_objects;
    seen.sum.alloc_bytes += row->counts.alloc_bytes;
    seen.last_depth = row->depth;
    for (size_t i = 0; i < row->depth && i < 8; i++)
        seen.last_pcs[i] = row->pcs[i];
    seen.last_line = line;
    return seen.row_result;
}

static int on_comment(const char *text, size_t length, uint64_t line, void *arg)
{
    (void)line;
    (void)arg;
    seen.comments++;
    keep(seen.last_comment, text, length);
    return 0;
}

static int on_mapping(const struct pp_mapping *mapping, uint64_t line, void *arg)
{
    (void)line;
    (void)arg;
    seen.mappings++;
    keep(seen.last_path, mapping->path, mapping->path_length);
    if (mapping->build_id) {
        CHECK_EQ(strlen(mapping->build_id), mapping->build_id_length);
        keep(seen.last_build_id, mapping->build_id, mapping->build_id_length);
    } else {
        seen.last_build_id[0] = 0;
    }
    seen.last_deleted = mapping->deleted;
    return 0;
}

static int on_symbol(uint64_t address, const char *name, size_t length, void *arg)
{
    (void)address;
    (void)arg;
    seen.symbols++;
    keep(seen.last_symbol, name, length);
    return 0;
}

static const struct pp_heap_visitor visitor = {on_header, on_row, on_comment, on_mapping,
                                               on_symbol};
static struct pp_error error;

static int read_bytes(const char *text, size_t length)
{
    struct pp_heap_reader *reader = malloc(pp_heap_reader_size());
    int row_result = seen.row_result;

    memset(&seen, 0, sizeof(seen));
    memset(&error, 0, sizeof(error));
    seen.row_result = row_result;
    pp_heap_reader_init(reader, &visitor, NULL);
    int code = pp_heap_reader_push(reader, text, length, &error);
    if (code == 0)
        code = pp_heap_reader_finish(reader, &error);
    CHECK_EQ(code, error.code);
    free(reader);
    seen.row_result = 0;
    return code;
}

static int read_text(const char *text)
{
    return read_bytes(text, strlen(text));
}

static void check_refused(const char *text, uint64_t line, const char *message)
{
    int code = read_text(text);

    if (code >= 0)
        test_fail(__FILE__, __LINE__, "accepted: %s", text);
    CHECK_EQ(error.line, line);
    if (!strstr(error.text, message))
        test_fail(__FILE__, __LINE__, "'%s' does not say '%s'", error.text, message);
}

TEST(a_gperftools_profile_is_read_whole)
{
    CHECK_EQ(read_text("heap profile:      3:      303 [     8:      808] @ heapprofile\n"
                       "     1:      101 [     5:      505] @ 0x00401234 0x7f0012345678\n"
                       "     2:      202 [     3:      303] @ 0xabc\n"
                       "\n"
                       "MAPPED_LIBRARIES:\n"
                       "00400000-00402000 r-xp 00000000 08:01 23 /bin/prog\n"
                       "7f0012000000-7f0013000000 r-xp 00000000 08:01 29 /lib/x.so.1 (deleted)\n"),
             0);
    CHECK_EQ(seen.header.kind, PP_HEAPPROFILE);
    CHECK_EQ(seen.header.totals.alloc_bytes, 808);
    CHECK_EQ(seen.rows, 2);
    CHECK_EQ(seen.sum.inuse_objects, 3);
    CHECK_EQ(seen.sum.inuse_bytes, 303);
    CHECK_EQ(seen.sum.alloc_objects, 8);
    CHECK_EQ(seen.sum.alloc_bytes, 808);
    CHECK_EQ(seen.last_depth, 1);
    CHECK_EQ(seen.last_pcs[0], 0xabc);
    CHECK_EQ(seen.last_line, 3);
    CHECK_EQ(seen.mappings, 2);
    CHECK_STR(seen.last_path, "/lib/x.so.1");
    CHECK(seen.last_deleted);
}

TEST(the_header_says_how_numbers_scale)
{
    static const struct {
        const char *header;
        enum pp_heap_kind kind;
        int64_t rate;
    } cases[] = {
        {"heap profile: 1: 2 [3: 4] @ heapprofile\n", PP_HEAPPROFILE, 0},
        {"heap profile: 1: 2 [3: 4] @ heapprofile \n", PP_HEAPPROFILE, 0},
        {"heap profile: 1: 2 [3: 4] @ heapprofile/524288\n", PP_HEAPPROFILE, 0},
        {"heap profile: 1: 2 [01: 2] @ heapprofile\r\n", PP_HEAPPROFILE, 0},
        {"heap profile: 1: 2 [3: 4] @ heap_v2/524288\n", PP_HEAP_V2, 524288},
        {"heap profile: 1: 2 [3: 4] @ heapz_v2/23\n", PP_HEAP_V2, 23},
        {"heap profile: 1: 2 [3: 4] @ heap_v2\n", PP_HEAP_V2, 0},
        {"heap profile: 1: 2 [3: 4] @ heap/1048576\n", PP_HEAP_V1, 524288},
        {"heap profile: 1: 2 [3: 4] @ heap/1\n", PP_HEAP_V1, 1},
        {"heap profile: 1: 2 [3: 4] @ heap\n", PP_HEAP_V1, 0},
        {"heap profile: 1: 2 [1: 2]\n", PP_HEAP_V1, 0},
        {"heap profile: 1: 2 [3: 4]\n", PP_HEAPPROFILE, 0},
        {"heap profile: 1: 2 [1: 2] @ growth\n", PP_GROWTH, 0},
        {"heap profile: 1: 2 [1: 2] @ growthz\n", PP_GROWTH, 0},
        {"heap profile: 1: 2 [1: 2] @ fragmentationz\n", PP_GROWTH, 0},
    };

    for (size_t i = 0; i < XP_ARRAY_LENGTH(cases); i++) {
        CHECK_EQ(read_text(cases[i].header), 0);
        CHECK_EQ(seen.headers, 1);
        if (seen.header.kind != cases[i].kind || seen.header.rate != cases[i].rate)
            test_fail(__FILE__, __LINE__, "%s: kind %d rate %lld", cases[i].header,
                      seen.header.kind, (long long)seen.header.rate);
    }
}

TEST(warnings_before_the_header_are_passed_on)
{
    CHECK_EQ(read_text("%warn the profile was taken with 3 threads\n"
                       "%warn\n"
                       "heap profile: 1: 2 [3: 4] @ heapprofile\n"),
             0);
    CHECK_EQ(seen.comments, 2);
    CHECK_EQ(read_text("%warn late\nheap profile: 1: 2 [3: 4] @ heapprofile\n"), 0);
    CHECK_STR(seen.last_comment, "warn late");
}

TEST(a_symbol_block_is_read)
{
    CHECK_EQ(read_text("--- symbol\n"
                       "binary=/bin/prog\n"
                       "0x0000000000401234 main--inlined\n"
                       "0x401250 std::vector<int, a b>::push_back\n"
                       "---\n"
                       "--- heap\n"
                       "heap profile: 1: 2 [3: 4] @ heapprofile\n"
                       "1: 2 [3: 4] @ 0x401234 0x401250\n"),
             0);
    CHECK_EQ(seen.symbols, 2);
    CHECK_STR(seen.last_symbol, "std::vector<int, a b>::push_back");
    CHECK_STR(seen.last_comment, "binary /bin/prog");
    CHECK_EQ(seen.rows, 1);
    CHECK_EQ(seen.last_depth, 2);
}

TEST(negative_and_upper_case_numbers_of_others_are_read)
{
    CHECK_EQ(read_text("heap profile: -1: -2 [3: 4] @ heapprofile\n"
                       "-1: -2 [3: 4] @ 0xABCDEF0123\n"),
             0);
    CHECK_EQ(seen.sum.inuse_bytes, -2);
    CHECK_EQ(seen.last_pcs[0], 0xabcdef0123);
}

TEST(other_writers_notes_in_the_maps_are_skipped)
{
    CHECK_EQ(read_text("heap profile: 1: 2 [3: 4] @ heapprofile\n"
                       "MAPPED_LIBRARIES:\n"
                       "build=/home/x\n"
                       "# end\n"
                       "40000000-40015000: /lib/y.so\n"
                       "50000000-50015000 r-xp /lib/z.so (@1000) ABCDEF\n"),
             0);
    CHECK_EQ(seen.mappings, 2);
    CHECK_STR(seen.last_build_id, "abcdef");
}

#define OURS                                                                                       \
    "heap profile: 1: 2 [03: 4] @ heapprofile\n"                                                   \
    "# libxprof 0.1.0\n"                                                                           \
    "# run 0123456789abcdef\n"                                                                     \
    "1: 2 [3: 4] @ 0x401234\n"

TEST(a_build_id_holds_for_the_mappings_in_its_range)
{
    CHECK_EQ(read_text(OURS "\nMAPPED_LIBRARIES:\n"
                            "# buildid 400000-500000 00ff23\n"
                            "00400000-00402000 r-xp 00000000 08:01 23 /bin/prog\n"
                            "# end\n"),
             0);
    CHECK_STR(seen.last_build_id, "00ff23");
    CHECK_EQ(read_text(OURS "\nMAPPED_LIBRARIES:\n"
                            "# buildid 400000-500000 00ff23\n"
                            "00400000-00402000 r-xp 00000000 08:01 23 /bin/prog\n"
                            "00600000-00602000 r-xp 00000000 08:01 23 /bin/other\n"
                            "# end\n"),
             0);
    CHECK_STR(seen.last_build_id, "");
}

TEST(a_file_of_ours_that_was_cut_anywhere_is_refused)
{
    static const char whole[] = OURS "\nMAPPED_LIBRARIES:\n"
                                     "# buildid 400000-500000 00ff23\n"
                                     "00400000-00402000 r-xp 00000000 08:01 23 /bin/prog\n"
                                     "# end\n";
    const size_t mark = strlen("heap profile: 1: 2 [03: 4] @ heapprofile\n# libxprof 0.1.0\n");

    CHECK_EQ(read_bytes(whole, sizeof(whole) - 1), 0);
    for (size_t length = 0; length < sizeof(whole) - 1; length++) {
        int code = read_bytes(whole, length);
        /* Right behind the header it is a file of anybody's. */
        if (length < mark && length > 0 && whole[length - 1] == '\n')
            continue;
        if (code >= 0)
            test_fail(__FILE__, __LINE__, "accepted with %zu bytes", length);
        if (length >= mark && !strstr(error.text, "cut"))
            test_fail(__FILE__, __LINE__, "%zu: '%s'", length, error.text);
    }
}

TEST(each_kind_of_damage_is_named_with_its_line)
{
    check_refused("", 0, "empty");
    check_refused("hello\n", 1, "not a heap profile");
    check_refused("hello", 1, "not a heap profile");
    check_refused("\x1f\x8b\x08\n", 1, "not a heap profile");
    check_refused("heap profile: 1: 2 [3: 4] @ heap", 1, "cut");
    check_refused("heap profile: 1: 2 [3: 4] @ contention\n", 1, "another type");
    check_refused("heap profile: 1: 2 [3: 4] @ heap_v2/x\n", 1, "sampling rate");
    check_refused("heap profile: 1: 2 [3: 4] @ heap_v2/99999999999999999999\n", 1, "sampling rate");
    check_refused("heap profile: 1: 2 [3: 4] @ heap_v2/-5\n", 1, "sampling rate");
    check_refused("heap profile: 1: 2 [3: 4] @ heapprofile x\n", 1, "after the profile type");
    check_refused("heap profile: 1: 2 [3: 4] x\n", 1, "after the numbers");
    check_refused("heap profile: 1: 2 [3: 99999999999999999999] @ heapprofile\n", 1, "too large");
    check_refused("heap profile: 1: 2 [3\n", 1, "expected 'OBJECTS");
    check_refused("%warn x\n--- symbol\n0x12\n", 3, "symbol block");
    check_refused("--- symbol\n0x12 a\n", 2, "cut before");
    check_refused("# only comments\n", 1, "cut before");

#define HEADER "heap profile: 1: 2 [3: 4] @ heapprofile\n"
    check_refused(HEADER "1: 2 [3: 4]\n", 2, "expected '@'");
    check_refused(HEADER "1: 2 [3: 4] @ 0x12 0x\n", 2, "address malformed");
    check_refused(HEADER "1: 2 [3: 4] @ 0x12 main\n", 2, "address malformed");
    check_refused(HEADER "1: 2 [3: 4] @ 0x12,0x13\n", 2, "address malformed");
    check_refused(HEADER "1: 2 [3: 4] @ 0x10000000000000000\n", 2, "address too large");
    check_refused(HEADER "1: 2 [3: 4] @ 0x12\n1: 9223372036854775808 [3: 4] @\n", 3, "too large");
    check_refused(HEADER "\n\nnonsense\n", 4, "expected 'OBJECTS");
    check_refused(HEADER "1: 2 [3: 4] @ 0x12\n1: 2 [3: 4] @ 0x", 3, "cut in the middle");
    check_refused(HEADER HEADER, 2, "second profile");
    check_refused(HEADER "MAPPED_LIBRARIES:\n" HEADER, 3, "second profile");
    check_refused(OURS "MAPPED_LIBRARIES:\nnonsense\n", 6, "/proc/PID/maps");
    check_refused(OURS "MAPPED_LIBRARIES:\n# buildid 1-2 xyz\n", 6, "build id malformed");
    check_refused(OURS "MAPPED_LIBRARIES:\n# end\nmore\n", 7, "after the last line");
}

TEST(a_jemalloc_profile_is_refused_by_its_name)
{
    const char *text = "heap_v2/524288\n"
                       "  t*: 28106: 56637512 [0: 0]\n";

    check_refused(text, 1, "jemalloc");
    CHECK(pp_heap_detect(text, strlen(text)));
}

TEST(lines_and_stacks_have_limits)
{
    size_t size = PP_LINE_MAX + 64;
    char *text = malloc(size);

    memset(text, 'x', size);
    CHECK_EQ(read_bytes(text, size), -EMSGSIZE);
    CHECK_EQ(error.line, 1);

    int n = snprintf(text, size, HEADER "1: 2 [3: 4] @");
    for (size_t i = 0; i < PP_DEPTH_MAX; i++)
        n += snprintf(text + n, size - (size_t)n, " 0x1");
    text[n] = '\n';
    CHECK_EQ(read_bytes(text, (size_t)n + 1), 0);
    CHECK_EQ(seen.last_depth, PP_DEPTH_MAX);
    n += snprintf(text + n, size - (size_t)n, " 0x1\n");
    CHECK_EQ(read_bytes(text, (size_t)n), -EMSGSIZE);
    CHECK(strstr(error.text, "too deep"));
    free(text);
}

TEST(a_visitor_can_end_the_reading_with_its_own_error)
{
    seen.row_result = -ENOMEM;
    CHECK_EQ(read_text(HEADER "1: 2 [3: 4] @ 0x1\n1: 2 [3: 4] @ 0x1\n"), -ENOMEM);
    CHECK_EQ(seen.rows, 1);
    CHECK_EQ(error.line, 2);
}

TEST(files_are_known_by_their_first_bytes)
{
    CHECK(pp_heap_detect(HEADER, sizeof(HEADER)));
    CHECK(pp_heap_detect("%warn x", 7));
    CHECK(pp_heap_detect("--- symbol\n", 11));
    CHECK(!pp_heap_detect("heap pro", 8));
    CHECK(!pp_heap_detect("\x1f\x8b", 2));
    CHECK(!pp_heap_detect("", 0));
}

TEST(escapes_are_undone_and_strays_are_kept)
{
    char buffer[64];
    static const char value[] = "a\\nb\\\\n\\x7fz\\q\\x1\\";

    size_t n = pp_comment_unescape(value, sizeof(value) - 1, buffer);
    buffer[n] = 0;
    CHECK_STR(buffer, "a\nb\\n\x7fz\\q\\x1\\");
}

TEST(a_key_is_a_whole_word)
{
    size_t length;

    CHECK(pp_comment_value("runs 1", 6, "run", &length) == NULL);
    CHECK(pp_comment_value("ru", 2, "run", &length) == NULL);
    CHECK(pp_comment_value("run", 3, "run", &length) != NULL);
    CHECK_EQ(length, 0);
    const char *value = pp_comment_value("run 01 23", 9, "run", &length);
    CHECK_EQ(length, 5);
    CHECK(memcmp(value, "01 23", 5) == 0);
}
