/* SPDX-License-Identifier: MIT */
/* modules.c - looks for the files of mappings and compares build ids. */
#include "report/modules.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define SYSTEM_DEBUG_DIR "/usr/lib/debug"

struct search {
    const struct hr_model *model;
    const struct hr_symbolize_options *options;
    struct hr_modules *modules;
    struct hr_module *module; /* the one being looked for */
    const char *path;         /* recorded */
    const char *build_id;     /* of the profile; "" unknown */
    char refused[PATH_MAX];   /* a file that was there, but with another build id */
    char refused_id[129];
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void diagnose(struct hr_module *module, const char *format, ...) XP_PRINTF(2, 3);
static void diagnose(struct hr_module *module, const char *format, ...)
{
    va_list args;
    if (module->diagnosis)
        return;
    va_start(args, format);
    if (vasprintf(&module->diagnosis, format, args) < 0)
        module->diagnosis = NULL;
    va_end(args);
}

/* False when it does not fit: then there is no such file. */
static bool make_path(char path[PATH_MAX], const char *format, ...) XP_PRINTF(2, 3);
static bool make_path(char path[PATH_MAX], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(path, PATH_MAX, format, args);
    va_end(args);
    return length > 0 && length < PATH_MAX;
}

static uint32_t debug_dir_count(const struct search *s)
{
    return (uint32_t)s->options->debug_dir_count + 1 + (s->options->symfs != NULL);
}

/* The user's directories, the system's below -symfs, the system's. */
static bool debug_dir(const struct search *s, uint32_t index, char path[PATH_MAX])
{
    if (index < s->options->debug_dir_count)
        return make_path(path, "%s", s->options->debug_dirs[index]);
    if (index == s->options->debug_dir_count && s->options->symfs)
        return make_path(path, "%s" SYSTEM_DEBUG_DIR, s->options->symfs);
    return make_path(path, SYSTEM_DEBUG_DIR);
}

static bool same_file(const struct hr_elf *a, const struct hr_elf *b)
{
    return a && b && a->device == b->device && a->inode == b->inode;
}

/* ---- the module's own file ---- */

/* Opens path if it is the file of the profile. must_match: take it only with the right build id. */
static struct hr_elf *try_file(struct search *s, const char *path, bool must_match)
{
    struct hr_elf *elf;
    if ((must_match && !s->build_id[0]) || hr_elf_open(path, &elf, NULL) < 0)
        return NULL;
    bool known = s->build_id[0] && elf->build_id[0];
    bool same = known && strcmp(s->build_id, elf->build_id) == 0;
    if (same || (!known && !must_match) || (s->options->ignore_build_id && !must_match))
        return elf;
    if (!must_match && known) {
        snprintf(s->refused, sizeof(s->refused), "%s", path);
        snprintf(s->refused_id, sizeof(s->refused_id), "%s", elf->build_id);
    }
    hr_elf_close(elf);
    return NULL;
}

/* The layout of pprof's and the distributions' symbol directories. */
static struct hr_elf *find_by_build_id(struct search *s)
{
    char directory[PATH_MAX], path[PATH_MAX];
    struct hr_elf *elf = NULL;
    if (strlen(s->build_id) < 3)
        return NULL;
    for (uint32_t i = 0; i < debug_dir_count(s) && !elf; i++) {
        if (!debug_dir(s, i, directory))
            continue;
        if (make_path(path, "%s/.build-id/%.2s/%s", directory, s->build_id, s->build_id + 2))
            elf = try_file(s, path, true);
        if (!elf && i < s->options->debug_dir_count &&
            make_path(path, "%s/%s/%s", directory, s->build_id, base_name(s->path)))
            elf = try_file(s, path, true);
        if (!elf && i < s->options->debug_dir_count &&
            make_path(path, "%s/%s", directory, base_name(s->path)))
            elf = try_file(s, path, true);
        if (!elf && i < s->options->debug_dir_count && make_path(path, "%s/%s", directory, s->path))
            elf = try_file(s, path, true);
    }
    return elf;
}

static struct hr_elf *find_elf(struct search *s)
{
    char path[PATH_MAX];
    struct hr_elf *elf = NULL;
    const char *symfs = s->options->symfs;
    if (symfs && make_path(path, "%s%s%s", symfs, s->path[0] == '/' ? "" : "/", s->path))
        elf = try_file(s, path, false);
    /* The file at a path that was deleted is another one, unless its build id says no; and with
     * -symfs the paths of this machine say nothing. */
    if (!elf)
        elf = try_file(s, s->path, (symfs || s->module->deleted) && !s->options->ignore_build_id);
    if (!elf)
        elf = find_by_build_id(s);
    return elf;
}

/* ---- debug files ---- */

static struct hr_elf *try_debug(const struct hr_elf *elf, const char *build_id, const char *path)
{
    struct hr_elf *debug;
    if (hr_elf_open(path, &debug, NULL) < 0)
        return NULL;
    if (strcmp(debug->build_id, build_id) == 0 && !same_file(elf, debug))
        return debug;
    hr_elf_close(debug);
    return NULL;
}

static struct hr_elf *debug_by_build_id(struct search *s, const struct hr_elf *elf,
                                        const char *build_id)
{
    char directory[PATH_MAX], path[PATH_MAX];
    struct hr_elf *debug = NULL;
    if (strlen(build_id) < 3)
        return NULL;
    for (uint32_t i = 0; i < debug_dir_count(s) && !debug; i++)
        if (debug_dir(s, i, directory) &&
            make_path(path, "%s/.build-id/%.2s/%s.debug", directory, build_id, build_id + 2))
            debug = try_debug(elf, build_id, path);
    return debug;
}

/* The build id proves more than the checksum and costs nothing; the checksum needs all of a file
 * that may be gigabytes. */
static struct hr_elf *try_link(const struct hr_elf *elf, const char *path, uint32_t crc)
{
    struct hr_elf *debug;
    uint32_t found;
    if (hr_elf_open(path, &debug, NULL) < 0)
        return NULL;
    bool good = !same_file(elf, debug);
    if (elf->build_id[0] && debug->build_id[0])
        good = good && strcmp(elf->build_id, debug->build_id) == 0;
    else
        good = good && hr_elf_checksum(path, &found) == 0 && found == crc;
    if (good)
        return debug;
    hr_elf_close(debug);
    return NULL;
}

static struct hr_elf *debug_by_link(struct search *s, const struct hr_elf *elf)
{
    char name[256], path[PATH_MAX], directory[PATH_MAX], real[PATH_MAX];
    uint32_t crc;
    if (hr_elf_debuglink(elf, name, &crc) < 0 || strchr(name, '/'))
        return NULL;
    /* Next to the file it is, not next to a link to it. */
    if (!realpath(elf->path, real))
        snprintf(real, sizeof(real), "%s", elf->path);
    int length = (int)(base_name(real) - real);
    struct hr_elf *debug = NULL;
    if (make_path(path, "%.*s%s", length, real, name))
        debug = try_link(elf, path, crc);
    if (!debug && make_path(path, "%.*s.debug/%s", length, real, name))
        debug = try_link(elf, path, crc);
    for (uint32_t i = 0; i < debug_dir_count(s) && !debug; i++) {
        if (!debug_dir(s, i, directory))
            continue;
        if (make_path(path, "%s%.*s%s", directory, length, real, name))
            debug = try_link(elf, path, crc);
        /* merged /usr: packages still name /lib */
        if (!debug && strncmp(real, "/usr/", 5) == 0 &&
            make_path(path, "%s%.*s%s", directory, length - 4, real + 4, name))
            debug = try_link(elf, path, crc);
        if (!debug && make_path(path, "%s/%s", directory, name))
            debug = try_link(elf, path, crc);
    }
    return debug;
}

/* dwz moves what several files have in common to one more file. */
static struct hr_elf *find_alt(struct search *s, const struct hr_elf *elf)
{
    char name[1024], build_id[129], path[PATH_MAX], real[PATH_MAX];
    if (hr_elf_debugaltlink(elf, name, build_id) < 0)
        return NULL;
    if (!realpath(elf->path, real))
        snprintf(real, sizeof(real), "%s", elf->path);
    struct hr_elf *alt = NULL;
    if (name[0] == '/' && make_path(path, "%s", name))
        alt = try_debug(elf, build_id, path);
    else if (make_path(path, "%.*s%s", (int)(base_name(real) - real), real, name))
        alt = try_debug(elf, build_id, path);
    return alt ? alt : debug_by_build_id(s, elf, build_id);
}

static bool has_dwarf(struct hr_elf *elf)
{
    return elf && hr_elf_find_section(elf, ".debug_info");
}

struct hr_elf *hr_module_dwarf(const struct hr_module *module)
{
    if (has_dwarf(module->elf))
        return module->elf;
    return has_dwarf(module->debug) ? module->debug : NULL;
}

/* ---- mappings without a file ---- */

static struct hr_elf *open_own_vdso(void)
{
    uint64_t base = getauxval(AT_SYSINFO_EHDR), start, end;
    struct hr_elf *elf = NULL;
    char line[512];
    FILE *maps = base ? fopen("/proc/self/maps", "re") : NULL;
    while (maps && fgets(line, sizeof(line), maps))
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 && start == base) {
            if (hr_elf_open_memory((const void *)(uintptr_t)base, end - start, "[vdso]", &elf,
                                   NULL) < 0)
                elf = NULL;
            break;
        }
    if (maps)
        fclose(maps);
    return elf;
}

