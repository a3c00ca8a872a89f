/* SPDX-License-Identifier: MIT */
/* deepbind.h - who looks past us, into libc itself, finds us there.
 *
 * Layer preload. A library opened with RTLD_DEEPBIND (php opens its extensions so) looks a name up
 * in itself and in what it needs, libc too, before the place where we stand: its malloc and free
 * would be libc's, the program's ours, and blocks that pass between the two a crash. The same goes
 * for dlsym() in a handle of libc. */
#ifndef XP_PRELOAD_DEEPBIND_H
#define XP_PRELOAD_DEEPBIND_H

/* From now on libc's symbols of the malloc family lead to our functions. From the constructor, when
 * this process is ours and after xp_real_init(): libc's own are not to be found by name any more.
 * When it cannot be done, nothing is done. */
void xp_deepbind_answer(void);

#endif
