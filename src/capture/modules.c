/* SPDX-License-Identifier: MIT */
/* modules.c - which file was mapped where, and until when. */
#include "capture/modules.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "base/lock.h"
#include "base/meta.h"
#include "base/os.h"
#include "capture/elf_layout.h"
#include "capture/history.h"

/* glibc 2.35 and newer. Without it no module is known, and stacks are walked by frame pointers. */
#pragma weak _dl_find_object

#define LOCK_NS      ((uint64_t)100 * 1000 * 1000)
#define MODULES_MAX  65535u /* a pc's module is 16 bits of a word in the call tree */
#define CHUNK_COUNT  64u
#define PATH_MAX_    4096
#define PATH_CHUNK   ((size_t)16 << 10)
#define RECENT_COUNT 256u

/* Pcs of unloaded modules get numbers from here on. The kernel gives out addresses from the top
 * (libraries, stacks), from two thirds (programs) and from the bottom; each range is checked to be
 * free when it is chosen. */
#define UNLOADED_BASE ((uintptr_t)0x400000000000)
#define UNLOADED_STEP ((size_t)2 << 20)

struct record {
    uintptr_t start, end; /* while loaded */
    uintptr_t text_start, text_end;
    uint64_t text_offset;
    const uint8_t *frame_header, *low, *high;
    _Atomic(const void *) link_map; /* the loader's, at the newest sighting */
    const void *dynamic;            /* its l_ld */
    const char *loader_name;        /* its l_name, as it was */
    const char *name;               /* the same made absolute */
    _Atomic(const char *) path;     /* for people; the kernel's word for it once a dump has asked */
    _Atomic uintptr_t unloaded_start; /* 0 as long as it never was unloaded */
    uint32_t generation;
    _Atomic bool walked; /* a stack passed through */
    bool is_loader;
    const uint8_t *build_id_at; /* in the mapping */
    uint8_t build_id_size;
    uint8_t build_id[XP_BUILD_ID_MAX];
};

static struct {
    struct xp_lock lock; /* guards changes; readers follow count and loaded[] */
    _Atomic uint32_t generation;
    _Atomic uint32_t closing;             /* threads inside dlclose */
    _Atomic uint32_t count;               /* records in use are 1..count */
    uintptr_t program_start, program_end; /* all segments of the executable; 0 if not known */
    uintptr_t unloaded_next;
    char *path_bump, *path_end;
    bool locked_for_fork;
} history = {.lock = XP_LOCK_INIT(XP_RANK_MODULES), .unloaded_next = UNLOADED_BASE};

static struct {
    _Atomic(struct record *) chunks[MODULES_MAX / CHUNK_COUNT + 1];
    _Atomic uint16_t recent[RECENT_COUNT]; /* module by start address: a hint */
    char program[PATH_MAX_];
    /* of the module that is being noted: its l_name, the same made absolute, the current folder */
    char loader_name[PATH_MAX_], name[PATH_MAX_], folder[PATH_MAX_];
    char line[2 * PATH_MAX_];                /* of /proc/self/maps */
    _Atomic uint8_t loaded[MODULES_MAX + 1]; /* [0], no module, always is */
} tables XP_BULK = {.loaded = {1}, .program = "?"};

/* A signal handler may have interrupted the holder, so this can fail; everybody has a way on. */
static bool try_lock(void)
{
    return !xp_lock_mine(&history.lock) && xp_lock_take_bounded(&history.lock, LOCK_NS) == 0;
}

static struct record *record_at(unsigned module)
{
    /* acquire: pairs with the release of record_new_locked(). */
    struct record *chunk =
        atomic_load_explicit(&tables.chunks[module / CHUNK_COUNT], memory_order_acquire);
    return &chunk[module % CHUNK_COUNT];
}

static unsigned module_count(void)
{
    /* acquire: pairs with the release of record_new_locked(); records below are whole. */
    return atomic_load_explicit(&history.count, memory_order_acquire);
}

bool xp_history_is_loaded(unsigned module)
{
    return atomic_load_explicit(&tables.loaded[module], memory_order_acquire) != 0;
}

