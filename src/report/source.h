/* SPDX-License-Identifier: MIT */
/* source.h - one input: opened, looked into, then read once from front to back.
 *
 * Layer report. Standard input works like any file: what was looked at is read again. */
#ifndef HR_REPORT_SOURCE_H
#define HR_REPORT_SOURCE_H

#include "base/compiler.h"
#include "report/error.h"

#define HR_PEEK_SIZE ((size_t)4096)

enum hr_content {
    HR_CONTENT_PROFILE, /* a .heap text */
    HR_CONTENT_ELF,
    HR_CONTENT_EMPTY,
    HR_CONTENT_GZIP,
    HR_CONTENT_OTHER,
};

struct hr_source {
    const char *name; /* as given; "standard input" for "-"; borrowed */
    int fd;
    enum hr_content content;
    size_t peeked; /* bytes of peek that hold data */
    size_t taken;  /* of those: already read */
    char peek[HR_PEEK_SIZE];
};

/* Opens path ("-": standard input) and looks at its first bytes. 0, or -errno with *err. */
int hr_source_open(struct hr_source *source, const char *path, struct hr_error *err);
/* Up to size bytes into buffer: their number, 0 at the end, or -errno with *err. */
int64_t hr_source_read(struct hr_source *source, char *buffer, size_t size, struct hr_error *err);
void hr_source_close(struct hr_source *source);

#endif
