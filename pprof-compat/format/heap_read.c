/* SPDX-License-Identifier: MIT */
/* heap_read.c - takes a .heap text profile apart, line by line, and hands the pieces on. */
#include "format/heap_read.h"

#include <errno.h>
#include <string.h>

#include "format/maps_line.h"

#define HEADER_START   "heap profile:"
#define JEMALLOC_START "heap_v2/"

enum part {
    PART_START,   /* before the header */
    PART_SYMBOLS, /* in a "--- symbol" block */
    PART_BETWEEN, /* behind that block */
    PART_ROWS,
    PART_MAPS,
    PART_END, /* behind "# end" */
};

struct pp_heap_reader {
    struct pp_heap_visitor visitor;
    void *arg;
    struct pp_error error; /* code != 0: the reading is over */
    uint64_t line;         /* number of the line in work, from 1 */
    size_t line_length;    /* bytes of it kept so far in line_text */
    enum part part;
    bool ours; /* "# libxprof" was seen */
    /* The last "# buildid" line: it speaks of the mappings in [start, limit). */
    uint64_t build_id_start, build_id_limit;
    size_t build_id_length;
    char build_id[2 * PP_BUILD_ID_MAX + 1];
    /* From here on nothing is initialised. */
    uint64_t pcs[PP_DEPTH_MAX];
    char line_text[PP_LINE_MAX];
};

/* The unread rest of a line. */
struct rest {
    const char *at, *end;
};

static int fail(struct pp_heap_reader *r, int code, const char *text)
{
    size_t length = strlen(text);

    if (length >= sizeof(r->error.text))
        length = sizeof(r->error.text) - 1;
    memcpy(r->error.text, text, length);
    r->error.text[length] = 0;
    r->error.code = code;
    r->error.line = r->line;
    return code;
}

/* A visitor's own error keeps its code; the visitor knows the words. */
static int visited(struct pp_heap_reader *r, int code)
{
    return code < 0 ? fail(r, code, "the reading was ended") : 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void skip_blanks(struct rest *rest)
{
    while (rest->at < rest->end && is_blank(*rest->at))
        rest->at++;
}

static bool skip_text(struct rest *rest, const char *text)
{
    size_t length = strlen(text);

    if ((size_t)(rest->end - rest->at) < length || memcmp(rest->at, text, length) != 0)
        return false;
    rest->at += length;
    return true;
}

static bool starts_with(const char *text, size_t length, const char *start)
{
    size_t n = strlen(start);

    return length >= n && memcmp(text, start, n) == 0;
}

/* 0, -EPROTO when there is no number, -ERANGE when it does not fit. */
static int take_number(struct rest *rest, int64_t *ret_value)
{
    bool negative = rest->at < rest->end && *rest->at == '-';
    const char *first = rest->at + negative, *at = first;
    int64_t value = 0;

    for (; at < rest->end && *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *at - '0', &value))
            return -ERANGE;
    }
    if (at == first)
        return -EPROTO;
    rest->at = at;
    *ret_value = negative ? -value : value;
    return 0;
}

/* 0, -EPROTO when there is no hexadecimal number, -ERANGE when it is longer than 64 bits. */
static int take_address(struct rest *rest, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t digits = 0;

    if (!skip_text(rest, "0x"))
        skip_text(rest, "0X");
    for (; rest->at < rest->end; rest->at++, digits++) {
        unsigned c = (unsigned char)*rest->at;
        unsigned digit = c - '0' < 10 ? c - '0' : (c | 32) - 'a' < 6 ? (c | 32) - 'a' + 10 : 16;
        if (digit > 15)
            break;
        if (value >> 60)
            return -ERANGE;
        value = value << 4 | digit;
    }
    *ret_value = value;
    return digits > 0 ? 0 : -EPROTO;
}

