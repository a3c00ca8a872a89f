/* SPDX-License-Identifier: MIT */
/* os.c - the only door to the kernel. */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

static struct {
    _Atomic(xp_os_fault_fn) hook; /* read before every call; NULL in production */
    _Atomic uint32_t every_n;     /* the ready-made hook's settings */
    _Atomic uint32_t mask;
    _Atomic int error;
    _Atomic uint32_t turn;
    _Atomic uint64_t faults;
    _Atomic uint64_t calls[XP_OS_CALLS];
} door;

/* Raw, because libc's wrappers write errno, and some are cancellation points. */
static long raw6(long n, long a, long b, long c, long d, long e, long f)
{
    long r;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return r;
}

static long call(enum xp_os_call kind, long n, long a, long b, long c, long d, long e, long f)
{
    atomic_fetch_add_explicit(&door.calls[kind], 1, memory_order_relaxed);
    xp_os_fault_fn hook = atomic_load_explicit(&door.hook, memory_order_relaxed);
    if (XP_UNLIKELY(hook != NULL)) {
        int error = hook(kind);
        if (error > 0) {
            atomic_fetch_add_explicit(&door.faults, 1, memory_order_relaxed);
            return -error;
        }
    }
    return raw6(n, a, b, c, d, e, f);
}

static int map_call(void *where, size_t size, int prot, int flags, void **ret_start)
{
    long r = call(XP_OS_MAP, SYS_mmap, (long)where, (long)size, prot, flags, -1, 0);
    if (r < 0 && r > -4096)
        return (int)r;
    *ret_start = (void *)r;
    return 0;
}

int xp_os_map(size_t size, int prot, void **ret_start)
{
    return map_call(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, ret_start);
}

int xp_os_map_at(void *where, size_t size, int prot, void **ret_start)
{
    void *got;
    int r = map_call(where, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, &got);
    if (r < 0)
        return r;
    if (got != where) { /* kernel < 4.17 takes the flag for a hint */
        raw6(SYS_munmap, (long)got, (long)size, 0, 0, 0, 0);
        return -EEXIST;
    }
    *ret_start = got;
    return 0;
}

int xp_os_reserve(size_t size, void **ret_start)
{
    return map_call(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, ret_start);
}

int xp_os_unmap(void *start, size_t size)
{
    return (int)call(XP_OS_UNMAP, SYS_munmap, (long)start, (long)size, 0, 0, 0, 0);
}

int xp_os_protect(void *start, size_t size, int prot)
{
    return (int)call(XP_OS_PROTECT, SYS_mprotect, (long)start, (long)size, prot, 0, 0, 0);
}

int xp_os_advise(void *start, size_t size, int advice)
{
    return (int)call(XP_OS_ADVISE, SYS_madvise, (long)start, (long)size, advice, 0, 0, 0);
}

int xp_os_remap(void *start, size_t old_size, size_t new_size, bool may_move, void **ret_start)
{
    long r = call(XP_OS_REMAP, SYS_mremap, (long)start, (long)old_size, (long)new_size,
                  may_move ? MREMAP_MAYMOVE : 0, 0, 0);
    if (r < 0 && r > -4096)
        return (int)r;
    *ret_start = (void *)r;
    return 0;
}

int xp_os_move_out(void *from, size_t size, void **ret_start)
{
    long r = call(XP_OS_REMAP, SYS_mremap, (long)from, (long)size, (long)size,
                  MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0, 0);
    if (r < 0 && r > -4096)
        return (int)r;
    *ret_start = (void *)r;
    return 0;
}

int xp_os_move_back(void *from, size_t size, void *to)
{
    long r = call(XP_OS_REMAP, SYS_mremap, (long)from, (long)size, (long)size,
                  MREMAP_MAYMOVE | MREMAP_FIXED, (long)to, 0);
    return r < 0 && r > -4096 ? (int)r : 0;
}

int xp_os_open(const char *path, int flags, int mode)
{
    return (int)call(XP_OS_OPEN, SYS_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC, mode, 0, 0);
}

