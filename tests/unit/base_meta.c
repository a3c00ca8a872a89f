/* SPDX-License-Identifier: MIT */
#include "base/meta.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "test.h"

struct search {
    uintptr_t address;
    bool found;
};

static void look(uintptr_t start, size_t size, void *arg)
{
    struct search *s = arg;
    s->found |= s->address - start < size;
}

static bool is_ours(const void *p)
{
    struct search s = {(uintptr_t)p, false};
    xp_meta_each(look, &s);
    return s.found;
}

TEST(every_piece_is_zero_aligned_and_named_by_each)
{
    for (size_t align = 8; align <= 4096; align *= 2) {
        unsigned char *p = xp_meta_alloc(101, align);
        CHECK(p && (uintptr_t)p % align == 0);
        for (int i = 0; i < 101; i++)
            CHECK_EQ(p[i], 0);
        memset(p, 0xaa, 101);
        CHECK(is_ours(p));
        CHECK(is_ours(p + 100));
    }
}

TEST(a_piece_larger_than_a_chunk_is_served)
{
    char *p = xp_meta_alloc(3u << 20, 64);
    CHECK(p != NULL);
    p[(3u << 20) - 1] = 1;
    CHECK(is_ours(p + (3u << 20) - 1));
}

TEST(an_unmapped_region_is_no_longer_ours)
{
    size_t before = xp_meta_bytes();
    char *p = xp_meta_map(23 * 4096);
    CHECK(p && is_ours(p));
    CHECK_EQ(xp_meta_bytes() - before, 23 * 4096);
    xp_meta_unmap(p, 23 * 4096);
    CHECK(!is_ours(p));
    CHECK_EQ(xp_meta_bytes(), before);
}

TEST(no_memory_gives_null_and_service_resumes)
{
    xp_os_fault_every(1, 1u << XP_OS_MAP, ENOMEM);
    CHECK(xp_meta_map(4096) == NULL);
    CHECK(xp_meta_alloc(5u << 20, 16) == NULL);
    xp_os_fault_every(0, 0, 0);
    void *p = xp_meta_map(4096);
    CHECK(p != NULL);
    xp_meta_unmap(p, 4096);
}

TEST(a_forked_child_finds_its_word_cleared)
{
    _Atomic uint32_t *word = xp_meta_fork_word();
    CHECK(word && is_ours((void *)word));
    CHECK_EQ(*word, 1);
    /* The system call alone: no fork handler runs. */
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(*word == 0 ? 23 : 1);
    int status = -1;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 23);
    CHECK_EQ(*word, 1);
}

TEST(without_memory_or_the_kernels_help_there_is_no_such_word)
{
    size_t before = xp_meta_bytes();
    xp_os_fault_every(1, 1u << XP_OS_ADVISE, EINVAL);
    CHECK(xp_meta_fork_word() == NULL);
    xp_os_fault_every(1, 1u << XP_OS_MAP, ENOMEM);
    CHECK(xp_meta_fork_word() == NULL);
    xp_os_fault_every(0, 0, 0);
    CHECK_EQ(xp_meta_bytes(), before);
}

TEST(a_pool_hands_out_again_what_was_put_back)
{
    static struct xp_pool pool = XP_POOL_INIT(XP_RANK_REGISTRY, 48);
    void *a = xp_pool_take(&pool), *b = xp_pool_take(&pool);
    CHECK(a && b && a != b);
    xp_pool_put(&pool, a);
    CHECK(xp_pool_take(&pool) == a);
    CHECK((uintptr_t)a % 16 == 0);
}

static struct xp_pool raised_pool = XP_POOL_INIT(XP_RANK_REGISTRY, 48);
static volatile sig_atomic_t handled;

static void takes_memory(int signo)
{
    (void)signo;
    void *item = xp_pool_take(&raised_pool);
    xp_pool_put(&raised_pool, item);
    xp_meta_unmap(xp_meta_map(4096), 4096);
    handled += item != NULL && xp_meta_alloc(101, 16) != NULL;
}

static void raises(uintptr_t start, size_t size, void *arg)
{
    (void)start;
    (void)size;
    if (*(int *)arg == 0)
        raise(SIGUSR1);
    *(int *)arg += 1 + handled * 1000;
}

/* A handler that came in between would wait for its own thread for ever. */
TEST(a_signal_waits_until_the_lock_is_free)
{
#ifdef __SANITIZE_THREAD__
    test_skip("the sanitizer holds signals back by itself");
#endif
    int calls = 0;

    CHECK(xp_meta_alloc(101, 16) != NULL);
    signal(SIGUSR1, takes_memory);
    xp_meta_each(raises, &calls);
    CHECK(calls > 0 && calls < 1000);
    CHECK_EQ(handled, 1);
    raise(SIGUSR1); /* nothing is blocked any more */
    CHECK_EQ(handled, 2);
}

static void *asks(void *pool)
{
    static char item[48];

    xp_pool_put(pool, item);
    return (void *)(uintptr_t)(xp_meta_alloc(101, 16) || xp_meta_map(4096) || xp_pool_take(pool));
}

/* What the fork waits for may be waiting for memory. */
TEST(while_a_fork_has_the_locks_others_get_nothing_and_go_on)
{
    static struct xp_pool pool = XP_POOL_INIT(XP_RANK_REGISTRY, 48);
    pthread_t thread;
    void *got;

    xp_lock_take(&pool.lock);
    xp_meta_fork_prepare();
    CHECK_EQ(pthread_create(&thread, NULL, asks, &pool), 0);
    CHECK_EQ(pthread_join(thread, &got), 0);
    xp_meta_fork_parent();
    xp_lock_give(&pool.lock);
    CHECK(got == NULL);
    CHECK(asks(&pool) != NULL);
}
