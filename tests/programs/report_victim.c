/* SPDX-License-Identifier: MIT */
/* report_victim.c - holds known bytes in functions of known names, for the reports' tests. */
#include <stdlib.h>
#include <string.h>

static void *kept[512];
static int kept_count;

static void keep(void *block)
{
    kept[kept_count++] = block;
}

/* 23 x 10007 bytes from main, 12 x 7 below descend() */
static void hold(size_t size)
{
    void *block = malloc(size);

    memset(block, 1, size);
    keep(block);
}

/* 12 x 3 x 101 bytes of its own */
static void descend(int levels)
{
    keep(calloc(3, 101));
    if (levels > 1)
        descend(levels - 1);
    hold(7);
}

/* 97 x 1009 bytes that are gone at the end */
static void churn(void)
{
    for (int i = 0; i < 97; i++) {
        char *volatile block = malloc(1009);

        free(block);
    }
}

int main(void)
{
    for (int i = 0; i < 23; i++)
        hold(10007);
    descend(12);
    churn();
    return 0;
}