static void find_vdso(struct search *s)
{
    struct hr_elf *elf = open_own_vdso();
    if (elf && s->build_id[0] && strcmp(s->build_id, elf->build_id) != 0) {
        hr_elf_close(elf);
        elf = NULL;
        diagnose(s->module, "the profile was made on another kernel");
    }
    s->module->elf = elf;
}

/* True: there is no file to look for. */
static bool is_special(struct search *s)
{
    const char *path = s->path;
    if (strcmp(path, "[vdso]") == 0) {
        find_vdso(s);
        return true;
    }
    if (path[0] == 0 || strcmp(path, "//anon") == 0 || strncmp(path, "[anon", 5) == 0 ||
        strcmp(path, "[heap]") == 0 || strncmp(path, "[stack", 6) == 0 ||
        strncmp(path, "/memfd:", 7) == 0 || strncmp(path, "/dev/zero", 9) == 0 ||
        strncmp(path, "/SYSV", 5) == 0) {
        diagnose(s->module, "anonymous executable memory: generated code");
        return true;
    }
    return path[0] == '[';
}

/* ---- what to say ---- */

static void say_missing(struct search *s)
{
    struct hr_module *module = s->module;
    if (s->refused[0])
        diagnose(module,
                 "%s has build id %s, but the profile was made with %s: the file was replaced; "
                 "-ignore_build_id uses it anyway",
                 s->refused, s->refused_id, s->build_id);
    else if (module->deleted)
        diagnose(
            module,
            "the file was deleted while the program ran%s%s%s; name a copy on the command line",
            s->build_id[0] ? ", and there is none with build id " : "", s->build_id,
            s->build_id[0] ? "" : ", and without a build id a new one cannot be checked");
    else
        diagnose(module, "no such file here%s%s; name a copy on the command line or use -symfs",
                 s->build_id[0] ? ", nor one with build id " : "", s->build_id);
}