uint32_t xp_history_generation(void)
{
    /* acquire: pairs with bump(); who sees the new number sees the modules marked. */
    return atomic_load_explicit(&history.generation, memory_order_acquire);
}

bool xp_history_is_closing(void)
{
    /* relaxed: who finds another library at an address got it from the loader, whose lock orders it
     * after the close that made room, and that after xp_modules_closing(). */
    return atomic_load_explicit(&history.closing, memory_order_relaxed) != 0;
}

static void bump(void)
{
    atomic_fetch_add_explicit(&history.generation, 1, memory_order_acq_rel);
}

uintptr_t xp_history_relocate(unsigned module, uintptr_t pc)
{
    if (xp_history_is_loaded(module))
        return pc;
    const struct record *record = record_at(module);
    return pc - record->start + atomic_load_explicit(&record->unloaded_start, memory_order_relaxed);
}

/* ---- names ---- */

static void strip_deleted(char *path, size_t length)
{
    static const char mark[] = " (deleted)";
    size_t mark_length = sizeof(mark) - 1;

    if (length > mark_length && memcmp(path + length - mark_length, mark, mark_length) == 0)
        path[length - mark_length] = 0;
}

static const char *keep_path_locked(const char *path)
{
    size_t size = strlen(path) + 1;

    if (history.path_bump == NULL || size > (size_t)(history.path_end - history.path_bump)) {
        char *chunk = xp_meta_map(PATH_CHUNK);
        if (!chunk)
            return "?";
        history.path_bump = chunk;
        history.path_end = chunk + PATH_CHUNK;
    }
    char *kept = history.path_bump;
    history.path_bump += size;
    memcpy(kept, path, size);
    return kept;
}

/* Copies the loader's name of the module into path[PATH_MAX_]; "?" when it cannot be read. */
static void read_loader_name(const char *name, char *path)
{
    size_t length = 0;

    /* Page by page: a name may end right before a hole. */
    while (length < PATH_MAX_ - 1) {
        size_t step = XP_OS_PAGE - ((uintptr_t)(name + length) & (XP_OS_PAGE - 1));
        if (step > PATH_MAX_ - 1 - length)
            step = PATH_MAX_ - 1 - length;
        if (xp_os_peek(path + length, name + length, step) < 0)
            break;
        const char *end = memchr(path + length, 0, step);
        if (end)
            return;
        length += step;
    }
    memcpy(path, "?", 2);
}

/* Fills tables.loader_name and tables.name for a module that the loader knows as name. */
static void resolve_name_locked(const struct dl_find_object *found, const char *name)
{
    char *given = tables.loader_name, *path = tables.name, *folder = tables.folder;
    size_t prefix = 0, size;

    read_loader_name(name, given);
    if ((uintptr_t)found->dlfo_map_start == getauxval(AT_SYSINFO_EHDR)) {
        memcpy(path, "[vdso]", sizeof("[vdso]"));
        return;
    }
    if (given[0] == 0) {
        memcpy(path, tables.program, strlen(tables.program) + 1);
        return;
    }
    size = strlen(given) + 1;
    if (given[0] != '/') {
        /* Relative to the folder of its dlopen; a dump corrects it by /proc/self/maps. */
        ssize_t got = xp_os_getcwd(folder, PATH_MAX_);
        if (got > 1 && folder[0] == '/' && (size_t)got + size <= PATH_MAX_) {
            prefix = (size_t)got;
            memcpy(path, folder, prefix);
            path[prefix - 1] = '/';
        }
    }
    memcpy(path + prefix, given, size);
}

/* The kernel maps the executable segment by segment, and the loader answers for each by itself:
 * here is what makes one module of them. */
