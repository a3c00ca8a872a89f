/* SPDX-License-Identifier: MIT */
/* holds.c - a small catalogue server's day: titles are kept on purpose, request lines by accident.
 *
 * What is live when it ends, to the byte:
 *   catalogue_add    20011 titles  x 211 =  4222321
 *   history_keep     50021 lines   x 307 = 15356447   <- nobody ever reads them again
 *   index_create     1 table of 65537 x 8 =  524296
 * request_answer() allocates as well, but gives everything back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLES        20011
#define TITLE_SIZE    211
#define REQUESTS      50021
#define LINE_SIZE     307
#define INDEX_ENTRIES 65537

struct title {
    char text[TITLE_SIZE];
};

struct line {
    char text[LINE_SIZE];
};

static struct {
    struct title **index;
    struct line *history[REQUESTS];
    size_t requests;
} server;

static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

static __attribute__((noinline)) void index_create(void)
{
    server.index = must(calloc(INDEX_ENTRIES, sizeof(*server.index)));
}

static __attribute__((noinline)) void catalogue_add(unsigned number)
{
    struct title *title = must(malloc(sizeof(*title)));

    snprintf(title->text, sizeof(title->text), "title %u", number);
    server.index[number * 3 % INDEX_ENTRIES] = title;
}

/* "For debugging", somebody wrote. */
static __attribute__((noinline)) void history_keep(const char *request)
{
    struct line *line = must(malloc(sizeof(*line)));

    snprintf(line->text, sizeof(line->text), "%s", request);
    server.history[server.requests++] = line;
}

static __attribute__((noinline)) size_t request_answer(const char *request)
{
    char *page = must(malloc(4099));
    size_t length = (size_t)snprintf(page, 4099, "<html>%s</html>", request);

    history_keep(request);
    free(page);
    return length;
}

int main(void)
{
    size_t sent = 0;

    index_create();
    for (unsigned i = 0; i < TITLES; i++)
        catalogue_add(i);
    for (unsigned i = 0; i < REQUESTS; i++) {
        char request[64];

        snprintf(request, sizeof(request), "GET /title/%u", i % TITLES);
        sent += request_answer(request);
    }
    printf("%u titles, %zu requests answered, %zu bytes sent\n", TITLES, server.requests, sent);
    return 0;
}
