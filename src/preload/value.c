/* SPDX-License-Identifier: MIT */
/* value.c - what a text of the environment means. */
#include "preload/value.h"

#include <limits.h>
#include <string.h>

/* A rate of 1, gperftools' default, is our default delay. */
#define RATE_ONE_MS 100u

static const char json[] = "json:";

static bool parse_digits(const char **text, uint64_t *ret_value)
{
    const char *at = *text;
    uint64_t value = 0;

    if (*at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return false;
    }
    *text = at;
    *ret_value = value;
    return true;
}

static bool parse_count(const char *text, uint64_t *ret_value)
{
    return parse_digits(&text, ret_value) && *text == 0;
}

static bool parse_size(const char *text, uint64_t *ret_value)
{
    static const char units[] = "kmgt";
    uint64_t value;

    if (!parse_digits(&text, &value))
        return false;
    if (*text) {
        const char *unit = strchr(units, *text | 0x20);
        if (!unit || __builtin_mul_overflow(value, 1ull << (10 * (unit - units + 1)), &value))
            return false;
        text++;
        /* k, kB and KiB are all 1024 here, as memory is counted. */
        if (*text == 'i')
            text++;
        if (*text == 'B' || *text == 'b')
            text++;
    }
    *ret_value = value;
    return *text == 0;
}

static size_t length_until(const char *text, char end)
{
    const char *at = strchr(text, end);
    return at ? (size_t)(at - text) : strlen(text);
}

/* One of the words, which text[0..length) must be. */
static bool parse_word(const char *text, size_t length, const char *words, uint64_t *ret_index)
{
    for (uint64_t index = 0;; index++) {
        size_t size = length_until(words, '|');
        if (size == length && memcmp(words, text, size) == 0) {
            *ret_index = index;
            return true;
        }
        if (words[size] == 0)
            return false;
        words += size + 1;
    }
}

static bool parse_flag(const char *text, uint64_t *ret_value)
{
    static const char *const pairs[] = {"0|1", "false|true", "no|yes", "off|on", "f|t", "n|y"};

    for (size_t i = 0; i < XP_ARRAY_LENGTH(pairs); i++) {
        if (parse_word(text, strlen(text), pairs[i], ret_value))
            return true;
    }
    return false;
}

static uint64_t word_count(const char *words)
{
    uint64_t count = 1;

    for (; *words; words++)
        count += *words == '|';
    return count;
}

static bool parse_less(const char *text, const char *words, uint64_t *ret_bits)
{
    uint64_t bits = (1ull << word_count(words)) - 1, index;

    for (;;) {
        size_t length = length_until(text, ',');
        if (*text != '-' || !parse_word(text + 1, length - 1, words, &index))
            return false;
        bits &= ~(1ull << index);
        if (text[length] == 0) {
            *ret_bits = bits;
            return true;
        }
        text += length + 1;
    }
}

static bool parse_signed(const char *text, uint64_t *ret_value)
{
    bool negative = *text == '-';
    uint64_t value;

    if (!parse_count(text + negative, &value) || value > INT64_MAX)
        return false;
    *ret_value = (uint64_t)(negative ? -(int64_t)value : (int64_t)value);
    return true;
}

/* A decimal fraction in thousandths; digits behind the third one do not count. */
static bool parse_thousandths(const char *text, uint64_t *ret_value)
{
    uint64_t value;

    if (!parse_digits(&text, &value) || __builtin_mul_overflow(value, 1000, &value))
        return false;
    if (*text == '.') {
        uint64_t weight = 100;
        for (text++; *text >= '0' && *text <= '9'; text++, weight /= 10)
            value += (uint64_t)(*text - '0') * weight;
    }
    *ret_value = value;
    return *text == 0;
}

static bool in_range(const struct xp_value_type *type, uint64_t value)
{
    return type->least <= value && value <= type->most;
}

static bool parse_number(const struct xp_value_type *type, const char *text, uint64_t *ret_value)
{
    if (type->words && strcmp(text, type->words) == 0) {
        *ret_value = XP_VALUE_WORD;
        return true;
    }
    return (type->kind == XP_VALUE_SIZE ? parse_size(text, ret_value)
                                        : parse_count(text, ret_value)) &&
           in_range(type, *ret_value);
}

