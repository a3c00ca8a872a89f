/* SPDX-License-Identifier: MIT */
#include "format/heap_write.h"

#include <stdlib.h>

#include "format/heap_read.h"
#include "test.h"

static char buffer[1 << 20];

static struct xp_out begin(void)
{
    struct xp_out out;

    xp_out_init(&out, -1, buffer, sizeof(buffer) - 1);
    return out;
}

static const char *finish(struct xp_out *out)
{
    buffer[out->length] = 0;
    return buffer;
}

TEST(header_has_the_zero_that_makes_go_show_four_types)
{
    struct pp_counts totals = {23, 2323, 23, 2323};
    struct xp_out out = begin();

    pp_heap_write_header(&out, &totals);
    CHECK_STR(finish(&out), "heap profile:     23:     2323 [023: 2323] @ heapprofile\n");
}

TEST(header_of_an_empty_profile_has_a_bracket_that_differs_from_the_left_pair)
{
    struct pp_counts totals = {0};
    struct xp_out out = begin();

    pp_heap_write_header(&out, &totals);
    CHECK_STR(finish(&out), "heap profile:      0:        0 [00: 0] @ heapprofile\n");
}

TEST(row_is_laid_out_as_gperftools_does)
{
    const uint64_t pcs[] = {0x401ab, 0x7f0123456789};
    struct pp_row row = {{7, 707, 1234567, 123456789012}, pcs, 2};
    struct xp_out out = begin();

    pp_heap_write_row(&out, &row);
    CHECK_STR(finish(&out),
              "     7:      707 [1234567: 123456789012] @ 0x000401ab 0x7f0123456789\n");
}

TEST(row_of_the_deepest_stack_stays_below_64_kib)
{
    static uint64_t pcs[1024];
    struct pp_row row = {{INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}, pcs, 1024};
    struct xp_out out = begin();

    for (size_t i = 0; i < 1024; i++)
        pcs[i] = UINT64_MAX - i;
    pp_heap_write_row(&out, &row);
    CHECK(out.length < 65536);
}

TEST(comment_is_one_line_whatever_it_holds)
{
    struct xp_out out = begin();

    pp_heap_write_comment(&out, PP_KEY_COMMAND, "a\nb\\c\x01", 6);
    pp_heap_write_comment(&out, PP_KEY_END, NULL, 0);
    CHECK_STR(finish(&out), "# command a\\nb\\\\c\\x01\n# end\n");
}

TEST(comment_of_any_length_stays_below_64_kib_and_cuts_no_character)
{
    static char value[200000];
    struct xp_out out = begin();

    memset(value, '\n', sizeof(value));
    pp_heap_write_comment(&out, PP_KEY_COMMAND, value, sizeof(value));
    CHECK(out.length < 65536);
    CHECK(out.length > 50000);
    CHECK(buffer[out.length - 1] == '\n');
    CHECK(buffer[out.length - 2] == 'n');

    /* Three bytes each, and the limit falls inside one. */
    for (size_t i = 0; i + 3 <= sizeof(value); i += 3)
        memcpy(value + i, "\xe2\x82\xac", 3);
    for (size_t shift = 0; shift < 3; shift++) {
        out = begin();
        pp_heap_write_comment(&out, PP_KEY_COMMAND, value + 3 - shift, 150000);
        CHECK(out.length < 65536);
        CHECK(memcmp(buffer + out.length - 4, "\xe2\x82\xac\n", 4) == 0);
    }
}

TEST(mapping_is_a_line_of_proc_maps)
{
    struct pp_mapping m = {.start = 0x55d0f0000000,
                           .limit = 0x55d0f0001000,
                           .offset = 0x2000,
                           .device = (uint64_t)8 << 32 | 0x11,
                           .inode = 1234567,
                           .readable = true,
                           .executable = true,
                           .is_private = true,
                           .deleted = true,
                           .path = "/opt/my app\nx",
                           .path_length = 13};
    struct xp_out out = begin();

    pp_heap_write_maps_start(&out);
    pp_heap_write_mapping(&out, &m);
    m.path_length = 0;
    pp_heap_write_mapping(&out, &m);
    pp_heap_write_build_id(&out, m.start, m.limit, (const unsigned char *)"\x01\xab\xff", 3);
    pp_heap_write_end(&out);
    CHECK_STR(finish(&out),
              "\nMAPPED_LIBRARIES:\n"
              "55d0f0000000-55d0f0001000 r-xp 00002000 08:11 1234567 /opt/my app\\012x\n"
              "55d0f0000000-55d0f0001000 r-xp 00002000 08:11 1234567\n"
              "# buildid 55d0f0000000-55d0f0001000 01abff\n"
              "# end\n");
}

