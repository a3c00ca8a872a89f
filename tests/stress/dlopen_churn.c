/* SPDX-License-Identifier: MIT */
/* dlopen_churn.c - libraries come and go at the same address while their frames are sampled.
 *
 * usage: dlopen_churn SECONDS FOLDER : FOLDER holds dlopen_module_1.so to _3.so */
#include "stress.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MODULES = 3, WORKERS = 2, KEPT = 101 };

typedef void *(*stress_call)(void *arg);
typedef void *(*run_fn)(stress_call call, void *arg, size_t depth);

static const char *folder;

static void *allocate(void *arg)
{
    return stress_alloc_max(arg, 20000);
}

static void use_module(struct stress_rng *rng, struct stress_block **kept)
{
    char path[4096];
    size_t shape = 1 + stress_below(rng, MODULES);

    snprintf(path, sizeof(path), "%s/dlopen_module_%zu.so", folder, shape);
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module)
        stress_fail(dlerror());
    void *symbol = dlsym(module, "stress_module_run");
    run_fn run;
    memcpy(&run, &symbol, sizeof(run));
    for (int i = 0; i < 23; i++) {
        /* Some of what was allocated outlives its module. */
        struct stress_block **slot = &kept[stress_below(rng, KEPT)];
        stress_free(*slot);
        *slot = run(allocate, rng, stress_below(rng, 23));
    }
    dlclose(module);
}

static void *opener(void *arg)
{
    struct stress_rng rng = {(uintptr_t)arg};
    struct stress_block *kept[KEPT] = {NULL};

    while (stress_running())
        use_module(&rng, kept);
    for (int i = 0; i < KEPT; i++)
        stress_free(kept[i]);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[WORKERS + 2];

    folder = argc > 2 ? argv[2] : ".";
    stress_start(argc, argv);
    for (uintptr_t i = 0; i < WORKERS + 2; i++) {
        if (pthread_create(&threads[i], NULL, i < WORKERS ? stress_worker : opener,
                           (void *)(i + 1)) != 0)
            stress_fail("pthread_create");
    }
    for (int i = 0; i < WORKERS + 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