/* gperftools' profiles have no build ids, so the path is all there is; a file that changed after
 * the profile was written is worth a word. */
static void say_doubts(struct search *s)
{
    const struct hr_elf *elf = s->module->elf;
    if (s->build_id[0] && elf->build_id[0] && strcmp(s->build_id, elf->build_id) != 0)
        diagnose(s->module, "build id %s is not the profile's %s: names may be wrong",
                 elf->build_id, s->build_id);
    else if (!s->build_id[0] && s->model->time_ns > 0 && elf->modified_ns > s->model->time_ns)
        diagnose(s->module, "changed after the profile was made, which has no build id to check: "
                            "names may be wrong");
}

static void find_files(struct search *s, struct hr_module *module)
{
    s->module = module;
    s->path = hr_string_text(s->model, module->path);
    s->build_id = hr_string_text(s->model, module->build_id);
    s->refused[0] = 0;
    if (!module->elf && is_special(s))
        return;
    if (!module->elf)
        module->elf = find_elf(s);
    const char *id = module->elf && module->elf->build_id[0] ? module->elf->build_id : s->build_id;
    if (!has_dwarf(module->elf)) {
        module->debug = debug_by_build_id(s, module->elf, id);
        if (!module->debug && module->elf)
            module->debug = debug_by_link(s, module->elf);
    }
    struct hr_elf *dwarf = hr_module_dwarf(module);
    if (dwarf)
        module->alt = find_alt(s, dwarf);
    if (module->elf)
        say_doubts(s);
    else if (!module->debug)
        say_missing(s);
    if (module->debug)
        module->object = module->debug->path;
    else if (module->elf && strcmp(module->elf->path, s->path) != 0)
        module->object = module->elf->path;
}

/* ---- binaries named by the user ---- */

static bool ids_agree(const char *a, const char *b)
{
    return !a[0] || !b[0] || strcmp(a, b) == 0;
}

/* Where the profile has no build id, the size and place of the code must do: the kernel maps an
 * executable segment whole. */
