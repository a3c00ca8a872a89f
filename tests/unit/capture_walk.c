/* SPDX-License-Identifier: MIT */
#include "capture/walk.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/os.h"
#include "capture/capture.h"
#include "test.h"

/* Code that never runs: only its addresses and its unwind rules matter. Each *_ra label is a
 * return address inside its function. */
__asm__(".text\n"
        "in_fp_frame:\n" /* CFA = rbp + 16, rbp saved below the return address */
        ".cfi_startproc\n.cfi_def_cfa_offset 16\n.cfi_offset 6, -16\n.cfi_def_cfa_register 6\n"
        "call in_fp_frame\n"
        "in_fp_frame_ra: nop\n"
        ".cfi_endproc\n"
        "in_sp_frame:\n" /* CFA = rsp + 32 */
        ".cfi_startproc\n.cfi_def_cfa_offset 32\n"
        "call in_sp_frame\n"
        "in_sp_frame_ra: nop\n"
        ".cfi_endproc\n"
        "in_huge_frame:\n" /* too large for a word of the cache */
        ".cfi_startproc\n.cfi_def_cfa_offset 1000008\n"
        "call in_huge_frame\n"
        "in_huge_frame_ra: nop\n"
        ".cfi_endproc\n"
        "in_load_frame:\n" /* CFA is the word at rbp - 8 */
        ".cfi_startproc\n.cfi_escape 0x0f, 3, 0x76, 0x78, 0x06\n.cfi_escape 0x10, 6, 2, 0x76, 0\n"
        "call in_load_frame\n"
        "in_load_frame_ra: nop\n"
        ".cfi_endproc\n"
        "in_rbx_frame:\n" /* a register that is not followed */
        ".cfi_startproc\n.cfi_def_cfa 3, 16\n"
        "call in_rbx_frame\n"
        "in_rbx_frame_ra: nop\n"
        ".cfi_endproc\n"
        "in_outermost:\n"
        ".cfi_startproc\n.cfi_undefined 16\n"
        "call in_outermost\n"
        "in_outermost_ra: nop\n"
        ".cfi_endproc\n"
        "without_cfi:\n"
        "call without_cfi\n"
        "without_cfi_ra: .fill 32, 1, 0x90\n");

extern char in_fp_frame_ra[], in_sp_frame_ra[], in_huge_frame_ra[], in_load_frame_ra[];
extern char in_rbx_frame_ra[], in_outermost_ra[], without_cfi_ra[];

#define PC(label) ((uintptr_t)(label))
#define ENTRY     ((uintptr_t)0x23001)

/* A stack of our own between unreadable pages. */
#define STACK_WORDS (2 * 1024 * 1024 / 8)
static uintptr_t *stack;
static uintptr_t pcs[XP_DEPTH_MAX];
static size_t count;
static unsigned flags;
static struct xp_capture_thread thread;

