/* SPDX-License-Identifier: MIT */
/* source.c - opens an input and tells by its first bytes what it is. */
#include "report/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/heap_read.h"

static int64_t read_fully(int fd, char *buffer, size_t size)
{
    size_t got = 0;

    while (got < size) {
        ssize_t n = read(fd, buffer + got, size - got);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        got += (size_t)n;
    }
    return (int64_t)got;
}

static enum hr_content content_of(const char *bytes, size_t size)
{
    if (size == 0)
        return HR_CONTENT_EMPTY;
    if (size >= 4 && memcmp(bytes, "\177ELF", 4) == 0)
        return HR_CONTENT_ELF;
    if (size >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0)
        return HR_CONTENT_GZIP;
    return pp_heap_detect(bytes, size) ? HR_CONTENT_PROFILE : HR_CONTENT_OTHER;
}

static int fail(const struct hr_source *source, int code, struct hr_error *err)
{
    return hr_error_set(err, code, source->name, 0, "cannot read: %s", strerror(-code));
}

int hr_source_open(struct hr_source *source, const char *path, struct hr_error *err)
{
    struct stat st;

    *source = (struct hr_source){.name = path, .fd = -1};
    if (strcmp(path, "-") == 0) {
        source->name = "standard input";
        source->fd = STDIN_FILENO;
    } else {
        source->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (source->fd < 0)
            return fail(source, -errno, err);
    }
    if (fstat(source->fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        hr_source_close(source);
        return hr_error_set(err, -EISDIR, source->name, 0,
                            "is a directory; give the .heap files in it");
    }

    int64_t n = read_fully(source->fd, source->peek, sizeof(source->peek));

    if (n < 0) {
        hr_source_close(source);
        return fail(source, (int)n, err);
    }
    source->peeked = (size_t)n;
    source->content = content_of(source->peek, source->peeked);
    return 0;
}

int64_t hr_source_read(struct hr_source *source, char *buffer, size_t size, struct hr_error *err)
{
    size_t waiting = source->peeked - source->taken;

    if (waiting) {
        size_t n = waiting < size ? waiting : size;

        memcpy(buffer, source->peek + source->taken, n);
        source->taken += n;
        return (int64_t)n;
    }

    int64_t n = read_fully(source->fd, buffer, size);

    return n < 0 ? fail(source, (int)n, err) : n;
}

void hr_source_close(struct hr_source *source)
{
    if (source->fd > STDIN_FILENO)
        close(source->fd);
    source->fd = -1;
}
