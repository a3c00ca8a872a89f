/* SPDX-License-Identifier: MIT */
/* demangle.c - libiberty does the grammar of mangled names; here readable names get shorter. */
#include "report/demangle.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

/* Rust's older scheme looks like C++ and ends in a hash component: "17h" and 16 hex digits. */
static bool is_rust(const char *symbol)
{
    size_t length = strlen(symbol);
    if (symbol[0] == '_' && symbol[1] == 'R')
        return true;
    if (strncmp(symbol, "_ZN", 3) != 0 || length < 24 || symbol[length - 1] != 'E')
        return false;
    const char *hash = symbol + length - 20;
    if (strncmp(hash, "17h", 3) != 0)
        return false;
    for (int i = 3; i < 19; i++)
        if (!isxdigit((unsigned char)hash[i]))
            return false;
    return true;
}

/* Where the suffixes of compiler clones begin, or the end: ".cold", ".part.0", ".llvm.123". */
static size_t clone_suffix(const char *symbol)
{
    static const char *const words[] = {"cold",       "constprop", "isra", "llvm",
                                        "localalias", "lto_priv",  "part", "uniq"};
    for (const char *dot = strchr(symbol + (symbol[0] != 0), '.'); dot; dot = strchr(dot + 1, '.'))
        for (size_t i = 0; i < XP_ARRAY_LENGTH(words); i++) {
            size_t length = strlen(words[i]);
            if (strncmp(dot + 1, words[i], length) == 0 &&
                (dot[length + 1] == 0 || dot[length + 1] == '.'))
                return (size_t)(dot - symbol);
        }
    return strlen(symbol);
}

/* ---- shortening readable C++ names ---- */

struct shorten {
    const char *in;
    char *out;
    size_t out_length;
    size_t keep;      /* out[0, keep) is a prefix such as "vtable for " */
    size_t name;      /* where the name begins: after the return type */
    bool in_operator; /* spaces now belong to the operator's own name */
    bool templates;   /* keep template arguments */
    unsigned braces;
};

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Length of the bracketed group at text, or to the end when it is never closed. Inside round
 * brackets < and > are comparisons or balanced arguments: of no matter. */
static size_t group_length(const char *text)
{
    char open = text[0];
    size_t angle = 0, round = 0;
    size_t i = 0;
    for (; text[i]; i++) {
        char c = text[i];
        if (c == '(')
            round++;
        else if (c == ')' && round > 0)
            round--;
        else if (c == '<' && round == 0)
            angle++;
        else if (c == '>' && round == 0 && angle > 0 && !(i > 0 && text[i - 1] == '-'))
            angle--;
        if (round == 0 && (open == '(' || angle == 0))
            return i + 1;
    }
    return i;
}

static void copy(struct shorten *s, size_t length)
{
    memcpy(s->out + s->out_length, s->in, length);
    s->out_length += length;
    s->in += length;
}

static bool starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool ends(const struct shorten *s, const char *suffix)
{
    size_t length = strlen(suffix);
    return s->out_length >= length && memcmp(s->out + s->out_length - length, suffix, length) == 0;
}

/* After parameters: " const", "&" and so on of a member function. */
static void skip_qualifiers(struct shorten *s)
{
    static const char *const words[] = {" const", " volatile", " &&", " &", "&&", "&", " noexcept"};
    for (size_t i = 0; i < XP_ARRAY_LENGTH(words); i++) {
        size_t length = strlen(words[i]);
        if (starts(s->in, words[i]) && !is_name_char(s->in[length])) {
            s->in += length;
            i = (size_t)-1;
        }
    }
}

static bool at_operator(const struct shorten *s, const char *begin)
{
    return starts(s->in, "operator") && !is_name_char(s->in[8]) &&
           (s->in == begin || !is_name_char(s->in[-1]));
}