static void find_program(void)
{
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    size_t count = getauxval(AT_PHNUM);
    uintptr_t bias = 0, low = UINTPTR_MAX, high = 0;
    bool bias_known = false;

    if (!headers)
        return;
    for (size_t i = 0; i < count; i++) {
        const ElfW(Phdr) *header = &headers[i];
        if (header->p_type == PT_PHDR) {
            bias = (uintptr_t)headers - header->p_vaddr;
            bias_known = true;
        }
        if (header->p_type != PT_LOAD)
            continue;
        uintptr_t from = xp_align_down(header->p_vaddr, XP_OS_PAGE);
        if (from < low)
            low = from;
        if (header->p_vaddr + header->p_memsz > high)
            high = header->p_vaddr + header->p_memsz;
    }
    if (!bias_known && _r_debug.r_map)
        bias = _r_debug.r_map->l_addr;
    if (low < high) {
        history.program_start = bias + low;
        history.program_end = bias + high;
    }
}

void xp_history_init(void)
{
    find_program();
    ssize_t n = xp_os_readlink("/proc/self/exe", tables.program, sizeof(tables.program) - 1);

    if (n > 0) {
        tables.program[n] = 0;
        strip_deleted(tables.program, (size_t)n);
        return;
    }
    const char *name = (const char *)getauxval(AT_EXECFN);
    if (name && strlen(name) < sizeof(tables.program))
        memcpy(tables.program, name, strlen(name) + 1);
}

/* ---- the records ---- */

static unsigned recent_slot(uintptr_t start)
{
    return (unsigned)((start >> 12) ^ (start >> 20)) % RECENT_COUNT;
}

/* The loaded record whose range begins there, or 0. */
static unsigned find_by_start(uintptr_t start)
{
    unsigned module =
        atomic_load_explicit(&tables.recent[recent_slot(start)], memory_order_acquire);

    if (module != 0 && record_at(module)->start == start && xp_history_is_loaded(module))
        return module;
    for (module = module_count(); module != 0; module--) {
        if (record_at(module)->start == start && xp_history_is_loaded(module)) {
            atomic_store_explicit(&tables.recent[recent_slot(start)], (uint16_t)module,
                                  memory_order_release);
            return module;
        }
    }
    return 0;
}

/* Unloading is found out here, under the lock. */
static void mark_unloaded_locked(unsigned module)
{
    struct record *record = record_at(module);
    size_t size = xp_align_up(record->end - record->start, UNLOADED_STEP);

    if (atomic_load_explicit(&record->unloaded_start, memory_order_relaxed) == 0) {
        for (int tries = 0; tries < 64; tries++) {
            void *at = (void *)history.unloaded_next, *got;
            history.unloaded_next += size + UNLOADED_STEP;
            atomic_store_explicit(&record->unloaded_start, (uintptr_t)at, memory_order_relaxed);
            int r = xp_os_map_at(at, size, PROT_NONE, &got);
            if (r == 0)
                xp_os_unmap(got, size);
            if (r != -EEXIST)
                break;
        }
    }
    /* release: pairs with xp_history_is_loaded(); the new place is there first. */
    atomic_store_explicit(&tables.loaded[module], 0, memory_order_release);
}

static bool same_file_locked(const struct record *record, const struct dl_find_object *found,
                             const struct link_map *map, const struct xp_elf_layout *layout)
{
    return record->start == (uintptr_t)found->dlfo_map_start &&
           record->end == (uintptr_t)found->dlfo_map_end &&
           record->frame_header == found->dlfo_eh_frame && record->dynamic == map->l_ld &&
           record->build_id_at == (const uint8_t *)layout->build_id_at &&
           record->build_id_size == layout->build_id_size &&
           memcmp(record->build_id, layout->build_id, layout->build_id_size) == 0 &&
           strcmp(record->name, tables.name) == 0;
}

