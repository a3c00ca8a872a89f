/* SPDX-License-Identifier: MIT */
/* deepbind.c - libc's symbol table, as the loader reads it in this process, names our functions.
 *
 * A symbol's value counts from where its library is loaded, modulo 2^64, so it can lead into any
 * other one. What is bound already stays bound, and a second libc (dlmopen) has a table of its own.
 * dlopen() could take the flag away instead, but not be wrapped: it asks who called it.
 *
 * The table's pages become the process's own by the change, so it is made only where something
 * loaded at start can open libraries or look for symbols. (libc opens some by itself, for names of
 * hosts and character sets, and binds those as usual.) */
#include "preload/deepbind.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "base/os.h"
#include "preload/object.h"
#include "preload/own.h"

#define NAMES_MAX 32

struct symbols {
    uintptr_t load; /* added to each value */
    ElfW(Sym) * table;
    const char *names;
    const uint32_t *hash; /* DT_GNU_HASH */
};

struct plan {
    struct symbols symbols;
    size_t count;
    struct {
        ElfW(Sym) * symbol;
        uintptr_t address;
    } change[NAMES_MAX];
};

static void *relocated(const struct link_map *map, const ElfW(Dyn) * entry)
{
    uintptr_t at = entry->d_un.d_ptr;
    return (void *)(at < map->l_addr ? at + map->l_addr : at);
}

/* False where one of the three is missing. */
static bool find_symbols(const struct link_map *map, struct symbols *ret_symbols)
{
    struct symbols found = {.load = map->l_addr};

    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            found.table = relocated(map, entry);
        else if (entry->d_tag == DT_STRTAB)
            found.names = relocated(map, entry);
        else if (entry->d_tag == DT_GNU_HASH)
            found.hash = relocated(map, entry);
    }
    if (!found.table || !found.names || !found.hash)
        return false;
    *ret_symbols = found;
    return true;
}

/* By a name of libc's that nobody replaces. */
static const struct link_map *find_libc(struct symbols *ret_symbols, void **ret_start)
{
    void *inside = dlsym(RTLD_NEXT, "gnu_get_libc_version");
    const struct link_map *map = inside ? xp_object_of(inside, ret_start) : NULL;

    return map && find_symbols(map, ret_symbols) ? map : NULL;
}

/* What a library takes from others comes first in its table, before what the hash table knows. */
static bool takes_loader_names(const struct symbols *in)
{
    static const char *const names[] = {"dlopen", "dlmopen", "dlsym", "dlvsym"};

    for (uint32_t i = 1; i < in->hash[1]; i++) {
        const char *name = in->names + in->table[i].st_name;
        if (name[0] != 'd' || name[1] != 'l')
            continue;
        for (size_t k = 0; k < XP_ARRAY_LENGTH(names); k++) {
            if (strcmp(name, names[k]) == 0)
                return true;
        }
    }
    return false;
}

/* True unless no object but libc and ourselves can ask. */
static bool somebody_may_ask(const struct link_map *libc)
{
    const struct link_map *map = libc;
    struct symbols symbols;

    while (map->l_prev)
        map = map->l_prev;
    for (; map; map = map->l_next) {
        if (map == libc || map->l_ld == _DYNAMIC) /* the latter is ours */
            continue;
        if (!find_symbols(map, &symbols) || takes_loader_names(&symbols))
            return true;
    }
    return false;
}

static uint32_t hash_of(const char *name)
{
    uint32_t h = 5381;
    for (; *name; name++)
        h = h * 33 + (unsigned char)*name;
    return h;
}

static ElfW(Sym) * find_symbol(const struct symbols *in, const char *name)
{
    uint32_t buckets = in->hash[0], first = in->hash[1], bloom_words = in->hash[2];
    const uint32_t *bucket = in->hash + 4 + (size_t)bloom_words * (sizeof(ElfW(Addr)) / 4);
    const uint32_t *chain = bucket + buckets;
    uint32_t hash = hash_of(name);
    uint32_t i = buckets ? bucket[hash % buckets] : 0;

    if (i < first)
        return NULL;
    for (;; i++) {
        ElfW(Sym) *symbol = &in->table[i];
        if ((chain[i - first] | 1) == (hash | 1) && symbol->st_shndx != SHN_UNDEF &&
            ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
            strcmp(in->names + symbol->st_name, name) == 0)
            return symbol;
        if (chain[i - first] & 1)
            return NULL;
    }
}

static void note(const char *name, uintptr_t address, void *arg)
{
    struct plan *plan = arg;
    ElfW(Sym) *symbol = find_symbol(&plan->symbols, name);

    if (!symbol || plan->count == NAMES_MAX)
        return;
    plan->change[plan->count].symbol = symbol;
    plan->change[plan->count++].address = address;
}

/* What the loader made of the segment that holds from..to; -1: no segment does. */
static int protection(const void *start, uintptr_t load, uintptr_t from, uintptr_t to)
{
    const ElfW(Ehdr) *header = start;
    const ElfW(Phdr) *segment = (const void *)((const char *)start + header->e_phoff);

    for (unsigned i = 0; i < header->e_phnum; i++, segment++) {
        uintptr_t at = load + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && at <= from && to <= at + segment->p_filesz)
            return (segment->p_flags & PF_R ? PROT_READ : 0) |
                   (segment->p_flags & PF_W ? PROT_WRITE : 0) |
                   (segment->p_flags & PF_X ? PROT_EXEC : 0);
    }
    return -1;
}

void xp_deepbind_answer(void)
{
    struct plan plan = {.count = 0};
    void *start;

    const struct link_map *libc = find_libc(&plan.symbols, &start);
    if (!libc || !somebody_may_ask(libc))
        return;
    xp_own_each(note, &plan);
    if (plan.count == 0)
        return;
    uintptr_t from = UINTPTR_MAX, to = 0;
    for (size_t i = 0; i < plan.count; i++) {
        uintptr_t at = (uintptr_t)plan.change[i].symbol;
        if (at < from)
            from = at;
        if (at + sizeof(ElfW(Sym)) > to)
            to = at + sizeof(ElfW(Sym));
    }
    int prot = protection(start, plan.symbols.load, from, to);
    from = xp_align_down(from, XP_OS_PAGE);
    to = xp_align_up(to, XP_OS_PAGE);
    if (prot < 0 || xp_os_protect((void *)from, to - from, prot | PROT_WRITE) < 0)
        return;
    for (size_t i = 0; i < plan.count; i++)
        plan.change[i].symbol->st_value = plan.change[i].address - plan.symbols.load;
    xp_os_protect((void *)from, to - from, prot);
}
