/* SPDX-License-Identifier: MIT */
/* phases.c - a program that says itself when a heap profile is worth having.
 *
 * Live at the two dumps, to the byte:
 *   "loaded"   record_load   10007 records x 523 = 5233661
 *   "trimmed"  record_load    3335 records x 523 = 1744205: every third one stays, and
 *              summary_make   3335 summaries x 61 =  203435
 * It runs without libxprof just as well: the calls then do nothing and say -ENOSYS. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xprof.h>

#define RECORDS      10007
#define RECORD_SIZE  523
#define SUMMARY_SIZE 61

static char *records[RECORDS];
static char *summaries[RECORDS];

static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

static __attribute__((noinline)) char *record_load(unsigned number)
{
    char *record = must(malloc(RECORD_SIZE));

    memset(record, 0, RECORD_SIZE);
    snprintf(record, RECORD_SIZE, "record %u", number);
    return record;
}

static __attribute__((noinline)) char *summary_make(const char *record)
{
    char *summary = must(malloc(SUMMARY_SIZE));

    snprintf(summary, SUMMARY_SIZE, "summary of %s", record);
    return summary;
}

static void dump(const char *reason)
{
    int r = xprof_dump(reason);

    if (r == -ENOSYS)
        printf("%s: no profiler here\n", reason);
    else if (r < 0)
        printf("%s: no dump: %s\n", reason, strerror(-r));
    else
        printf("%s: dumped\n", reason);
}

int main(void)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < RECORDS; i++)
        records[i] = record_load(i);
    dump("loaded");

    for (unsigned i = 0; i < RECORDS; i++) {
        if (i % 3 == 0 && i > 0) {
            summaries[i] = summary_make(records[i]);
            kept++;
        } else {
            free(records[i]);
            records[i] = NULL;
        }
    }
    dump("trimmed");
    printf("%u of %u records kept, each with a summary\n", kept, RECORDS);
    return 0;
}
