/* SPDX-License-Identifier: MIT */
/* cleanup.c - removes dumps of ours whose process has ended. */
#include "profile/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/os.h"
#include "base/out.h"
#include "format/heap_types.h"
#include "profile/publish.h"

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), n = strlen(end);

    return length > n && strcmp(name + length - n, end) == 0;
}

static bool name_is_a_dump(const char *name, const char *base)
{
    size_t n = strlen(base);

    if (strncmp(name, base, n) != 0 || (name[n] != '.' && name[n] != '_'))
        return false;
    return ends_with(name + n, ".heap") || (name[n] == '.' && ends_with(name + n, ".part"));
}

/* Decimal digits only; 0 when there are none or too many. */
static pid_t number_at(const char *at, const char *end)
{
    int value = 0;

    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        if (value > INT32_MAX / 10 - 1)
            return 0;
        value = value * 10 + (*at - '0');
    }
    return value;
}

/* The pid in the first lines of a file of ours; 0 when it is none. */
static pid_t writer_of(const char *head, size_t size)
{
    static const char mark[] = "\n# " PP_KEY_LIBXPROF " ", pid_line[] = "\n# " PP_KEY_PID " ";

    /* The mark stands in the second line, below the header. */
    const char *line = memchr(head, '\n', size);
    if (!line || (size_t)(head + size - line) < sizeof(mark) ||
        memcmp(line, mark, sizeof(mark) - 1) != 0)
        return 0;
    const char *pid = memmem(line, (size_t)(head + size - line), pid_line, sizeof(pid_line) - 1);
    return pid ? number_at(pid + sizeof(pid_line) - 1, head + size) : 0;
}

static pid_t writer_of_file(const char *path)
{
    char head[512];
    struct stat st;
    pid_t pid = 0;

    int fd = xp_os_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return 0;
    if (xp_os_fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        ssize_t n = xp_os_read(fd, head, sizeof(head));
        if (n > 0)
            pid = writer_of(head, (size_t)n);
    }
    xp_os_close(fd);
    return pid;
}

/* A zombie has ended, too: its parent only has not looked yet. */
static bool has_ended(pid_t pid)
{
    char path[32], stat[512];
    struct xp_out out;

    if (xp_os_tgkill(pid, pid, 0) == -ESRCH)
        return true;
    xp_out_init(&out, -1, path, sizeof(path) - 1);
    xp_out_text(&out, "/proc/");
    xp_out_signed(&out, pid, 0);
    xp_out_text(&out, "/stat");
    path[out.length] = 0;
    ssize_t n = xp_os_read_file(path, stat, sizeof(stat));
    /* "PID (NAME) STATE ...": the name may hold anything, so the last parenthesis counts. */
    const char *close = n > 0 ? memrchr(stat, ')', (size_t)n) : NULL;
    if (!close || close + 2 >= stat + n)
        return false;
    return close[2] == 'Z' || close[2] == 'X';
}

/* folder ends in '/'. */
static void consider(const char *folder, size_t folder_length, const char *name)
{
    char path[XP_PATH_MAX];
    size_t length = strlen(name);

    if (folder_length + length >= sizeof(path))
        return;
    memcpy(path, folder, folder_length);
    memcpy(path + folder_length, name, length + 1);
    pid_t pid = writer_of_file(path);
    if (pid > 0 && pid != xp_os_getpid() && has_ended(pid))
        xp_os_unlink(path);
}

void xp_cleanup(const char *prefix)
{
    char entries[4096] __attribute__((aligned(8)));
    char folder[XP_PATH_MAX];
    const char *slash = strrchr(prefix, '/');
    const char *base = slash ? slash + 1 : prefix;
    size_t folder_length = (size_t)(base - prefix);

    if (folder_length == 0 || folder_length >= sizeof(folder))
        return;
    memcpy(folder, prefix, folder_length);
    folder[folder_length] = 0;
    int fd = xp_os_open(folder, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return;
    for (;;) {
        ssize_t n = xp_os_getdents(fd, entries, sizeof(entries));
        if (n <= 0)
            break;
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
            if (name_is_a_dump(entry->d_name, base))
                consider(folder, folder_length, entry->d_name);
            at += entry->d_reclen;
        }
    }
    xp_os_close(fd);
}