static bool parse(const struct xp_value_type *type, const char *text, uint64_t *ret_value)
{
    switch (type->kind) {
    case XP_VALUE_TEXT:
        *ret_value = 0;
        return true;
    case XP_VALUE_FLAG:
        return parse_flag(text, ret_value);
    case XP_VALUE_SIZE:
    case XP_VALUE_COUNT:
        return parse_number(type, text, ret_value);
    case XP_VALUE_SIGNED:
        return parse_signed(text, ret_value) && (int64_t)*ret_value >= (int64_t)type->least &&
               (int64_t)*ret_value <= (int64_t)type->most;
    case XP_VALUE_CHOICE:
        return parse_word(text, strlen(text), type->words, ret_value);
    case XP_VALUE_LESS:
        return parse_less(text, type->words, ret_value);
    case XP_VALUE_STATS:
        if (strncmp(text, json, sizeof(json) - 1) == 0 && *xp_value_stats_file(text)) {
            *ret_value = XP_STATS_JSON;
            return true;
        }
        return parse_flag(text, ret_value);
    case XP_VALUE_MIB:
        if (!parse_count(text, ret_value) || !in_range(type, *ret_value))
            return false;
        *ret_value <<= 20;
        return true;
    case XP_VALUE_RATE:
        if (!parse_thousandths(text, ret_value) || !in_range(type, *ret_value))
            return false;
        *ret_value = *ret_value ? RATE_ONE_MS * 1000u / *ret_value : XP_VALUE_WORD;
        return true;
    case XP_VALUE_ABOVE:
        if (!parse_signed(text, ret_value))
            return false;
        if ((int64_t)*ret_value < 0)
            *ret_value = 0;
        return true;
    }
    return false;
}

bool xp_value_parse(const struct xp_value_type *type, const char *text, uint64_t *ret_value)
{
    uint64_t value;

    if (!parse(type, text, &value))
        return false;
    *ret_value = value;
    return true;
}

const char *xp_value_stats_file(const char *text)
{
    return text + sizeof(json) - 1;
}

static void print_words(struct xp_out *out, const char *words, const char *before, const char *glue)
{
    xp_out_text(out, before);
    for (; *words; words++) {
        if (*words != '|') {
            xp_out_char(out, *words);
            continue;
        }
        xp_out_text(out, glue);
        xp_out_text(out, before);
    }
}

static void print_range(struct xp_out *out, const char *what, const struct xp_value_type *type)
{
    xp_out_text(out, what);
    xp_out_text(out, " from ");
    xp_out_unsigned(out, type->least, 0);
    xp_out_text(out, " to ");
    xp_out_unsigned(out, type->most, 0);
    if (type->words) {
        xp_out_text(out, " or ");
        xp_out_text(out, type->words);
    }
}

void xp_value_print_type(struct xp_out *out, const struct xp_value_type *type)
{
    switch (type->kind) {
    case XP_VALUE_TEXT:
        xp_out_text(out, "a text");
        break;
    case XP_VALUE_FLAG:
        xp_out_text(out, "0 or 1");
        break;
    case XP_VALUE_SIZE:
        print_range(out, "a size in bytes (k, M, G may follow)", type);
        break;
    case XP_VALUE_COUNT:
        print_range(out, "a whole number", type);
        break;
    case XP_VALUE_SIGNED:
        xp_out_text(out, "a whole number");
        break;
    case XP_VALUE_CHOICE:
        print_words(out, type->words, "", " or ");
        break;
    case XP_VALUE_LESS:
        xp_out_text(out, "a list of some of ");
        print_words(out, type->words, "-", ",");
        break;
    case XP_VALUE_STATS:
        xp_out_text(out, "0, 1 or json:FILE");
        break;
    case XP_VALUE_MIB:
        print_range(out, "a number of MiB", type);
        break;
    case XP_VALUE_RATE:
        xp_out_text(out, "a rate from ");
        xp_out_unsigned(out, type->least / 1000, 0);
        xp_out_text(out, " to ");
        xp_out_unsigned(out, type->most / 1000, 0);
        break;
    case XP_VALUE_ABOVE:
        xp_out_text(out, "a whole number of bytes");
        break;
    }
}

void xp_value_print(struct xp_out *out, const struct xp_value_type *type, uint64_t value)
{
    const char *word = type->words;

    switch (type->kind) {
    case XP_VALUE_TEXT:
        xp_out_text(out, "unset");
        break;
    case XP_VALUE_CHOICE:
        while (value-- > 0)
            word = strchr(word, '|') + 1;
        xp_out_bytes(out, word, length_until(word, '|'));
        break;
    case XP_VALUE_LESS:
        if (value == (1ull << word_count(word)) - 1) {
            xp_out_text(out, "all");
            break;
        }
        for (const char *glue = "-"; word; value >>= 1) {
            if (!(value & 1)) {
                xp_out_text(out, glue);
                xp_out_bytes(out, word, length_until(word, '|'));
                glue = ",-";
            }
            word = strchr(word, '|');
            word = word ? word + 1 : NULL;
        }
        break;
    case XP_VALUE_SIGNED:
        xp_out_signed(out, (int64_t)value, 0);
        break;
    default:
        if (word && value == XP_VALUE_WORD)
            xp_out_text(out, word);
        else
            xp_out_unsigned(out, value, 0);
        break;
    }
}
