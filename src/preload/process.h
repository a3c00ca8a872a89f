/* SPDX-License-Identifier: MIT */
/* process.h - which process this is: the first, a child, a second image; and what fork does to us.
 *
 * Layer preload; uses all below it. */
#ifndef XP_PRELOAD_PROCESS_H
#define XP_PRELOAD_PROCESS_H

#include "base/compiler.h"

/* In the first slow path: who we are, by the options. */
void xp_process_init(void);

/* Names carry the process number: a child, forked or exec'd, or a second image. */
bool xp_process_use_pid(void);
/* Some ancestor had us loaded, too, and this is another process. */
bool xp_process_is_child(void);
/* Messages are the parent's business. */
bool xp_process_is_quiet(void);

/* From the constructor: fork handlers, and the mark that our children will find in the environment.
 */
void xp_process_constructor(void);

/* False in a vfork child, which runs in its parent's memory and must leave no trace in it. Also
 * notices a fork that ran no handlers (a raw clone) and then does their work. One system call. */
bool xp_process_is_mine(void);
/* The cheap half: has such a fork happened unnoticed? No system call. */
bool xp_process_was_forked(void);

/* The program ends: what is to be written then, once. Does nothing where nothing may be written.
 * Prints. */
void xp_process_ends(void);

#endif
