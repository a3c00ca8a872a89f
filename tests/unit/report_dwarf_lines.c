/* SPDX-License-Identifier: MIT */
/* report_dwarf_lines.c - line number programs of all versions, and of none. */
#include <errno.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "report/dwarf_lines.h"
#include "test.h"

/* A table under construction. */
static struct {
    uint8_t bytes[4096];
    size_t size;
} table;

static void put(uint64_t value, unsigned size)
{
    memcpy(table.bytes + table.size, &value, size);
    table.size += size;
}

static void put_text(const char *text)
{
    memcpy(table.bytes + table.size, text, strlen(text) + 1);
    table.size += strlen(text) + 1;
}

static const char line_strings[] = "/work\0include\0a.c\0b.h"; /* at 0, 6, 14, 18 */

/* Header up to the program; version 4 or 5. Line base -3, line range 12, opcode base 13. */
static void begin(unsigned version)
{
    static const uint8_t lengths[12] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    table.size = 0;
    put(0, 4); /* length: set by end() */
    put(version, 2);
    if (version >= 5)
        put(8, 2);
    put(0, 4); /* header length: set below */
    size_t header = table.size;
    put(1, 1);
    if (version >= 4)
        put(1, 1);
    put(1, 1);
    put((uint8_t)-3, 1);
    put(12, 1);
    put(13, 1);
    memcpy(table.bytes + table.size, lengths, sizeof(lengths));
    table.size += sizeof(lengths);
    if (version >= 5) {
        put(0x1f0101, 3); /* directories: path as line_strp */
        put(2, 1);
        put(0, 4);
        put(6, 4);
        put(0x021f0102, 4); /* files: path as line_strp, */
        put(0x0b, 1);       /* directory as data1 */
        put(3, 1);
        put(14, 4);
        put(0, 1);
        put(14, 4);
        put(0, 1);
        put(18, 4);
        put(1, 1);
    } else {
        put_text("include");
        put_text("");
        put_text("a.c");
        put(0, 3);
        put_text("b.h");
        put(1, 3);
        put_text("/abs/c.h");
        put(1, 3);
        put_text("");
    }
    uint32_t length = (uint32_t)(table.size - header);
    memcpy(table.bytes + header - 4, &length, 4);
}

static void set_address(uint64_t address)
{
    put(0x020900, 3);
    put(address, 8);
}

static void end_sequence(void)
{
    put(0x010100, 3);
}

static void end(void)
{
    uint32_t length = (uint32_t)table.size - 4;
    memcpy(table.bytes, &length, 4);
}

static struct hr_lines *open_table(const char *directory)
{
    const struct hr_lines_input input = {.line = table.bytes,
                                         .line_size = table.size,
                                         .line_str = (const uint8_t *)line_strings,
                                         .line_str_size = sizeof(line_strings),
                                         .directory = directory};
    struct hr_lines *lines = NULL;
    return hr_lines_open(&input, &lines) == 0 ? lines : NULL;
}

static char text[4096];

static void print(uint64_t low, uint64_t high, uint64_t file, uint64_t line, void *context)
{
    (void)context;
    size_t used = strlen(text);
    snprintf(text + used, sizeof(text) - used, "%llx-%llx %llu:%llu\n", (unsigned long long)low,
             (unsigned long long)high, (unsigned long long)file, (unsigned long long)line);
}

static int print_rows(void)
{
    struct hr_lines *lines = open_table("/work");
    text[0] = 0;
    CHECK(lines != NULL);
    int r = hr_lines_each(lines, print, NULL);
    hr_lines_close(lines);
    return r;
}

TEST(rows_reach_to_the_next_row)
{
    for (unsigned version = 2; version <= 5; version++) {
        begin(version);
        set_address(0x401000);
        put(0x6403, 2);              /* advance line by -28: 1 - 28 wraps, */
        put(0x2703, 2);              /* and by 39: line 12 */
        put(0x01, 1);                /* copy */
        put(0x0204, 2);              /* set file 2 */
        put(13 + 12 * 5 + 3 + 4, 1); /* special: address + 5, line + 4 */
        put(0x1002, 2);              /* advance pc by 16 */
        end_sequence();
        end();
        CHECK_EQ(print_rows(), 0);
        CHECK_STR(text, "401000-401005 1:12\n401005-401015 2:16\n");
    }
}

TEST(other_opcodes_move_as_the_standard_says)
{
    begin(4);
    set_address(0x401000);
    put(0x01, 1);
    put(0x08, 1); /* const_add_pc: (255 - 13) / 12 = 20 */
    put(0x01, 1);
    put(0x010009, 3); /* fixed_advance_pc by 256 */
    put(0x01, 1);
    put(0x06, 1);   /* negate_stmt */
    put(0x0b, 1);   /* epilogue_begin does not end the sequence */
    put(0x0505, 2); /* column */
    put(0x1002, 2);
    put(0x070c, 2); /* isa */
    end_sequence();
    end();
    CHECK_EQ(print_rows(), 0);
    CHECK_STR(text, "401000-401014 1:1\n401014-401114 1:1\n401114-401124 1:1\n");
}

