/* SPDX-License-Identifier: MIT */
/* output.c - writes a report beside its file and renames it, or to standard output. */
#include "report/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"

static int fail(const struct hr_output *output, int code, const char *what, struct hr_error *err)
{
    return hr_error_set(err, code, output->name, 0, "cannot %s: %s", what, strerror(-code));
}

/* The file that a symbolic link leads to is the one to replace. */
static char *resolve(const char *path)
{
    char *real = realpath(path, NULL);

    return real || errno != ENOENT ? real : strdup(path);
}

static int open_beside(struct hr_output *output, const struct stat *old, struct hr_error *err)
{
    int fd;

    output->path = resolve(output->name);
    if (!output->path)
        return fail(output, -errno, "find the file", err);
    if (asprintf(&output->temporary, "%s.XXXXXX", output->path) < 0) {
        output->temporary = NULL;
        return fail(output, -ENOMEM, "write", err);
    }
    fd = mkostemp(output->temporary, O_CLOEXEC);
    if (fd < 0) {
        int code = -errno;

        free(output->temporary);
        output->temporary = NULL;
        return fail(output, code, "write", err);
    }

    mode_t mask = umask(0);

    umask(mask);
    if (fchmod(fd, old ? old->st_mode & 0777 : 0666 & ~mask) < 0) {
        /* a file system without modes is no reason to fail */
    }
    output->stream = fdopen(fd, "w");
    if (!output->stream) {
        close(fd);
        return fail(output, -ENOMEM, "write", err);
    }
    return 0;
}

int hr_output_check(const char *path, const char *const *inputs, size_t count, struct hr_error *err)
{
    struct stat out, in;

    if (!path || stat(path, &out) != 0 || !S_ISREG(out.st_mode))
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (stat(inputs[i], &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            return hr_error_set(err, -EEXIST, path, 0,
                                "is read for this report; -o wants another file");
    }
    return 0;
}

int hr_output_open(struct hr_output *output, const char *path, struct hr_error *err)
{
    struct stat st;

    *output = (struct hr_output){.name = path ? path : "standard output"};
    if (!path) {
        output->stream = stdout;
        return 0;
    }

    bool exists = stat(path, &st) == 0;

    if (!exists && errno != ENOENT)
        return fail(output, -errno, "write", err);
    if (exists && S_ISDIR(st.st_mode))
        return hr_error_set(err, -EISDIR, path, 0, "is a directory; -o wants a file");
    if (!exists || S_ISREG(st.st_mode))
        return open_beside(output, exists ? &st : NULL, err);

    output->stream = fopen(path, "we");
    return output->stream ? 0 : fail(output, -errno, "write", err);
}

int hr_output_commit(struct hr_output *output, struct hr_error *err)
{
    FILE *stream = output->stream;
    bool failed = fflush(stream) != 0 || ferror(stream);
    int code = failed ? -(errno ? errno : EIO) : 0;

    output->stream = NULL;
    errno = 0;
    if (fclose(stream) != 0 && code == 0)
        code = -(errno ? errno : EIO);
    if (code == 0 && output->path && rename(output->temporary, output->path) < 0)
        code = -errno;
    if (code < 0) {
        fail(output, code, "write", err);
    } else {
        free(output->temporary);
        output->temporary = NULL;
    }
    hr_output_abandon(output);
    return code;
}

void hr_output_abandon(struct hr_output *output)
{
    if (output->stream && output->stream != stdout)
        fclose(output->stream);
    if (output->temporary)
        unlink(output->temporary);
    free(output->temporary);
    free(output->path);
    *output = (struct hr_output){0};
}