/* ---- what was written is what is read ---- */

struct copy {
    struct xp_out out;
    char text[4096];
};

static int copy_header(const struct pp_header *header, void *arg)
{
    struct copy *copy = arg;

    CHECK_EQ(header->kind, PP_HEAPPROFILE);
    CHECK_EQ(header->rate, 0);
    pp_heap_write_header(&copy->out, &header->totals);
    return 0;
}

static int copy_row(const struct pp_row *row, uint64_t line, void *arg)
{
    struct copy *copy = arg;

    CHECK(line > 1);
    pp_heap_write_row(&copy->out, row);
    return 0;
}

static int copy_comment(const char *text, size_t length, uint64_t line, void *arg)
{
    struct copy *copy = arg;
    char key[32], value[512];
    size_t key_length = 0, value_length;

    CHECK(line > 1);
    while (key_length < length && text[key_length] != ' ')
        key_length++;
    CHECK(key_length < sizeof(key));
    memcpy(key, text, key_length);
    key[key_length] = 0;
    const char *escaped = pp_comment_value(text, length, key, &value_length);
    CHECK(escaped != NULL);
    value_length = pp_comment_unescape(escaped, value_length, value);
    pp_heap_write_comment(&copy->out, key, value, value_length);
    return 0;
}

static int copy_mapping(const struct pp_mapping *mapping, uint64_t line, void *arg)
{
    struct copy *copy = arg;

    CHECK(line > 1);
    if (copy->out.length > 0 && !strstr(copy->text, "MAPPED"))
        pp_heap_write_maps_start(&copy->out);
    pp_heap_write_mapping(&copy->out, mapping);
    return 0;
}

TEST(what_is_written_is_read_back_equal_in_pieces_of_any_size)
{
    const uint64_t pcs[] = {0x401ab, 0x7f0123456789, UINT64_MAX};
    struct pp_counts totals = {7, 707, 13, 1313};
    struct pp_row rows[] = {{{7, 707, 8, 808}, pcs, 3}, {{0, 0, 5, 505}, pcs + 1, 1}};
    struct pp_mapping m = {.start = 0x400000,
                           .limit = 0x402000,
                           .offset = 0x1000,
                           .device = (uint64_t)0xfe << 32 | 1,
                           .inode = 23,
                           .readable = true,
                           .executable = true,
                           .path = "/bin/x y",
                           .path_length = 8};
    struct xp_out out = begin();

    pp_heap_write_header(&out, &totals);
    pp_heap_write_comment(&out, PP_KEY_LIBXPROF, XP_VERSION, strlen(XP_VERSION));
    pp_heap_write_comment(&out, PP_KEY_COMMAND, "sh -c 'a\nb\\n\x7f'", 14);
    pp_heap_write_row(&out, &rows[0]);
    pp_heap_write_row(&out, &rows[1]);
    pp_heap_write_maps_start(&out);
    pp_heap_write_mapping(&out, &m);
    pp_heap_write_end(&out);
    finish(&out);

    const struct pp_heap_visitor visitor = {copy_header, copy_row, copy_comment, copy_mapping,
                                            NULL};
    struct pp_heap_reader *reader = malloc(pp_heap_reader_size());
    for (size_t piece = 1; piece <= out.length; piece++) {
        struct copy copy;
        struct pp_error error;

        memset(copy.text, 0, sizeof(copy.text));
        xp_out_init(&copy.out, -1, copy.text, sizeof(copy.text) - 1);
        pp_heap_reader_init(reader, &visitor, &copy);
        for (size_t at = 0; at < out.length; at += piece) {
            size_t n = out.length - at < piece ? out.length - at : piece;
            CHECK_EQ(pp_heap_reader_push(reader, buffer + at, n, &error), 0);
        }
        CHECK_EQ(pp_heap_reader_finish(reader, &error), 0);
        CHECK_STR(copy.text, buffer);
    }
    free(reader);
}