static unsigned record_new_locked(const struct dl_find_object *found, const struct link_map *map,
                                  const struct xp_elf_layout *layout)
{
    unsigned module = module_count() + 1;

    if (module > MODULES_MAX)
        return 0;
    if (!atomic_load_explicit(&tables.chunks[module / CHUNK_COUNT], memory_order_relaxed)) {
        void *chunk = xp_meta_map(CHUNK_COUNT * sizeof(struct record));
        if (!chunk)
            return 0;
        atomic_store_explicit(&tables.chunks[module / CHUNK_COUNT], chunk, memory_order_release);
    }
    struct record *record = record_at(module);
    record->start = (uintptr_t)found->dlfo_map_start;
    record->end = (uintptr_t)found->dlfo_map_end;
    record->text_start = layout->text_start;
    record->text_end = layout->text_end;
    record->text_offset = layout->text_offset;
    record->frame_header = found->dlfo_eh_frame;
    record->low = (const uint8_t *)layout->segment_start;
    record->high = (const uint8_t *)layout->segment_end;
    record->is_loader = record->start == (uintptr_t)_r_debug.r_ldbase;
    record->generation = xp_history_generation();
    record->dynamic = map->l_ld;
    record->build_id_at = (const uint8_t *)layout->build_id_at;
    record->build_id_size = layout->build_id_size;
    memcpy(record->build_id, layout->build_id, layout->build_id_size);
    record->name = keep_path_locked(tables.name);
    record->loader_name = strcmp(tables.loader_name, tables.name) == 0
                              ? record->name
                              : keep_path_locked(tables.loader_name);
    atomic_store_explicit(&record->path, record->name, memory_order_relaxed);
    atomic_store_explicit(&tables.loaded[module], 1, memory_order_relaxed);
    atomic_store_explicit(&history.count, module, memory_order_release);
    return module;
}

/* Records what the loader found, or recognises it. Its number, or 0 when there is no memory for
 * one. */
static unsigned note_locked(const struct dl_find_object *found, const struct link_map *map,
                            const struct xp_elf_layout *layout)
{
    unsigned known = 0;
    bool gone = false;

    resolve_name_locked(found, map->l_name);
    for (unsigned module = module_count(); module != 0; module--) {
        const struct record *record = record_at(module);
        if (known == 0 && same_file_locked(record, found, map, layout)) {
            known = module;
        } else if (xp_history_is_loaded(module) && record->start < (uintptr_t)found->dlfo_map_end &&
                   record->end > (uintptr_t)found->dlfo_map_start) {
            mark_unloaded_locked(module);
            gone = true;
        }
    }
    if (known == 0)
        known = record_new_locked(found, map, layout);
    if (known != 0) {
        struct record *record = record_at(known);
        atomic_store_explicit(&record->link_map, found->dlfo_link_map, memory_order_relaxed);
        atomic_store_explicit(&tables.loaded[known], 1, memory_order_release);
    }
    if (gone)
        bump();
    return known;
}

static bool ask_loader(uintptr_t address, struct dl_find_object *ret_found)
{
    if (_dl_find_object == NULL || _dl_find_object((void *)address, ret_found) != 0)
        return false;
    uintptr_t start = (uintptr_t)ret_found->dlfo_map_start;
    if (start - history.program_start < history.program_end - history.program_start) {
        ret_found->dlfo_map_start = (void *)history.program_start;
        ret_found->dlfo_map_end = (void *)history.program_end;
    }
    return true;
}

/* Is what the loader found there still what we recorded? Link maps and names may be read: the
 * module holds code that is being executed, so nobody can be closing it. A link map's address says
 * little, the next library gets the memory of the last; its build id says all. */
static bool is_current(const struct record *record, const struct dl_find_object *found)
{
    const struct link_map *map = found->dlfo_link_map;

    if (record->end != (uintptr_t)found->dlfo_map_end ||
        record->frame_header != found->dlfo_eh_frame ||
        atomic_load_explicit(&record->link_map, memory_order_relaxed) != map ||
        record->dynamic != map->l_ld)
        return false;
    return record->build_id_at
               ? memcmp(record->build_id_at, record->build_id, record->build_id_size) == 0
               : strcmp(record->loader_name, map->l_name) == 0;
}

