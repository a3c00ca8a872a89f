/* SPDX-License-Identifier: MIT */
/* publish.c - a file appears whole or not at all, under a name that nobody had. */
#include "profile/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/hash.h"
#include "base/os.h"
#include "base/out.h"

#define MODE 0644 /* less the umask */

/* Names to try in one dump: more files of one prefix than anybody keeps. */
#define NUMBERS_MAX 1000000

/* Terminates name and says whether all of it fitted. */
static int finish_name(struct xp_out *out, char *name)
{
    name[out->length] = 0;
    return out->error ? -ENAMETOOLONG : 0;
}

int xp_publish_name(const char *prefix, pid_t pid, uint64_t number, char *name, size_t size)
{
    struct xp_out out;

    xp_out_init(&out, -1, name, size - 1);
    xp_out_text(&out, prefix);
    if (pid != 0) {
        xp_out_char(&out, '_');
        xp_out_signed(&out, pid, 0);
    }
    xp_out_char(&out, '.');
    for (uint64_t digit = 1000; digit > number && digit > 1; digit /= 10)
        xp_out_char(&out, '0');
    xp_out_unsigned(&out, number, 0);
    xp_out_text(&out, ".heap");
    return finish_name(&out, name);
}

static int draft_name(struct xp_draft *draft, const char *prefix, uint32_t mark)
{
    struct xp_out out;

    xp_out_init(&out, -1, draft->path, sizeof(draft->path) - 1);
    xp_out_text(&out, prefix);
    xp_out_char(&out, '.');
    xp_out_hex(&out, mark, 8);
    xp_out_text(&out, ".part");
    return finish_name(&out, draft->path);
}

int xp_draft_open(struct xp_draft *draft, const char *prefix)
{
    uint64_t mark = xp_hash_add((uint64_t)xp_os_getpid(), xp_os_now_ns());

    /* Processes in other containers may have our pid and write here, too. */
    for (int turn = 0; turn < 16; turn++) {
        int r = draft_name(draft, prefix, (uint32_t)(mark + (uint64_t)turn));
        if (r < 0)
            return r;
        r = xp_os_open(draft->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY, MODE);
        if (r >= 0)
            atomic_store_explicit(&draft->fd, r, memory_order_relaxed);
        if (r != -EEXIST)
            return r < 0 ? r : 0;
    }
    return -EEXIST;
}

/* The field is emptied first: a child forked in between must not close a number that has become
 * somebody else's. */
static int close_draft(struct xp_draft *draft)
{
    int fd = atomic_exchange_explicit(&draft->fd, -1, memory_order_relaxed);

    return fd < 0 ? 0 : xp_os_close(fd);
}

/* Where files cannot have two names: the name is taken by an empty file of ours, which the draft
 * then replaces. */
static int move_without_link(const char *from, const char *to)
{
    int fd = xp_os_open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY, MODE);

    if (fd < 0)
        return fd;
    xp_os_close(fd);
    int r = xp_os_rename(from, to);
    if (r < 0)
        xp_os_unlink(to);
    return r;
}

static bool links_are_missing(int error)
{
    return error == -EPERM || error == -EOPNOTSUPP || error == -ENOSYS || error == -EMLINK ||
           error == -EACCES || error == -EINVAL;
}

/* 0, -EEXIST when the name is taken, or -errno. The draft's own name is gone after 0. */
static int move(const char *from, const char *to)
{
    int r = xp_os_link(from, to);

    if (r == 0) {
        xp_os_unlink(from);
        return 0;
    }
    return links_are_missing(r) ? move_without_link(from, to) : r;
}

int xp_draft_publish(struct xp_draft *draft, const char *prefix, pid_t pid, uint64_t *number,
                     char *name, size_t size)
{
    /* Quotas and network file systems may refuse the bytes as late as here. */
    int r = close_draft(draft);

    for (int turn = 0; r == 0 && turn < NUMBERS_MAX; turn++) {
        r = xp_publish_name(prefix, pid, *number, name, size);
        if (r == 0)
            r = move(draft->path, name);
        if (r == 0) {
            ++*number;
            return 0;
        }
        if (r == -EEXIST) {
            ++*number;
            r = 0;
        }
    }
    xp_os_unlink(draft->path);
    return r < 0 ? r : -EEXIST;
}

int xp_draft_publish_as(struct xp_draft *draft, const char *name)
{
    int r = close_draft(draft);

    if (r == 0)
        r = move(draft->path, name);
    if (r < 0)
        xp_os_unlink(draft->path);
    return r;
}

void xp_draft_drop(struct xp_draft *draft)
{
    if (atomic_load_explicit(&draft->fd, memory_order_relaxed) < 0)
        return;
    close_draft(draft);
    xp_os_unlink(draft->path);
}

void xp_draft_forget(struct xp_draft *draft)
{
    /* Read first: a page that is not written is not copied. */
    if (atomic_load_explicit(&draft->fd, memory_order_relaxed) >= 0)
        close_draft(draft);
}
