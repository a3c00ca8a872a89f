/* SPDX-License-Identifier: MIT */
/* allocates.c - a log counter that keeps next to nothing and allocates without end.
 *
 * What it allocates, to the byte (nearly all of it is given back at once):
 *   line_copy     100003 copies x 127        = 12700381
 *   field_copy    7 per line, 700021 x 31    = 21700651
 *   table_grow    for each 17th new host, all entries copied: realloc, 6 times
 *   host_add      101 hosts x 80             =     8080, still live at the end */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES      100003
#define LINE_SIZE  127
#define FIELDS     7
#define FIELD_SIZE 31
#define HOSTS      101
#define GROW_BY    17

struct host {
    char name[72];
    size_t hits;
};

static struct {
    struct host **hosts;
    size_t count, room;
} table;

static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

static __attribute__((noinline)) void table_grow(void)
{
    table.room += GROW_BY;
    table.hosts = must(realloc(table.hosts, table.room * sizeof(*table.hosts)));
}

static __attribute__((noinline)) struct host *host_add(const char *name)
{
    struct host *host = must(calloc(1, sizeof(*host)));

    if (table.count == table.room)
        table_grow();
    snprintf(host->name, sizeof(host->name), "%s", name);
    table.hosts[table.count++] = host;
    return host;
}

static struct host *host_find(const char *name)
{
    for (size_t i = 0; i < table.count; i++) {
        if (strcmp(table.hosts[i]->name, name) == 0)
            return table.hosts[i];
    }
    return host_add(name);
}

static __attribute__((noinline)) char *line_copy(const char *line)
{
    char *copy = must(malloc(LINE_SIZE));

    snprintf(copy, LINE_SIZE, "%s", line);
    return copy;
}

/* Only the first field is ever looked at. */
static __attribute__((noinline)) char *field_copy(const char *line, unsigned field)
{
    char *copy = must(malloc(FIELD_SIZE));

    for (; field > 0 && line; field--)
        line = strchr(line + 1, ' ');
    snprintf(copy, FIELD_SIZE, "%s", line ? line : "-");
    copy[strcspn(copy, " ")] = 0;
    return copy;
}

static void line_count(const char *text)
{
    char *line = line_copy(text);
    char *fields[FIELDS];

    for (unsigned i = 0; i < FIELDS; i++)
        fields[i] = field_copy(line, i);
    host_find(fields[0])->hits++;
    for (unsigned i = 0; i < FIELDS; i++)
        free(fields[i]);
    free(line);
}

int main(void)
{
    for (unsigned i = 0; i < LINES; i++) {
        char text[LINE_SIZE];

        snprintf(text, sizeof(text), "host-%u - - [%u] GET /item/%u 200 %u", i % HOSTS, i, i % 997,
                 i % 8191);
        line_count(text);
    }
    printf("%u lines from %zu hosts, %zu of the first\n", LINES, table.count, table.hosts[0]->hits);
    return 0;
}
