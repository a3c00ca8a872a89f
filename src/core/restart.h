/* SPDX-License-Identifier: MIT */
/* restart.h - list operations of the fast path that a signal handler never finds half done.
 *
 * Layer core. A handler may allocate although it interrupted malloc between two instructions. The
 * operations here are restartable sequences (rseq(2), registered by libc): the kernel sends a
 * thread that a signal or another thread's turn interrupted inside of one to its abort label
 * instead of back into it. They commit with their last store, and an aborted one takes the slow
 * path, so nothing is ever retried in a loop. The price is two instructions, a lea and a store; a
 * flag set and cleared would cost as many and would have to be tested besides.
 *
 * `restart` is the rseq_cs word of the thread. Where the kernel or libc has no such thing, it is a
 * word that nobody reads, and only handlers that allocate are at risk, as everywhere else. */
#ifndef XP_CORE_RESTART_H
#define XP_CORE_RESTART_H

#include "core/front.h"
#include "core/page.h"

/* Names the instructions between labels 1 and 2. The code before the abort label is the signature
 * that libc registered, inside an instruction that traps. */
#define XP_RESTART_BEGIN                                                                           \
    ".pushsection __rseq_cs, \"aw\"\n"                                                             \
    ".balign 32\n"                                                                                 \
    "3:\n"                                                                                         \
    ".long 0, 0\n"                                                                                 \
    ".quad 1f, 2f - 1f, 4f\n"                                                                      \
    ".popsection\n"                                                                                \
    "lea 3b(%%rip), %[a]\n"                                                                        \
    "mov %[a], (%[restart])\n"                                                                     \
    "1:\n"
#define XP_RESTART_END(abort_label)                                                                \
    "2:\n"                                                                                         \
    ".pushsection .text.unlikely, \"ax\", @progbits\n"                                             \
    ".byte 0x0f, 0xb9, 0x3d\n"                                                                     \
    ".long 0x53053053\n"                                                                           \
    "4:\n"                                                                                         \
    "jmp %l[" #abort_label "]\n"                                                                   \
    ".popsection\n"

/* Takes the first block of a chain; NULL: none, or aborted. */
XP_ALWAYS_INLINE void *xp_restart_pop(void **list, uint64_t *restart)
{
    void *block;
    uintptr_t a;

    __asm__ volatile goto(XP_RESTART_BEGIN "mov %[list], %[block]\n"
                                           "test %[block], %[block]\n"
                                           "jz %l[none]\n"
                                           "mov (%[block]), %[a]\n"
                                           "mov %[a], %[list]\n" XP_RESTART_END(none)
                          : [block] "=&a"(block), [a] "=&r"(a)
                          : [list] "m"(*list), [restart] "r"(restart)
                          : "cc", "memory"
                          : none);
    if (!block)
        __builtin_unreachable();
    return block;
none:
    return NULL;
}

enum xp_restart_result {
    XP_RESTART_DONE,
    XP_RESTART_LAST,    /* done; and, it seems, the last one: see there */
    XP_RESTART_ABORTED, /* nothing was done */
    XP_RESTART_OTHER,   /* nothing was done: the page is not of the owner */
};

/* Puts a block before a chain, if the guard is what it should be, and counts it. LAST: the count
 * came to 0. */
XP_ALWAYS_INLINE enum xp_restart_result xp_restart_chain(const void *guard, const void *wanted,
                                                         void *head, uint32_t *count, void *block,
                                                         uint64_t *restart)
{
    uintptr_t a;

    __asm__ volatile goto(XP_RESTART_BEGIN
                          "cmp %[wanted], %[guard]\n"
                          "jne %l[other]\n"
                          "mov %[head], %[a]\n"
                          "mov %[a], (%[block])\n"
                          "mov %[block], %[head]\n" XP_RESTART_END(aborted) "decl %[count]\n"
                                                                            "jz %l[last]\n"
                          : [a] "=&r"(a)
                          : [guard] "m"(*(const uintptr_t *)guard), [wanted] "r"(wanted),
                            [head] "m"(*(uintptr_t *)head), [count] "m"(*count), [block] "r"(block),
                            [restart] "r"(restart)
                          : "cc", "memory"
                          : aborted, other, last);
    return XP_RESTART_DONE;
last:
    return XP_RESTART_LAST;
aborted:
    return XP_RESTART_ABORTED;
other:
    return XP_RESTART_OTHER;
}

/* xp_page_push(), if the page's owner word is owner. LAST: no block of the page is out. */
XP_ALWAYS_INLINE enum xp_restart_result xp_restart_push(struct xp_page *page, void *block,
                                                        const void *owner, uint64_t *restart)
{
    return xp_restart_chain(&page->owner, owner, &page->local, (uint32_t *)&page->out, block,
                            restart);
}

/* Adds a block to the batch of the front, if that is for the block's page. LAST: it is full. */
XP_ALWAYS_INLINE enum xp_restart_result
xp_restart_push_batch(struct xp_front *front, struct xp_page *page, void *block, uint64_t *restart)
{
    return xp_restart_chain(&front->batch_page, page, &front->batch, &front->batch_room, block,
                            restart);
}

