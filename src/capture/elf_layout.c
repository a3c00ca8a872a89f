/* SPDX-License-Identifier: MIT */
/* elf_layout.c - what a mapped ELF file says of itself: text, unwind table, build id. */
#include "capture/elf_layout.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/os.h"

#define HEADERS_MAX 64  /* program headers looked at, */
#define AT_ONCE     8u  /* so many by one call */
#define NOTES_MAX   512 /* bytes of a note segment looked at */

/* The GNU build id among the notes at address, if it is there. */
static int read_build_id(uintptr_t address, size_t size, struct xp_elf_layout *layout)
{
    uint8_t notes[NOTES_MAX];
    size_t at = 0;

    if (size > sizeof(notes))
        size = sizeof(notes);
    if (xp_os_peek(notes, (const void *)address, size) < 0)
        return -EFAULT;
    while (size - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof(note));
        at += sizeof(note);
        size_t name_size = xp_align_up((size_t)note.n_namesz, 4);
        size_t desc_size = xp_align_up((size_t)note.n_descsz, 4);
        if (name_size > size - at || desc_size > size - at - name_size)
            break;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes + at, "GNU", 4) == 0) {
            layout->build_id_size =
                (uint8_t)(note.n_descsz < XP_BUILD_ID_MAX ? note.n_descsz : XP_BUILD_ID_MAX);
            layout->build_id_at = address + at + name_size;
            memcpy(layout->build_id, notes + at + name_size, layout->build_id_size);
            break;
        }
        at += name_size + desc_size;
    }
    return 0;
}

static void add_text(const Elf64_Phdr *header, uintptr_t from, uintptr_t to,
                     struct xp_elf_layout *layout)
{
    if (layout->text_end == 0 || from < layout->text_start) {
        layout->text_start = from;
        layout->text_offset = xp_align_down(header->p_offset, XP_OS_PAGE);
    }
    if (to > layout->text_end)
        layout->text_end = to;
}

int xp_elf_layout_read(uintptr_t start, uintptr_t end, uintptr_t wanted,
                       struct xp_elf_layout *ret_layout)
{
    struct xp_elf_layout layout = {0};
    Elf64_Ehdr elf;
    Elf64_Phdr headers[AT_ONCE], header;
    uintptr_t bias = 0;
    bool bias_known = false;

    *ret_layout = (struct xp_elf_layout){.text_start = start, .text_end = end};
    if (xp_os_peek(&elf, (const void *)start, sizeof(elf)) < 0)
        return -EFAULT;
    if (memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
        elf.e_phentsize != sizeof(Elf64_Phdr) || elf.e_phnum > HEADERS_MAX ||
        elf.e_phoff > end - start || elf.e_phnum * sizeof(header) > end - start - elf.e_phoff)
        return -ENOEXEC;

    for (unsigned i = 0; i < elf.e_phnum; i++) {
        if (i % AT_ONCE == 0) {
            size_t left = elf.e_phnum - i, some = left < AT_ONCE ? left : AT_ONCE;
            uintptr_t at = start + elf.e_phoff + i * sizeof(header);
            if (xp_os_peek(headers, (const void *)at, some * sizeof(header)) < 0)
                return -EFAULT;
        }
        header = headers[i % AT_ONCE];
        if (header.p_type != PT_LOAD && header.p_type != PT_NOTE)
            continue;
        if (header.p_type == PT_LOAD && !bias_known) {
            bias = start - xp_align_down(header.p_vaddr, XP_OS_PAGE);
            bias_known = true;
        }
        uintptr_t from = bias + header.p_vaddr, to = from + header.p_memsz;
        if (!bias_known || from < start || to > end || to < from)
            continue;
        if (header.p_type == PT_NOTE) {
            if (layout.build_id_size == 0 && read_build_id(from, header.p_memsz, &layout) < 0)
                return -EFAULT;
            continue;
        }
        if (header.p_flags & PF_X)
            add_text(&header, xp_align_down(from, XP_OS_PAGE), xp_align_up(to, XP_OS_PAGE),
                     &layout);
        /* Only what comes from the file: tables do not live in .bss. */
        uint64_t filled = header.p_filesz < header.p_memsz ? header.p_filesz : header.p_memsz;
        if ((header.p_flags & PF_R) && wanted >= from && wanted - from < filled) {
            layout.segment_start = from;
            layout.segment_end = from + filled;
        }
    }
    if (layout.text_end == 0)
        return -ENOEXEC;
    *ret_layout = layout;
    return 0;
}
