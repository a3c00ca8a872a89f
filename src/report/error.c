/* SPDX-License-Identifier: MIT */
/* error.c - fills the one error object of a run; the first one wins. */
#include "report/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The end of a path says more than its start. */
static void copy_place(char *to, size_t size, const char *place)
{
    size_t length = strlen(place);

    if (length < size) {
        memcpy(to, place, length + 1);
        return;
    }
    memcpy(to, "...", 3);
    memcpy(to + 3, place + length - (size - 4), size - 3);
}

/* Names and texts out of files end up here: a terminal must not obey them. */
static void make_one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

int hr_error_set(struct hr_error *err, int code, const char *place, uint64_t line,
                 const char *format, ...)
{
    va_list args;

    if (!err || err->code)
        return code;
    err->code = code;
    err->line = line;
    copy_place(err->place, sizeof(err->place), place ? place : "");
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    make_one_line(err->place);
    make_one_line(err->text);
    return code;
}