/* Empties the batch of the front; NULL: there was none, or aborted. Page and chain change with one
 * store: the page of an empty batch may be anything by now. */
XP_ALWAYS_INLINE void *xp_restart_take_batch(struct xp_front *front, uint64_t *restart)
{
    void *block;
    uintptr_t a;

    __asm__ volatile goto("xorps %%xmm0, %%xmm0\n" XP_RESTART_BEGIN
                          "mov %c[batch_at](%[front]), %[block]\n"
                          "test %[block], %[block]\n"
                          "jz %l[none]\n"
                          "movups %%xmm0, %c[page_at](%[front])\n" XP_RESTART_END(none)
                          : [block] "=&r"(block), [a] "=&r"(a)
                          : [front] "r"(front), [restart] "r"(restart),
                            [page_at] "i"(offsetof(struct xp_front, batch_page)),
                            [batch_at] "i"(offsetof(struct xp_front, batch))
                          : "cc", "memory", "xmm0"
                          : none);
    return block;
none:
    return NULL;
}

/* Begins a batch with a block of that page; false: there is one, or aborted. */
XP_ALWAYS_INLINE bool xp_restart_begin_batch(struct xp_front *front, struct xp_page *page,
                                             void *block, uint64_t *restart)
{
    uintptr_t a;

    __asm__ volatile goto(
        "movq %[page], %%xmm0\n"
        "movq %[block], %%xmm1\n"
        "punpcklqdq %%xmm1, %%xmm0\n" XP_RESTART_BEGIN "cmpq $0, %c[batch_at](%[front])\n"
        "jne %l[other]\n"
        "movups %%xmm0, %c[page_at](%[front])\n" XP_RESTART_END(other)
        : [a] "=&r"(a)
        : [page] "r"(page), [block] "r"(block), [front] "r"(front), [restart] "r"(restart),
          [page_at] "i"(offsetof(struct xp_front, batch_page)),
          [batch_at] "i"(offsetof(struct xp_front, batch))
        : "cc", "memory", "xmm0", "xmm1"
        : other);
    return true;
other:
    return false;
}

_Static_assert(offsetof(struct xp_front, batch) == offsetof(struct xp_front, batch_page) + 8,
               "one store for both");

/* Takes the newest block of a magazine; NULL: none, or aborted. */
XP_ALWAYS_INLINE void *xp_restart_pop_slot(struct xp_magazine *magazine, uint64_t *restart)
{
    void *block;
    uintptr_t a;

    __asm__ volatile goto(XP_RESTART_BEGIN
                          "movzwl %c[count_at](%[magazine]), %k[a]\n"
                          "sub $1, %k[a]\n"
                          "jb %l[none]\n"
                          "mov %c[slots_at](%[magazine], %[a], 8), %[block]\n"
                          "mov %w[a], %c[count_at](%[magazine])\n" XP_RESTART_END(none)
                          : [block] "=&a"(block), [a] "=&r"(a)
                          : [magazine] "r"(magazine), [restart] "r"(restart),
                            [count_at] "i"(offsetof(struct xp_magazine, count)),
                            [slots_at] "i"(offsetof(struct xp_magazine, slots))
                          : "cc", "memory"
                          : none);
    if (!block)
        __builtin_unreachable();
    return block;
none:
    return NULL;
}

/* Puts a block into a magazine; false: full, or aborted. */
XP_ALWAYS_INLINE bool xp_restart_push_slot(struct xp_magazine *magazine, void *block,
                                           uint64_t *restart)
{
    uintptr_t a;

    __asm__ volatile goto(XP_RESTART_BEGIN
                          "movzwl %c[count_at](%[magazine]), %k[a]\n"
                          "cmp %c[limit_at](%[magazine]), %w[a]\n"
                          "jae %l[full]\n"
                          "mov %[block], %c[slots_at](%[magazine], %[a], 8)\n"
                          "inc %k[a]\n"
                          "mov %w[a], %c[count_at](%[magazine])\n" XP_RESTART_END(full)
                          : [a] "=&r"(a)
                          : [magazine] "r"(magazine), [block] "r"(block), [restart] "r"(restart),
                            [count_at] "i"(offsetof(struct xp_magazine, count)),
                            [limit_at] "i"(offsetof(struct xp_magazine, limit)),
                            [slots_at] "i"(offsetof(struct xp_magazine, slots))
                          : "cc", "memory"
                          : full);
    return true;
full:
    return false;
}

/* One instruction, so that no handler comes in between. */
XP_ALWAYS_INLINE void xp_restart_subtract(int64_t *counter, int64_t amount)
{
    __asm__("sub %1, %0" : "+m"(*counter) : "re"(amount) : "cc");
}

/* Where the kernel looks for this thread's sequence; NULL when it does not. */
uint64_t *xp_restart_word(void);

#endif
