/* SPDX-License-Identifier: MIT */
/* unwind_oracle.c - three unwinders look at one stack and must see the same. */
#include "unwind_oracle.h"

#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture/capture.h"
#include "capture/reference.h"

#define FRAMES 200

static struct {
    int probes, failures;
    bool ready;
} oracle;

static __thread struct xp_capture_thread thread;

static void start(void)
{
    struct xp_capture_options options = {.depth = FRAMES, .verify_every = 1};
    void *pcs[1];

    if (oracle.ready)
        return;
    if (xp_capture_init(&options) != 0 || xp_capture_open_reference() != 0) {
        printf("Bail out! no libunwind\n");
        exit(99);
    }
    backtrace(pcs, 1); /* loads libgcc */
    oracle.ready = true;
}

static void fail(const char *who, const uintptr_t *ours, size_t ours_count, const uintptr_t *theirs,
                 size_t theirs_count)
{
    printf("# %s differs: %zu frames, %zu\n", who, ours_count, theirs_count);
    for (size_t i = 0; i < ours_count || i < theirs_count; i++)
        printf("#  %14lx %14lx\n", i < ours_count ? ours[i] : 0, i < theirs_count ? theirs[i] : 0);
    oracle.failures++;
}

static void compare(const char *who, const uintptr_t *ours, size_t ours_count,
                    const uintptr_t *theirs, size_t theirs_count, int slack)
{
    bool same = ours_count == theirs_count;

    for (size_t i = 0; same && i < ours_count; i++)
        same = ours[i] - theirs[i] <= (uintptr_t)slack;
    if (!same)
        fail(who, ours, ours_count, theirs, theirs_count);
}

__attribute__((noinline)) void unwind_probe(void)
{
    struct xp_regs regs = xp_regs_of_caller();
    uintptr_t ours[FRAMES], theirs[FRAMES];
    void *raw[FRAMES];
    unsigned flags = ~0u;
    bool cut = false;

    start();
    oracle.probes++;
    xp_node node = xp_capture(&thread, &regs, (uintptr_t)unwind_probe + 1, &flags);
    size_t count = xp_tree_pcs(node, ours, FRAMES);
    if (flags != 0 || count < 2 || ours[0] != (uintptr_t)unwind_probe + 1 || ours[1] != regs.pc) {
        printf("# flags %u, %zu frames\n", flags, count);
        oracle.failures++;
        return;
    }
    size_t theirs_count = xp_reference_walk(&regs, theirs, FRAMES, &cut);
    compare("libunwind", ours + 1, count - 1, theirs, theirs_count, 0);

    /* backtrace() gives interrupted pcs as they are, one less than ours. */
    int total = backtrace(raw, FRAMES), skip = 0;
    while (skip < total && (uintptr_t)raw[skip] != regs.pc)
        skip++;
    for (int i = skip; i < total; i++)
        theirs[i - skip] = (uintptr_t)raw[i];
    compare("backtrace()", ours + 1, count - 1, theirs, (size_t)(total - skip), 1);
}

int unwind_probes(void)
{
    return oracle.probes;
}

static void run_all(const struct unwind_case *cases, int *number, int *failed)
{
    for (; cases->name; cases++) {
        int failures = oracle.failures, probes = oracle.probes;
        cases->run();
        if (oracle.probes - probes < cases->probes) {
            printf("# only %d probes\n", oracle.probes - probes);
            oracle.failures++;
        }
        bool ok = oracle.failures == failures;
        printf("%s %d - %s\n", ok ? "ok" : "not ok", ++*number, cases->name);
        fflush(stdout);
        *failed += !ok;
    }
}

int main(void)
{
    int number = 0, failed = 0;

    if (oracle.failures) {
        printf("Bail out! a probe before main failed\n");
        return EXIT_FAILURE;
    }
    run_all(unwind_cases_c, &number, &failed);
    run_all(unwind_cases_cxx, &number, &failed);
    printf("1..%d\n", number);

    struct xp_capture_stats stats;
    xp_capture_stats_get(&stats);
    printf("# %d probes, %lu frames, %lu rules looked up, %lu differences\n", oracle.probes,
           stats.frames, stats.rule_misses, stats.verify_differs);
    return failed || stats.verify_differs ? EXIT_FAILURE : EXIT_SUCCESS;
}