static XP_COLD void find_slow(const struct dl_find_object *found, struct xp_code *ret_code)
{
    struct xp_elf_layout layout;
    struct link_map map;

    int r = xp_elf_layout_read((uintptr_t)found->dlfo_map_start, (uintptr_t)found->dlfo_map_end,
                               (uintptr_t)found->dlfo_eh_frame, &layout);
    *ret_code = (struct xp_code){
        .text_start = layout.text_start,
        .text_end = layout.text_end,
        .frame_header = found->dlfo_eh_frame,
        .low = (const uint8_t *)layout.segment_start,
        .high = (const uint8_t *)layout.segment_end,
        .is_loader = (uintptr_t)found->dlfo_map_start == (uintptr_t)_r_debug.r_ldbase,
    };
    if (r == -EFAULT ||
        xp_os_peek(&map, found->dlfo_link_map, offsetof(struct link_map, l_next)) < 0)
        return;
    if (!try_lock())
        return;
    ret_code->module = note_locked(found, &map, &layout);
    if (ret_code->module != 0)
        atomic_store_explicit(&record_at(ret_code->module)->walked, true, memory_order_relaxed);
    xp_lock_give(&history.lock);
}

bool xp_history_find(uintptr_t address, struct xp_code *ret_code)
{
    struct dl_find_object found;

    if (!ask_loader(address, &found))
        return false;
    unsigned module = find_by_start((uintptr_t)found.dlfo_map_start);
    if (XP_UNLIKELY(module == 0 || !is_current(record_at(module), &found))) {
        find_slow(&found, ret_code);
        return true;
    }
    struct record *record = record_at(module);
    if (!atomic_load_explicit(&record->walked, memory_order_relaxed))
        atomic_store_explicit(&record->walked, true, memory_order_relaxed);
    *ret_code = (struct xp_code){
        .text_start = record->text_start,
        .text_end = record->text_end,
        .frame_header = record->frame_header,
        .low = record->low,
        .high = record->high,
        .module = module,
        .is_loader = record->is_loader,
    };
    return true;
}

unsigned xp_history_index_of(uintptr_t address)
{
    struct xp_code code;

    return xp_history_find(address, &code) ? code.module : 0;
}

void xp_modules_changed(void)
{
    bool gone = false;

    if (!try_lock()) {
        /* Nobody knows who went: every rule is asked for again, which compares the link maps. */
        bump();
        return;
    }
    for (unsigned module = module_count(); module != 0; module--) {
        struct dl_find_object found;
        const struct record *record = record_at(module);
        if (!xp_history_is_loaded(module))
            continue;
        /* Link maps are compared, not read: another thread may be closing this module now. */
        if (ask_loader(record->text_start, &found) &&
            record->start == (uintptr_t)found.dlfo_map_start &&
            record->end == (uintptr_t)found.dlfo_map_end &&
            record->frame_header == found.dlfo_eh_frame &&
            atomic_load_explicit(&record->link_map, memory_order_relaxed) == found.dlfo_link_map)
            continue;
        mark_unloaded_locked(module);
        gone = true;
    }
    if (gone)
        bump();
    xp_lock_give(&history.lock);
}

void xp_modules_closing(void)
{
    atomic_fetch_add_explicit(&history.closing, 1, memory_order_relaxed);
}

void xp_modules_closed(void)
{
    xp_modules_changed();
    /* release: pairs with xp_history_generation()'s acquire through the bump before it; whoever
     * believes in memories again has the new generation. */
    atomic_fetch_sub_explicit(&history.closing, 1, memory_order_release);
}

/* ---- all modules, for a dump ---- */

static bool read_hex(const char **at, uint64_t *ret_value)
{
    const char *s = *at;
    uint64_t value = 0;

    for (;; s++) {
        unsigned digit;
        if (*s >= '0' && *s <= '9')
            digit = (unsigned)(*s - '0');
        else if (*s >= 'a' && *s <= 'f')
            digit = (unsigned)(*s - 'a') + 10;
        else
            break;
        value = value << 4 | digit;
    }
    if (s == *at)
        return false;
    *at = s;
    *ret_value = value;
    return true;
}

