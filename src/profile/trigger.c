/* SPDX-License-Identifier: MIT */
/* trigger.c - totals of all samples, and whether they ask for a dump.
 *
 * Threads count in shards; what a shard has gathered is passed on to the two published numbers in
 * steps, so that threads which sample every allocation do not fight for one cache line. */
#include "profile/trigger.h"

#include "profile/sums.h"

/* A shard may hold back one step: all together a sixteenth of the least interval. */
#define STEPS (16 * XP_PROFILE_SHARDS)

#define NEVER 1e300

static struct counter {
    _Atomic double alloc_objects, alloc_bytes, free_objects, free_bytes;
    _Atomic double alloc_passed, free_passed; /* how much of the bytes is published */
} XP_CACHE_ALIGNED counters[XP_PROFILE_SHARDS];

static struct {
    /* Written seldom, read after each sample. */
    _Atomic double alloc_bytes, free_bytes;           /* published */
    _Atomic double next_alloc, next_free, next_inuse; /* a dump is due beyond; written by take */
    double step;                                      /* NEVER when all triggers are off */
    double alloc_interval, dealloc_interval, inuse_interval; /* 0 off */
} XP_CACHE_ALIGNED trigger = {
    .next_alloc = NEVER, .next_free = NEVER, .next_inuse = NEVER, .step = NEVER};

static double lesser_step(double step, uint64_t interval)
{
    double mine = (double)interval / STEPS;

    return interval != 0 && mine < step ? mine : step;
}

void xp_trigger_init(uint64_t alloc_interval, uint64_t inuse_interval, uint64_t dealloc_interval)
{
    double step = lesser_step(NEVER, alloc_interval);

    step = lesser_step(step, inuse_interval);
    trigger.step = lesser_step(step, dealloc_interval);
    trigger.alloc_interval = (double)alloc_interval;
    trigger.inuse_interval = (double)inuse_interval;
    trigger.dealloc_interval = (double)dealloc_interval;
    if (alloc_interval)
        atomic_store_explicit(&trigger.next_alloc, (double)alloc_interval, memory_order_relaxed);
    if (inuse_interval)
        atomic_store_explicit(&trigger.next_inuse, (double)inuse_interval, memory_order_relaxed);
    if (dealloc_interval)
        atomic_store_explicit(&trigger.next_free, (double)dealloc_interval, memory_order_relaxed);
}

/* Passes on what gathered in *gathered since *passed, if it is a step at least. Who moves *passed
 * does it; nobody else adds the same bytes. */
static void pass_on(_Atomic double *gathered, _Atomic double *passed, _Atomic double *published,
                    double step)
{
    double before = atomic_load_explicit(passed, memory_order_relaxed);
    double now = atomic_load_explicit(gathered, memory_order_relaxed);

    if (now - before >= step && now > before &&
        atomic_compare_exchange_strong_explicit(passed, &before, now, memory_order_relaxed,
                                                memory_order_relaxed))
        xp_double_add(published, now - before, memory_order_relaxed);
}

void xp_trigger_note_alloc(double objects, double bytes)
{
    struct counter *c = &counters[xp_profile_shard()];

    xp_double_add(&c->alloc_objects, objects, memory_order_relaxed);
    xp_double_add(&c->alloc_bytes, bytes, memory_order_relaxed);
    pass_on(&c->alloc_bytes, &c->alloc_passed, &trigger.alloc_bytes, trigger.step);
}

void xp_trigger_note_free(double objects, double bytes)
{
    struct counter *c = &counters[xp_profile_shard()];

    xp_double_add(&c->free_objects, objects, memory_order_relaxed);
    xp_double_add(&c->free_bytes, bytes, memory_order_relaxed);
    pass_on(&c->free_bytes, &c->free_passed, &trigger.free_bytes, trigger.step);
}

void xp_trigger_totals(struct xp_profile_totals *ret_totals)
{
    struct xp_profile_totals t = {0};

    for (unsigned i = 0; i < XP_PROFILE_SHARDS; i++) {
        struct counter *c = &counters[i];
        t.alloc_objects += atomic_load_explicit(&c->alloc_objects, memory_order_relaxed);
        t.alloc_bytes += atomic_load_explicit(&c->alloc_bytes, memory_order_relaxed);
        t.free_objects += atomic_load_explicit(&c->free_objects, memory_order_relaxed);
        t.free_bytes += atomic_load_explicit(&c->free_bytes, memory_order_relaxed);
    }
    *ret_totals = t;
}

bool xp_trigger_due(void)
{
    double allocated = atomic_load_explicit(&trigger.alloc_bytes, memory_order_relaxed);
    double freed = atomic_load_explicit(&trigger.free_bytes, memory_order_relaxed);

    return allocated >= atomic_load_explicit(&trigger.next_alloc, memory_order_relaxed) ||
           freed >= atomic_load_explicit(&trigger.next_free, memory_order_relaxed) ||
           allocated - freed > atomic_load_explicit(&trigger.next_inuse, memory_order_relaxed);
}

/* "N MB", as the readers of logs know it: N = bytes >> 20. */
static void megabytes(struct xp_out *out, double bytes, const char *text)
{
    xp_out_signed(out, (int64_t)bytes >> 20, 0);
    xp_out_text(out, " MB ");
    xp_out_text(out, text);
}

bool xp_trigger_take(struct xp_out *reason)
{
    for (unsigned i = 0; i < XP_PROFILE_SHARDS; i++) {
        struct counter *c = &counters[i];
        pass_on(&c->alloc_bytes, &c->alloc_passed, &trigger.alloc_bytes, 0);
        pass_on(&c->free_bytes, &c->free_passed, &trigger.free_bytes, 0);
    }
    if (!xp_trigger_due())
        return false;

    double allocated = atomic_load_explicit(&trigger.alloc_bytes, memory_order_relaxed);
    double freed = atomic_load_explicit(&trigger.free_bytes, memory_order_relaxed);
    double inuse = allocated > freed ? allocated - freed : 0;
    if (allocated >= atomic_load_explicit(&trigger.next_alloc, memory_order_relaxed))
        megabytes(reason, allocated, "allocated cumulatively, ");
    else if (freed >= atomic_load_explicit(&trigger.next_free, memory_order_relaxed))
        megabytes(reason, freed, "freed cumulatively, ");
    megabytes(reason, inuse, "currently in use");

    if (trigger.alloc_interval > 0)
        atomic_store_explicit(&trigger.next_alloc, allocated + trigger.alloc_interval,
                              memory_order_relaxed);
    if (trigger.dealloc_interval > 0)
        atomic_store_explicit(&trigger.next_free, freed + trigger.dealloc_interval,
                              memory_order_relaxed);
    if (trigger.inuse_interval > 0 &&
        inuse + trigger.inuse_interval >
            atomic_load_explicit(&trigger.next_inuse, memory_order_relaxed))
        atomic_store_explicit(&trigger.next_inuse, inuse + trigger.inuse_interval,
                              memory_order_relaxed);
    return true;
}
