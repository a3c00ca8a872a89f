/* SPDX-License-Identifier: MIT */
#include "base/out.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/os.h"
#include "test.h"

static const char *finish(struct xp_out *out)
{
    out->buffer[out->length] = 0;
    return out->buffer;
}

TEST(numbers_print_as_printf_does)
{
    char buffer[256];
    struct xp_out out;

    xp_out_init(&out, -1, buffer, sizeof(buffer) - 1);
    xp_out_signed(&out, -23, 6);
    xp_out_char(&out, '|');
    xp_out_signed(&out, INT64_MIN, 0);
    xp_out_char(&out, '|');
    xp_out_unsigned(&out, UINT64_MAX, 8);
    xp_out_char(&out, '|');
    xp_out_hex(&out, 0xab, 8);
    xp_out_char(&out, '|');
    xp_out_fixed(&out, 2.999, 2);
    xp_out_char(&out, '|');
    xp_out_fixed(&out, -0.001, 1);
    CHECK_STR(finish(&out), "   -23|-9223372036854775808|18446744073709551615|000000ab|3.00|0.0");
}

TEST(escaped_text_is_one_line)
{
    char buffer[64];
    struct xp_out out;

    xp_out_init(&out, -1, buffer, sizeof(buffer) - 1);
    xp_out_escaped(&out, "a\nb\\c\x01", 6);
    CHECK_STR(finish(&out), "a\\nb\\\\c\\x01");
}

TEST(memory_that_is_full_is_cut_and_says_so)
{
    char buffer[4];
    struct xp_out out;

    xp_out_init(&out, -1, buffer, 3);
    xp_out_text(&out, "abcdef");
    CHECK_EQ(xp_out_flush(&out), -ENOSPC);
    CHECK_EQ(out.length, 3);
    CHECK_EQ(out.total, 6);
}

TEST(the_first_write_error_sticks)
{
    char buffer[8];
    struct xp_out out;
    int fd = open("/dev/full", O_WRONLY);

    xp_out_init(&out, fd, buffer, sizeof(buffer));
    for (int i = 0; i < 5; i++)
        xp_out_text(&out, "0123456789");
    CHECK_EQ(xp_out_flush(&out), -ENOSPC);
    close(fd);
}

TEST(not_one_byte_beyond_the_limit_is_sent)
{
    char buffer[8], got[64];
    struct xp_out out;
    int fds[2];

    CHECK(pipe(fds) == 0);
    xp_out_init(&out, fds[1], buffer, sizeof(buffer));
    out.limit = 23;
    xp_out_text(&out, "twenty-three characters");
    CHECK_EQ(xp_out_flush(&out), 0);
    CHECK_EQ(out.sent, 23);
    xp_out_char(&out, '!');
    CHECK_EQ(xp_out_flush(&out), -EFBIG);
    CHECK_EQ(read(fds[0], got, sizeof(got)), 23);
    close(fds[0]);
    close(fds[1]);
}

TEST(text_longer_than_the_buffer_arrives_whole)
{
    char buffer[7], got[64];
    struct xp_out out;
    int fds[2];

    CHECK(pipe(fds) == 0);
    xp_out_init(&out, fds[1], buffer, sizeof(buffer));
    xp_out_text(&out, "twenty-three characters");
    CHECK_EQ(xp_out_flush(&out), 0);
    ssize_t n = read(fds[0], got, sizeof(got));
    CHECK_EQ(n, 23);
    CHECK(memcmp(got, "twenty-three characters", 23) == 0);
    close(fds[0]);
    close(fds[1]);
}
