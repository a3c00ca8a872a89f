/* SPDX-License-Identifier: MIT */
/* report_symtab.c - a name for an address inside of a function, and none for one outside. */
#include <errno.h>
#include <stdlib.h>

#include "report/symtab.h"
#include "test.h"

#include "elf_image.h"

static struct image image;

enum { TEXT = 1, DATA, PLT };

static struct hr_elf *open_with(bool dynamic, const struct image_symbol *symbols)
{
    static const uint8_t code[0x1000];
    struct hr_elf *elf;
    image_begin(&image);
    image_section(&image, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, code, 0x1000);
    image_section(&image, ".data", SHT_PROGBITS, SHF_ALLOC, 0x3000, code, 0x1000);
    image_section(&image, ".plt", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x2000, code, 0x100);
    image_symbols(&image, dynamic, symbols);
    image_end(&image);
    CHECK_EQ(hr_elf_open_memory(image.data, image.size, "image", &elf, NULL), 0);
    return elf;
}

/* The symtab's name of one address; "" none. */
static const char *name_at(struct hr_elf *elf, uint64_t address)
{
    static char text[256];
    struct hr_symbol symbol = {0};
    CHECK_EQ(hr_symtab_find(elf, HR_SYMTAB, &address, 1, &symbol, NULL), 0);
    snprintf(text, sizeof(text), "%.*s", (int)symbol.length, symbol.name ? symbol.name : "");
    return text;
}

TEST(sizes_are_respected)
{
    const struct image_symbol symbols[] = {{"one", 0x1010, 0x20, STB_GLOBAL, STT_FUNC, TEXT},
                                           {"two", 0x1040, 0x10, STB_GLOBAL, STT_FUNC, TEXT},
                                           {0}};
    struct hr_elf *elf = open_with(false, symbols);
    CHECK_STR(name_at(elf, 0x100f), "");
    CHECK_STR(name_at(elf, 0x1010), "one");
    CHECK_STR(name_at(elf, 0x102f), "one");
    CHECK_STR(name_at(elf, 0x1030), "");
    CHECK_STR(name_at(elf, 0x104f), "two");
    CHECK_STR(name_at(elf, 0x1050), "");
    hr_elf_close(elf);
}

TEST(data_never_names_code)
{
    const struct image_symbol symbols[] = {{"table", 0x1000, 0x800, STB_GLOBAL, STT_OBJECT, TEXT},
                                           {"file.c", 0x1000, 0x800, STB_LOCAL, STT_FILE, TEXT},
                                           {"tls", 0x1000, 0x800, STB_GLOBAL, STT_TLS, TEXT},
                                           {0}};
    struct hr_elf *elf = open_with(false, symbols);
    CHECK_STR(name_at(elf, 0x1004), "");
    hr_elf_close(elf);
}

TEST(among_aliases_the_name_people_call_wins)
{
    const struct image_symbol symbols[] = {
        {"__libc_malloc", 0x1010, 0x20, STB_GLOBAL, STT_FUNC, TEXT},
        {"__malloc", 0x1010, 0x20, STB_GLOBAL, STT_FUNC, TEXT},
        {"malloc", 0x1010, 0x20, STB_GLOBAL, STT_FUNC, TEXT},
        {"mallox_local", 0x1010, 0x20, STB_LOCAL, STT_FUNC, TEXT},
        {"mal", 0x1010, 0x20, STB_WEAK, STT_FUNC, TEXT},
        {"m", 0x1010, 0x20, STB_GLOBAL, STT_NOTYPE, TEXT},
        {0}};
    struct hr_elf *elf = open_with(false, symbols);
    CHECK_STR(name_at(elf, 0x1018), "malloc");
    hr_elf_close(elf);
}

TEST(the_inner_of_two_wins)
{
    const struct image_symbol symbols[] = {{"outer", 0x1000, 0x100, STB_GLOBAL, STT_FUNC, TEXT},
                                           {"inner", 0x1040, 0x10, STB_LOCAL, STT_FUNC, TEXT},
                                           {0}};
    struct hr_elf *elf = open_with(false, symbols);
    CHECK_STR(name_at(elf, 0x1044), "inner");
    CHECK_STR(name_at(elf, 0x1050), "outer");
    hr_elf_close(elf);
}

TEST(assembly_without_a_size_reaches_to_the_next_symbol)
{
    const struct image_symbol symbols[] = {{"asm_one", 0x1100, 0, STB_GLOBAL, STT_NOTYPE, TEXT},
                                           {"asm_two", 0x1180, 0, STB_GLOBAL, STT_NOTYPE, TEXT},
                                           {"sized", 0x1200, 0x10, STB_GLOBAL, STT_FUNC, TEXT},
                                           {0}};
    struct hr_elf *elf = open_with(false, symbols);
    CHECK_STR(name_at(elf, 0x10ff), "");
    CHECK_STR(name_at(elf, 0x1100), "asm_one");
    CHECK_STR(name_at(elf, 0x117f), "asm_one");
    CHECK_STR(name_at(elf, 0x11ff), "asm_two");
    CHECK_STR(name_at(elf, 0x1210), ""); /* behind a symbol whose size we know */
    hr_elf_close(elf);
}