static void start(void)
{
    static bool done;
    struct xp_capture_options options = {.depth = 20};

    if (done) {
        memset(stack, 0, STACK_WORDS * 8);
        return;
    }
    done = true;
    CHECK_EQ(xp_capture_init(&options), 0);
    char *area = mmap(NULL, STACK_WORDS * 8 + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    stack = (uintptr_t *)(area + 4096);
    CHECK_EQ(mprotect(stack, STACK_WORDS * 8, PROT_READ | PROT_WRITE), 0);
}

static uintptr_t at(size_t word)
{
    return (uintptr_t)&stack[word];
}

static void walk(uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
    struct xp_regs regs = {pc, sp, fp};

    xp_node node = xp_capture(&thread, &regs, ENTRY, &flags);
    count = xp_tree_pcs(node, pcs, XP_DEPTH_MAX);
    CHECK(count >= 2 && pcs[0] == ENTRY && pcs[1] == pc);
}

TEST(a_chain_of_all_kinds_of_frames_is_walked_to_its_end)
{
    start();
    /* fp frame at 10, sp frame of 32 bytes, frame with a loaded CFA, outermost */
    stack[10] = at(60);
    stack[11] = PC(in_sp_frame_ra);
    stack[15] = PC(in_load_frame_ra);
    stack[59] = at(90); /* the CFA; the return address is below it */
    stack[60] = at(200);
    stack[89] = PC(in_outermost_ra);
    walk(PC(in_fp_frame_ra), at(4), at(10));
    CHECK_EQ(flags, 0);
    CHECK_EQ(count, 5);
    CHECK(pcs[2] == PC(in_sp_frame_ra) && pcs[3] == PC(in_load_frame_ra) &&
          pcs[4] == PC(in_outermost_ra));
}

TEST(a_return_address_of_zero_is_a_clean_end)
{
    start();
    walk(PC(in_sp_frame_ra), at(4), 0);
    CHECK_EQ(flags, 0);
    CHECK_EQ(count, 2);
}

TEST(a_frame_pointer_of_garbage_ends_the_stack)
{
    static const uintptr_t garbage[] = {1,
                                        7,
                                        0x4141414141414141,
                                        ~(uintptr_t)0,
                                        ~0xful,
                                        0x1000,
                                        0x800000000000,
                                        0x7fffffffffff,
                                        ~(1ul << 63),
                                        1ul << 63,
                                        0xffffffffff600000};

    start();
    for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
        walk(PC(in_fp_frame_ra), at(4), garbage[i]);
        CHECK_EQ(flags, XP_STACK_BAD);
        CHECK_EQ(count, 2);
    }
}

TEST(a_frame_pointer_into_unmapped_memory_ends_the_stack)
{
    start();
    walk(PC(in_fp_frame_ra), at(4), at(STACK_WORDS));
    CHECK_EQ(flags, XP_STACK_BAD);
    walk(PC(in_fp_frame_ra), at(4), at(STACK_WORDS + 400));
    CHECK_EQ(flags, XP_STACK_BAD);
    /* Half of the frame is there. */
    walk(PC(in_fp_frame_ra), at(4), at(STACK_WORDS) - 8);
    CHECK_EQ(flags, XP_STACK_BAD);
    CHECK_EQ(count, 2);
}

TEST(a_stack_that_ends_at_an_unmapped_page_ends_there)
{
    start();
    walk(PC(in_sp_frame_ra), at(STACK_WORDS - 3), 0);
    CHECK_EQ(flags, XP_STACK_BAD);
    CHECK_EQ(count, 2);
    walk(PC(in_sp_frame_ra), at(STACK_WORDS - 4), 0);
    CHECK_EQ(flags, 0);
}

TEST(a_frame_that_calls_itself_ends_the_stack)
{
    start();
    stack[10] = at(10);
    stack[11] = PC(in_fp_frame_ra);
    walk(PC(in_fp_frame_ra), at(4), at(10));
    CHECK_EQ(flags, XP_STACK_BAD);
    CHECK_EQ(count, 3);
}

TEST(a_frame_below_its_callee_ends_the_stack)
{
    start();
    stack[2] = at(2);
    stack[3] = PC(in_outermost_ra);
    walk(PC(in_fp_frame_ra), at(40), at(2));
    CHECK_EQ(flags, XP_STACK_BAD);
    CHECK_EQ(count, 2);
}

TEST(a_return_address_outside_of_all_code_ends_the_stack_and_is_left_out)
{
    static const uintptr_t garbage[] = {1, 23, 0x4141414141414141, ~(uintptr_t)0, 0x800000000000};

    start();
    for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
        stack[7] = garbage[i];
        walk(PC(in_sp_frame_ra), at(4), 0);
        CHECK_EQ(flags, XP_STACK_BAD);
        CHECK_EQ(count, 2);
    }
    stack[7] = (uintptr_t)&thread; /* data of the program */
    walk(PC(in_sp_frame_ra), at(4), 0);
    CHECK_EQ(flags, XP_STACK_BAD);
    stack[7] = at(100); /* mapped, not executable */
    walk(PC(in_sp_frame_ra), at(4), 0);
    CHECK_EQ(flags, XP_STACK_BAD);
    CHECK_EQ(count, 2);
}

