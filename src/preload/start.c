/* SPDX-License-Identifier: MIT */
/* start.c - from nothing to a working allocator.
 *
 * In time: the loader relocates us; somebody's first malloc runs xp_start(), perhaps within the
 * loader; our constructor follows; then the program. */
#include "preload/start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/message.h"
#include "base/meta.h"
#include "base/os.h"
#include "base/rng.h"
#include "capture/capture.h"
#include "core/heap.h"
#include "preload/deepbind.h"
#include "preload/foreign.h"
#include "preload/large.h"
#include "preload/options.h"
#include "preload/process.h"
#include "preload/real.h"
#include "preload/run.h"
#include "preload/thread.h"
#include "preload/helper.h"
#include "preload/value.h"
#include "profile/profile.h"

_Atomic uint32_t xp_mode_word;

static uint64_t process_seed; /* of all random streams; set once by the first slow path */

static void set_mode(enum xp_mode mode)
{
    /* release: pairs with the acquire in xp_mode(). */
    atomic_store_explicit(&xp_mode_word, mode, memory_order_release);
}

/* The fault hook of the tests: N[:MASK[:ERRNO]], every number decimal. */
static void set_fault(const char *text)
{
    uint64_t number[3] = {0, (1u << XP_OS_CALLS) - 1, ENOMEM};

    for (unsigned i = 0; i < 3 && *text; i++) {
        number[i] = 0;
        while (*text >= '0' && *text <= '9')
            number[i] = number[i] * 10 + (uint64_t)(*text++ - '0');
        if (*text == ':')
            text++;
    }
    xp_os_fault_every((uint32_t)number[0], (uint32_t)number[1], (int)number[2]);
}

static uint64_t choose_seed(void)
{
    uint64_t seed = xp_option(XP_OPTION_SEED);

    if (seed == 0 && xp_os_random(&seed, sizeof(seed)) < 0)
        seed = xp_os_realtime_ns() ^ ((uint64_t)xp_os_getpid() << 40) ^ (uintptr_t)&seed;
    return seed;
}

/* The prefix as an absolute path: the program may go elsewhere. Where the current folder has no
 * name that we may know, a relative prefix stays what it is. */
static const char *absolute_prefix(void)
{
    const char *prefix = xp_option_text(XP_OPTION_PREFIX);
    char folder[4096];

    if (!prefix || prefix[0] == '/')
        return prefix;
    ssize_t size = xp_os_getcwd(folder, sizeof(folder)); /* the final 0 included */
    if (size <= 1 || folder[0] != '/')
        return prefix;
    size_t length = (size_t)size - 1;
    char *path = xp_meta_alloc(length + 1 + strlen(prefix) + 1, 1);
    if (!path)
        return prefix;
    memcpy(path, folder, length);
    path[length] = '/';
    strcpy(path + length + 1, prefix);
    return path;
}

/* The command line with blanks between the words. */
static const char *command_line(void)
{
    char buffer[2048];
    ssize_t size = xp_os_read_file("/proc/self/cmdline", buffer, sizeof(buffer) - 1);

    if (size <= 0)
        return "";
    while (size > 0 && buffer[size - 1] == 0)
        size--;
    for (ssize_t i = 0; i < size; i++) {
        if (buffer[i] == 0)
            buffer[i] = ' ';
    }
    char *copy = xp_meta_alloc((size_t)size + 1, 1);
    if (!copy)
        return "";
    memcpy(copy, buffer, (size_t)size);
    return copy;
}

static void start_profile(uint64_t seed)
{
    struct xp_profile_options options = {
        .prefix = absolute_prefix(),
        .alloc_interval = xp_option(XP_OPTION_ALLOC_INTERVAL),
        .inuse_interval = xp_option(XP_OPTION_INUSE_INTERVAL),
        .dealloc_interval = xp_option(XP_OPTION_DEALLOC_INTERVAL),
        .time_interval_ns = xp_option(XP_OPTION_TIME_INTERVAL) * 1000000000u,
        .use_pid = xp_process_use_pid(),
        .cleanup = xp_option(XP_OPTION_CLEANUP),
        .seed = seed,
        .start_time_ns = xp_os_realtime_ns(),
        .unwinder = xp_option(XP_OPTION_UNWINDER) == 1 ? "libunwind" : "cfi",
    };

    options.command = options.prefix ? command_line() : "";
    if (xp_profile_init(&options) < 0)
        xp_message_text("libxprof: no memory for the profile: nothing is recorded");
}