int xp_os_close(int fd)
{
    /* Not failed by hooks: the kernel frees the number whatever it answers. */
    return (int)raw6(SYS_close, fd, 0, 0, 0, 0, 0);
}

ssize_t xp_os_read(int fd, void *buffer, size_t size)
{
    return call(XP_OS_READ, SYS_read, fd, (long)buffer, (long)size, 0, 0, 0);
}

ssize_t xp_os_write(int fd, const void *bytes, size_t size)
{
    return call(XP_OS_WRITE, SYS_write, fd, (long)bytes, (long)size, 0, 0, 0);
}

int xp_os_write_all(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size > 0) {
        ssize_t n = xp_os_write(fd, at, size);
        if (n == -EINTR)
            continue;
        if (n < 0)
            return (int)n;
        if (n == 0)
            return -EIO;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

int xp_os_say(int fd, const void *bytes, size_t size)
{
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    uint64_t old, pending = 0, pipe_signal = 1ull << (SIGPIPE - 1);
    struct timespec now = {0, 0};

    long ready = call(XP_OS_WRITE, SYS_poll, (long)&room, 1, 100, 0, 0, 0);
    if (ready <= 0)
        return ready < 0 ? (int)ready : -EAGAIN;
    xp_os_block_signals(&old);
    raw6(SYS_rt_sigpending, (long)&pending, sizeof(pending), 0, 0, 0, 0);
    int r = xp_os_write_all(fd, bytes, size);
    /* The signal that our write raised is taken out of the queue; one that was there before is the
     * program's. */
    if (r == -EPIPE && !(pending & pipe_signal))
        raw6(SYS_rt_sigtimedwait, (long)&pipe_signal, 0, (long)&now, sizeof(pipe_signal), 0, 0);
    xp_os_restore_signals(&old);
    return r;
}

ssize_t xp_os_read_file(const char *path, void *buffer, size_t size)
{
    int fd = xp_os_open(path, O_RDONLY, 0);
    if (fd < 0)
        return fd;

    size_t got = 0;
    ssize_t r = 0;
    while (got < size) {
        r = xp_os_read(fd, (char *)buffer + got, size - got);
        if (r == -EINTR)
            continue;
        if (r <= 0)
            break;
        got += (size_t)r;
    }
    xp_os_close(fd);
    return r < 0 ? r : (ssize_t)got;
}

int xp_os_rename(const char *from, const char *to)
{
    return (int)call(XP_OS_NAME, SYS_rename, (long)from, (long)to, 0, 0, 0, 0);
}

int xp_os_link(const char *from, const char *to)
{
    return (int)call(XP_OS_NAME, SYS_link, (long)from, (long)to, 0, 0, 0, 0);
}

int xp_os_unlink(const char *path)
{
    return (int)call(XP_OS_NAME, SYS_unlink, (long)path, 0, 0, 0, 0, 0);
}

ssize_t xp_os_readlink(const char *path, char *buffer, size_t size)
{
    return call(XP_OS_NAME, SYS_readlink, (long)path, (long)buffer, (long)size, 0, 0, 0);
}

/* The kernel's struct stat is libc's on x86-64. */
int xp_os_stat(const char *path, struct stat *ret_stat)
{
    return (int)call(XP_OS_NAME, SYS_stat, (long)path, (long)ret_stat, 0, 0, 0, 0);
}

int xp_os_fstat(int fd, struct stat *ret_stat)
{
    return (int)call(XP_OS_NAME, SYS_fstat, fd, (long)ret_stat, 0, 0, 0, 0);
}

ssize_t xp_os_getdents(int fd, void *buffer, size_t size)
{
    return call(XP_OS_NAME, SYS_getdents64, fd, (long)buffer, (long)size, 0, 0, 0);
}

ssize_t xp_os_getcwd(char *buffer, size_t size)
{
    return call(XP_OS_NAME, SYS_getcwd, (long)buffer, (long)size, 0, 0, 0, 0);
}

/* The identity calls cannot fail, so no hook is asked. */
pid_t xp_os_getpid(void)
{
    return (pid_t)raw6(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

pid_t xp_os_getppid(void)
{
    return (pid_t)raw6(SYS_getppid, 0, 0, 0, 0, 0, 0);
}

pid_t xp_os_gettid(void)
{
    return (pid_t)raw6(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

/* libc's clock_gettime goes through the vdso: 25-50 ns instead of a system call, no lock, no
 * malloc, and errno is untouched for clocks that exist. */
static uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts = {0, 0};
    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t xp_os_now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t xp_os_now_coarse_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC_COARSE);
}

uint64_t xp_os_realtime_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
}

static uint64_t cpu_clock_ns(long clock)
{
    struct timespec ts = {0, 0};

    if (call(XP_OS_OTHER, SYS_clock_gettime, clock, (long)&ts, 0, 0, 0, 0) < 0)
        return 0;
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t xp_os_thread_cpu_ns(void)
{
    return cpu_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t xp_os_thread_cpu_ns_of(pid_t tid)
{
    /* As pthread_getcpuclockid(3) makes it: per thread, all of its time. */
    return cpu_clock_ns((long)(int)(~(unsigned)tid << 3 | 6));
}

void xp_os_sleep_ns(uint64_t ns)
{
    struct timespec ts = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    raw6(SYS_nanosleep, (long)&ts, 0, 0, 0, 0, 0);
}

int xp_os_tgkill(pid_t pid, pid_t tid, int signo)
{
    return (int)call(XP_OS_OTHER, SYS_tgkill, pid, tid, signo, 0, 0, 0);
}

int xp_os_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns)
{
    struct timespec ts = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};
    return (int)call(XP_OS_FUTEX, SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, expected,
                     timeout_ns ? (long)&ts : 0, 0, 0);
}

int xp_os_futex_wake(_Atomic uint32_t *word, int count)
{
    /* Never failed by a hook: a lost wake-up is not a failure the kernel can produce. */
    return (int)raw6(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, count, 0, 0, 0);
}

int xp_os_random(void *buffer, size_t size)
{
    long r =
        call(XP_OS_OTHER, SYS_getrandom, (long)buffer, (long)size, 1 /* GRND_NONBLOCK */, 0, 0, 0);
    if (r < 0)
        return (int)r;
    return (size_t)r == size ? 0 : -EAGAIN;
}

int xp_os_getrlimit(int resource, struct rlimit64 *ret_limit)
{
    return (int)call(XP_OS_OTHER, SYS_prlimit64, 0, resource, 0, (long)ret_limit, 0, 0);
}

int xp_os_prlimit(pid_t pid, int resource, const struct rlimit64 *limit, struct rlimit64 *ret_old)
{
    /* Not failed by hooks: the program makes this call, we only stand in its way. */
    return (int)raw6(SYS_prlimit64, pid, resource, (long)limit, (long)ret_old, 0, 0);
}

static uint64_t timeval_ns(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_usec * 1000u;
}

int xp_os_usage(struct xp_os_usage *ret_usage)
{
    struct rusage usage;
    int r = (int)call(XP_OS_OTHER, SYS_getrusage, RUSAGE_SELF, (long)&usage, 0, 0, 0, 0);

    if (r < 0)
        return r;
    *ret_usage = (struct xp_os_usage){
        .minor_faults = (uint64_t)usage.ru_minflt,
        .major_faults = (uint64_t)usage.ru_majflt,
        .user_ns = timeval_ns(&usage.ru_utime),
        .system_ns = timeval_ns(&usage.ru_stime),
        .waits = (uint64_t)usage.ru_nvcsw,
        .preemptions = (uint64_t)usage.ru_nivcsw,
        .peak_rss_bytes = (uint64_t)usage.ru_maxrss << 10,
    };
    return 0;
}

int xp_os_lock_all(int flags)
{
    return (int)raw6(SYS_mlockall, flags, 0, 0, 0, 0, 0); /* the program's call as well */
}

int xp_os_unlock_all(void)
{
    return (int)raw6(SYS_munlockall, 0, 0, 0, 0, 0, 0);
}

uintptr_t xp_os_brk_end(void)
{
    return (uintptr_t)raw6(SYS_brk, 0, 0, 0, 0, 0, 0);
}

bool xp_os_on_signal_stack(void)
{
    stack_t stack = {0};
    return raw6(SYS_sigaltstack, 0, (long)&stack, 0, 0, 0, 0) == 0 && (stack.ss_flags & SS_ONSTACK);
}

void xp_os_exit(int status)
{
    for (;;)
        raw6(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

void xp_os_block_signals(uint64_t *ret_old)
{
    uint64_t all = ~0ull;
    raw6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&all, (long)ret_old, sizeof(all), 0, 0);
}

void xp_os_restore_signals(const uint64_t *old)
{
    raw6(SYS_rt_sigprocmask, SIG_SETMASK, (long)old, 0, sizeof(*old), 0, 0);
}

/* rt_sigprocmask with a senseless `how` reads the new mask first: -EFAULT when it cannot be
 * read, -EINVAL when it can. No file descriptor, no change, about one microsecond. The mask is
 * 8 bytes, so the last word of each page is what is asked for. */
bool xp_os_readable(const void *address, size_t size)
{
    uintptr_t at = (uintptr_t)address, end = at + size;

    if (size == 0 || end < at)
        return size == 0;
    if (at < XP_OS_PAGE) /* the kernel takes a mask at 0 for none at all */
        return false;
    for (uintptr_t page = at & ~(XP_OS_PAGE - 1); page < end; page += XP_OS_PAGE) {
        if (raw6(SYS_rt_sigprocmask, 77, (long)page, 0, 8, 0, 0) == -EFAULT)
            return false;
    }
    return true;
}

/* process_vm_readv on ourselves: the kernel copies, so an unmapped page is an error and no fault.
 * Sandboxes may forbid the call; then the pages are asked for and read, which leaves a moment in
 * which another thread could unmap them. */
int xp_os_peek(void *to, const void *from, size_t size)
{
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)from, size};
    long r = call(XP_OS_OTHER, SYS_process_vm_readv, xp_os_getpid(), (long)&local, 1, (long)&remote,
                  1, 0);

    if (r == -EPERM || r == -ENOSYS) {
        if (!xp_os_readable(from, size))
            return -EFAULT;
        memcpy(to, from, size);
        return 0;
    }
    if (r < 0)
        return (int)r;
    return (size_t)r == size ? 0 : -EFAULT;
}

static int fault_every_n(enum xp_os_call kind)
{
    uint32_t n = atomic_load_explicit(&door.every_n, memory_order_relaxed);

    if (n == 0 || !(atomic_load_explicit(&door.mask, memory_order_relaxed) & (1u << kind)))
        return 0;
    uint32_t turn = atomic_fetch_add_explicit(&door.turn, 1, memory_order_relaxed) + 1;
    return turn % n == 0 ? atomic_load_explicit(&door.error, memory_order_relaxed) : 0;
}

void xp_os_fault_set(xp_os_fault_fn fn)
{
    atomic_store_explicit(&door.hook, fn, memory_order_relaxed);
}

void xp_os_fault_every(uint32_t n, uint32_t mask, int error)
{
    atomic_store_explicit(&door.error, error, memory_order_relaxed);
    atomic_store_explicit(&door.mask, mask, memory_order_relaxed);
    atomic_store_explicit(&door.turn, 0, memory_order_relaxed);
    atomic_store_explicit(&door.every_n, n, memory_order_relaxed);
    xp_os_fault_set(n ? fault_every_n : NULL);
}

uint64_t xp_os_call_count(enum xp_os_call kind)
{
    return atomic_load_explicit(&door.calls[kind], memory_order_relaxed);
}

uint64_t xp_os_fault_count(void)
{
    return atomic_load_explicit(&door.faults, memory_order_relaxed);
}
