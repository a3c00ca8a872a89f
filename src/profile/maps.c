/* SPDX-License-Identifier: MIT */
/* maps.c - the MAPPED_LIBRARIES of a dump: what the kernel maps now, and what was mapped once. */
#include "profile/maps.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/bits.h"
#include "base/meta.h"
#include "base/os.h"
#include "capture/modules.h"
#include "capture/tree.h"
#include "format/heap_write.h"
#include "format/maps_line.h"

#define PROC_MAPS "/proc/self/maps"

/* An array in a mapping of its own that doubles. */
struct block {
    char *start;
    size_t used, size; /* bytes */
};

static bool block_reserve(struct block *block, size_t more)
{
    size_t size = block->size ? block->size : 16 * XP_OS_PAGE;

    while (size - block->used < more)
        size *= 2;
    if (size == block->size)
        return true;
    char *larger = xp_meta_map(size);
    if (!larger)
        return false;
    if (block->used > 0)
        memcpy(larger, block->start, block->used);
    xp_meta_unmap(block->start, block->size);
    block->start = larger;
    block->size = size;
    return true;
}

/* The whole of /proc/self/maps, however long; false when it cannot be had. */
static bool read_text(struct block *text)
{
    int fd = xp_os_open(PROC_MAPS, O_RDONLY, 0);
    ssize_t n = -1;

    if (fd < 0)
        return false;
    while (block_reserve(text, XP_OS_PAGE)) {
        n = xp_os_read(fd, text->start + text->used, text->size - text->used);
        if (n <= 0)
            break;
        text->used += (size_t)n;
        n = -1;
    }
    xp_os_close(fd);
    return n == 0 && text->used > 0;
}

void xp_maps_read(struct xp_maps *ret_maps)
{
    struct block text = {0};

    xp_modules_changed();
    if (!read_text(&text)) {
        xp_meta_unmap(text.start, text.size);
        text = (struct block){0};
    }
    *ret_maps = (struct xp_maps){.text = text.start, .length = text.used, .size = text.size};
}

void xp_maps_fini(struct xp_maps *maps)
{
    xp_meta_unmap(maps->text, maps->size);
    *maps = (struct xp_maps){0};
}

static void keep_module(const struct xp_module *module, void *arg)
{
    struct block *modules = arg;

    /* Without memory the last ones are missing: a dump with fewer names is better than none. */
    if (!block_reserve(modules, sizeof(*module)))
        return;
    memcpy(modules->start + modules->used, module, sizeof(*module));
    modules->used += sizeof(*module);
}

struct writer {
    struct xp_out *out;
    const struct xp_module *modules;
    size_t module_count;
    const struct xp_module *named; /* whose build id was written last */
};

/* The kernel maps whole pages; a module may end within its last one. */
static uint64_t first_page(const struct xp_module *module)
{
    return xp_align_down(module->start, XP_OS_PAGE);
}

static uint64_t end_page(const struct xp_module *module)
{
    return module->end > UINTPTR_MAX - XP_OS_PAGE ? module->end
                                                  : xp_align_up(module->end, XP_OS_PAGE);
}

static void write_build_id(struct writer *w, const struct xp_module *module)
{
    if (module == w->named || module->build_id_size == 0)
        return;
    w->named = module;
    pp_heap_write_build_id(w->out, first_page(module), end_page(module), module->build_id,
                           module->build_id_size);
}

static void write_module(struct writer *w, const struct xp_module *module)
{
    struct pp_mapping m = {
        .start = module->text_start,
        .limit = module->text_end,
        .offset = module->text_offset,
        .readable = true,
        .executable = true,
        .is_private = true,
        .path = module->path,
        .path_length = strlen(module->path),
    };

    if (m.start >= m.limit)
        return;
    write_build_id(w, module);
    pp_heap_write_mapping(w->out, &m);
}

static void write_kernel_mapping(struct writer *w, const struct pp_mapping *m)
{
    for (size_t i = 0; i < w->module_count; i++) {
        const struct xp_module *module = &w->modules[i];
        if (module->loaded && m->start >= first_page(module) && m->limit <= end_page(module)) {
            write_build_id(w, module);
            break;
        }
    }
    pp_heap_write_mapping(w->out, m);
}

/* The next line of text that is a mapping; false at the end. */
static bool next_mapping(const struct xp_maps *maps, size_t *at, struct pp_mapping *ret_mapping)
{
    while (*at < maps->length) {
        const char *line = maps->text + *at;
        const char *newline = memchr(line, '\n', maps->length - *at);
        if (!newline)
            return false;
        *at += (size_t)(newline - line) + 1;
        if (pp_maps_line(line, (size_t)(newline - line), ret_mapping) == 0)
            return true;
    }
    return false;
}

static bool same_file(const struct pp_mapping *a, const struct pp_mapping *b)
{
    return a->path_length > 0 && a->device == b->device && a->inode == b->inode &&
           a->path_length == b->path_length && memcmp(a->path, b->path, a->path_length) == 0;
}

/* The program headers lie in the program's file, also when it was started through ld.so. */
static struct pp_mapping program_mapping(const struct xp_maps *maps)
{
    uintptr_t headers = getauxval(AT_PHDR);
    struct pp_mapping m;

    for (size_t at = 0; next_mapping(maps, &at, &m);) {
        if (headers >= m.start && headers < m.limit)
            return m;
    }
    return (struct pp_mapping){0};
}

static void write_kernel_mappings(struct writer *w, const struct xp_maps *maps)
{
    struct pp_mapping program = program_mapping(maps);

    for (int turn = 0; turn < 2; turn++) {
        struct pp_mapping m;
        for (size_t at = 0; next_mapping(maps, &at, &m);) {
            if (m.executable && same_file(&m, &program) == (turn == 0))
                write_kernel_mapping(w, &m);
        }
    }
}

static void write_loaded_modules(struct writer *w)
{
    uintptr_t headers = getauxval(AT_PHDR);

    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < w->module_count; i++) {
            const struct xp_module *module = &w->modules[i];
            bool program = headers >= module->start && headers < module->end;
            if (module->loaded && program == (turn == 0))
                write_module(w, module);
        }
    }
}

void xp_maps_write(const struct xp_maps *maps, struct xp_out *out, bool has_nested)
{
    struct block modules = {0};

    xp_modules_each(keep_module, &modules);
    struct writer w = {
        .out = out,
        .modules = (const struct xp_module *)modules.start,
        .module_count = modules.used / sizeof(struct xp_module),
    };

    pp_heap_write_maps_start(out);
    if (maps->text)
        write_kernel_mappings(&w, maps);
    else
        write_loaded_modules(&w);
    for (size_t i = 0; i < w.module_count; i++) {
        if (!w.modules[i].loaded)
            write_module(&w, &w.modules[i]);
    }
    if (has_nested) {
        static const char name[] = "[nested]";
        const struct pp_mapping nested = {
            .start = XP_NESTED_PC & ~(uint64_t)(XP_OS_PAGE - 1),
            .limit = (XP_NESTED_PC & ~(uint64_t)(XP_OS_PAGE - 1)) + XP_OS_PAGE,
            .readable = true,
            .executable = true,
            .is_private = true,
            .path = name,
            .path_length = sizeof(name) - 1,
        };
        pp_heap_write_mapping(out, &nested);
    }
    xp_meta_unmap(modules.start, modules.size);
}