/* Milliseconds, or never. */
static uint64_t purge_delay_ns(uint64_t delay_ms)
{
    return delay_ms == XP_VALUE_WORD ? XP_PURGE_NEVER : delay_ms * 1000000u;
}

static void core_options(struct xp_core_options *ret_options)
{
    xp_core_options_default(ret_options);
    ret_options->reserve_bytes = xp_option(XP_OPTION_RESERVE);
    ret_options->sample_bytes = xp_option(XP_OPTION_SAMPLE_BYTES);
    ret_options->seed = xp_rng_stream(process_seed, 1);
    ret_options->cache_max_bytes = xp_option(XP_OPTION_CACHE_MAX);
    ret_options->purge_delay_ns = purge_delay_ns(xp_option(XP_OPTION_PURGE_DELAY));
    ret_options->dirty_max_bytes = xp_option(XP_OPTION_DIRTY_MAX);
    ret_options->thp = (enum xp_thp)xp_option(XP_OPTION_THP);
    ret_options->heap_limit_bytes = xp_option(XP_OPTION_HEAP_LIMIT);
    ret_options->layers = (uint32_t)xp_option(XP_OPTION_LAYERS);
}

/* The layers below get their options before the first block is made, also where it is not decided
 * yet whose malloc this process uses: core takes them once. */
static void start_layers(void)
{
    process_seed = choose_seed();
    struct xp_core_options core;
    struct xp_capture_options capture = {
        .depth = (unsigned)xp_option(XP_OPTION_DEPTH),
        .nodes_max = xp_option(XP_OPTION_STACKS_MAX),
        .verify_every = (uint32_t)xp_option(XP_OPTION_VERIFY),
        .use_libunwind = xp_option(XP_OPTION_UNWINDER) == 1,
    };

    xp_options_complain();
    core_options(&core);
    xp_large_init(xp_option(XP_OPTION_LARGE_REPORT));
    if (xp_capture_init(&capture) < 0) {
        xp_message_text("libxprof: no memory for stacks: nothing is recorded");
        core.sample_bytes = 0;
    }
    xp_core_init(&core);
}

static void take_charge(void)
{
    start_profile(xp_rng_stream(process_seed, 2));
    if (xp_option_text(XP_OPTION_FAULT))
        set_fault(xp_option_text(XP_OPTION_FAULT));
    set_mode(XP_MODE_OWN);
}

enum xp_mode xp_start(void)
{
    uint32_t none = XP_MODE_NEW;

    if (!atomic_compare_exchange_strong_explicit(&xp_mode_word, &none, XP_MODE_STARTING,
                                                 memory_order_acq_rel, memory_order_acquire))
        return (enum xp_mode)none;

    int error = errno;
    xp_options_init();
    xp_process_init();
    xp_message_init(xp_option_text(XP_OPTION_LOG));
    xp_message_set_quiet(xp_process_is_quiet());
    xp_foreign_init();
    start_layers();
    if ((xp_run_entry && getauxval(AT_ENTRY) == (uintptr_t)xp_run_entry) || /* see run.c */
        xp_foreign_suspected())
        set_mode(XP_MODE_UNDECIDED);
    else
        take_charge();
    errno = error;
    return xp_mode();
}

static void decide(void)
{
    if (!xp_foreign_decide()) {
        take_charge();
        return;
    }
    set_mode(XP_MODE_PASS);
    xp_heap_thread_exit();
    if (xp_option_text(XP_OPTION_PREFIX))
        xp_foreign_explain();
}

/* Libc's list of exit handlers runs backwards, and the loader's finalisers are on it already when
 * main starts: ours, from before that and bound to no object, is the last of all. */
extern int __cxa_atexit(void (*function)(void *), void *arg, void *dso);

static void at_exit(void *arg)
{
    (void)arg;
    xp_process_ends();
}

__attribute__((constructor)) static void construct(int argc, char **argv, char **envp)
{
    (void)argc;
    (void)envp;

    enum xp_mode mode = xp_start();
    if (xp_run_entry && getauxval(AT_ENTRY) == (uintptr_t)xp_run_entry)
        return;
    xp_real_init();
    if (mode == XP_MODE_UNDECIDED)
        decide();
    if (xp_mode() != XP_MODE_OWN)
        return;

    int error = errno;
    xp_deepbind_answer();
    xp_thread_init(argv);
    xp_process_constructor();
    __cxa_atexit(at_exit, NULL, NULL);
    at_quick_exit(xp_process_ends);
    if (xp_capture_open_reference() == -ENOENT)
        xp_message_text("libxprof: libunwind.so.8 cannot be opened: stacks are neither taken by it "
                        "nor compared");
    xp_helper_init();
    errno = error;
}