static void take_operator(struct shorten *s)
{
    /* Longest first. Arguments of operator< are set apart by a space: "operator< <int>". */
    static const char *const symbols[] = {
        "()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "==", "!=", "&&",
        "||", "++", "--",  "+=",  "-=",  "*=",  "/=", "%=", "^=", "&=", "|=", "->", "+",
        "-",  "*",  "/",   "%",   "^",   "&",   "|",  "~",  "!",  "=",  "<",  ">",  ","};
    copy(s, 8);
    s->in_operator = true;
    for (size_t i = 0; i < XP_ARRAY_LENGTH(symbols); i++)
        if (starts(s->in, symbols[i])) {
            copy(s, strlen(symbols[i]));
            return;
        }
}

static bool at_component_start(const struct shorten *s)
{
    return s->out_length == s->name || ends(s, "::");
}

static void take_group(struct shorten *s)
{
    char open = s->in[0];
    size_t length = group_length(s->in);
    if (open == '<' && (s->templates || at_component_start(s))) {
        copy(s, length); /* arguments that are wanted, or a name such as <lambda()> */
    } else if (open == '<') {
        if (ends(s, " ")) /* "operator< <int>" */
            s->out_length--;
        s->in += length;
    } else if (s->braces > 0) {
        copy(s, 1); /* the parameters of a lambda are its name */
    } else if (starts(s->in, "(anonymous") || starts(s->in, "(unnamed") || ends(s, "decltype") ||
               ends(s, "decltype ")) {
        copy(s, length);
    } else {
        s->in += length;
        skip_qualifiers(s);
        s->in_operator = false;
    }
}

static void take_space(struct shorten *s)
{
    copy(s, 1);
    if (s->braces > 0 || s->in_operator)
        return;
    if (ends(s, " to ") || ends(s, " for "))
        s->keep = s->out_length;
    s->name = s->out_length;
}

static char *shorten(const char *name, bool templates)
{
    struct shorten s = {.in = name, .out = malloc(strlen(name) + 1), .templates = templates};
    if (!s.out)
        return NULL;
    while (*s.in) {
        if (s.braces == 0 && starts(s.in, " [clone "))
            break;
        if (at_operator(&s, name)) {
            take_operator(&s);
        } else if (*s.in == '<' || *s.in == '(') {
            take_group(&s);
        } else if (*s.in == ' ') {
            take_space(&s);
        } else {
            s.braces += *s.in == '{';
            s.braces -= *s.in == '}' && s.braces > 0;
            if (*s.in == ':')
                s.in_operator = s.in_operator && s.braces > 0;
            copy(&s, 1);
        }
    }
    if (s.name > s.keep && s.name < s.out_length) {
        memmove(s.out + s.keep, s.out + s.name, s.out_length - s.name);
        s.out_length -= s.name - s.keep;
    }
    s.out[s.out_length] = 0;
    return s.out;
}

/* ---- */

char *hr_demangle_qualified(const char *name, enum hr_demangle mode)
{
    if (mode == HR_DEMANGLE_FULL || mode == HR_DEMANGLE_NONE || !*name)
        return strdup(name);
    return shorten(name, mode == HR_DEMANGLE_TEMPLATES);
}

static char *demangle_plain(const char *symbol, enum hr_demangle mode)
{
    int options = DMGL_AUTO | DMGL_ANSI | (mode == HR_DEMANGLE_FULL ? DMGL_PARAMS : 0);
    if (symbol[0] == '_' && symbol[1] == 'D')
        return dlang_demangle(symbol, options);
    if (symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R'))
        return cplus_demangle(symbol, options);
    return NULL;
}

char *hr_demangle(const char *symbol, enum hr_demangle mode)
{
    if (mode == HR_DEMANGLE_NONE)
        return strdup(symbol);
    size_t length =
        mode == HR_DEMANGLE_FULL && !is_rust(symbol) ? strlen(symbol) : clone_suffix(symbol);
    char *base = strndup(symbol, length);
    if (!base)
        return NULL;
    char *readable = demangle_plain(base, mode);
    if (!readable)
        return base;
    bool keep = mode == HR_DEMANGLE_FULL || is_rust(base);
    free(base);
    if (keep)
        return readable;
    char *brief = shorten(readable, mode == HR_DEMANGLE_TEMPLATES);
    free(readable);
    return brief;
}