TEST(a_symbol_without_a_size_stays_in_its_section)
{
    const struct image_symbol symbols[] = {{"last", 0x1f00, 0, STB_GLOBAL, STT_NOTYPE, TEXT},
                                           {"stub", 0x2000, 0, STB_GLOBAL, STT_NOTYPE, PLT},
                                           {0}};
    struct hr_elf *elf = open_with(false, symbols);
    CHECK_STR(name_at(elf, 0x1fff), "last");
    CHECK_STR(name_at(elf, 0x2010), "");
    CHECK_STR(name_at(elf, 0x3000), "");
    hr_elf_close(elf);
}

TEST(undefined_and_mapping_symbols_are_none)
{
    const struct image_symbol symbols[] = {{"$x", 0x1000, 0x100, STB_LOCAL, STT_NOTYPE, TEXT},
                                           {".L12", 0x1000, 0x100, STB_LOCAL, STT_NOTYPE, TEXT},
                                           {0}};
    struct hr_elf *elf = open_with(false, symbols);
    CHECK_STR(name_at(elf, 0x1004), "");
    hr_elf_close(elf);
}

TEST(versions_are_cut_off)
{
    const struct image_symbol symbols[] = {
        {"memcpy@@GLIBC_2.14", 0x1000, 0x100, STB_GLOBAL, STT_FUNC, TEXT}, {0}};
    struct hr_elf *elf = open_with(false, symbols);
    CHECK_STR(name_at(elf, 0x1004), "memcpy");
    hr_elf_close(elf);
}

TEST(the_dynamic_table_is_another_one)
{
    const struct image_symbol symbols[] = {{"api", 0x1010, 0x20, STB_GLOBAL, STT_FUNC, TEXT}, {0}};
    struct hr_elf *elf = open_with(true, symbols);
    struct hr_symbol symbol = {0};
    const uint64_t address = 0x1011;
    CHECK_EQ(hr_symtab_find(elf, HR_SYMTAB, &address, 1, &symbol, NULL), -ENODATA);
    CHECK_EQ(hr_symtab_find(elf, HR_DYNSYM, &address, 1, &symbol, NULL), 0);
    CHECK_EQ(symbol.length, 3);
    CHECK_EQ(symbol.start, 0x1010);
    hr_elf_close(elf);
}

TEST(names_that_are_there_stay)
{
    const struct image_symbol symbols[] = {{"new", 0x1010, 0x20, STB_GLOBAL, STT_FUNC, TEXT}, {0}};
    struct hr_elf *elf = open_with(false, symbols);
    const uint64_t addresses[] = {0x1011, 0x1012};
    struct hr_symbol found[2] = {{.name = "old", .length = 3}, {0}};
    CHECK_EQ(hr_symtab_find(elf, HR_SYMTAB, addresses, 2, found, NULL), 0);
    CHECK_STR(found[0].name, "old");
    CHECK_STR(found[1].name, "new");
    hr_elf_close(elf);
}

TEST(many_addresses_agree_with_one_at_a_time)
{
    static struct image_symbol symbols[101];
    static char names[101][16];
    uint32_t seed = 7;
    for (int i = 0; i < 100; i++) {
        seed = seed * 1103515245 + 12345;
        snprintf(names[i], sizeof(names[i]), "f%d", i);
        symbols[i] = (struct image_symbol){names[i],
                                           0x1000 + (seed >> 8) % 0xf00,
                                           i % 3 ? (seed >> 20) % 90 : 0,
                                           i % 2 ? STB_GLOBAL : STB_LOCAL,
                                           i % 5 ? STT_FUNC : STT_NOTYPE,
                                           TEXT};
    }
    struct hr_elf *elf = open_with(false, symbols);
    static uint64_t addresses[0x1000 / 7];
    static struct hr_symbol found[0x1000 / 7];
    for (uint32_t i = 0; i < XP_ARRAY_LENGTH(addresses); i++)
        addresses[i] = 0x1000 + 7 * i;
    CHECK_EQ(hr_symtab_find(elf, HR_SYMTAB, addresses, XP_ARRAY_LENGTH(addresses), found, NULL), 0);
    uint32_t named = 0;
    for (uint32_t i = 0; i < XP_ARRAY_LENGTH(addresses); i++) {
        CHECK_STR(name_at(elf, addresses[i]), found[i].name ? found[i].name : "");
        named += found[i].name != NULL;
    }
    CHECK(named > 100);
    hr_elf_close(elf);
}

TEST(a_table_with_wild_numbers_is_survived)
{
    const struct image_symbol symbols[] = {
        {"wild", UINT64_MAX - 5, UINT64_MAX, STB_GLOBAL, STT_FUNC, TEXT},
        {"all", 1, UINT64_MAX, STB_GLOBAL, STT_FUNC, TEXT},
        {0}};
    struct hr_elf *elf = open_with(false, symbols);
    CHECK_STR(name_at(elf, 0x1004), "all");
    CHECK_STR(name_at(elf, UINT64_MAX), "wild");
    /* Names outside of the string table. */
    for (uint32_t i = 1; i < elf->section_count; i++)
        if (elf->sections[i].type == SHT_STRTAB)
            elf->sections[i].size = 3;
    CHECK_STR(name_at(elf, 0x1004), "");
    hr_elf_close(elf);
}