TEST(a_misaligned_frame_ends_the_stack)
{
    start();
    walk(PC(in_fp_frame_ra), at(4), at(10) + 4);
    CHECK_EQ(flags, XP_STACK_BAD);
    stack[9] = at(20) + 3;
    walk(PC(in_load_frame_ra), at(4), at(10));
    CHECK_EQ(flags, XP_STACK_BAD);
}

TEST(a_huge_frame_is_walked_by_a_rare_rule)
{
    start();
    stack[4 + 1000000 / 8] = PC(in_outermost_ra);
    for (int i = 0; i < 2; i++) {
        walk(PC(in_huge_frame_ra), at(4), 0);
        CHECK_EQ(flags, 0);
        CHECK_EQ(count, 3);
    }
}

TEST(code_without_rules_is_left_by_a_valid_frame_pointer_and_flagged)
{
    start();
    stack[10] = at(60);
    stack[11] = PC(without_cfi_ra);
    stack[60] = 23;
    stack[61] = PC(in_outermost_ra);
    walk(PC(without_cfi_ra), at(4), at(10));
    CHECK_EQ(flags, XP_STACK_GUESSED);
    CHECK_EQ(count, 4);
    CHECK(pcs[2] == PC(without_cfi_ra) && pcs[3] == PC(in_outermost_ra));
}

TEST(a_rule_by_a_register_that_is_not_followed_is_left_by_a_guess)
{
    start();
    stack[10] = at(60);
    stack[11] = PC(in_outermost_ra);
    walk(PC(in_rbx_frame_ra), at(4), at(10));
    CHECK_EQ(flags, XP_STACK_GUESSED);
    CHECK_EQ(count, 3);
}

TEST(a_guess_is_not_believed_without_proof)
{
    start();
    /* a frame pointer below sp, too far above it, misaligned, unmapped; a pc that is no code */
    stack[10] = at(60);
    stack[11] = PC(in_outermost_ra);
    walk(PC(without_cfi_ra), at(12), at(10));
    CHECK_EQ(flags, XP_STACK_NO_CFI);
    stack[200000] = at(200010);
    stack[200001] = PC(in_outermost_ra);
    walk(PC(without_cfi_ra), at(12), at(200000));
    CHECK_EQ(flags, XP_STACK_NO_CFI);
    walk(PC(without_cfi_ra), at(4), at(10) + 1);
    CHECK_EQ(flags, XP_STACK_NO_CFI);
    walk(PC(without_cfi_ra), at(STACK_WORDS - 2), at(STACK_WORDS + 8));
    CHECK_EQ(flags, XP_STACK_NO_CFI);
    stack[11] = at(100);
    walk(PC(without_cfi_ra), at(4), at(10));
    CHECK_EQ(flags, XP_STACK_NO_CFI);
    stack[11] = 0;
    walk(PC(without_cfi_ra), at(4), at(10));
    CHECK_EQ(flags, 0);
    CHECK_EQ(count, 2);
}

TEST(code_that_a_compiler_made_at_run_time_is_walked_by_its_frame_pointers)
{
    char *code =
        mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    start();
    CHECK(code != MAP_FAILED);
    uintptr_t ra = (uintptr_t)code + 101;
    stack[7] = ra;
    stack[20] = at(60);
    stack[21] = ra;
    stack[60] = at(80);
    stack[61] = PC(in_outermost_ra);
    walk(PC(in_sp_frame_ra), at(4), at(20));
    for (int i = 0; i < 100 && flags == XP_STACK_BAD; i++) { /* the last look was just now */
        xp_os_sleep_ns(10u * 1000 * 1000);
        walk(PC(in_sp_frame_ra), at(4), at(20));
    }
    CHECK_EQ(flags, XP_STACK_GUESSED);
    CHECK_EQ(count, 5);
    CHECK(pcs[2] == ra && pcs[3] == ra && pcs[4] == PC(in_outermost_ra));
    /* rbp is not a frame pointer there: the stack ends at the compiled frame. */
    walk(PC(in_sp_frame_ra), at(4), 23);
    CHECK_EQ(flags, XP_STACK_NO_CFI);
    CHECK_EQ(count, 3);
    munmap(code, 8192);
}

