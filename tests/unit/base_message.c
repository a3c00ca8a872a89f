/* SPDX-License-Identifier: MIT */
#include "base/message.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

static void say_and_change_files(void *arg)
{
    (void)arg;
    xp_message_init(NULL);
    xp_message_lines("one\ntwo\n", 8);
    xp_message_text("three");
    int kept = dup(2);
    int null = open("/dev/null", O_WRONLY);
    dup2(null, 2);
    xp_message_lines("lost\n", 5); /* fd 2 is another file: not ours to write to */
    dup2(kept, 2);
    xp_message_set_quiet(true);
    xp_message_lines("quiet\n", 6);
    _exit(0);
}

TEST(lines_go_to_the_stderr_of_the_start_and_nowhere_else)
{
    char text[256];

    CHECK_EQ(test_fork(say_and_change_files, NULL, text, sizeof(text)), 0);
    CHECK_STR(text, "one\ntwo\nthree\n");
}

static void say_to_log(void *arg)
{
    xp_message_init(arg);
    xp_message_lines("one\ntwo\n", 8);
    xp_message_text("three");
    _exit(0);
}

TEST(lines_go_to_the_log_when_there_is_one)
{
    char path[] = "/tmp/xprof-message.XXXXXX", text[256];
    int fd = mkstemp(path);

    CHECK(fd >= 0);
    CHECK_EQ(test_fork(say_to_log, path, text, sizeof(text)), 0);
    CHECK_STR(text, "");
    ssize_t size = read(fd, text, sizeof(text) - 1);
    close(fd);
    unlink(path);
    CHECK(size > 0);
    text[size] = 0;
    CHECK_STR(text, "one\ntwo\nthree\n");
}
