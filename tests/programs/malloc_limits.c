/* SPDX-License-Identifier: MIT */
/* malloc_limits.c - lowers RLIMIT_AS to what it uses plus argv[1] MiB, as a server does that wants
 * to fail early, and counts what it can still allocate. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Mapped and accessible now: what a program without a reserving allocator would call its size. */
static size_t accessible_mib(void)
{
    char line[512], mode[8];
    unsigned long start, end, sum = 0;
    FILE *maps = fopen("/proc/self/maps", "r");

    while (maps && fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%lx-%lx %7s", &start, &end, mode) == 3 && mode[0] == 'r')
            sum += end - start;
    }
    if (maps)
        fclose(maps);
    return sum >> 20;
}

int main(int argc, char **argv)
{
    size_t extra = argc > 1 ? (size_t)atol(argv[1]) : 100;
    struct rlimit limit;
    static void *block[100000];
    size_t got = 0;

    free(malloc(100));
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = (accessible_mib() + extra) << 20;
    if (argc > 2 ? prlimit(0, RLIMIT_AS, &limit, NULL) : setrlimit(RLIMIT_AS, &limit)) {
        perror("setrlimit");
        return 1;
    }
    errno = 0;
    while (got < 100000 && (block[got] = malloc(100003)) != NULL) {
        memset(block[got], 1, 100003);
        got++;
    }
    int error = errno;
    for (size_t i = 0; i < got; i++)
        free(block[i]);
    void *again = malloc(100003);
    errno = 0;
    if (setrlimit(RLIMIT_AS, (struct rlimit *)8) == 0 || errno != EFAULT)
        return 3;
    size_t got_mib = got * 100003 >> 20;
    printf("%s, %s, %s\n", got_mib >= extra / 2 ? "at least half of it" : "too little",
           got_mib <= extra + 40 ? "not much more" : "too much",
           error == ENOMEM && again ? "ENOMEM" : "no ENOMEM");
    if (got_mib < extra / 2 || got_mib > extra + 40)
        fprintf(stderr, "%zu MiB of %zu\n", got_mib, extra);
    return 0;
}
