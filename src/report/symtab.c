/* SPDX-License-Identifier: MIT */
/* symtab.c - one pass over a symbol table gives many addresses their best function symbol. */
#include "report/symtab.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/addresses.h"

/* Bits of struct hr_symbol.rank; below them underscores and length. */
#define RANK_FUNCTION (1u << 16)
#define RANK_GLOBAL   (1u << 15)
#define RANK_WEAK     (1u << 14)

/* A symbol of size 0 (hand-written assembly) reaches to the next symbol of its section. */
struct nearest {
    uint64_t start; /* of the last symbol that starts at or before the address */
    uint64_t name;  /* offset of the name of one that has size 0; 0 none */
    uint32_t rank;
    bool seen;
};

struct pass {
    struct hr_elf *elf;
    const uint64_t *addresses;
    uint32_t count;
    struct hr_symbol *symbols;
    bool *wanted;
    struct nearest *nearest;
    const char *names;
    uint64_t names_size;
};

/* Among aliases the name people call: typed as function, global, few leading underscores. */
static uint32_t rank_of(const Elf64_Sym *symbol, const char *name)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    unsigned bind = ELF64_ST_BIND(symbol->st_info);
    uint32_t rank = 1;
    if (type == STT_FUNC || type == STT_GNU_IFUNC)
        rank += RANK_FUNCTION;
    if (bind == STB_GLOBAL || bind == STB_GNU_UNIQUE)
        rank += RANK_GLOBAL;
    else if (bind == STB_WEAK)
        rank += RANK_WEAK;
    uint32_t underscores = 0;
    if (!(name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || name[1] == 'D')))
        while (underscores < 7 && name[underscores] == '_')
            underscores++;
    rank += (7 - underscores) << 10;
    size_t length = strlen(name);
    return rank + 1023 - (uint32_t)(length < 1023 ? length : 1023);
}

static bool is_code_symbol(const Elf64_Sym *symbol, const char *name)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC)
        return false;
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_COMMON)
        return false;
    return name[0] && name[0] != '$' && !(name[0] == '.' && name[1] == 'L');
}

static void set_symbol(struct hr_symbol *symbol, const char *name, uint64_t start, uint32_t rank)
{
    const char *version = strchr(name, '@');
    symbol->name = name;
    symbol->length =
        (uint32_t)(version && version != name ? (size_t)(version - name) : strlen(name));
    symbol->start = start;
    symbol->rank = rank;
    symbol->exported = rank >= RANK_FUNCTION + RANK_WEAK;
}

static void offer(struct pass *pass, const Elf64_Sym *symbol)
{
    if (symbol->st_name >= pass->names_size)
        return;
    const char *name = pass->names + symbol->st_name;
    if (!is_code_symbol(symbol, name))
        return;
    uint32_t i = hr_addresses_first_from(pass->addresses, pass->count, symbol->st_value);
    if (i == pass->count)
        return;
    struct nearest *near = &pass->nearest[i];
    uint32_t rank = rank_of(symbol, name);
    if (!near->seen || symbol->st_value > near->start) {
        near->name = 0;
        near->rank = 0;
    }
    if (!near->seen || symbol->st_value >= near->start) {
        near->seen = true;
        near->start = symbol->st_value;
        if (symbol->st_size == 0 && rank > near->rank) {
            near->name = symbol->st_name;
            near->rank = rank;
        }
    }
    for (; i < pass->count && pass->addresses[i] - symbol->st_value < symbol->st_size; i++) {
        struct hr_symbol *best = &pass->symbols[i];
        if (!pass->wanted[i])
            continue;
        if (!best->name || symbol->st_value > best->start ||
            (symbol->st_value == best->start && rank > best->rank))
            set_symbol(best, name, symbol->st_value, rank);
    }
}

/* Both in one executable section? Keeps a size-less symbol from naming the next section's code,
 * a .plt for one. Debug files have the sections too, without contents. */
static bool same_code_section(const struct hr_elf *elf, uint64_t a, uint64_t b)
{
    for (uint32_t i = 1; i < elf->section_count; i++) {
        const struct hr_elf_section *s = &elf->sections[i];
        if (!(s->flags & SHF_EXECINSTR) || a < s->address || a - s->address >= s->size)
            continue;
        return b >= s->address && b - s->address < s->size && strncmp(s->name, ".plt", 4) != 0;
    }
    return false;
}

static void use_sizeless(struct pass *pass)
{
    const struct nearest *near = NULL;
    for (uint32_t i = 0; i < pass->count; i++) {
        if (pass->nearest[i].seen)
            near = &pass->nearest[i];
        if (!near || !near->name || pass->symbols[i].name || !pass->wanted[i])
            continue;
        if (same_code_section(pass->elf, near->start, pass->addresses[i]))
            set_symbol(&pass->symbols[i], pass->names + near->name, near->start, near->rank);
    }
}

static int find_tables(struct hr_elf *elf, enum hr_symtab table,
                       struct hr_elf_section **ret_symbols, struct hr_elf_section **ret_names)
{
    uint32_t type = table == HR_SYMTAB ? SHT_SYMTAB : SHT_DYNSYM;
    for (uint32_t i = 1; i < elf->section_count; i++) {
        if (elf->sections[i].type != type || elf->sections[i].link >= elf->section_count)
            continue;
        *ret_symbols = &elf->sections[i];
        *ret_names = &elf->sections[elf->sections[i].link];
        return (*ret_names)->type == SHT_STRTAB ? 0 : -ENODATA;
    }
    return -ENODATA;
}

int hr_symtab_find(struct hr_elf *elf, enum hr_symtab table, const uint64_t *addresses,
                   uint32_t count, struct hr_symbol *symbols, struct hr_error *err)
{
    struct hr_elf_section *symbol_section, *name_section;
    int r = find_tables(elf, table, &symbol_section, &name_section);
    if (r < 0)
        return r;
    const uint8_t *data, *names;
    uint64_t size, names_size;
    r = hr_elf_section_data(elf, symbol_section, &data, &size, err);
    if (r == 0)
        r = hr_elf_section_data(elf, name_section, &names, &names_size, err);
    if (r < 0)
        return r;
    /* Names are read as strings: the last one must end inside. */
    while (names_size > 0 && names[names_size - 1] != 0)
        names_size--;

    struct pass pass = {.elf = elf,
                        .addresses = addresses,
                        .count = count,
                        .symbols = symbols,
                        .names = (const char *)names,
                        .names_size = names_size};
    pass.wanted = calloc(count + 1, sizeof(*pass.wanted));
    pass.nearest = calloc(count + 1, sizeof(*pass.nearest));
    if (!pass.wanted || !pass.nearest) {
        r = hr_error_set(err, -ENOMEM, elf->path, 0, "out of memory");
        goto out;
    }
    for (uint32_t i = 0; i < count; i++)
        pass.wanted[i] = !symbols[i].name;
    for (uint64_t at = 0; size - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, data + at, sizeof(symbol));
        offer(&pass, &symbol);
    }
    use_sizeless(&pass);
out:
    free(pass.wanted);
    free(pass.nearest);
    return r;
}
