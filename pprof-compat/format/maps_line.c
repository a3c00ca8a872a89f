/* SPDX-License-Identifier: MIT */
/* maps_line.c - one line of /proc/PID/maps, or of the briefer forms that other writers use. */
#include "format/maps_line.h"

#include <errno.h>
#include <string.h>

/* The unread rest of the line. */
struct rest {
    const char *at, *end;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static void skip_blanks(struct rest *rest)
{
    while (rest->at < rest->end && is_blank(*rest->at))
        rest->at++;
}

static bool skip_char(struct rest *rest, char c)
{
    if (rest->at == rest->end || *rest->at != c)
        return false;
    rest->at++;
    return true;
}

/* A hexadecimal number of 64 bits at most, with or without 0x. */
static bool take_hex(struct rest *rest, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t digits = 0;

    if (rest->end - rest->at > 2 && rest->at[0] == '0' && rest->at[1] == 'x')
        rest->at += 2;
    for (; rest->at < rest->end; rest->at++, digits++) {
        int digit = hex_digit(*rest->at);
        if (digit < 0)
            break;
        if (value >> 60)
            return false;
        value = value << 4 | (uint64_t)digit;
    }
    *ret_value = value;
    return digits > 0;
}

static bool take_decimal(struct rest *rest, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t digits = 0;

    for (; rest->at < rest->end && *rest->at >= '0' && *rest->at <= '9'; rest->at++, digits++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*rest->at - '0'), &value))
            return false;
    }
    *ret_value = value;
    return digits > 0;
}

/* The next word without moving on; length 0 at the end. */
static size_t peek_word(const struct rest *rest)
{
    const char *at = rest->at;

    while (at < rest->end && !is_blank(*at))
        at++;
    return (size_t)(at - rest->at);
}

static bool take_permissions(struct rest *rest, struct pp_mapping *m)
{
    size_t length = peek_word(rest);

    if (length < 3 || length > 4)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (rest->at[i] == 0 || !strchr("-rwxsp", rest->at[i]))
            return false;
    }
    m->readable = memchr(rest->at, 'r', length) != NULL;
    m->writable = memchr(rest->at, 'w', length) != NULL;
    m->executable = memchr(rest->at, 'x', length) != NULL;
    m->is_private = memchr(rest->at, 's', length) == NULL;
    rest->at += length;
    return true;
}

/* "OFFSET MAJOR:MINOR INODE", all or nothing. */
static bool take_file_place(struct rest *rest, struct pp_mapping *m)
{
    struct rest r = *rest;
    uint64_t offset, major, minor, inode;

    if (!take_hex(&r, &offset) || r.at == r.end || !is_blank(*r.at))
        return false;
    skip_blanks(&r);
    if (!take_hex(&r, &major) || !skip_char(&r, ':') || !take_hex(&r, &minor) || r.at == r.end ||
        !is_blank(*r.at) || major > UINT32_MAX || minor > UINT32_MAX)
        return false;
    skip_blanks(&r);
    if (!take_decimal(&r, &inode) || (r.at < r.end && !is_blank(*r.at)))
        return false;
    m->offset = offset;
    m->device = major << 32 | minor;
    m->inode = inode;
    *rest = r;
    return true;
}

static bool is_build_id(const char *at, size_t length)
{
    if (length < 2 || length > 2 * PP_BUILD_ID_MAX)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (hex_digit(at[i]) < 0)
            return false;
    }
    return true;
}

/* " (@OFFSET) BUILDID" behind the path, both optional; *end goes back to the path's end. */
static void take_brief_tail(const char *start, const char **end, struct pp_mapping *m)
{
    const char *word = *end;

    while (word > start && !is_blank(word[-1]))
        word--;
    bool has_id = word > start && is_build_id(word, (size_t)(*end - word));
    const char *before = word;
    while (before > start && is_blank(before[-1]))
        before--;
    if (!has_id)
        before = *end;

    const char *mark = before;
    while (mark > start && !is_blank(mark[-1]))
        mark--;
    struct rest r = {mark, before};
    uint64_t offset;
    bool has_offset = skip_char(&r, '(') && skip_char(&r, '@') && take_hex(&r, &offset) &&
                      skip_char(&r, ')') && r.at == r.end;

    /* A last word of a few hex digits may well belong to a path with blanks; one of 16 or more, or
     * one behind an offset, is an id. */
    if (has_id && (has_offset || *end - word >= 16)) {
        m->build_id = word;
        m->build_id_length = (size_t)(*end - word);
        *end = before;
    }
    if (has_offset) {
        m->offset = offset;
        while (mark > start && is_blank(mark[-1]))
            mark--;
        *end = mark;
    }
}

int pp_maps_line(const char *line, size_t length, struct pp_mapping *ret_mapping)
{
    static const char deleted[] = " (deleted)";
    struct pp_mapping m = {.path = "", .is_private = true};
    struct rest rest = {line, line + length};

    skip_blanks(&rest);
    if (!take_hex(&rest, &m.start) || !skip_char(&rest, '-') || !take_hex(&rest, &m.limit) ||
        m.start >= m.limit)
        return -EPROTO;
    skip_char(&rest, ':');
    if (rest.at < rest.end && !is_blank(*rest.at))
        return -EPROTO;
    skip_blanks(&rest);
    if (!take_permissions(&rest, &m)) {
        /* Who leaves the permissions out lists code only. */
        m.readable = m.executable = true;
    }
    skip_blanks(&rest);
    bool full = take_file_place(&rest, &m);
    skip_blanks(&rest);

    const char *end = rest.end;
    while (end > rest.at && (is_blank(end[-1]) || end[-1] == '\r'))
        end--;
    if (!full)
        take_brief_tail(rest.at, &end, &m);
    if ((size_t)(end - rest.at) > sizeof(deleted) - 1 &&
        memcmp(end - (sizeof(deleted) - 1), deleted, sizeof(deleted) - 1) == 0) {
        m.deleted = true;
        end -= sizeof(deleted) - 1;
    }
    if (end > rest.at) {
        m.path = rest.at;
        m.path_length = (size_t)(end - rest.at);
    }
    *ret_mapping = m;
    return 0;
}
