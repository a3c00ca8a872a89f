/* SPDX-License-Identifier: MIT */
/* message.h - the lines we say to people, and where they may go.
 *
 * Layer base. No malloc, no stdio, no lock: a line is one write. Messages go to fd 2 only while it
 * is still the file it was at the start (daemons open something else there), else to the log file
 * that the options named, else nowhere. Functions that print say so in their header; all others are
 * silent.
 */
#ifndef XP_BASE_MESSAGE_H
#define XP_BASE_MESSAGE_H

#include "base/out.h"

/* Remembers what fd 2 is. log_path NULL: fd 2; else that file, opened for appending at each
 * message. log_path is borrowed for ever. */
void xp_message_init(const char *log_path);

/* Quiet processes (forked children by default) say nothing. */
void xp_message_set_quiet(bool quiet);

/* A message under construction: begin, write to .out, end. One line each, no prefix is added.
 * Longer than the buffer: cut. errno is kept. */
struct xp_message {
    struct xp_out out;
    char buffer[1024];
};

void xp_message_begin(struct xp_message *message);
/* Adds the newline and sends the line by one write. */
void xp_message_end(struct xp_message *message);

/* The short form: one fixed text. */
void xp_message_text(const char *text);

/* A text of several whole lines, each with its newline, of any length. */
void xp_message_lines(const char *lines, size_t size);

#endif
