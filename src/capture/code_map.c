/* SPDX-License-Identifier: MIT */
/* code_map.c - does an address outside of all modules hold code? */
#include "capture/code_map.h"

#include <fcntl.h>

#include "base/os.h"

/* One word per executable range, so that no reader sees half of one:
 * first page << 28 | pages, with 36 bits of page number; longer ranges are cut to 1 TiB. */
#define RANGES_MAX 512u
#define COUNT_BITS 28
#define COUNT_MAX  (((uint64_t)1 << COUNT_BITS) - 1)

#define LOOK_RATIO  50u                           /* time between looks, in costs of a look; */
#define LOOK_MAX_NS ((uint64_t)500 * 1000 * 1000) /* a look that was preempted seems dear */

static struct {
    _Atomic uint64_t ranges[RANGES_MAX]; /* 0: empty */
    _Atomic uint64_t next_look_ns;       /* CLOCK_MONOTONIC */
    _Atomic uint32_t busy;               /* somebody is looking; nobody waits for it */
    char buffer[4096];                   /* of the one who is */
} code_map XP_BULK;

static bool range_has(uint64_t range, uintptr_t page)
{
    return page - (range >> COUNT_BITS) < (range & COUNT_MAX);
}

static bool known(uintptr_t page)
{
    for (unsigned i = 0; i < RANGES_MAX; i++) {
        uint64_t range = atomic_load_explicit(&code_map.ranges[i], memory_order_relaxed);
        if (range == 0)
            return false;
        if (range_has(range, page))
            return true;
    }
    return false;
}

/* The state of reading "start-end perms ..." lines, byte by byte: the buffer cuts anywhere. */
struct scan {
    enum { START, END, PERMS, REST } field;
    uint64_t start, end;
    unsigned perm;
    bool executable;
    unsigned count; /* ranges written */
};

static void scan_line_end(struct scan *scan)
{
    if (scan->executable && scan->count < RANGES_MAX) {
        uint64_t pages = (scan->end - scan->start) / XP_OS_PAGE;
        uint64_t range =
            (scan->start / XP_OS_PAGE) << COUNT_BITS | (pages < COUNT_MAX ? pages : COUNT_MAX);
        atomic_store_explicit(&code_map.ranges[scan->count++], range, memory_order_relaxed);
    }
    scan->field = START;
    scan->start = scan->end = 0;
    scan->perm = 0;
    scan->executable = false;
}

static uint64_t add_hex(uint64_t value, char c)
{
    unsigned digit = c >= 'a' ? (unsigned)(c - 'a') + 10 : (unsigned)(c - '0');
    return value << 4 | (digit & 15);
}

static void scan_byte(struct scan *scan, char c)
{
    if (c == '\n') {
        scan_line_end(scan);
        return;
    }
    switch (scan->field) {
    case START:
        if (c == '-')
            scan->field = END;
        else
            scan->start = add_hex(scan->start, c);
        break;
    case END:
        if (c == ' ')
            scan->field = PERMS;
        else
            scan->end = add_hex(scan->end, c);
        break;
    case PERMS:
        if (++scan->perm == 3) {
            /* vsyscall's page lies above all user addresses and does not fit into a word. */
            scan->executable = c == 'x' && (scan->start >> 47) == 0;
            scan->field = REST;
        }
        break;
    case REST:
        break;
    }
}

static void look(void)
{
    struct scan scan = {.field = START};
    int fd = xp_os_open("/proc/self/maps", O_RDONLY, 0);

    if (fd < 0)
        return;
    for (;;) {
        ssize_t n = xp_os_read(fd, code_map.buffer, sizeof(code_map.buffer));
        if (n <= 0)
            break;
        for (ssize_t i = 0; i < n; i++)
            scan_byte(&scan, code_map.buffer[i]);
    }
    xp_os_close(fd);
    for (unsigned i = scan.count; i < RANGES_MAX; i++)
        atomic_store_explicit(&code_map.ranges[i], 0, memory_order_relaxed);
}

static XP_COLD bool look_again(uintptr_t page)
{
    uint64_t now = xp_os_now_ns();
    uint32_t idle = 0;

    if (now < atomic_load_explicit(&code_map.next_look_ns, memory_order_relaxed))
        return false;
    /* acquire: pairs with the release below; the buffer belongs to one looker. */
    if (!atomic_compare_exchange_strong_explicit(&code_map.busy, &idle, 1, memory_order_acquire,
                                                 memory_order_relaxed))
        return false;
    look();
    uint64_t end = xp_os_now_ns(), pause = LOOK_RATIO * (end - now);
    atomic_store_explicit(&code_map.next_look_ns, end + (pause < LOOK_MAX_NS ? pause : LOOK_MAX_NS),
                          memory_order_relaxed);
    atomic_store_explicit(&code_map.busy, 0, memory_order_release);
    return known(page);
}

bool xp_code_map_has(uintptr_t address)
{
    uintptr_t page = address / XP_OS_PAGE;

    if ((address >> 47) != 0 || address < XP_OS_PAGE)
        return false;
    return known(page) || look_again(page);
}

void xp_code_map_fork_child(void)
{
    atomic_store_explicit(&code_map.busy, 0, memory_order_relaxed);
}