TEST(the_depth_limit_cuts_the_outermost_frames)
{
    start();
    for (size_t i = 10; i < 1000; i += 2) {
        stack[i] = at(i + 2);
        stack[i + 1] = i == 998 ? PC(in_outermost_ra) : PC(in_fp_frame_ra);
    }
    walk(PC(in_fp_frame_ra), at(4), at(10));
    CHECK_EQ(flags, XP_STACK_CUT);
    CHECK_EQ(count, 20);
    /* Exactly as deep as allowed: not cut. The entry point and 19 frames. */
    walk(PC(in_fp_frame_ra), at(900), at(998 - 2 * 17));
    CHECK_EQ(flags, 0);
    CHECK_EQ(count, 20);
    walk(PC(in_fp_frame_ra), at(900), at(998 - 2 * 18));
    CHECK_EQ(flags, XP_STACK_CUT);
    CHECK_EQ(count, 20);
}

static uint64_t system_calls(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < XP_OS_CALLS; i++)
        sum += xp_os_call_count((enum xp_os_call)i);
    return sum;
}

TEST(a_warm_walk_within_the_bounds_asks_the_kernel_nothing)
{
    start();
    stack[10] = at(60);
    stack[11] = PC(in_sp_frame_ra);
    stack[15] = PC(in_outermost_ra);
    xp_capture_thread_bounds(&thread, at(0), at(STACK_WORDS));
    walk(PC(in_fp_frame_ra), at(4), at(10));
    uint64_t before = system_calls();
    CHECK_EQ(thread.valid_high, 0);
    walk(PC(in_fp_frame_ra), at(4), at(10));
    CHECK_EQ(flags, 0);
    CHECK_EQ(thread.valid_high, 0); /* no page was asked for */
    CHECK_EQ(system_calls(), before);
    xp_capture_thread_bounds(&thread, 0, 0);
}

TEST(pages_outside_of_the_bounds_are_asked_for_once)
{
    start();
    memset(&thread, 0, sizeof(thread));
    stack[10] = at(1600);
    stack[11] = PC(in_fp_frame_ra);
    stack[1600] = at(3000);
    stack[1601] = PC(in_outermost_ra);
    walk(PC(in_fp_frame_ra), at(4), at(10));
    CHECK_EQ(flags, 0);
    CHECK_EQ(thread.valid_low, at(0));
    CHECK_EQ(thread.valid_high, at(0) + 4 * 4096);
    struct xp_capture_thread before = thread;
    walk(PC(in_fp_frame_ra), at(4), at(10));
    CHECK_EQ(memcmp(&before, &thread, sizeof(thread)), 0);
}

static void *garbage_on_a_thread_stack(void *arg)
{
    struct xp_capture_thread mine = {0};
    uintptr_t words[64], seed = 20231;
    (void)arg;

    for (int round = 0; round < 20000; round++) {
        for (int i = 0; i < 64; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uintptr_t choice[] = {seed,
                                  seed >> 17,
                                  (uintptr_t)&words[seed >> 58],
                                  (uintptr_t)words + (seed >> 40) % 65536,
                                  PC(in_fp_frame_ra),
                                  PC(in_sp_frame_ra),
                                  PC(in_load_frame_ra),
                                  PC(without_cfi_ra),
                                  PC(in_rbx_frame_ra),
                                  (uintptr_t)memcpy + (seed >> 50),
                                  0};
            words[i] = choice[(seed >> 32) % 11];
        }
        static const char *const starts[] = {in_fp_frame_ra, in_sp_frame_ra,  in_load_frame_ra,
                                             without_cfi_ra, in_rbx_frame_ra, in_huge_frame_ra};
        struct xp_regs regs = {PC(starts[round % 6]), (uintptr_t)words,
                               round % 7 ? words[3] : (uintptr_t)&words[5]};
        unsigned ignored;
        xp_capture(&mine, &regs, ENTRY, &ignored);
    }
    return NULL;
}

TEST(random_stacks_never_crash_the_walker)
{
    pthread_t t;

    start();
    CHECK_EQ(pthread_create(&t, NULL, garbage_on_a_thread_stack, NULL), 0);
    pthread_join(t, NULL);
}
