/* SPDX-License-Identifier: MIT */
/* names.c - asks one table after the other for the names of a module's addresses and sends them. */
#include "report/names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/demangle.h"
#include "report/symtab.h"

/* Strings sent so far, by text: open addressing. */
struct sent {
    char *text;
    uint32_t number;
    uint32_t readable; /* for a linkage name: number of its readable form; HR_NONE not made yet */
};

struct finder {
    struct hr_wire *wire;
    const struct hr_names_job *job;
    struct sent *table;
    uint32_t used, room; /* power of two */
    uint32_t next_number;
    bool *found;               /* per address: frames are sent */
    struct hr_symbol *symbols; /* per address; by whichever table has it */
    uint8_t *rungs;            /* per address: enum hr_rung of its symbol */
    struct hr_names_summary summary;
};

static void *must(void *memory)
{
    if (!memory)
        hr_worker_out_of_memory();
    return memory;
}

static uint32_t hash_text(const char *text, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)(hash ^ hash >> 32);
}

static struct sent *slot_of(struct finder *f, const char *text, size_t length)
{
    uint32_t i = hash_text(text, length) & (f->room - 1);
    while (f->table[i].text &&
           (strncmp(f->table[i].text, text, length) != 0 || f->table[i].text[length] != 0))
        i = (i + 1) & (f->room - 1);
    return &f->table[i];
}

static void grow(struct finder *f)
{
    struct sent *old = f->table;
    uint32_t old_room = f->room;
    f->room = old_room ? old_room * 2 : 1024;
    f->table = must(calloc(f->room, sizeof(*f->table)));
    for (uint32_t i = 0; i < old_room; i++)
        if (old[i].text)
            *slot_of(f, old[i].text, strlen(old[i].text)) = old[i];
    free(old);
}

static uint32_t send_string(struct finder *f, const char *text, size_t length)
{
    if (!text || length == 0)
        return HR_NONE;
    if (length > HR_NAMES_STRING_MAX)
        length = HR_NAMES_STRING_MAX;
    if (f->used >= f->room / 2)
        grow(f);
    struct sent *slot = slot_of(f, text, length);
    if (!slot->text) {
        *slot = (struct sent){
            .text = must(strndup(text, length)), .number = f->next_number++, .readable = HR_NONE};
        f->used++;
        hr_wire_send(f->wire, HR_NAMES_STRING, text, length);
    }
    return slot->number;
}

/* Fills function and system_name of a frame. */
static void send_name(struct finder *f, const char *name, size_t length, bool mangled,
                      struct hr_names_frame *frame)
{
    frame->function = frame->system_name = HR_NONE;
    if (!name || length == 0)
        return;
    frame->system_name = send_string(f, name, length);
    struct sent *slot =
        slot_of(f, name, length < HR_NAMES_STRING_MAX ? length : HR_NAMES_STRING_MAX);
    if (slot->readable == HR_NONE) {
        char *readable = must(mangled ? hr_demangle(slot->text, f->job->demangle)
                                      : hr_demangle_qualified(slot->text, f->job->demangle));
        char *key = must(strdup(slot->text));
        uint32_t number = send_string(f, readable, strlen(readable));
        slot = slot_of(f, key, strlen(key)); /* the table may have moved */
        slot->readable = number;
        free(readable);
        free(key);
    }
    frame->function = slot->readable;
}

static void send_address(struct finder *f, uint32_t index, enum hr_rung rung,
                         const struct hr_names_frame *frames, uint32_t count)
{
    struct {
        struct hr_names_address head;
        struct hr_names_frame frames[HR_NAMES_FRAMES_MAX];
    } record;
    record.head = (struct hr_names_address){.index = index, .rung = rung, .count = count};
    memcpy(record.frames, frames, count * sizeof(*frames));
    hr_wire_send(f->wire, HR_NAMES_ADDRESS, &record, sizeof(record.head) + count * sizeof(*frames));
    f->found[index] = true;
}

/* Should the symbol name a function that debug information knows too? Of C functions the exported
 * name is the one people call: printf, not __printf. */
static bool is_better(const struct hr_symbol *symbol, const struct hr_dwarf_frame *function)
{
    if (!symbol->name)
        return false;
    if (!function->function)
        return true;
    return !function->mangled && symbol->exported && strncmp(symbol->name, "_Z", 2) != 0 &&
           strncmp(symbol->name, "_R", 2) != 0 && !memchr(symbol->name, '.', symbol->length);
}

