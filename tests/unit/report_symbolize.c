/* SPDX-License-Identifier: MIT */
/* report_symbolize.c - from addresses of this very program to names in the model. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/symbolize.h"
#include "test.h"

#include "elf_image.h"

static struct hr_model *model;
static struct hr_symbolize_options options;
static struct hr_error err;

/* Not static, not inlined: a name of its own in the symbol table. */
int report_symbolize_landmark(int n);
__attribute__((noinline)) int report_symbolize_landmark(int n)
{
    __asm__ volatile("" : "+r"(n));
    return n + 23;
}

static hr_string intern(const char *text)
{
    return hr_string_intern(model, text, strlen(text));
}

/* The executable mappings of this process. */
static void begin(void)
{
    char line[4096 + 128];
    FILE *maps = fopen("/proc/self/maps", "re");
    model = hr_model_create();
    options = (struct hr_symbolize_options){.timeout_s = 20};
    err = (struct hr_error){0};
    CHECK(maps != NULL && model != NULL);
    while (fgets(line, sizeof(line), maps)) {
        struct hr_mapping mapping = {0};
        char flags[5], path[4096] = "";
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %4095s", &mapping.start,
                   &mapping.limit, flags, &mapping.offset, path) >= 4 &&
            flags[2] == 'x') {
            mapping.path = intern(path);
            hr_model_add_mapping(model, &mapping);
        }
    }
    fclose(maps);
}

static uint32_t locate(uint64_t address)
{
    return hr_model_location(model, address + 1, address);
}

static void run(void)
{
    CHECK_EQ(hr_model_resolve_mappings(model), 0);
    CHECK_EQ(hr_symbolize(model, &options, &err), 0);
    CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
    CHECK_EQ(errno, ECHILD);
}

static const char *function_of(uint32_t location)
{
    const struct hr_location *l = &model->locations[location];
    return l->frame_count
               ? hr_string_text(model, model->frames[l->frame_first + l->frame_count - 1].function)
               : "";
}

static const char *diagnosis_of(uint32_t location)
{
    const struct hr_mapping *mapping = &model->mappings[model->locations[location].mapping];
    return mapping->diagnosis ? hr_string_text(model, mapping->diagnosis) : "";
}

TEST(a_function_of_this_program_has_its_name)
{
    for (int symtab_only = 0; symtab_only < 2; symtab_only++)
        for (unsigned workers = 0; workers < 4; workers += 3) {
            begin();
            options.symtab_only = symtab_only;
            options.workers = workers;
            uint32_t first = locate((uintptr_t)report_symbolize_landmark);
            uint32_t second = locate((uintptr_t)report_symbolize_landmark + 1);
            run();
            CHECK_STR(function_of(first), "report_symbolize_landmark");
            CHECK_STR(function_of(second), "report_symbolize_landmark");
            hr_model_destroy(model);
        }
}

TEST(library_functions_have_names_by_the_dynamic_table_at_least)
{
    begin();
    options.symtab_only = true;
    uint32_t location = locate((uintptr_t)getsubopt + 2);
    run();
    CHECK_STR(function_of(location), "getsubopt");
    hr_model_destroy(model);
}

TEST(the_vdso_has_names)
{
    uint64_t base = getauxval(AT_SYSINFO_EHDR);
    if (!base)
        test_skip("no vdso");
    begin();
    uint32_t locations[0x800], named = 0;
    for (uint32_t i = 0; i < 0x800; i++)
        locations[i] = locate(base + 2 * i);
    run();
    for (uint32_t i = 0; i < 0x800; i++)
        named += strstr(function_of(locations[i]), "vdso") != NULL;
    CHECK(named > 20);
    hr_model_destroy(model);
}

TEST(an_address_in_no_mapping_stays_nameless)
{
    begin();
    uint32_t location = locate(23);
    run();
    CHECK_EQ(model->locations[location].frame_count, 0);
    CHECK_EQ(model->locations[location].mapping, HR_NONE);
    hr_model_destroy(model);
}

TEST(locations_with_frames_are_left_alone)
{
    begin();
    const struct hr_frame frame = {.function = intern("given")};
    uint32_t location = locate((uintptr_t)report_symbolize_landmark);
    model->locations[location].frame_first = hr_model_add_frame(model, &frame);
    model->locations[location].frame_count = 1;
    run();
    CHECK_STR(function_of(location), "given");
    hr_model_destroy(model);
}

TEST(an_empty_model_is_fine)
{
    model = hr_model_create();
    options = (struct hr_symbolize_options){0};
    run();
    hr_model_destroy(model);
}

TEST(a_missing_file_is_told)
{
    begin();
    const struct hr_mapping mapping = {
        .start = 0x1000, .limit = 0x9000, .path = intern("/gone/lib.so")};
    hr_model_add_mapping(model, &mapping);
    uint32_t location = locate(0x1234);
    run();
    CHECK_EQ(model->locations[location].frame_count, 0);
    CHECK(strstr(diagnosis_of(location), "no such file here") != NULL);
    hr_model_destroy(model);
}

/* A file whose debug information makes libdwarf work for ever or fall: the symbol table stays. */
static void check_hostile(const void *debug_info, size_t size)
{
    static struct image image;
    static const uint8_t code[256];
    char path[] = "/tmp/report_symbolize.XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    image_begin(&image);
    uint32_t text = image_section(&image, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000,
                                  code, sizeof(code));
    image_segment(&image, PT_LOAD, PF_R | PF_X, image.sections[text].sh_offset, 0x1000, 256, 256);
    image_section(&image, ".debug_info", SHT_PROGBITS, 0, 0, debug_info, size);
    image_section(&image, ".debug_abbrev", SHT_PROGBITS, 0, 0, debug_info, size);
    image_section(&image, ".debug_line", SHT_PROGBITS, 0, 0, debug_info, size);
    const struct image_symbol symbols[] = {{"held", 0x1000, 0x80, STB_GLOBAL, STT_FUNC, 1}, {0}};
    image_symbols(&image, false, symbols);
    image_end(&image);
    image_write(&image, path);

    begin();
    uint64_t start = 0x7000000000;
    const struct hr_mapping mapping = {.start = start,
                                       .limit = start + 256,
                                       .offset = image.sections[text].sh_offset,
                                       .path = intern(path)};
    hr_model_add_mapping(model, &mapping);
    uint32_t inside = locate(start + 0x17), outside = locate(start + 0x97);
    run();
    CHECK_STR(function_of(inside), "held");
    CHECK_STR(function_of(outside), "");
    CHECK(diagnosis_of(inside)[0] != 0);
    hr_model_destroy(model);
    unlink(path);
}

TEST(hostile_debug_information_costs_lines_not_names)
{
    uint8_t bytes[512];
    uint32_t seed = 101;
    for (int round = 0; round < 23; round++) {
        for (size_t i = 0; i < sizeof(bytes); i++) {
            seed = seed * 1664525 + 1013904223;
            bytes[i] = (uint8_t)(seed >> 24);
        }
        /* A unit header that is right, so that the rest is looked at. */
        const uint8_t header[] = {0xf0, 1, 0, 0, 4, 0, 0, 0, 0, 0, 8, (uint8_t)(1 + round % 5)};
        if (round % 2)
            memcpy(bytes, header, sizeof(header));
        check_hostile(bytes, sizeof(bytes));
    }
    memset(bytes, 0xff, sizeof(bytes));
    check_hostile(bytes, sizeof(bytes));
    check_hostile(bytes, 0);
}
