/* SPDX-License-Identifier: MIT */
/* elf.c - any bytes as an ELF file: headers, notes, links, contents, symbols. */
#include <elf.h>
#include <stdlib.h>

#include "report/elf.h"
#include "report/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_symbols(struct hr_elf *elf)
{
    uint64_t addresses[64];
    struct hr_symbol symbols[64] = {{0}};
    for (uint32_t i = 0; i < 64; i++)
        addresses[i] = 0x100 + 0x1d * (uint64_t)i;
    addresses[63] = UINT64_MAX;
    hr_symtab_find(elf, HR_SYMTAB, addresses, 64, symbols, NULL);
    hr_symtab_find(elf, HR_DYNSYM, addresses, 64, symbols, NULL);
    for (uint32_t i = 0; i < 64; i++)
        for (uint32_t k = 0; k < symbols[i].length; k++)
            if (!symbols[i].name[k])
                abort();
}

static void use(const uint8_t *data, size_t size, unsigned depth)
{
    struct hr_elf *elf, *mini;
    char name[1024], id[129];
    uint32_t crc;
    uint64_t vaddr, length;
    const uint8_t *contents;
    unsigned sum = 0;
    if (hr_elf_open_memory(data, size, "fuzz", &elf, NULL) < 0)
        return;
    for (uint64_t offset = 0; offset < size; offset += 1 + size / 64)
        hr_elf_vaddr_of_offset(elf, offset, &vaddr);
    hr_elf_is_debug_only(elf);
    hr_elf_debuglink(elf, name, &crc);
    hr_elf_debugaltlink(elf, name, id);
    for (uint32_t i = 1; i < elf->section_count; i++)
        if (hr_elf_section_data(elf, &elf->sections[i], &contents, &length, NULL) == 0 &&
            length > 0)
            sum += contents[0] + contents[length - 1]; /* both ends can be read */
    use_symbols(elf);
    if (depth == 0 && hr_elf_open_minidebug(elf, &mini, NULL) == 0) {
        use_symbols(mini);
        hr_elf_close(mini);
    }
    hr_elf_close(elf);
    __asm__ volatile("" : : "r"(sum));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    use(data, size, 0);
    return 0;
}
