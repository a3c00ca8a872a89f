/* SPDX-License-Identifier: MIT */
/* os.h - the only door to the kernel.
 *
 * Layer base. Every function is a plain system call: no malloc, no locks, no cancellation point,
 * errno is neither read nor written, async-signal-safe. Results are 0 or a positive count, or
 * -errno. Tests can make any of them fail: see xp_os_fault_set(). */
#ifndef XP_BASE_OS_H
#define XP_BASE_OS_H

#include "base/compiler.h"

#include <signal.h>
#include <sys/types.h>

struct rlimit64;
struct stat;

/* ---- memory ---- */

/* Map size bytes (a multiple of XP_OS_PAGE) of private anonymous memory. */
int xp_os_map(size_t size, int prot, void **ret_start);
/* The same at a wanted place, only if that is free (MAP_FIXED_NOREPLACE). */
int xp_os_map_at(void *where, size_t size, int prot, void **ret_start);
/* Address space only: PROT_NONE, not counted against overcommit. */
int xp_os_reserve(size_t size, void **ret_start);
int xp_os_unmap(void *start, size_t size);
int xp_os_protect(void *start, size_t size, int prot);
int xp_os_advise(void *start, size_t size, int advice);
/* mremap; may_move lets the kernel choose another place. */
int xp_os_remap(void *start, size_t old_size, size_t new_size, bool may_move, void **ret_start);
/* Moves the pages of private anonymous memory to a new mapping of the same size; the old place
 * stays mapped and reads as zero. Linux 5.7. */
int xp_os_move_out(void *from, size_t size, void **ret_start);
/* And back: the new mapping is gone afterwards. */
int xp_os_move_back(void *from, size_t size, void *to);

/* ---- files: a path is relative to the current folder; files are opened close-on-exec ---- */

int xp_os_open(const char *path, int flags, int mode); /* fd >= 0 or -errno */
int xp_os_close(int fd);
ssize_t xp_os_read(int fd, void *buffer, size_t size);
ssize_t xp_os_write(int fd, const void *bytes, size_t size);
/* Writes all, past short counts and EINTR. 0 or -errno. */
int xp_os_write_all(int fd, const void *bytes, size_t size);
/* For messages to whoever reads: waits at most 100 ms for room in a pipe, and a pipe that nobody
 * reads raises no SIGPIPE. 0 or -errno (-EAGAIN: no room). */
int xp_os_say(int fd, const void *bytes, size_t size);
/* Reads a file until its end or the buffer's; the count, or -errno. Works for /proc. */
ssize_t xp_os_read_file(const char *path, void *buffer, size_t size);
int xp_os_rename(const char *from, const char *to);
/* Gives the file a second name; -EEXIST when that is taken: rename that never overwrites. */
int xp_os_link(const char *from, const char *to);
int xp_os_unlink(const char *path);
ssize_t xp_os_readlink(const char *path, char *buffer, size_t size); /* not terminated */
int xp_os_stat(const char *path, struct stat *ret_stat);
int xp_os_fstat(int fd, struct stat *ret_stat);
ssize_t xp_os_getdents(int fd, void *buffer, size_t size);
ssize_t xp_os_getcwd(char *buffer, size_t size); /* length with the final 0 */

/* ---- processes and time ---- */

pid_t xp_os_getpid(void);
pid_t xp_os_getppid(void);
pid_t xp_os_gettid(void);
uint64_t xp_os_now_ns(void);        /* CLOCK_MONOTONIC, by the vdso where it can */
uint64_t xp_os_now_coarse_ns(void); /* CLOCK_MONOTONIC_COARSE: cheap, steps of 1-4 ms */
uint64_t xp_os_realtime_ns(void);   /* CLOCK_REALTIME, since 1970 */
/* CPU time of the calling thread, and of any thread of the process by its number; 0 when the kernel
 * does not say. System calls. */
uint64_t xp_os_thread_cpu_ns(void);
uint64_t xp_os_thread_cpu_ns_of(pid_t tid);
void xp_os_sleep_ns(uint64_t ns);
int xp_os_tgkill(pid_t pid, pid_t tid, int signo);
/* Waits while *word == expected; 0, -EAGAIN, -EINTR or -ETIMEDOUT. timeout_ns 0: for ever. */
int xp_os_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns);
int xp_os_futex_wake(_Atomic uint32_t *word, int count);
int xp_os_random(void *buffer, size_t size); /* getrandom; never blocks */
int xp_os_getrlimit(int resource, struct rlimit64 *ret_limit);
/* prlimit64(2); either limit may be NULL. */
int xp_os_prlimit(pid_t pid, int resource, const struct rlimit64 *limit, struct rlimit64 *ret_old);
/* What this process cost so far, all its threads. */
struct xp_os_usage {
    uint64_t minor_faults, major_faults; /* pages mapped without and with reading a file */
    uint64_t user_ns, system_ns;
    uint64_t waits, preemptions; /* switches to another thread: own will, and not */
    uint64_t peak_rss_bytes;
};
int xp_os_usage(struct xp_os_usage *ret_usage);
/* mlockall and munlockall. */
int xp_os_lock_all(int flags);
int xp_os_unlock_all(void);
/* The end of the brk heap, which is never moved by us. */
uintptr_t xp_os_brk_end(void);
/* True when this thread runs on the stack that it gave to sigaltstack(2). */
bool xp_os_on_signal_stack(void);
_Noreturn void xp_os_exit(int status); /* exit_group: no handler runs */
/* Blocks all signals for this thread; *ret_old takes the former mask. */
void xp_os_block_signals(uint64_t *ret_old);
void xp_os_restore_signals(const uint64_t *old);
/* True when size bytes at address can be read. Asks the kernel, one call per page; no fault. */
bool xp_os_readable(const void *address, size_t size);
/* Copies size bytes that may vanish meanwhile. 0, or -errno when not all could be read. */
int xp_os_peek(void *to, const void *from, size_t size);

/* ---- fault injection ---- */

enum xp_os_call {
    XP_OS_MAP,
    XP_OS_UNMAP,
    XP_OS_PROTECT,
    XP_OS_ADVISE,
    XP_OS_REMAP,
    XP_OS_OPEN,
    XP_OS_READ,
    XP_OS_WRITE,
    XP_OS_NAME, /* rename, link, unlink, readlink, stat, getdents, getcwd */
    XP_OS_FUTEX,
    XP_OS_OTHER,
    XP_OS_CALLS
};

/* Asked before each call; a positive errno makes the call fail with it, 0 lets it go on. */
typedef int (*xp_os_fault_fn)(enum xp_os_call call);

/* NULL takes the hook away. Process-wide; for tests. */
void xp_os_fault_set(xp_os_fault_fn fn);

/* The ready-made hook: every n-th call of the kinds in mask (bit = 1 << enum xp_os_call) fails
 * with error; n = 0 switches it off. Counted process-wide. */
void xp_os_fault_every(uint32_t n, uint32_t mask, int error);

/* How many calls were made and how many were failed by a hook since the start. */
uint64_t xp_os_call_count(enum xp_os_call call);
uint64_t xp_os_fault_count(void);

#endif
