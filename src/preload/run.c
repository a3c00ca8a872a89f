/* SPDX-License-Identifier: MIT */
/* run.c - the library as a program: it says its version and its options.
 *
 * Only in the shared library: an interpreter of its own and an entry point. The loader has loaded
 * libc and run our constructor by then, but nobody has called libc's start code: no stdio here. */
#include <string.h>

#include "base/compiler.h"
#include "base/os.h"
#include "base/out.h"
#include "preload/options.h"
#include "preload/run.h"

const char xp_run_interpreter[] __attribute__((section(".interp"), used)) =
    "/lib64/ld-linux-x86-64.so.2";

/* stack: what the kernel left there: argc, argv. */
__attribute__((used)) _Noreturn void xp_run(const uintptr_t *stack);

/* A program starts with an aligned stack and no return address. */
__asm__(".pushsection .text\n"
        ".globl xp_run_entry\n"
        ".hidden xp_run_entry\n"
        ".type xp_run_entry, @function\n"
        "xp_run_entry:\n"
        ".cfi_startproc\n"
        ".cfi_undefined rip\n"
        "xor %ebp, %ebp\n"
        "mov %rsp, %rdi\n"
        "and $-16, %rsp\n"
        "call xp_run\n"
        "hlt\n"
        ".cfi_endproc\n"
        ".size xp_run_entry, . - xp_run_entry\n"
        ".popsection\n");

void xp_run(const uintptr_t *stack)
{
    char buffer[1024];
    struct xp_out out;
    const char *wish = stack[0] > 1 ? (const char *)stack[2] : "";

    xp_out_init(&out, 1, buffer, sizeof(buffer));
    if (strcmp(wish, "--version") == 0)
        xp_out_text(&out, "libxprof " XP_VERSION "\n");
    else if (strcmp(wish, "--options") == 0)
        xp_options_print(&out);
    else
        xp_out_text(&out, "usage: HEAPPROFILE=PREFIX LD_PRELOAD=libxprof.so PROGRAM  "
                          "(or libxprof.so --version | --options; see libxprof(7))\n");
    xp_os_exit(xp_out_flush(&out) < 0);
}
