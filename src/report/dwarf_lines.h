/* SPDX-License-Identifier: MIT */
/* dwarf_lines.h - the line table of one unit: which addresses belong to which line of which file.
 *
 * Layer report; uses nothing. Our own reader, for two reasons: libdwarf makes an object of every
 * row (0.4 us each, the larger part of a report), and its 2021 release takes every row that begins
 * an epilogue for the end of a sequence. DWARF 2 to 5. All input is hostile and checked. */
#ifndef HR_REPORT_DWARF_LINES_H
#define HR_REPORT_DWARF_LINES_H

#include <stdint.h>

struct hr_lines_input {
    const uint8_t *line, *line_str, *str; /* sections; NULL when missing */
    uint64_t line_size, line_str_size, str_size;
    uint64_t offset;       /* of the table in line: DW_AT_stmt_list */
    const char *directory; /* where the compiler ran; may be NULL; borrowed */
};

struct hr_lines;

/* 0, -ENOEXEC damaged, -ENOMEM. */
int hr_lines_open(const struct hr_lines_input *input, struct hr_lines **ret_lines);
void hr_lines_close(struct hr_lines *lines); /* NULL is fine */

/* Calls take for each row that covers addresses, [low, high). Rows of code that the linker dropped
 * are left out. -ENOEXEC when the program is damaged: what came before is good. */
int hr_lines_each(struct hr_lines *lines,
                  void (*take)(uint64_t low, uint64_t high, uint64_t file, uint64_t line,
                               void *context),
                  void *context);

/* Full path of a file by its number in the table; NULL unknown. Valid until close. */
const char *hr_lines_file(struct hr_lines *lines, uint64_t number);

#endif
