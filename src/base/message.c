/* SPDX-License-Identifier: MIT */
/* message.c - the lines we say to people, and where they may go. */
#include "base/message.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/os.h"

static struct {
    const char *log_path; /* set once at start */
    dev_t device;         /* what fd 2 was then; 0/0 when it was closed */
    ino_t inode;
    _Atomic bool known;
    _Atomic bool quiet;
} message;

void xp_message_init(const char *log_path)
{
    struct stat st;

    message.log_path = log_path;
    if (xp_os_fstat(2, &st) == 0) {
        message.device = st.st_dev;
        message.inode = st.st_ino;
        atomic_store_explicit(&message.known, true, memory_order_release);
    }
}

void xp_message_set_quiet(bool quiet)
{
    atomic_store_explicit(&message.quiet, quiet, memory_order_relaxed);
}

void xp_message_begin(struct xp_message *m)
{
    /* One byte is kept for the newline of a cut message. */
    xp_out_init(&m->out, -1, m->buffer, sizeof(m->buffer) - 1);
}

void xp_message_end(struct xp_message *m)
{
    m->buffer[m->out.length++] = '\n';
    xp_message_lines(m->buffer, m->out.length);
}

void xp_message_lines(const char *lines, size_t size)
{
    struct stat st;

    if (atomic_load_explicit(&message.quiet, memory_order_relaxed))
        return;
    if (message.log_path) {
        int fd = xp_os_open(message.log_path, O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY, 0644);
        if (fd >= 0) {
            xp_os_say(fd, lines, size);
            xp_os_close(fd);
        }
        return;
    }
    if (!atomic_load_explicit(&message.known, memory_order_acquire) || xp_os_fstat(2, &st) != 0 ||
        st.st_dev != message.device || st.st_ino != message.inode)
        return;
    xp_os_say(2, lines, size);
}

void xp_message_text(const char *text)
{
    struct xp_message m;

    xp_message_begin(&m);
    xp_out_text(&m.out, text);
    xp_message_end(&m);
}