/* One line "55e0-55f0 r-xp 00001000 fe:01 1234   /usr/bin/x": notes the module it is text of. */
static void note_line_locked(char *line, size_t length)
{
    const char *at = line;
    uint64_t start, end;
    struct dl_find_object found;
    struct xp_elf_layout layout;
    struct link_map map;

    if (!read_hex(&at, &start) || *at++ != '-' || !read_hex(&at, &end) || *at++ != ' ' ||
        at + 4 > line + length || at[2] != 'x' || !ask_loader(start, &found))
        return;
    char *path = memchr(line, '/', length);
    if (path)
        strip_deleted(path, strlen(path));
    if (xp_elf_layout_read((uintptr_t)found.dlfo_map_start, (uintptr_t)found.dlfo_map_end,
                           (uintptr_t)found.dlfo_eh_frame, &layout) == -EFAULT ||
        xp_os_peek(&map, found.dlfo_link_map, offsetof(struct link_map, l_next)) < 0)
        return;
    unsigned module = note_locked(&found, &map, &layout);
    if (module == 0 || !path)
        return;
    struct record *record = record_at(module);
    if (strcmp(atomic_load_explicit(&record->path, memory_order_relaxed), path) != 0)
        atomic_store_explicit(&record->path, keep_path_locked(path), memory_order_relaxed);
}

/* The loader's own list cannot be read without its lock, which a thread that allocates inside
 * dlopen or dl_iterate_phdr holds. So the kernel's list names the candidates, and the lock-free
 * _dl_find_object says which of them are modules. */
static void note_all_locked(void)
{
    int fd = xp_os_open("/proc/self/maps", O_RDONLY, 0);
    size_t length = 0;

    if (fd < 0)
        return;
    for (;;) {
        /* One byte stays for the final 0. A line longer than the buffer is cut by its end. */
        ssize_t n = xp_os_read(fd, tables.line + length, sizeof(tables.line) - 1 - length);
        if (n <= 0)
            break;
        length += (size_t)n;
        char *line = tables.line, *end = line + length, *newline;
        while ((newline = memchr(line, '\n', (size_t)(end - line))) != NULL) {
            *newline = 0;
            note_line_locked(line, (size_t)(newline - line));
            line = newline + 1;
        }
        length = (size_t)(end - line);
        if (length >= sizeof(tables.line) - 1)
            length = 0;
        memmove(tables.line, line, length);
    }
    xp_os_close(fd);
}

static void fill(const struct record *record, bool loaded, struct xp_module *ret_module)
{
    uintptr_t move = loaded ? 0
                            : atomic_load_explicit(&record->unloaded_start, memory_order_relaxed) -
                                  record->start;

    *ret_module = (struct xp_module){
        .start = record->start + move,
        .end = record->end + move,
        .text_start = record->text_start + move,
        .text_end = record->text_end + move,
        .text_offset = record->text_offset,
        .generation = record->generation,
        .loaded = loaded,
        .build_id_size = record->build_id_size,
        .path = atomic_load_explicit(&record->path, memory_order_relaxed),
    };
    memcpy(ret_module->build_id, record->build_id, record->build_id_size);
}

void xp_modules_each(void (*fn)(const struct xp_module *module, void *arg), void *arg)
{
    /* Modules that went without a dlclose of the program's are found out first. */
    xp_modules_changed();
    if (try_lock()) {
        note_all_locked();
        xp_lock_give(&history.lock);
    }
    /* No lock is held over fn: it may write to a slow disk. */
    for (unsigned module = 1; module <= module_count(); module++) {
        const struct record *record = record_at(module);
        bool loaded = xp_history_is_loaded(module);
        struct xp_module out;
        if (!loaded && !atomic_load_explicit(&record->walked, memory_order_relaxed))
            continue;
        fill(record, loaded, &out);
        fn(&out, arg);
    }
}

void xp_history_fork_prepare(void)
{
    history.locked_for_fork = try_lock();
}

void xp_history_fork_parent(void)
{
    if (history.locked_for_fork)
        xp_lock_give(&history.lock);
}

void xp_history_fork_child(void)
{
    xp_lock_reset(&history.lock);
    /* Threads that were closing something do not exist here. */
    atomic_store_explicit(&history.closing, 0, memory_order_relaxed);
}
