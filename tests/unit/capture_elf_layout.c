/* SPDX-License-Identifier: MIT */
#include "capture/elf_layout.h"

#include <elf.h>
#include <errno.h>
#include <sys/mman.h>

#include "base/os.h"
#include "base/rng.h"
#include "test.h"

/* A small file as it would be mapped: header, text, table; the page behind it cannot be read. */
#define PAGES 3
static struct {
    unsigned char *start;
    uintptr_t end;
    Elf64_Ehdr *elf;
    Elf64_Phdr *headers;
} made;

static const unsigned char notes[] = {4,   0,   0,   0, 8,  0,   0, 0,  5,  0,  0, 0,
                                      'G', 'N', 'U', 0, 1,  2,   3, 4,  5,  6,  7, 8, /* property */
                                      4,   0,   0,   0, 6,  0,   0, 0,  3,  0,  0, 0,
                                      'G', 'N', 'U', 0, 23, 101, 7, 11, 13, 17, 0, 0};

static void make(void)
{
    if (!made.start) {
        made.start = mmap(NULL, (PAGES + 1) * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(made.start != MAP_FAILED);
        CHECK_EQ(mprotect(made.start, PAGES * 4096, PROT_READ | PROT_WRITE), 0);
    }
    memset(made.start, 0, PAGES * 4096);
    made.end = (uintptr_t)made.start + PAGES * 4096;
    made.elf = (Elf64_Ehdr *)made.start;
    made.headers = (Elf64_Phdr *)(made.start + 64);
    memcpy(made.elf->e_ident, ELFMAG, SELFMAG);
    made.elf->e_ident[EI_CLASS] = ELFCLASS64;
    made.elf->e_phoff = 64;
    made.elf->e_phentsize = sizeof(Elf64_Phdr);
    made.elf->e_phnum = 4;
    made.headers[0] = (Elf64_Phdr){
        .p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0x400000, .p_filesz = 4096, .p_memsz = 4096};
    made.headers[1] = (Elf64_Phdr){.p_type = PT_LOAD,
                                   .p_flags = PF_R | PF_X,
                                   .p_offset = 0x3010,
                                   .p_vaddr = 0x401010,
                                   .p_filesz = 101,
                                   .p_memsz = 101};
    made.headers[2] = (Elf64_Phdr){
        .p_type = PT_LOAD, .p_flags = PF_R, .p_vaddr = 0x402000, .p_filesz = 1000, .p_memsz = 4096};
    made.headers[3] = (Elf64_Phdr){.p_type = PT_NOTE,
                                   .p_vaddr = 0x400800,
                                   .p_filesz = sizeof(notes),
                                   .p_memsz = sizeof(notes)};
    memcpy(made.start + 0x800, notes, sizeof(notes));
}

static int read_made(uintptr_t wanted, struct xp_elf_layout *ret_layout)
{
    return xp_elf_layout_read((uintptr_t)made.start, made.end, wanted, ret_layout);
}

TEST(text_segment_and_build_id_are_found)
{
    struct xp_elf_layout layout;

    make();
    uintptr_t start = (uintptr_t)made.start;
    CHECK_EQ(read_made(start + 0x2000 + 999, &layout), 0);
    CHECK_EQ(layout.text_start - start, 0x1000);
    CHECK_EQ(layout.text_end - start, 0x2000);
    CHECK_EQ(layout.text_offset, 0x3000);
    CHECK_EQ(layout.segment_start - start, 0x2000);
    CHECK_EQ(layout.segment_end - start, 0x2000 + 1000);
    CHECK_EQ(layout.build_id_size, 6);
    CHECK_EQ(layout.build_id[0], 23);
    CHECK_EQ(layout.build_id[5], 17);
    CHECK_EQ(layout.build_id_at - start, 0x800 + 40);
    /* Memory that no file stands behind holds no tables. */
    CHECK_EQ(read_made(start + 0x2000 + 1000, &layout), 0);
    CHECK_EQ(layout.segment_start, 0);
}

TEST(what_is_no_program_is_taken_for_text_as_a_whole)
{
    struct xp_elf_layout layout;

    make();
    made.elf->e_ident[0] = 'x';
    CHECK_EQ(read_made(0, &layout), -ENOEXEC);
    CHECK(layout.text_start == (uintptr_t)made.start && layout.text_end == made.end);
    make();
    made.elf->e_phoff = 0xffffffffffffff00;
    CHECK_EQ(read_made(0, &layout), -ENOEXEC);
    make();
    made.elf->e_phnum = 65535;
    CHECK_EQ(read_made(0, &layout), -ENOEXEC);
    make();
    made.headers[1].p_flags = PF_R;
    CHECK_EQ(read_made(0, &layout), -ENOEXEC);
    CHECK_EQ(xp_elf_layout_read(made.end, made.end + 4096, 0, &layout), -EFAULT);
}

TEST(segments_outside_of_the_mapping_are_ignored)
{
    struct xp_elf_layout layout;

    make();
    made.headers[2].p_vaddr = 0xffffffffffffff00;
    made.headers[2].p_memsz = 0x1000;
    made.headers[3].p_memsz = ~0ul;
    CHECK_EQ(read_made((uintptr_t)made.start + 0x2000, &layout), 0);
    CHECK_EQ(layout.segment_start, 0);
    CHECK_EQ(layout.build_id_size, 0);
}

TEST(a_read_that_fails_now_is_told_from_one_that_always_will)
{
    struct xp_elf_layout layout;

    make();
    for (uint32_t n = 1; n <= 3; n++) {
        xp_os_fault_every(n, 1u << XP_OS_OTHER, ENOMEM);
        CHECK_EQ(read_made(0, &layout), -EFAULT);
        xp_os_fault_every(0, 0, 0);
    }
    CHECK_EQ(read_made(0, &layout), 0);
}

TEST(random_headers_do_no_harm)
{
    struct xp_elf_layout layout;
    struct xp_rng rng;

    xp_rng_seed(&rng, 20231);
    for (int round = 0; round < 20000; round++) {
        make();
        for (int i = 0; i < 1 << (round % 8); i++)
            made.start[5 + xp_rng_next(&rng) % (i % 2 ? 0x130 : 0x830)] =
                (unsigned char)xp_rng_next(&rng);
        int r = read_made((uintptr_t)made.start + 0x2010, &layout);
        CHECK(r == 0 || r == -ENOEXEC || r == -EFAULT);
        CHECK(layout.text_start >= (uintptr_t)made.start - 4096 &&
              layout.text_start <= layout.text_end);
        CHECK(layout.segment_end <= made.end && layout.build_id_size <= XP_BUILD_ID_MAX);
    }
}
