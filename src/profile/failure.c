/* SPDX-License-Identifier: MIT */
/* failure.c - says once for each cause why a dump failed, and what to do. */
#include "profile/failure.h"

#include <errno.h>
#include <string.h>

#include "base/message.h"

#define ELSEWHERE "or set HEAPPROFILE to another place"

/* strerror() may allocate and depends on the locale; these are the ones that files really have. */
static const struct {
    int error;
    const char *text;
} causes[] = {
    {ENOSPC, "the disk is full; free some space, " ELSEWHERE},
    {EDQUOT, "the disk quota is used up; free some space, " ELSEWHERE},
    {EFBIG, "the file would be larger than the size limit; raise ulimit -f"},
    {EROFS, "the file system is read-only; set HEAPPROFILE to a folder that can be written to"},
    {ENOENT, "the folder does not exist; create it, " ELSEWHERE},
    {ENOTDIR, "a part of the path is not a folder; set HEAPPROFILE to another place"},
    {EACCES, "no permission to write there; set HEAPPROFILE to a folder that can be written to"},
    {EPERM, "not permitted there; set HEAPPROFILE to a folder that can be written to"},
    {ENAMETOOLONG, "the name is too long; set HEAPPROFILE to a shorter one"},
    {ELOOP, "too many symbolic links in the path; set HEAPPROFILE to another place"},
    {EMFILE, "the process has too many open files; raise ulimit -n"},
    {ENFILE, "the system has too many open files"},
    {EIO, "input/output error; check the disk, " ELSEWHERE},
    {ENOMEM, "no memory for the table of rows; raise the memory limit of the process"},
    {EEXIST, "all names are taken; remove old dumps, " ELSEWHERE},
};

/* One bit per errno that was reported since the last dump that went well. */
static uint64_t reported[4];

static const char *cause_of(int error)
{
    for (size_t i = 0; i < XP_ARRAY_LENGTH(causes); i++) {
        if (causes[i].error == error)
            return causes[i].text;
    }
    return "the system refused it; set HEAPPROFILE to another place";
}

void xp_failure_report(const char *path, int error)
{
    struct xp_message m;
    unsigned number = (unsigned)-error % 256;

    if (reported[number / 64] & (uint64_t)1 << number % 64)
        return;
    reported[number / 64] |= (uint64_t)1 << number % 64;
    xp_message_begin(&m);
    xp_out_text(&m.out, "Failed dumping heap profile to ");
    xp_out_escaped(&m.out, path, strlen(path));
    xp_out_text(&m.out, ". Numeric errno is ");
    xp_out_signed(&m.out, -(int64_t)error, 0);
    xp_out_text(&m.out, ": ");
    xp_out_text(&m.out, cause_of(-error));
    xp_out_text(&m.out, "; the program goes on");
    xp_message_end(&m);
}

void xp_failure_forget(void)
{
    memset(reported, 0, sizeof(reported));
}