/* "N: B [N: B]" of header and rows. */
static int take_counts(struct pp_heap_reader *r, struct rest *rest, struct pp_counts *ret_counts)
{
    int64_t values[4];

    for (int i = 0; i < 4; i++) {
        skip_blanks(rest);
        if (i == 2) {
            if (!skip_text(rest, "["))
                return fail(r, -EPROTO, "expected 'OBJECTS: BYTES [OBJECTS: BYTES] @'");
            skip_blanks(rest);
        }
        int code = take_number(rest, &values[i]);
        if (code == -ERANGE)
            return fail(r, -EPROTO, "number too large: more than 63 bits");
        if (code < 0 || (i % 2 == 0 && !skip_text(rest, ":")))
            return fail(r, -EPROTO, "expected 'OBJECTS: BYTES [OBJECTS: BYTES] @'");
    }
    skip_blanks(rest);
    if (!skip_text(rest, "]"))
        return fail(r, -EPROTO, "expected 'OBJECTS: BYTES [OBJECTS: BYTES] @'");
    *ret_counts = (struct pp_counts){values[0], values[1], values[2], values[3]};
    return 0;
}

static bool word_is(const char *word, size_t length, const char *text)
{
    return strlen(text) == length && memcmp(word, text, length) == 0;
}

/* What follows the '@' of the header: a type and, for sampled ones, "/RATE". */
static int take_kind(struct pp_heap_reader *r, struct rest *rest, struct pp_header *header)
{
    const char *type = rest->at;
    int64_t rate = 0;

    while (rest->at < rest->end && !is_blank(*rest->at) && *rest->at != '/')
        rest->at++;
    size_t length = (size_t)(rest->at - type);
    if (skip_text(rest, "/")) {
        if (take_number(rest, &rate) < 0 || rate < 0)
            return fail(r, -EPROTO, "the sampling rate in the header is not a number that fits");
    }
    skip_blanks(rest);
    if (rest->at != rest->end)
        return fail(r, -EPROTO, "text after the profile type in the header");

    if (word_is(type, length, "heapprofile")) {
        header->kind = PP_HEAPPROFILE;
    } else if (word_is(type, length, "heap_v2") || word_is(type, length, "heapz_v2")) {
        header->kind = PP_HEAP_V2;
        header->rate = rate;
    } else if (starts_with(type, length, "heap")) {
        header->kind = PP_HEAP_V1;
        header->rate = rate > 1 ? rate / 2 : rate;
    } else if (starts_with(type, length, "growth") || starts_with(type, length, "fragmentation")) {
        header->kind = PP_GROWTH;
    } else {
        return fail(r, -EPROTO, "not a heap profile: the header names another type of profile");
    }
    return 0;
}

static int read_header(struct pp_heap_reader *r, struct rest rest)
{
    struct pp_header header = {.kind = PP_HEAP_V1};
    struct pp_counts *t = &header.totals;

    int code = take_counts(r, &rest, t);
    if (code < 0)
        return code;
    skip_blanks(&rest);
    if (rest.at == rest.end) {
        /* Sampled files of old have equal pairs and no type; others hold plain numbers. */
        if (t->inuse_objects != t->alloc_objects || t->inuse_bytes != t->alloc_bytes)
            header.kind = PP_HEAPPROFILE;
    } else {
        if (!skip_text(&rest, "@"))
            return fail(r, -EPROTO, "text after the numbers of the header");
        skip_blanks(&rest);
        code = take_kind(r, &rest, &header);
        if (code < 0)
            return code;
    }
    r->part = PART_ROWS;
    return r->visitor.header ? visited(r, r->visitor.header(&header, r->arg)) : 0;
}

static int read_row(struct pp_heap_reader *r, struct rest rest)
{
    struct pp_row row = {.pcs = r->pcs};

    int code = take_counts(r, &rest, &row.counts);
    if (code < 0)
        return code;
    skip_blanks(&rest);
    if (!skip_text(&rest, "@"))
        return fail(r, -EPROTO, "expected '@' and the addresses after the numbers");
    for (;;) {
        const char *before = rest.at;
        skip_blanks(&rest);
        if (rest.at == rest.end)
            break;
        if (rest.at == before)
            return fail(r, -EPROTO, "address malformed: expected 0x and hexadecimal digits");
        if (row.depth == PP_DEPTH_MAX)
            return fail(r, -EMSGSIZE, "stack too deep: more than 65536 addresses");
        code = take_address(&rest, &r->pcs[row.depth]);
        if (code == -ERANGE)
            return fail(r, -EPROTO, "address too large: more than 64 bits");
        if (code < 0)
            return fail(r, -EPROTO, "address malformed: expected 0x and hexadecimal digits");
        row.depth++;
    }
    return r->visitor.row ? visited(r, r->visitor.row(&row, r->line, r->arg)) : 0;
}