static bool layouts_agree(const struct search *s, const struct hr_module *module,
                          const struct hr_elf *elf)
{
    const uint64_t page = XP_OS_PAGE - 1;
    uint32_t index = (uint32_t)(module - s->modules->modules);
    for (uint32_t i = 0; i < s->model->mapping_count; i++) {
        const struct hr_mapping *mapping = &s->model->mappings[i];
        if (s->modules->of_mapping[i] != index)
            continue;
        for (uint32_t k = 0; k < elf->segment_count; k++) {
            const struct hr_elf_segment *segment = &elf->segments[k];
            uint64_t first = segment->offset & ~page;
            uint64_t size = (segment->offset & page) + segment->memory_size;
            if (segment->type == PT_LOAD && (segment->flags & PF_X) && first == mapping->offset &&
                ((size + page) & ~page) == mapping->limit - mapping->start)
                return true;
        }
    }
    return false;
}

/* By build id; else by name, where ids are unknown or overruled; else, for the first one, the main
 * program: profiles are often read with a renamed copy of it. */
static bool fits(const struct search *s, const struct hr_module *module, const struct hr_elf *elf,
                 int pass, bool first)
{
    const char *path = hr_string_text(s->model, module->path);
    const char *id = hr_string_text(s->model, module->build_id);
    bool overruled = s->options->ignore_build_id ||
                     (ids_agree(id, elf->build_id) && (id[0] || layouts_agree(s, module, elf)));
    switch (pass) {
    case 0:
        return id[0] && strcmp(id, elf->build_id) == 0;
    case 1:
        return overruled && strcmp(base_name(path), base_name(elf->path)) == 0;
    default:
        return overruled && first && module->path == s->model->program;
    }
}

static int refuse_binary(const struct search *s, const struct hr_elf *elf, struct hr_error *err)
{
    const char *program = hr_string_text(s->model, s->model->program);
    const char *id = "";
    for (uint32_t i = 0; i < s->modules->count; i++)
        if (s->modules->modules[i].path == s->model->program)
            id = hr_string_text(s->model, s->modules->modules[i].build_id);
    return hr_error_set(err, -ENOEXEC, elf->path, 0,
                        "not a file of this profile (build id %s): the profile is of %s%s%s%s; "
                        "-ignore_build_id uses it anyway",
                        elf->build_id[0] ? elf->build_id : "none",
                        program[0] ? program : "a program it does not name",
                        id[0] ? " (build id " : "", id, id[0] ? ")" : "");
}

static int place_binaries(struct search *s, struct hr_error *err)
{
    struct hr_modules *m = s->modules;
    const struct hr_symbolize_options *o = s->options;
    m->binaries = calloc(o->binary_count + 1, sizeof(*m->binaries));
    if (!m->binaries)
        return hr_error_set(err, -ENOMEM, "", 0, "out of memory");
    for (size_t b = 0; b < o->binary_count; b++) {
        int r = hr_elf_open(o->binaries[b], &m->binaries[b], err);
        if (r < 0)
            return r;
        m->binary_count++;
        bool placed = false;
        for (int pass = 0; pass < 3 && !placed; pass++)
            for (uint32_t i = 0; i < m->count; i++) {
                struct hr_module *module = &m->modules[i];
                if (!fits(s, module, m->binaries[b], pass, b == 0))
                    continue;
                placed = true;
                if (!module->elf)
                    module->elf = m->binaries[b];
            }
        if (!placed)
            return refuse_binary(s, m->binaries[b], err);
    }
    return 0;
}

/* ---- grouping ---- */

static int by_file(const void *a, const void *b, void *context)
{
    const struct hr_mapping *mappings = context;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    if (mappings[i].path != mappings[j].path)
        return mappings[i].path < mappings[j].path ? -1 : 1;
    if (mappings[i].build_id != mappings[j].build_id)
        return mappings[i].build_id < mappings[j].build_id ? -1 : 1;
    return i < j ? -1 : i > j;
}

