/* SPDX-License-Identifier: MIT */
#include "capture/code_map.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/os.h"
#include "test.h"

static char *map(int prot)
{
    void *p = mmap(NULL, 3 * 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED);
    return p;
}

/* The last look may have been just now. */
static bool has_soon(const char *address)
{
    for (int i = 0; i < 100; i++) {
        if (xp_code_map_has((uintptr_t)address))
            return true;
        xp_os_sleep_ns(10u * 1000 * 1000);
    }
    return false;
}

TEST(executable_pages_hold_code_and_others_do_not)
{
    char *code = map(PROT_READ | PROT_EXEC), *data = map(PROT_READ | PROT_WRITE);

    CHECK(has_soon(code + 101));
    CHECK(xp_code_map_has((uintptr_t)code + 3 * 4096 - 1));
    CHECK(!xp_code_map_has((uintptr_t)data + 101));
    CHECK(!xp_code_map_has(0));
    CHECK(!xp_code_map_has(23));
    CHECK(!xp_code_map_has(~(uintptr_t)0));
    CHECK(!xp_code_map_has(0xffffffffff600000)); /* vsyscall */
    munmap(code, 3 * 4096);
    munmap(data, 3 * 4096);
}

TEST(new_code_is_found_and_known_code_costs_no_system_call)
{
    char *code = map(PROT_READ | PROT_EXEC);

    CHECK(has_soon(code));
    uint64_t opened = xp_os_call_count(XP_OS_OPEN);
    for (int i = 0; i < 1000; i++)
        CHECK(xp_code_map_has((uintptr_t)code + (uintptr_t)i));
    CHECK_EQ(xp_os_call_count(XP_OS_OPEN), opened);
    munmap(code, 3 * 4096);
}

TEST(looks_are_rare_however_often_unknown_addresses_come)
{
    uintptr_t nothing = 0x500000000000;
    uint64_t opened = xp_os_call_count(XP_OS_OPEN), begin = xp_os_now_ns();

    for (int i = 0; i < 20000; i++)
        CHECK(!xp_code_map_has(nothing));
    uint64_t looks = xp_os_call_count(XP_OS_OPEN) - opened, took = xp_os_now_ns() - begin;
    /* A look takes at least 10 us, so it may come every 500 us. */
    CHECK(looks <= took / 500000 + 2);
}

TEST(without_proc_nothing_is_known_and_nothing_breaks)
{
#ifdef __SANITIZE_THREAD__
    test_skip("the sanitizer keeps that address for itself");
#endif
    /* Where no code ever was. */
    char *code = mmap((void *)0x500000100000, 3 * 4096, PROT_READ | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    CHECK(code != MAP_FAILED);
    xp_os_fault_every(1, 1u << XP_OS_OPEN | 1u << XP_OS_READ, EMFILE);
    CHECK(!xp_code_map_has((uintptr_t)code + 101));
    xp_os_fault_every(0, 0, 0);
    CHECK(has_soon(code + 101));
    munmap(code, 3 * 4096);
}