TEST(unknown_opcodes_are_skipped_by_their_lengths)
{
    begin(4);
    set_address(0x401000);
    put(0x01, 1);
    put(0x00, 1);
    put(0x03, 1);
    put(0x80, 1);
    put(0xffff, 2);
    put(0x1002, 2);
    end_sequence();
    end();
    CHECK_EQ(print_rows(), 0);
    CHECK_STR(text, "401000-401010 1:1\n");
}

TEST(code_that_the_linker_dropped_has_no_rows)
{
    begin(4);
    for (uint64_t start = 0; start <= 2; start++) {
        set_address(start);
        put(0x01, 1);
        put(0x1002, 2);
        put(0x01, 1);
        put(0x1002, 2);
        end_sequence();
    }
    end();
    CHECK_EQ(print_rows(), 0);
    CHECK_STR(text, "2-12 1:1\n12-22 1:1\n");
}

TEST(a_sequence_that_never_ends_covers_what_its_rows_say)
{
    begin(4);
    set_address(0x401000);
    put(0x01, 1);
    put(0x1002, 2);
    put(0x01, 1);
    end();
    CHECK_EQ(print_rows(), 0);
    CHECK_STR(text, "401000-401010 1:1\n");
}

TEST(files_have_their_full_path)
{
    begin(4);
    end();
    struct hr_lines *lines = open_table("/work");
    CHECK(hr_lines_file(lines, 0) == NULL);
    CHECK_STR(hr_lines_file(lines, 1), "/work/a.c");
    CHECK_STR(hr_lines_file(lines, 2), "/work/include/b.h");
    CHECK_STR(hr_lines_file(lines, 3), "/abs/c.h");
    CHECK(hr_lines_file(lines, 4) == NULL);
    CHECK(hr_lines_file(lines, UINT64_MAX) == NULL);
    hr_lines_close(lines);
}

TEST(version_5_counts_files_from_0)
{
    begin(5);
    end();
    struct hr_lines *lines = open_table("/elsewhere");
    CHECK_STR(hr_lines_file(lines, 0), "/work/a.c");
    CHECK_STR(hr_lines_file(lines, 1), "/work/a.c");
    CHECK_STR(hr_lines_file(lines, 2), "/elsewhere/include/b.h");
    CHECK(hr_lines_file(lines, 3) == NULL);
    hr_lines_close(lines);
}

TEST(without_a_directory_paths_stay_relative)
{
    begin(4);
    end();
    struct hr_lines *lines = open_table(NULL);
    CHECK_STR(hr_lines_file(lines, 1), "a.c");
    CHECK_STR(hr_lines_file(lines, 2), "include/b.h");
    hr_lines_close(lines);
}

static void use(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size + 1);
    memcpy(copy, bytes, size);
    const struct hr_lines_input input = {.line = copy,
                                         .line_size = size,
                                         .line_str = (const uint8_t *)line_strings,
                                         .line_str_size = sizeof(line_strings)};
    struct hr_lines *lines;
    if (hr_lines_open(&input, &lines) == 0) {
        text[0] = 0;
        hr_lines_each(lines, print, NULL);
        for (uint64_t i = 0; i < 5; i++)
            hr_lines_file(lines, i);
        hr_lines_close(lines);
    }
    free(copy);
}

TEST(every_truncation_and_every_changed_byte_is_survived)
{
    for (unsigned version = 2; version <= 5; version++) {
        begin(version);
        set_address(0x401000);
        put(0x01, 1);
        put(0x1002, 2);
        end_sequence();
        end();
        for (size_t size = 0; size < table.size; size++)
            use(table.bytes, size);
        for (size_t at = 0; at < table.size; at++)
            for (unsigned value = 0; value < 256; value += 51) {
                uint8_t before = table.bytes[at];
                table.bytes[at] = (uint8_t)value;
                use(table.bytes, table.size);
                table.bytes[at] = before;
            }
    }
}

TEST(a_table_that_is_none_is_refused)
{
    struct hr_lines *lines;
    struct hr_lines_input input = {.line = NULL};
    CHECK_EQ(hr_lines_open(&input, &lines), -ENOEXEC);
    begin(4);
    end();
    table.bytes[4] = 6; /* a version to come */
    CHECK(open_table(NULL) == NULL);
    begin(4);
    end();
    input =
        (struct hr_lines_input){.line = table.bytes, .line_size = table.size, .offset = table.size};
    CHECK_EQ(hr_lines_open(&input, &lines), -ENOEXEC);
}
