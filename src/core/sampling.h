/* SPDX-License-Identifier: MIT */
/* sampling.h - which allocation is the sampled one: draws, and what they weigh.
 *
 * Layer core. A draw remembers the mean it was made with, so the mean may change between draws. */
#ifndef XP_CORE_SAMPLING_H
#define XP_CORE_SAMPLING_H

#include "core/heap.h"
#include "core/state.h"

void xp_sampling_init(const struct xp_core_options *options);

/* Every allocation is sampled: lists and magazines stay empty. */
bool xp_sampling_exact(void);

/* A heap's generator; and nothing drawn yet. */
void xp_sampling_start_heap(struct xp_heap *heap);

/* heap->left and heap->weight of the class, anew. */
void xp_sampling_draw_class(struct xp_heap *heap, unsigned size_class);

/* Charges a medium or large allocation of charge bytes. True: it is the sampled one, *ret_weight
 * says for how many it stands, and the next draw is made. */
bool xp_sampling_charge(struct xp_heap *heap, size_t charge, double *ret_weight);

/* Blocks of a list that the fast path did not hand out leave it: they are added to the countdown
 * again. */
void xp_sampling_put_back(struct xp_heap *heap, unsigned size_class, const void *blocks);

/* Hands a chain of about count blocks to the fast path, cut before the sampled allocation.
 * heap->left[size_class] >= 2, and the list and pending ones are empty or are the chain. */
void xp_sampling_hand_out(struct xp_heap *heap, unsigned size_class, void *blocks, uint32_t count);

#endif
