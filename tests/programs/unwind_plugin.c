/* SPDX-License-Identifier: MIT */
/* unwind_plugin.c - a library in two editions whose return addresses coincide, frames do not.
 *
 * PLUGIN_FRAME: bytes of the frame, over 127 so that both editions have the same code bytes. */

/* Both call fn and return. */
void plugin_call(void (*fn)(void));
void plugin_other(void (*fn)(void));

#define TEXT2(x) #x
#define TEXT(x)  TEXT2(x)

#define FUNCTION(name)                                                                             \
    ".globl " name "\n"                                                                            \
    ".type " name ", @function\n" name ":\n"                                                       \
    ".cfi_startproc\n"                                                                             \
    "sub $" TEXT(                                                                                  \
        PLUGIN_FRAME) ", %rsp\n"                                                                   \
                      ".cfi_adjust_cfa_offset " TEXT(                                              \
                          PLUGIN_FRAME) "\n"                                                       \
                                        "call *%rdi\n"                                             \
                                        "add $" TEXT(                                              \
                                            PLUGIN_FRAME) ", %rsp\n"                               \
                                                          ".cfi_adjust_cfa_offset -" TEXT(         \
                                                              PLUGIN_FRAME) "\n"                   \
                                                                            "ret\n"                \
                                                                            ".cfi_endproc\n"       \
                                                                            ".size " name          \
                                                                            ", .-" name "\n"

__asm__(".text\n" FUNCTION("plugin_call") FUNCTION("plugin_other"));
