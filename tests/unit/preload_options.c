/* SPDX-License-Identifier: MIT */
#include "preload/options.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/message.h"
#include "core/heap.h"
#include "preload/value.h"
#include "test.h"

/* Each test reads an environment of its own in a child: options are read once. */
struct wanted {
    const char **entries;
    enum xp_option option;
    uint64_t number;
    const char *text;
};

static void read_and_compare(void *arg)
{
    const struct wanted *wanted = arg;

    environ = (char **)(uintptr_t)wanted->entries;
    xp_message_init(NULL);
    xp_options_init();
    xp_options_complain();
    if (xp_option(wanted->option) != wanted->number)
        _exit(1);
    const char *text = xp_option_text(wanted->option);
    if (wanted->text ? !text || strcmp(text, wanted->text) != 0 : text != NULL)
        _exit(2);
    _exit(0);
}

/* What is printed must be this. */
static void check(struct wanted wanted, const char *printed)
{
    char text[2048];

    CHECK_EQ(test_fork(read_and_compare, &wanted, text, sizeof(text)), 0);
    CHECK_STR(text, printed);
}

#define ENVIRONMENT(...) ((const char *[]){__VA_ARGS__, NULL})

TEST(an_alias_counts_where_the_name_is_unset)
{
    check((struct wanted){ENVIRONMENT("TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=2300101"),
                          XP_OPTION_CACHE_MAX, 2300101, NULL},
          "");
    check((struct wanted){ENVIRONMENT("TCMALLOC_HEAP_LIMIT_MB=23"), XP_OPTION_HEAP_LIMIT, 23u << 20,
                          NULL},
          "");
    check((struct wanted){ENVIRONMENT("TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD=2300101"),
                          XP_OPTION_LARGE_REPORT, 2300101, NULL},
          "");
    check((struct wanted){ENVIRONMENT("TCMALLOC_RELEASE_RATE=0"), XP_OPTION_PURGE_DELAY,
                          XP_PURGE_NEVER, NULL},
          "");
    check((struct wanted){ENVIRONMENT("TCMALLOC_SAMPLE_PARAMETER=0"), XP_OPTION_SAMPLE_BYTES, 0,
                          NULL},
          "");
}

TEST(the_name_wins_over_its_alias_in_either_order_and_that_is_said_once)
{
    static const char said[] =
        "libxprof: XPROF_CACHE_MAX and TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES are both set; "
        "using XPROF_CACHE_MAX=23\n";

    check((struct wanted){ENVIRONMENT("XPROF_CACHE_MAX=23",
                                      "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=101"),
                          XP_OPTION_CACHE_MAX, 23, NULL},
          said);
    check((struct wanted){ENVIRONMENT("TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=101",
                                      "XPROF_CACHE_MAX=23"),
                          XP_OPTION_CACHE_MAX, 23, NULL},
          said);
}

TEST(an_empty_name_leaves_it_to_the_alias)
{
    check((struct wanted){ENVIRONMENT("XPROF_CACHE_MAX=",
                                      "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=101"),
                          XP_OPTION_CACHE_MAX, 101, NULL},
          "");
}

TEST(a_name_that_cannot_be_read_leaves_it_to_the_alias_and_says_what_is_used)
{
    check((struct wanted){ENVIRONMENT("XPROF_HEAP_LIMIT=lots", "TCMALLOC_HEAP_LIMIT_MB=1"),
                          XP_OPTION_HEAP_LIMIT, 1 << 20, NULL},
          "libxprof: XPROF_HEAP_LIMIT='lots' is not a size in bytes (k, M, G may follow) "
          "from 0 to 70368744177664; using 1048576\n");
}

TEST(an_alias_that_cannot_be_read_is_told_by_its_own_name)
{
    check((struct wanted){ENVIRONMENT("TCMALLOC_RELEASE_RATE=fast"), XP_OPTION_PURGE_DELAY, 100,
                          NULL},
          "libxprof: TCMALLOC_RELEASE_RATE='fast' is not a rate from 0 to 1000; "
          "using XPROF_PURGE_DELAY_MS=100\n");
}

TEST(the_first_of_two_counts)
{
    check((struct wanted){ENVIRONMENT("XPROF_DIRTY_MAX=23", "XPROF_DIRTY_MAX=101"),
                          XP_OPTION_DIRTY_MAX, 23, NULL},
          "");
}

TEST(layers_are_bits_that_core_knows)
{
    check((struct wanted){ENVIRONMENT("XPROF_LAYERS=-mag,-runcache"), XP_OPTION_LAYERS,
                          XP_LAYERS_ALL & ~(XP_LAYER_MAG | XP_LAYER_RUNCACHE), NULL},
          "");
    check(
        (struct wanted){ENVIRONMENT("XPROF_LAYERS=-batch,-adopt,-cut,-populate,-purge,-hugecache"),
                        XP_OPTION_LAYERS, XP_LAYER_MAG | XP_LAYER_RUNCACHE, NULL},
        "");
    check(
        (struct wanted){ENVIRONMENT("XPROF_LAYERS=-tcache"), XP_OPTION_LAYERS, XP_LAYERS_ALL, NULL},
        "libxprof: XPROF_LAYERS='-tcache' is not a list of some of -mag,-batch,-adopt,-cut,"
        "-populate,-purge,-hugecache,-runcache; using all\n");
}

TEST(the_file_of_the_counters_is_the_text_of_its_option)
{
    check((struct wanted){ENVIRONMENT("XPROF_STATS=json:/tmp/x"), XP_OPTION_STATS, XP_STATS_JSON,
                          "/tmp/x"},
          "");
    check((struct wanted){ENVIRONMENT("XPROF_STATS=1"), XP_OPTION_STATS, XP_STATS_TEXT, NULL}, "");
}

TEST(what_is_not_set_is_what_core_takes_by_default)
{
    struct xp_core_options core;

    xp_core_options_default(&core);
    check((struct wanted){ENVIRONMENT("HOME=/"), XP_OPTION_CACHE_MAX, core.cache_max_bytes, NULL},
          "");
    check((struct wanted){ENVIRONMENT("HOME=/"), XP_OPTION_PURGE_DELAY,
                          core.purge_delay_ns / 1000000, NULL},
          "");
    check((struct wanted){ENVIRONMENT("HOME=/"), XP_OPTION_LAYERS, core.layers, NULL}, "");
    check((struct wanted){ENVIRONMENT("HOME=/"), XP_OPTION_DIRTY_MAX, core.dirty_max_bytes, NULL},
          "");
    check((struct wanted){ENVIRONMENT("HOME=/"), XP_OPTION_HEAP_LIMIT, core.heap_limit_bytes, NULL},
          "");
    check((struct wanted){ENVIRONMENT("HOME=/"), XP_OPTION_BG_THREAD, false, NULL}, "");
    check((struct wanted){ENVIRONMENT("HOME=/"), XP_OPTION_THP, core.thp, NULL}, "");
    check((struct wanted){ENVIRONMENT("HOME=/"), XP_OPTION_LARGE_REPORT, 0, NULL}, "");
}
