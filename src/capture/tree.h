/* SPDX-License-Identifier: MIT */
/* tree.h - every stack ever seen, as nodes of one call tree.
 *
 * Layer capture; uses base. Insertion is lock-free (CAS on one 64-bit word per node), bounded by
 * options, nothing is ever removed; ids are valid until the process ends. Signal safe. */
#ifndef XP_CAPTURE_TREE_H
#define XP_CAPTURE_TREE_H

#include "base/compiler.h"

typedef uint32_t xp_node;

#define XP_NODE_ROOT   0u /* the empty stack */
#define XP_NODE_NESTED 1u /* allocations whose stack could not be taken: shown as [nested] */

/* Most nodes the tree may have; 0 or -ENOMEM. Called by xp_capture_init(). */
int xp_tree_init(size_t nodes_max);

/* The child of parent for one frame. pc: the return address, or for an interrupted frame (below a
 * signal frame) the interrupted pc + 1, so that every reader may subtract 1. The same numeric pc in
 * another module generation is another child. When the tree is full: parent, and *ret_full true. */
xp_node xp_tree_child(xp_node parent, uintptr_t pc, bool *ret_full);

/* The frames of a stack, innermost first, at most max of them; the count. Pcs of a module that has
 * been unloaded come back relocated into its history range (see modules.h), so that no two code
 * addresses share a number. XP_NODE_NESTED: one frame, XP_NESTED_PC. */
size_t xp_tree_pcs(xp_node node, uintptr_t *pcs, size_t max);

/* A pc that lies in no module; dumps name its range "[nested]". */
#define XP_NESTED_PC ((uintptr_t)0x10001)

/* Nodes in use, also the upper bound (exclusive) of all ids. */
size_t xp_tree_nodes(void);
size_t xp_tree_nodes_max(void);
/* Distinct pcs so far. */
size_t xp_tree_pc_count(void);

#endif
