/* SPDX-License-Identifier: MIT */
/* symbolize_file.c - names virtual addresses of one ELF file as llvm-symbolizer prints them.
 *
 * symbolize_file [-demangle=full|short|templates|none] [-symtab] [-workers=N] [-debug_dir=DIR]
 *                [-symfs=DIR] [-ignore_build_id] [-path=RECORDED] FILE < addresses
 * One hexadecimal address a line; what is printed per address: its frames, innermost first, each as
 * a line with the function and a line FILE:LINE, then an empty line. The diagnosis goes to stderr.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/elf.h"
#include "report/symbolize.h"

#define BASE UINT64_C(0x555500000000)

static void print(const struct hr_model *model, uint32_t location)
{
    const struct hr_location *l = &model->locations[location];
    for (uint32_t i = 0; i < l->frame_count; i++) {
        const struct hr_frame *f = &model->frames[l->frame_first + i];
        const char *function = hr_string_text(model, f->function);
        const char *file = hr_string_text(model, f->file);
        printf("%s\n%s:%u\n", *function ? function : "??", *file ? file : "??", f->line);
    }
    if (l->frame_count == 0)
        printf("??\n??:0\n");
    printf("\n");
}

static void add_mappings(struct hr_model *model, const struct hr_elf *elf, const char *recorded)
{
    hr_string path = hr_string_intern(model, recorded, strlen(recorded));
    hr_string id = hr_string_intern(model, elf->build_id, strlen(elf->build_id));
    uint64_t base = elf->type == ET_EXEC ? 0 : BASE;
    for (uint32_t i = 0; i < elf->segment_count; i++) {
        const struct hr_elf_segment *s = &elf->segments[i];
        if (s->type != PT_LOAD || !(s->flags & PF_X))
            continue;
        uint64_t cut = s->vaddr & (XP_OS_PAGE - 1);
        const struct hr_mapping m = {
            .start = base + s->vaddr - cut,
            .limit = base + ((s->vaddr + s->memory_size + XP_OS_PAGE - 1) & ~(XP_OS_PAGE - 1)),
            .offset = s->offset - cut,
            .path = path,
            .build_id = id};
        hr_model_add_mapping(model, &m);
    }
    model->program = path;
}

int main(int argc, char **argv)
{
    struct hr_symbolize_options options = {.demangle = HR_DEMANGLE_FULL};
    const char *file = NULL, *debug_dir = NULL, *recorded = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-demangle=short") == 0)
            options.demangle = HR_DEMANGLE_SHORT;
        else if (strcmp(argv[i], "-demangle=templates") == 0)
            options.demangle = HR_DEMANGLE_TEMPLATES;
        else if (strcmp(argv[i], "-demangle=none") == 0)
            options.demangle = HR_DEMANGLE_NONE;
        else if (strcmp(argv[i], "-symtab") == 0)
            options.symtab_only = true;
        else if (strncmp(argv[i], "-workers=", 9) == 0)
            options.workers = (unsigned)atoi(argv[i] + 9);
        else if (strncmp(argv[i], "-debug_dir=", 11) == 0) {
            debug_dir = argv[i] + 11;
            options.debug_dirs = &debug_dir;
            options.debug_dir_count = 1;
        } else if (strncmp(argv[i], "-symfs=", 7) == 0)
            options.symfs = argv[i] + 7;
        else if (strcmp(argv[i], "-ignore_build_id") == 0)
            options.ignore_build_id = true;
        else if (strncmp(argv[i], "-path=", 6) == 0)
            recorded = argv[i] + 6;
        else
            file = argv[i];
    }
    struct hr_error err = {0};
    struct hr_elf *elf;
    struct hr_model *model = hr_model_create();
    if (!file || !model || hr_elf_open(file, &elf, &err) < 0) {
        fprintf(stderr, "symbolize_file: %s: %s\n", err.place, err.text);
        return 2;
    }
    add_mappings(model, elf, recorded ? recorded : file);
    uint64_t base = elf->type == ET_EXEC ? 0 : BASE;
    uint32_t count = 0, room = 0, *asked = NULL;
    for (uint64_t vaddr; scanf("%" SCNx64, &vaddr) == 1; count++) {
        if (count == room) {
            room = room ? room * 2 : 1024;
            asked = realloc(asked, room * sizeof(*asked));
        }
        asked[count] = hr_model_location(model, base + vaddr + 1, base + vaddr);
    }
    hr_model_resolve_mappings(model);
    if (hr_symbolize(model, &options, &err) < 0) {
        fprintf(stderr, "symbolize_file: %s: %s\n", err.place, err.text);
        return 2;
    }
    for (uint32_t i = 0; i < count; i++)
        print(model, asked[i]);
    for (uint32_t i = 0; i < model->mapping_count; i++)
        if (model->mappings[i].diagnosis)
            fprintf(stderr, "%s: %s\n", hr_string_text(model, model->mappings[i].path),
                    hr_string_text(model, model->mappings[i].diagnosis));
    free(asked);
    hr_elf_close(elf);
    hr_model_destroy(model);
    return 0;
}
