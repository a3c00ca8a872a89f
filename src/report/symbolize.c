/* SPDX-License-Identifier: MIT */
/* symbolize.c - cuts the work into jobs for workers, and puts what they send into the model. */
#include "report/symbolize.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/modules.h"
#include "report/names.h"
#include "report/worker.h"

/* Debug information takes about 8 ns a byte: below this a second process costs more than it saves.
 * Each process unpacks a compressed file for itself, which takes longer than reading it. */
#define SHARE_BYTES        (UINT64_C(8) << 20)
#define SHARE_BYTES_PACKED (UINT64_C(32) << 20)
#define SHARES_MAX         8u
#define WORKERS_MAX        8u
#define TIMEOUT_S          60u
#define MEMORY_MAX         (UINT64_C(4) << 30)
#define ADDRESS_BYTES      4096u /* cost of one address, in bytes of debug information */

/* The names of one address of a module. */
struct place {
    uint32_t frame_first, frame_count;
    uint32_t location_first; /* in work.order: the locations at this address */
    uint8_t rung;            /* enum hr_rung; higher is better */
};

struct target {
    const struct hr_module *module; /* NULL: it has no addresses */
    uint64_t *addresses;            /* ascending, no doubles */
    struct place *places;
    uint32_t count;
    struct hr_names_summary summary; /* of all its jobs */
    char failure[160];               /* of a worker; "" none */
};

struct job {
    uint32_t target;
    uint32_t share, shares;
    bool symtab_only;
    hr_string *strings; /* that the worker defined, by its numbers */
    uint32_t string_count, string_room;
    uint64_t string_bytes;
};

struct work {
    struct hr_model *model;
    const struct hr_symbolize_options *options;
    struct hr_modules *modules;
    struct target *targets; /* one per module */
    struct job *jobs;
    uint64_t *costs;
    uint32_t job_count, job_room;
    bool no_memory;
};

/* ---- addresses of modules ---- */

struct wanted {
    uint32_t module;
    uint32_t location;
    uint64_t vaddr;
};

static int by_module_and_address(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;
    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    if (x->vaddr != y->vaddr)
        return x->vaddr < y->vaddr ? -1 : 1;
    return x->location < y->location ? -1 : x->location > y->location;
}

static struct wanted *collect(const struct work *w, uint32_t *ret_count)
{
    const struct hr_model *m = w->model;
    /* One more: an end that belongs to no module. */
    struct wanted *wanted = malloc((m->location_count + (size_t)1) * sizeof(*wanted));
    uint32_t count = 0;
    for (uint32_t i = 0; wanted && i < m->location_count; i++) {
        const struct hr_location *l = &m->locations[i];
        if (l->frame_count > 0 || l->mapping >= m->mapping_count)
            continue;
        uint32_t module = w->modules->of_mapping[l->mapping];
        uint64_t vaddr;
        if (hr_module_vaddr(&w->modules->modules[module], &m->mappings[l->mapping], l->address,
                            &vaddr) == 0)
            wanted[count++] = (struct wanted){.module = module, .location = i, .vaddr = vaddr};
    }
    if (wanted) {
        qsort(wanted, count, sizeof(*wanted), by_module_and_address);
        wanted[count].module = HR_NONE;
    }
    *ret_count = count;
    return wanted;
}

/* first and count: the addresses of one module in all. */
static int make_target(struct work *w, const struct wanted *all, uint32_t first, uint32_t count)
{
    const struct wanted *wanted = all + first;
    struct target *t = &w->targets[wanted->module];
    t->module = &w->modules->modules[wanted->module];
    t->addresses = malloc(count * sizeof(*t->addresses));
    t->places = calloc(count, sizeof(*t->places));
    if (!t->addresses || !t->places)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && wanted[i].vaddr == wanted[i - 1].vaddr)
            continue;
        t->places[t->count].location_first = first + i;
        t->addresses[t->count++] = wanted[i].vaddr;
    }
    return 0;
}

