/* SPDX-License-Identifier: MIT */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

TEST(errno_is_left_alone_by_a_failing_call)
{
    errno = 101;
    CHECK_EQ(xp_os_open("/nonexistent/x", 0, 0), -ENOENT);
    CHECK_EQ(errno, 101);
}

TEST(every_third_map_fails_when_asked_to)
{
    void *p;
    int failed = 0;

    xp_os_fault_every(3, 1u << XP_OS_MAP, ENOMEM);
    for (int i = 0; i < 9; i++) {
        int r = xp_os_map(4096, PROT_READ, &p);
        if (r == 0)
            xp_os_unmap(p, 4096);
        else
            CHECK_EQ(r, -ENOMEM);
        failed += r != 0;
    }
    xp_os_fault_every(0, 0, 0);
    CHECK_EQ(failed, 3);
    CHECK_EQ(xp_os_map(4096, PROT_READ, &p), 0);
    xp_os_unmap(p, 4096);
}

TEST(map_at_never_replaces_a_mapping)
{
    void *p, *q;

    CHECK_EQ(xp_os_map(8192, PROT_READ, &p), 0);
    CHECK_EQ(xp_os_map_at(p, 4096, PROT_READ, &q), -EEXIST);
    xp_os_unmap(p, 8192);
}

TEST(readable_tells_mapped_from_protected_and_unmapped)
{
    void *p;

    CHECK_EQ(xp_os_map(3 * 4096, PROT_READ, &p), 0);
    CHECK_EQ(xp_os_protect((char *)p + 4096, 4096, PROT_NONE), 0);
    CHECK(xp_os_readable(p, 4096));
    CHECK(!xp_os_readable((char *)p + 4000, 200));
    CHECK(!xp_os_readable((char *)p + 4096, 1));
    CHECK(xp_os_readable((char *)p + 8192, 8));
    xp_os_unmap(p, 3 * 4096);
    CHECK(!xp_os_readable(p, 8));
    CHECK(!xp_os_readable((void *)-8, 64));
    CHECK(!xp_os_readable((void *)8, 16));
}

TEST(read_file_reads_proc_to_its_end)
{
    static char text[1 << 20];
    ssize_t n = xp_os_read_file("/proc/self/maps", text, sizeof(text) - 1);
    CHECK(n > 100);
    CHECK(strstr(text, "[stack]") != NULL);
}

static void say_into_a_broken_pipe(void *arg)
{
    int *fds = arg;

    if (xp_os_say(fds[1], "x", 1) != -EPIPE)
        _exit(23);
}

TEST(a_message_into_a_broken_pipe_raises_no_signal)
{
    char text[64];
    int fds[2];

    CHECK(pipe(fds) == 0);
    close(fds[0]);
    CHECK_EQ(test_fork(say_into_a_broken_pipe, fds, text, sizeof(text)), 0);
    close(fds[1]);
}

TEST(a_message_into_a_full_pipe_is_given_up)
{
    static char page[4096];
    int fds[2];

    CHECK(pipe(fds) == 0);
    CHECK(fcntl(fds[1], F_SETFL, O_NONBLOCK) == 0);
    while (write(fds[1], page, sizeof(page)) > 0) {
    }
    CHECK(fcntl(fds[1], F_SETFL, 0) == 0);
    CHECK_EQ(xp_os_say(fds[1], "x", 1), -EAGAIN);
    close(fds[0]);
    close(fds[1]);
}

TEST(a_first_touch_of_a_page_is_a_fault_of_this_process)
{
    enum { PAGES = 101 };
    struct xp_os_usage before, after;
    void *p;

    CHECK_EQ(xp_os_map(PAGES * 4096, PROT_READ | PROT_WRITE, &p), 0);
    xp_os_advise(p, PAGES * 4096, MADV_NOHUGEPAGE);
    CHECK_EQ(xp_os_usage(&before), 0);
    for (int i = 0; i < PAGES; i++)
        ((volatile char *)p)[i * 4096] = 1;
    CHECK_EQ(xp_os_usage(&after), 0);
    CHECK(after.minor_faults >= before.minor_faults + PAGES);
    CHECK(after.peak_rss_bytes >= PAGES * 4096);
    CHECK(after.user_ns + after.system_ns >= before.user_ns + before.system_ns);
    xp_os_unmap(p, PAGES * 4096);
}