static int group_mappings(const struct hr_model *model, struct hr_modules *m)
{
    uint32_t *order = malloc((model->mapping_count + 1) * sizeof(*order));
    m->modules = calloc(model->mapping_count + 1, sizeof(*m->modules));
    m->of_mapping = calloc(model->mapping_count + 1, sizeof(*m->of_mapping));
    if (!order || !m->modules || !m->of_mapping) {
        free(order);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < model->mapping_count; i++)
        order[i] = i;
    qsort_r(order, model->mapping_count, sizeof(*order), by_file, model->mappings);
    for (uint32_t i = 0; i < model->mapping_count; i++) {
        const struct hr_mapping *mapping = &model->mappings[order[i]];
        struct hr_module *last = m->count ? &m->modules[m->count - 1] : NULL;
        if (!last || last->path != mapping->path || last->build_id != mapping->build_id) {
            last = &m->modules[m->count++];
            last->path = mapping->path;
            last->build_id = mapping->build_id;
        }
        last->deleted |= mapping->deleted;
        m->of_mapping[order[i]] = m->count - 1;
    }
    free(order);
    return 0;
}

int hr_modules_create(const struct hr_model *model, const struct hr_symbolize_options *options,
                      struct hr_modules **ret_modules, struct hr_error *err)
{
    struct search s = {.model = model, .options = options};
    struct hr_modules *m = calloc(1, sizeof(*m));
    if (!m)
        return hr_error_set(err, -ENOMEM, "", 0, "out of memory");
    s.modules = m;
    int r = group_mappings(model, m);
    if (r < 0) {
        hr_error_set(err, r, "", 0, "out of memory");
        goto out;
    }
    for (uint32_t i = 0; i < model->location_count; i++)
        if (model->locations[i].mapping < model->mapping_count &&
            model->locations[i].frame_count == 0)
            m->modules[m->of_mapping[model->locations[i].mapping]].wanted = true;
    r = place_binaries(&s, err);
    if (r < 0)
        goto out;
    for (uint32_t i = 0; i < m->count; i++)
        if (m->modules[i].wanted)
            find_files(&s, &m->modules[i]);
    *ret_modules = m;
    return 0;
out:
    hr_modules_destroy(m);
    return r;
}

void hr_modules_destroy(struct hr_modules *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; m->modules && i < m->count; i++) {
        bool borrowed = false;
        for (size_t b = 0; b < m->binary_count; b++)
            borrowed |= m->modules[i].elf == m->binaries[b];
        if (!borrowed)
            hr_elf_close(m->modules[i].elf);
        hr_elf_close(m->modules[i].debug);
        hr_elf_close(m->modules[i].alt);
        free(m->modules[i].diagnosis);
    }
    for (size_t b = 0; b < m->binary_count; b++)
        hr_elf_close(m->binaries[b]);
    free(m->binaries);
    free(m->modules);
    free(m->of_mapping);
    free(m);
}

/* ---- addresses ---- */

/* A debug file has lost the file offsets, but not the addresses and sizes of its segments: the one
 * whose pages have the length of the mapping, or the only executable one. */
static int vaddr_without_contents(const struct hr_elf *elf, const struct hr_mapping *mapping,
                                  uint64_t address, uint64_t *ret_vaddr)
{
    const struct hr_elf_segment *only = NULL, *fitting = NULL;
    uint32_t executable = 0;
    uint64_t length = mapping->limit - mapping->start;
    for (uint32_t i = 0; i < elf->segment_count; i++) {
        const struct hr_elf_segment *s = &elf->segments[i];
        if (s->type != PT_LOAD || !(s->flags & PF_X))
            continue;
        executable++;
        only = s;
        uint64_t first = s->vaddr & ~(XP_OS_PAGE - 1);
        uint64_t end = (s->vaddr + s->memory_size + XP_OS_PAGE - 1) & ~(XP_OS_PAGE - 1);
        if (end - first == length)
            fitting = s;
    }
    if (!fitting && executable == 1)
        fitting = only;
    if (!fitting)
        return -ERANGE;
    *ret_vaddr = (fitting->vaddr & ~(XP_OS_PAGE - 1)) + (address - mapping->start);
    return 0;
}

int hr_module_vaddr(const struct hr_module *module, const struct hr_mapping *mapping,
                    uint64_t address, uint64_t *ret_vaddr)
{
    const struct hr_elf *elf = module->elf ? module->elf : module->debug;
    if (!elf || address < mapping->start || address >= mapping->limit)
        return -ERANGE;
    uint64_t vaddr;
    /* A program linked to a fixed address says it all. */
    if (elf->type == ET_EXEC) {
        *ret_vaddr = address;
        return 0;
    }
    int r = hr_elf_is_debug_only(elf)
                ? vaddr_without_contents(elf, mapping, address, &vaddr)
                : hr_elf_vaddr_of_offset(elf, address - mapping->start + mapping->offset, &vaddr);
    if (r == 0)
        *ret_vaddr = vaddr;
    return r;
}
