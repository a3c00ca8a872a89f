/* SPDX-License-Identifier: MIT */
/* malloc_locked.c - an ordinary user who may lock 64 MiB, or less, locks all that it has and will
 * have, allocates 23 MiB, unlocks, and allocates 301 MiB. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static int allocate(size_t count, size_t size)
{
    static void *block[3010];
    size_t got = 0;

    while (got < count && (block[got] = malloc(size)) != NULL)
        memset(block[got++], 1, size);
    for (size_t i = 0; i < got; i++)
        free(block[i]);
    return got == count;
}

int main(void)
{
    struct rlimit limit;

    getrlimit(RLIMIT_MEMLOCK, &limit);
    if (limit.rlim_max > (rlim_t)64 << 20)
        limit.rlim_max = (rlim_t)64 << 20;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_MEMLOCK, &limit);
    if (geteuid() == 0 && setuid(65534) < 0)
        perror("not an ordinary user");
    int now = mlockall(MCL_CURRENT);
    int future = mlockall(MCL_CURRENT | MCL_FUTURE);
    printf("%d %d %s\n", now, future, now || future ? strerror(errno) : "locked");
    printf("%d\n", allocate(20, 102400));
    printf("%d\n", munlockall());
    printf("%d\n", allocate(3010, 102400));
    errno = 0;
    int nonsense = mlockall(77);
    printf("%d %s\n", nonsense, errno == EINVAL ? "EINVAL" : "?");
    return 0;
}