/* "START-LIMIT HEX" of a "# buildid" line. */
static int keep_build_id(struct pp_heap_reader *r, const char *value, size_t length)
{
    struct rest rest = {value, value + length};
    uint64_t start, limit;

    if (take_address(&rest, &start) < 0 || !skip_text(&rest, "-") ||
        take_address(&rest, &limit) < 0 || !skip_text(&rest, " "))
        return fail(r, -EPROTO, "expected '# buildid START-LIMIT HEX'");
    size_t digits = (size_t)(rest.end - rest.at);
    if (digits == 0 || digits > 2 * PP_BUILD_ID_MAX)
        return fail(r, -EPROTO, "build id malformed: expected 2 to 128 hexadecimal digits");
    for (size_t i = 0; i < digits; i++) {
        char c = rest.at[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return fail(r, -EPROTO, "build id malformed: expected 2 to 128 hexadecimal digits");
    }
    memcpy(r->build_id, rest.at, digits);
    r->build_id[digits] = 0;
    r->build_id_length = digits;
    r->build_id_start = start;
    r->build_id_limit = limit;
    return 0;
}

static int read_comment(struct pp_heap_reader *r, const char *text, size_t length)
{
    const char *value;
    size_t value_length;

    if (length > 0 && is_blank(*text)) {
        text++;
        length--;
    }
    if (pp_comment_value(text, length, PP_KEY_LIBXPROF, &value_length))
        r->ours = true;
    value = pp_comment_value(text, length, PP_KEY_BUILD_ID, &value_length);
    if (value && r->ours) {
        int code = keep_build_id(r, value, value_length);
        if (code < 0)
            return code;
    }
    if (r->ours && r->part == PART_MAPS &&
        pp_comment_value(text, length, PP_KEY_END, &value_length))
        r->part = PART_END;
    if (!r->visitor.comment)
        return 0;
    return visited(r, r->visitor.comment(text, length, r->line, r->arg));
}

/* A line that is no '#' line but is told like one, under a key of ours. */
static int pass_as_comment(struct pp_heap_reader *r, const char *key, const char *value,
                           size_t length)
{
    char text[4096];
    size_t n = strlen(key);

    if (!r->visitor.comment)
        return 0;
    if (length > sizeof(text) - n - 1)
        length = sizeof(text) - n - 1;
    memcpy(text, key, n);
    text[n] = ' ';
    memcpy(text + n + 1, value, length);
    return visited(r, r->visitor.comment(text, n + 1 + length, r->line, r->arg));
}

static int read_mapping(struct pp_heap_reader *r, const char *line, size_t length)
{
    struct pp_mapping m;
    char id[2 * PP_BUILD_ID_MAX + 1];

    if (pp_maps_line(line, length, &m) < 0) {
        /* Other writers put notes of their own here, and every reader skips them. */
        return r->ours ? fail(r, -EPROTO, "not a line of /proc/PID/maps") : 0;
    }
    if (m.build_id) {
        for (size_t i = 0; i < m.build_id_length; i++)
            id[i] = (char)(m.build_id[i] | (m.build_id[i] > '9' ? 32 : 0));
        id[m.build_id_length] = 0;
        m.build_id = id;
    } else if (r->build_id_length > 0 && m.path_length > 0 && m.start >= r->build_id_start &&
               m.limit <= r->build_id_limit) {
        m.build_id = r->build_id;
        m.build_id_length = r->build_id_length;
    }
    return r->visitor.mapping ? visited(r, r->visitor.mapping(&m, r->line, r->arg)) : 0;
}

static int read_symbol(struct pp_heap_reader *r, const char *line, size_t length)
{
    static const char binary[] = "binary=";
    struct rest rest = {line, line + length};
    uint64_t address;

    if (starts_with(line, length, "---")) {
        r->part = PART_BETWEEN;
        return 0;
    }
    if (starts_with(line, length, binary)) {
        size_t n = sizeof(binary) - 1;
        return pass_as_comment(r, PP_KEY_BINARY, line + n, length - n);
    }
    skip_blanks(&rest);
    if (rest.at == rest.end)
        return 0;
    if (take_address(&rest, &address) < 0 || rest.at == rest.end || !is_blank(*rest.at))
        return fail(r, -EPROTO, "expected 'ADDRESS NAME' in the symbol block");
    skip_blanks(&rest);
    if (!r->visitor.symbol)
        return 0;
    return visited(r, r->visitor.symbol(address, rest.at, (size_t)(rest.end - rest.at), r->arg));
}

static int read_before_header(struct pp_heap_reader *r, const char *line, size_t length)
{
    struct rest rest = {line, line + length};

    if (skip_text(&rest, HEADER_START))
        return read_header(r, rest);
    if (r->part == PART_START && starts_with(line, length, JEMALLOC_START))
        return fail(r, -EPROTO,
                    "a jemalloc heap profile (heap_v2 with 't*:' rows): not read yet; "
                    "use jeprof for this file");
    if (skip_text(&rest, "%warn")) {
        skip_blanks(&rest);
        return pass_as_comment(r, PP_KEY_WARN, rest.at, (size_t)(rest.end - rest.at));
    }
    if (r->part == PART_START && starts_with(line, length, "--- symbol")) {
        r->part = PART_SYMBOLS;
        return 0;
    }
    skip_blanks(&rest);
    if (rest.at == rest.end)
        return 0;
    if (r->part == PART_BETWEEN && starts_with(line, length, "---"))
        return 0;
    return fail(r, -EPROTO, "not a heap profile: expected a line 'heap profile: ...'");
}

static int read_line(struct pp_heap_reader *r, const char *line, size_t length)
{
    r->line++;
    if (length > 0 && line[length - 1] == '\r')
        length--;
    if (r->part == PART_SYMBOLS)
        return read_symbol(r, line, length);
    if (length > 0 && *line == '#')
        return read_comment(r, line + 1, length - 1);
    if (r->part == PART_START || r->part == PART_BETWEEN)
        return read_before_header(r, line, length);
    if (starts_with(line, length, HEADER_START))
        return fail(r, -EPROTO, "a second profile starts here: pass the files one by one");

    struct rest rest = {line, line + length};
    skip_blanks(&rest);
    if (rest.at == rest.end)
        return 0;
    if (r->part == PART_END)
        return fail(r, -EPROTO, "text after the last line of the profile");
    if (r->part == PART_MAPS)
        return read_mapping(r, line, length);
    if (starts_with(line, length, "MAPPED_LIBRARIES:") ||
        starts_with(line, length, "--- Memory map:")) {
        r->part = PART_MAPS;
        return 0;
    }
    return read_row(r, rest);
}

size_t pp_heap_reader_size(void)
{
    return sizeof(struct pp_heap_reader);
}

void pp_heap_reader_init(struct pp_heap_reader *r, const struct pp_heap_visitor *visitor, void *arg)
{
    memset(r, 0, offsetof(struct pp_heap_reader, pcs));
    r->visitor = *visitor;
    r->arg = arg;
}

static int finish(const struct pp_heap_reader *r, struct pp_error *ret_error)
{
    if (r->error.code < 0)
        *ret_error = r->error;
    return r->error.code;
}

int pp_heap_reader_push(struct pp_heap_reader *r, const char *bytes, size_t size,
                        struct pp_error *ret_error)
{
    while (size > 0 && r->error.code == 0) {
        const char *newline = memchr(bytes, '\n', size);
        size_t n = newline ? (size_t)(newline - bytes) : size;

        if (n > PP_LINE_MAX - r->line_length) {
            r->line++;
            fail(r, -EMSGSIZE,
                 r->part == PART_START ? "not a heap profile: no line end in the first 1 MiB"
                                       : "line too long: more than 1 MiB");
            break;
        }
        /* Lines that arrive whole are read where they are. */
        if (newline && r->line_length == 0) {
            read_line(r, bytes, n);
        } else {
            memcpy(r->line_text + r->line_length, bytes, n);
            r->line_length += n;
            if (newline) {
                size_t length = r->line_length;
                r->line_length = 0;
                read_line(r, r->line_text, length);
            }
        }
        bytes += n + (newline != NULL);
        size -= n + (newline != NULL);
    }
    return finish(r, ret_error);
}

int pp_heap_reader_finish(struct pp_heap_reader *r, struct pp_error *ret_error)
{
    if (r->error.code < 0)
        return finish(r, ret_error);
    if (r->line == 0 && r->line_length == 0) {
        fail(r, -EPROTO, "not a heap profile: the file is empty");
        return finish(r, ret_error);
    }
    if (r->line_length > 0) {
        bool headless = r->part == PART_START && !pp_heap_detect(r->line_text, r->line_length);
        r->line++;
        fail(r, -EPROTO,
             headless ? "not a heap profile: expected a line 'heap profile: ...'"
                      : "the file is cut in the middle of its last line: copy it again, or take "
                        "the dump again");
    } else if (r->part == PART_START || r->part == PART_SYMBOLS || r->part == PART_BETWEEN) {
        fail(r, -EPROTO, "the file is cut before its 'heap profile:' line");
    } else if (r->ours && r->part == PART_ROWS) {
        fail(r, -EPROTO,
             "the file is cut: its MAPPED_LIBRARIES are missing; copy it again, or take "
             "the dump again");
    } else if (r->ours && r->part == PART_MAPS) {
        fail(r, -EPROTO,
             "the file is cut: its last line '# end' is missing; copy it again, or take "
             "the dump again");
    }
    return finish(r, ret_error);
}

bool pp_heap_detect(const char *bytes, size_t size)
{
    static const char *const starts[] = {HEADER_START, "--- symbol", "%warn", JEMALLOC_START,
                                         ("# " PP_KEY_LIBXPROF)};

    for (size_t i = 0; i < XP_ARRAY_LENGTH(starts); i++) {
        if (starts_with(bytes, size, starts[i]))
            return true;
    }
    return false;
}

const char *pp_comment_value(const char *text, size_t length, const char *key, size_t *ret_length)
{
    size_t n = strlen(key);

    if (length < n || memcmp(text, key, n) != 0 || (length > n && text[n] != ' '))
        return NULL;
    if (length == n) {
        *ret_length = 0;
        return text + n;
    }
    *ret_length = length - n - 1;
    return text + n + 1;
}

static int hex_pair(const char *at)
{
    int value = 0;

    for (int i = 0; i < 2; i++) {
        unsigned c = (unsigned char)at[i];
        unsigned digit = c - '0' < 10 ? c - '0' : c - 'a' < 6 ? c - 'a' + 10 : 16;
        if (digit > 15)
            return -1;
        value = value << 4 | (int)digit;
    }
    return value;
}

size_t pp_comment_unescape(const char *value, size_t length, char *buffer)
{
    size_t n = 0;

    for (size_t i = 0; i < length; i++) {
        size_t left = length - i;
        char c = value[i];
        if (c == '\\' && left >= 2 && value[i + 1] == 'n') {
            c = '\n';
            i += 1;
        } else if (c == '\\' && left >= 2 && value[i + 1] == '\\') {
            i += 1;
        } else if (c == '\\' && left >= 4 && value[i + 1] == 'x' && hex_pair(value + i + 2) >= 0) {
            c = (char)hex_pair(value + i + 2);
            i += 3;
        }
        buffer[n++] = c;
    }
    return n;
}