static void take_dwarf(uint32_t index, const struct hr_dwarf_frame *from, uint32_t count,
                       void *context)
{
    struct finder *f = context;
    struct hr_names_frame frames[HR_NAMES_FRAMES_MAX];
    const struct hr_symbol *symbol = &f->symbols[index];
    for (uint32_t i = 0; i < count; i++) {
        const char *name = from[i].function;
        if (i + 1 == count && is_better(symbol, &from[i]))
            send_name(f, symbol->name, symbol->length, true, &frames[i]);
        else
            send_name(f, name, name ? strlen(name) : 0, from[i].mangled, &frames[i]);
        frames[i].file = send_string(f, from[i].file, from[i].file ? strlen(from[i].file) : 0);
        frames[i].line = from[i].line;
    }
    send_address(f, index, HR_RUNG_DWARF, frames, count);
}

static void note(struct finder *f, const struct hr_error *err)
{
    if (err->code && !f->summary.text[0])
        snprintf(f->summary.text, sizeof(f->summary.text), "%.200s", err->text);
}

static void use_dwarf(struct finder *f, bool *mine)
{
    const struct hr_names_job *job = f->job;
    const struct hr_dwarf_query query = {.elf = hr_module_dwarf(job->module),
                                         .alt = job->module->alt,
                                         .addresses = job->addresses,
                                         .count = job->count,
                                         .share = job->share,
                                         .shares = job->shares,
                                         .take = take_dwarf,
                                         .context = f};
    struct hr_dwarf_notes notes = {0};
    struct hr_error err = {0};
    int r = query.elf ? hr_dwarf_find(&query, mine, &notes, &err) : -ENODATA;
    if (r == -ENOMEM)
        hr_worker_out_of_memory();
    if (r < 0) /* then the first share does all */
        for (uint32_t i = 0; i < job->count; i++)
            mine[i] = job->share == 0;
    note(f, &err);
    f->summary.damaged_units = notes.damaged_units;
    f->summary.split_units = notes.split_units;
    f->summary.missing_alt = notes.missing_alt;
}

static void use_table(struct finder *f, struct hr_elf *elf, enum hr_symtab table)
{
    const struct hr_names_job *job = f->job;
    struct hr_error err = {0};
    if (hr_symtab_find(elf, table, job->addresses, job->count, f->symbols, &err) == -ENOMEM)
        hr_worker_out_of_memory();
    note(f, &err);
    for (uint32_t i = 0; i < job->count; i++)
        if (f->symbols[i].name && f->rungs[i] == HR_RUNG_NONE)
            f->rungs[i] = table == HR_SYMTAB ? HR_RUNG_SYMTAB : HR_RUNG_DYNSYM;
}

/* Each table is asked for what those before did not know. *ret_mini has to stay open. */
static void use_symbols(struct finder *f, struct hr_elf **ret_mini)
{
    const struct hr_module *module = f->job->module;
    struct hr_elf *files[] = {module->elf, module->debug};
    struct hr_error err = {0};
    for (int i = 0; i < 2; i++)
        if (files[i])
            use_table(f, files[i], HR_SYMTAB);
    if (module->elf && hr_elf_open_minidebug(module->elf, ret_mini, &err) == 0)
        use_table(f, *ret_mini, HR_SYMTAB);
    note(f, &err);
    for (int i = 0; i < 2; i++)
        if (files[i])
            use_table(f, files[i], HR_DYNSYM);
}

static void send_symbols(struct finder *f, const bool *mine)
{
    for (uint32_t i = 0; i < f->job->count; i++) {
        struct hr_names_frame frame = {.file = HR_NONE};
        const struct hr_symbol *symbol = &f->symbols[i];
        if (!mine[i] || f->found[i] || !symbol->name)
            continue;
        send_name(f, symbol->name, symbol->length, true, &frame);
        send_address(f, i, f->rungs[i], &frame, 1);
    }
}

void hr_names_find(struct hr_wire *wire, const struct hr_names_job *job)
{
    struct finder f = {.wire = wire, .job = job};
    struct hr_elf *mini = NULL;
    bool *mine = must(calloc(job->count + 1, sizeof(*mine)));
    f.found = must(calloc(job->count + 1, sizeof(*f.found)));
    f.symbols = must(calloc(job->count + 1, sizeof(*f.symbols)));
    f.rungs = must(calloc(job->count + 1, sizeof(*f.rungs)));
    for (uint32_t i = 0; i < job->count; i++)
        mine[i] = true;
    use_symbols(&f, &mini);
    if (!job->symtab_only)
        use_dwarf(&f, mine);
    send_symbols(&f, mine);
    hr_wire_send(wire, HR_NAMES_SUMMARY, &f.summary, sizeof(f.summary));
    for (uint32_t i = 0; i < f.room; i++)
        free(f.table[i].text);
    hr_elf_close(mini);
    free(f.table);
    free(f.found);
    free(f.symbols);
    free(f.rungs);
    free(mine);
}