static int make_targets(struct work *w, const struct wanted *wanted, uint32_t count)
{
    w->targets = calloc(w->modules->count + 1, sizeof(*w->targets));
    if (!w->targets)
        return -ENOMEM;
    for (uint32_t first = 0, last; first < count; first = last) {
        for (last = first; last < count && wanted[last].module == wanted[first].module;)
            last++;
        int r = make_target(w, wanted, first, last - first);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- jobs ---- */

static uint64_t section_size(struct hr_elf *elf, const char *name)
{
    const struct hr_elf_section *section = elf ? hr_elf_find_section(elf, name) : NULL;
    return section ? section->size : 0;
}

static bool is_packed(struct hr_elf *elf)
{
    const struct hr_elf_section *info = elf ? hr_elf_find_section(elf, ".debug_info") : NULL;
    return info && ((info->flags & SHF_COMPRESSED) || strncmp(info->name, ".z", 2) == 0);
}

static unsigned worker_count(const struct hr_symbolize_options *options)
{
    if (options->workers)
        return options->workers;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors < 1 ? 1 : processors > WORKERS_MAX ? WORKERS_MAX : (unsigned)processors;
}

static int add_job(struct work *w, const struct job *job, uint64_t cost)
{
    if (w->job_count == w->job_room) {
        uint32_t room = w->job_room ? w->job_room * 2 : 64;
        struct job *jobs = realloc(w->jobs, room * sizeof(*jobs));
        if (jobs)
            w->jobs = jobs;
        uint64_t *costs = realloc(w->costs, room * sizeof(*costs));
        if (costs)
            w->costs = costs;
        if (!jobs || !costs)
            return -ENOMEM;
        w->job_room = room;
    }
    w->costs[w->job_count] = cost;
    w->jobs[w->job_count++] = *job;
    return 0;
}

static int make_jobs(struct work *w)
{
    unsigned workers = worker_count(w->options);
    for (uint32_t i = 0; i < w->modules->count; i++) {
        struct target *t = &w->targets[i];
        if (!t->module)
            continue;
        struct hr_elf *dwarf = w->options->symtab_only ? NULL : hr_module_dwarf(t->module);
        struct hr_elf *elf = t->module->elf ? t->module->elf : t->module->debug;
        uint64_t size = section_size(dwarf, ".debug_info") + section_size(dwarf, ".debug_line");
        uint64_t rest = section_size(elf, ".symtab") + section_size(elf, ".dynsym");
        uint64_t all = t->count * (uint64_t)ADDRESS_BYTES;
        if (size > all)
            size = all; /* units without an address are not read */
        uint64_t shares = size / (is_packed(dwarf) ? SHARE_BYTES_PACKED : SHARE_BYTES) + 1;
        if (shares > workers)
            shares = workers;
        if (shares > SHARES_MAX)
            shares = SHARES_MAX;
        for (uint32_t share = 0; share < shares; share++) {
            const struct job job = {.target = i,
                                    .share = share,
                                    .shares = (uint32_t)shares,
                                    .symtab_only = w->options->symtab_only};
            int r = add_job(w, &job, size / shares + rest + 1);
            if (r < 0)
                return r;
        }
    }
    return 0;
}

static void run_job(struct hr_wire *wire, uint32_t index, void *context)
{
    const struct work *w = context;
    const struct job *job = &w->jobs[index];
    const struct target *t = &w->targets[job->target];
    hr_names_find(wire, &(struct hr_names_job){.module = t->module,
                                               .addresses = t->addresses,
                                               .count = t->count,
                                               .share = job->share,
                                               .shares = job->shares,
                                               .symtab_only = job->symtab_only,
                                               .demangle = w->options->demangle});
}

/* ---- what workers say: any byte may come ---- */

static void begin_job(uint32_t index, void *context)
{
    struct work *w = context;
    w->jobs[index].string_count = 0;
    w->jobs[index].string_bytes = 0;
}

static int take_string(struct work *w, struct job *job, const uint8_t *data, size_t size)
{
    const struct target *t = &w->targets[job->target];
    if (size > HR_NAMES_STRING_MAX ||
        job->string_count > (uint64_t)t->count * 3 * HR_NAMES_FRAMES_MAX ||
        job->string_bytes > HR_NAMES_STRINGS_MAX)
        return -EPROTO;
    if (job->string_count == job->string_room) {
        uint32_t room = job->string_room ? job->string_room * 2 : 256;
        hr_string *strings = realloc(job->strings, room * sizeof(*strings));
        if (!strings)
            return -ENOMEM;
        job->strings = strings;
        job->string_room = room;
    }
    /* Reports are lines: nothing in a name may break one. */
    char text[HR_NAMES_STRING_MAX];
    for (size_t i = 0; i < size; i++)
        text[i] = data[i] < 0x20 || data[i] == 0x7f ? '?' : (char)data[i];
    hr_string string = hr_string_intern(w->model, text, size);
    if (string == HR_NONE) {
        w->no_memory = true;
        return -ENOMEM;
    }
    job->strings[job->string_count++] = string;
    job->string_bytes += size;
    return 0;
}

static bool known_string(const struct job *job, uint32_t number, hr_string *ret_string)
{
    if (number == HR_NONE) {
        *ret_string = 0;
        return true;
    }
    if (number >= job->string_count)
        return false;
    *ret_string = job->strings[number];
    return true;
}

static int take_frames(struct work *w, struct job *job, const uint8_t *data, size_t size)
{
    struct hr_names_address head;
    struct hr_names_frame from;
    struct target *t = &w->targets[job->target];
    if (size < sizeof(head))
        return -EPROTO;
    memcpy(&head, data, sizeof(head));
    if (head.index >= t->count || head.rung < HR_RUNG_DYNSYM || head.rung > HR_RUNG_DWARF ||
        head.count == 0 || head.count > HR_NAMES_FRAMES_MAX ||
        size != sizeof(head) + head.count * sizeof(from))
        return -EPROTO;
    struct place *place = &t->places[head.index];
    if (place->rung >= head.rung)
        return 0; /* a job that is tried again says some things twice */
    struct hr_frame frames[HR_NAMES_FRAMES_MAX];
    for (uint32_t i = 0; i < head.count; i++) {
        memcpy(&from, data + sizeof(head) + i * sizeof(from), sizeof(from));
        struct hr_frame *frame = &frames[i];
        if (!known_string(job, from.function, &frame->function) ||
            !known_string(job, from.system_name, &frame->system_name) ||
            !known_string(job, from.file, &frame->file))
            return -EPROTO;
        frame->line = from.line;
        frame->inlined = i + 1 < head.count;
    }
    uint32_t first = w->model->frame_count;
    for (uint32_t i = 0; i < head.count; i++)
        if (hr_model_add_frame(w->model, &frames[i]) == HR_NONE) {
            w->no_memory = true;
            return -ENOMEM;
        }
    place->frame_first = first;
    place->frame_count = head.count;
    place->rung = (uint8_t)head.rung;
    return 0;
}

static int take_summary(struct target *t, const uint8_t *data, size_t size)
{
    struct hr_names_summary s;
    if (size != sizeof(s))
        return -EPROTO;
    memcpy(&s, data, sizeof(s));
    s.text[sizeof(s.text) - 1] = 0;
    for (char *c = s.text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    t->summary.damaged_units += s.damaged_units;
    t->summary.split_units += s.split_units;
    t->summary.missing_alt |= s.missing_alt != 0;
    if (s.text[0] && !t->summary.text[0])
        memcpy(t->summary.text, s.text, sizeof(s.text));
    return 0;
}

static int take_record(uint32_t index, uint32_t kind, const uint8_t *data, size_t size,
                       void *context)
{
    struct work *w = context;
    struct job *job = &w->jobs[index];
    switch (kind) {
    case HR_NAMES_STRING:
        return take_string(w, job, data, size);
    case HR_NAMES_ADDRESS:
        return take_frames(w, job, data, size);
    case HR_NAMES_SUMMARY:
        return take_summary(&w->targets[job->target], data, size);
    default:
        return -EPROTO;
    }
}

/* First the symbol table instead of debug information, then nothing. */
static bool job_failed(uint32_t index, const char *reason, void *context)
{
    struct work *w = context;
    struct job *job = &w->jobs[index];
    struct target *t = &w->targets[job->target];
    bool again = !job->symtab_only && !w->no_memory;
    snprintf(t->failure, sizeof(t->failure), "reading the %s %s%s",
             job->symtab_only ? "symbol table" : "debug information", reason,
             again ? ": names from the symbol table" : "");
    job->symtab_only = true;
    return again;
}

/* ---- into the model ---- */

static void name_locations(struct work *w, const struct wanted *wanted)
{
    for (uint32_t i = 0; i < w->modules->count; i++) {
        const struct target *t = &w->targets[i];
        for (uint32_t a = 0; a < t->count; a++) {
            const struct place *place = &t->places[a];
            const struct wanted *at = wanted + place->location_first;
            for (;
                 at->module == wanted[place->location_first].module && at->vaddr == t->addresses[a];
                 at++) {
                w->model->locations[at->location].frame_first = place->frame_first;
                w->model->locations[at->location].frame_count = place->frame_count;
            }
        }
    }
}

static void explain(const struct target *t, char *text, size_t size)
{
    const struct hr_module *module = t->module;
    uint32_t lines = 0, named = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        lines += t->places[i].rung == HR_RUNG_DWARF;
        named += t->places[i].rung > 0;
    }
    const char *id = module->elf && module->elf->build_id[0] ? module->elf->build_id : "";
    text[0] = 0;
    if (module->diagnosis)
        snprintf(text, size, "%s", module->diagnosis);
    else if (t->failure[0])
        snprintf(text, size, "%s", t->failure);
    else if (t->summary.text[0])
        snprintf(text, size, "%s", t->summary.text);
    else if (t->summary.split_units)
        snprintf(text, size,
                 "split debug information (-gsplit-dwarf) is not read: no inlined functions");
    else if (t->summary.missing_alt)
        snprintf(text, size, "some names stand in a dwz file that was not found");
    else if (t->summary.damaged_units)
        snprintf(text, size, "%u units of debug information are damaged", t->summary.damaged_units);
    else if (lines == 0 && named < t->count)
        snprintf(text, size, "stripped, and no debug file%s%s: %u of %u addresses have a name",
                 id[0] ? " for build id " : "", id, named, t->count);
    else if (lines == 0)
        snprintf(text, size, "no debug information%s%s: names only, no lines",
                 id[0] ? " for build id " : "", id);
}

static int describe_modules(struct work *w)
{
    for (uint32_t i = 0; i < w->model->mapping_count; i++) {
        const struct hr_module *module = &w->modules->modules[w->modules->of_mapping[i]];
        struct hr_mapping *mapping = &w->model->mappings[i];
        if (!module->wanted)
            continue;
        char text[1024] = "";
        const struct target *t = &w->targets[w->modules->of_mapping[i]];
        if (t->module)
            explain(t, text, sizeof(text));
        else if (module->diagnosis)
            snprintf(text, sizeof(text), "%s", module->diagnosis);
        else if (module->elf || module->debug)
            snprintf(text, sizeof(text), "its addresses lie in no segment of the file");
        const char *object = module->object ? module->object : "";
        hr_string o = hr_string_intern(w->model, object, strlen(object));
        hr_string d = hr_string_intern(w->model, text, strlen(text));
        if (o == HR_NONE || d == HR_NONE)
            return -ENOMEM;
        mapping->object = o;
        mapping->diagnosis = d;
        mapping->doubtful = module->diagnosis && module->elf;
    }
    return 0;
}

static void free_work(struct work *w)
{
    for (uint32_t i = 0; w->targets && i < w->modules->count; i++) {
        free(w->targets[i].addresses);
        free(w->targets[i].places);
    }
    for (uint32_t i = 0; i < w->job_count; i++)
        free(w->jobs[i].strings);
    free(w->targets);
    free(w->jobs);
    free(w->costs);
    hr_modules_destroy(w->modules);
}

int hr_symbolize(struct hr_model *model, const struct hr_symbolize_options *options,
                 struct hr_error *err)
{
    struct work w = {.model = model, .options = options};
    int r = hr_modules_create(model, options, &w.modules, err);
    if (r < 0)
        return r;
    uint32_t count;
    struct wanted *wanted = collect(&w, &count);
    r = wanted ? make_targets(&w, wanted, count) : -ENOMEM;
    if (r == 0)
        r = make_jobs(&w);
    if (r == 0) {
        const struct hr_jobs jobs = {.count = w.job_count,
                                     .costs = w.costs,
                                     .context = &w,
                                     .run = run_job,
                                     .begin = begin_job,
                                     .take = take_record,
                                     .failed = job_failed};
        const struct hr_worker_limits limits = {
            .processes = worker_count(options),
            .timeout_s = options->timeout_s ? options->timeout_s : TIMEOUT_S,
            .memory_max = options->memory_max ? options->memory_max : MEMORY_MAX};
        r = hr_workers_run(&jobs, &limits, err);
    }
    if (r == 0) {
        name_locations(&w, wanted);
        r = describe_modules(&w);
    }
    if (r == 0 && w.no_memory)
        r = -ENOMEM;
    if (r == -ENOMEM)
        hr_error_set(err, r, "", 0, "out of memory");
    free(wanted);
    free_work(&w);
    return r;
}
