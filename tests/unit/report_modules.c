/* SPDX-License-Identifier: MIT */
/* report_modules.c - the right file for a mapping, or the reason why there is none. */
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/modules.h"
#include "test.h"

#include "elf_image.h"

static struct image image;
static char folder[] = "/tmp/report_modules.XXXXXX";
static struct hr_model *model;
static struct hr_symbolize_options options;
static struct hr_error err;

#define ID_23 "2323232323232323"
#define ID_45 "4545454545454545"

static char *in_folder(const char *name)
{
    static char paths[8][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return path;
}

static void make_folder(const char *name)
{
    mkdir(in_folder(name), 0777);
}

/* A file with that build id (0: none), with debug information or not. */
static void make_file(const char *name, uint8_t id, bool debug)
{
    image_begin(&image);
    if (id)
        image_build_id(&image, id);
    image_segment(&image, PT_LOAD, PF_R | PF_X, 0x1000, 0x401000, 0x2000, 0x2000);
    if (debug)
        image_section(&image, ".debug_info", SHT_PROGBITS, 0, 0, "x", 1);
    image_end(&image);
    image_write(&image, in_folder(name));
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static void begin(void)
{
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    model = hr_model_create();
    options = (struct hr_symbolize_options){0};
    err = (struct hr_error){0};
}

static void end(struct hr_modules *modules)
{
    hr_modules_destroy(modules);
    hr_model_destroy(model);
    nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static hr_string intern(const char *text)
{
    return hr_string_intern(model, text, strlen(text));
}

/* A mapping with one location; the first one is the program. */
static uint32_t map(const char *path, const char *id, bool deleted)
{
    static const uint64_t length = 0x2000;
    uint64_t start = 0x10000000 + 0x100000 * (uint64_t)model->mapping_count;
    const struct hr_mapping mapping = {.start = start,
                                       .limit = start + length,
                                       .offset = 0x1000,
                                       .path = intern(path),
                                       .build_id = intern(id),
                                       .deleted = deleted};
    if (model->mapping_count == 0)
        model->program = mapping.path;
    uint32_t index = hr_model_add_mapping(model, &mapping);
    hr_model_location(model, start + 0x18, start + 0x17);
    return index;
}

static struct hr_modules *create(void)
{
    struct hr_modules *modules = NULL;
    CHECK_EQ(hr_model_resolve_mappings(model), 0);
    if (hr_modules_create(model, &options, &modules, &err) < 0)
        return NULL;
    return modules;
}

static struct hr_module *module_of(struct hr_modules *modules, uint32_t mapping)
{
    return &modules->modules[modules->of_mapping[mapping]];
}

static void check_diagnosis(const struct hr_module *module, const char *wanted)
{
    CHECK(module->diagnosis != NULL);
    if (!strstr(module->diagnosis, wanted))
        test_fail(__FILE__, __LINE__, "'%s' is not in '%s'", wanted, module->diagnosis);
}

TEST(the_recorded_path_with_the_recorded_build_id_is_taken)
{
    begin();
    make_file("app", 0x23, true);
    uint32_t mapping = map(in_folder("app"), ID_23, false);
    struct hr_modules *modules = create();
    struct hr_module *module = module_of(modules, mapping);
    CHECK_STR(module->elf->path, in_folder("app"));
    CHECK(module->object == NULL);
    CHECK(module->diagnosis == NULL);
    uint64_t vaddr;
    CHECK_EQ(hr_module_vaddr(module, &model->mappings[mapping], 0x10000017, &vaddr), 0);
    CHECK_EQ(vaddr, 0x401017);
    CHECK_EQ(hr_module_vaddr(module, &model->mappings[mapping], 0x10002000, &vaddr), -ERANGE);
    end(modules);
}

TEST(another_build_id_is_refused_with_both_ids)
{
    begin();
    make_file("app", 0x45, true);
    uint32_t mapping = map(in_folder("app"), ID_23, false);
    struct hr_modules *modules = create();
    struct hr_module *module = module_of(modules, mapping);
    CHECK(module->elf == NULL);
    check_diagnosis(module, ID_23);
    check_diagnosis(module, ID_45);
    check_diagnosis(module, "-ignore_build_id");
    end(modules);
}

TEST(ignore_build_id_takes_it_and_says_so)
{
    begin();
    make_file("app", 0x45, true);
    options.ignore_build_id = true;
    uint32_t mapping = map(in_folder("app"), ID_23, false);
    struct hr_modules *modules = create();
    CHECK(module_of(modules, mapping)->elf != NULL);
    check_diagnosis(module_of(modules, mapping), "names may be wrong");
    end(modules);
}

TEST(gone_deleted_and_replaced_are_told_apart)
{
    begin();
    make_file("replaced", 0x45, true);
    make_file("back", 0x23, true);
    uint32_t gone = map(in_folder("gone"), ID_23, false);
    uint32_t deleted = map(in_folder("deleted"), ID_23, true);
    uint32_t replaced = map(in_folder("replaced"), ID_23, true);
    uint32_t back = map(in_folder("back"), ID_23, true);
    struct hr_modules *modules = create();
    check_diagnosis(module_of(modules, gone), "no such file here");
    check_diagnosis(module_of(modules, deleted), "deleted while the program ran");
    check_diagnosis(module_of(modules, replaced), "deleted while the program ran");
    CHECK(module_of(modules, replaced)->elf == NULL);
    CHECK(module_of(modules, back)->elf != NULL);
    end(modules);
}

TEST(without_build_ids_the_path_is_trusted_unless_it_was_deleted)
{
    begin();
    make_file("app", 0x45, true);
    uint32_t kept = map(in_folder("app"), "", false);
    uint32_t deleted = map(in_folder("./app"), "", true);
    struct hr_modules *modules = create();
    CHECK(module_of(modules, kept)->elf != NULL);
    CHECK(module_of(modules, kept)->diagnosis == NULL);
    CHECK(module_of(modules, deleted)->elf == NULL);
    check_diagnosis(module_of(modules, deleted), "cannot be checked");
    end(modules);
}

TEST(a_file_newer_than_a_profile_without_ids_is_doubted)
{
    begin();
    make_file("app", 0, true);
    model->time_ns = INT64_C(1000000000) * 1000000000;
    uint32_t mapping = map(in_folder("app"), "", false);
    struct hr_modules *modules = create();
    CHECK(module_of(modules, mapping)->elf != NULL);
    check_diagnosis(module_of(modules, mapping), "changed after the profile");
    end(modules);
}

TEST(symfs_stands_before_the_path_and_hides_this_machine)
{
    begin();
    make_folder("root");
    make_folder("root/opt");
    make_file("root/opt/app", 0x23, true);
    options.symfs = in_folder("root");
    uint32_t found = map("/opt/app", ID_23, false);
    uint32_t not_there = map("/bin/sh", "", false);
    struct hr_modules *modules = create();
    CHECK_STR(module_of(modules, found)->elf->path, in_folder("root/opt/app"));
    CHECK_STR(module_of(modules, found)->object, in_folder("root/opt/app"));
    CHECK(module_of(modules, not_there)->elf == NULL);
    end(modules);
}

TEST(debug_folders_are_searched_by_build_id)
{
    begin();
    make_folder("d");
    make_folder("d/.build-id");
    make_folder("d/.build-id/23");
    make_file("d/.build-id/23/23232323232323.debug", 0x23, true);
    make_file("stripped", 0x23, false);
    const char *dirs[] = {in_folder("none"), in_folder("d")};
    options.debug_dirs = dirs;
    options.debug_dir_count = 2;
    uint32_t stripped = map(in_folder("stripped"), ID_23, false);
    uint32_t gone = map(in_folder("gone"), ID_23, false);
    struct hr_modules *modules = create();
    for (int i = 0; i < 2; i++) {
        struct hr_module *module = module_of(modules, i ? gone : stripped);
        CHECK(!module->elf == (i == 1));
        CHECK_STR(module->debug->path, in_folder("d/.build-id/23/23232323232323.debug"));
        CHECK(hr_module_dwarf(module) == module->debug);
        CHECK_STR(module->object, module->debug->path);
        CHECK(module->diagnosis == NULL);
    }
    end(modules);
}

TEST(a_wrong_file_in_a_build_id_folder_is_not_used)
{
    begin();
    make_folder("d");
    make_folder("d/.build-id");
    make_folder("d/.build-id/23");
    make_file("d/.build-id/23/23232323232323.debug", 0x45, true);
    const char *dirs[] = {in_folder("d")};
    options.debug_dirs = dirs;
    options.debug_dir_count = 1;
    uint32_t mapping = map(in_folder("gone"), ID_23, false);
    struct hr_modules *modules = create();
    CHECK(module_of(modules, mapping)->debug == NULL);
    end(modules);
}

TEST(a_binary_of_the_user_is_placed_by_build_id)
{
    begin();
    make_file("renamed", 0x23, true);
    make_file("lib.so", 0x45, true);
    const char *binaries[] = {in_folder("renamed")};
    options.binaries = binaries;
    options.binary_count = 1;
    uint32_t app = map("/gone/app", ID_45, false);
    uint32_t lib = map("/gone/lib.so", ID_23, false);
    struct hr_modules *modules = create();
    CHECK(module_of(modules, app)->elf == NULL);
    CHECK_STR(module_of(modules, lib)->elf->path, in_folder("renamed"));
    end(modules);
}

TEST(without_ids_a_binary_is_placed_by_name_and_the_first_as_the_program)
{
    begin();
    make_file("renamed", 0x23, true);
    make_file("lib.so", 0, true);
    const char *binaries[] = {in_folder("renamed"), in_folder("lib.so")};
    options.binaries = binaries;
    options.binary_count = 2;
    uint32_t app = map("/gone/app", "", false);
    uint32_t lib = map("/gone/lib.so", "", false);
    struct hr_modules *modules = create();
    CHECK_STR(module_of(modules, app)->elf->path, in_folder("renamed"));
    CHECK_STR(module_of(modules, lib)->elf->path, in_folder("lib.so"));
    end(modules);
}

TEST(a_binary_that_fits_nothing_is_an_error_that_names_the_program)
{
    begin();
    make_file("other", 0x45, true);
    const char *binaries[] = {in_folder("other")};
    options.binaries = binaries;
    options.binary_count = 1;
    map("/opt/app", ID_23, false);
    CHECK(create() == NULL);
    CHECK_EQ(err.code, -ENOEXEC);
    CHECK_STR(err.place, in_folder("other"));
    CHECK(strstr(err.text, "/opt/app (build id " ID_23 ")") != NULL);
    CHECK(strstr(err.text, ID_45) != NULL);
    options.ignore_build_id = true;
    err = (struct hr_error){0};
    struct hr_modules *modules = create();
    CHECK(module_of(modules, 0)->elf != NULL);
    end(modules);
}

TEST(a_binary_that_is_none_is_an_error)
{
    begin();
    const char *binaries[] = {in_folder("missing")};
    options.binaries = binaries;
    options.binary_count = 1;
    map("/opt/app", "", false);
    CHECK(create() == NULL);
    CHECK_EQ(err.code, -ENOENT);
    CHECK_STR(err.place, in_folder("missing"));
    end(NULL);
}

TEST(generated_code_and_pseudo_files_have_no_file)
{
    begin();
    uint32_t anonymous = map("", "", false);
    uint32_t heap = map("[heap]", "", false);
    uint32_t memfd = map("/memfd:jit", "", true);
    uint32_t nested = map("[nested]", "", false);
    struct hr_modules *modules = create();
    check_diagnosis(module_of(modules, anonymous), "generated code");
    check_diagnosis(module_of(modules, heap), "generated code");
    check_diagnosis(module_of(modules, memfd), "generated code");
    CHECK(module_of(modules, nested)->diagnosis == NULL);
    for (uint32_t i = 0; i < 4; i++)
        CHECK(module_of(modules, i)->elf == NULL);
    end(modules);
}

TEST(the_vdso_of_this_kernel_is_read_and_of_another_not)
{
    begin();
    uint32_t unknown = map("[vdso]", "", false);
    uint32_t other = map("[vdso]", ID_23, false);
    struct hr_modules *modules = create();
    CHECK(module_of(modules, unknown)->elf != NULL);
    CHECK(module_of(modules, other)->elf == NULL);
    check_diagnosis(module_of(modules, other), "another kernel");
    end(modules);
}

TEST(mappings_of_one_file_are_one_module)
{
    begin();
    make_file("app", 0x23, true);
    uint32_t first = map(in_folder("app"), ID_23, false);
    uint32_t between = map("/opt/other", ID_45, false);
    uint32_t second = map(in_folder("app"), ID_23, false);
    struct hr_modules *modules = create();
    CHECK_EQ(modules->count, 2);
    CHECK_EQ(modules->of_mapping[first], modules->of_mapping[second]);
    CHECK(modules->of_mapping[first] != modules->of_mapping[between]);
    end(modules);
}

TEST(files_of_mappings_without_locations_are_not_looked_for)
{
    begin();
    const struct hr_mapping mapping = {
        .start = 0x1000, .limit = 0x2000, .path = intern("/gone/lib.so")};
    hr_model_add_mapping(model, &mapping);
    struct hr_modules *modules = create();
    CHECK(!modules->modules[0].wanted);
    CHECK(modules->modules[0].diagnosis == NULL);
    end(modules);
}

TEST(a_debug_file_alone_gives_addresses_by_its_segments)
{
    begin();
    make_folder("d");
    make_folder("d/.build-id");
    make_folder("d/.build-id/23");
    image_begin(&image);
    image_build_id(&image, 0x23);
    image_segment(&image, PT_LOAD, PF_R | PF_X, 0, 0x401200, 0, 0x1d00);
    image_section(&image, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, 0x401200, NULL, 0x1d00);
    image_section(&image, ".debug_info", SHT_PROGBITS, 0, 0, "x", 1);
    image_end(&image);
    image_write(&image, in_folder("d/.build-id/23/23232323232323.debug"));
    const char *dirs[] = {in_folder("d")};
    options.debug_dirs = dirs;
    options.debug_dir_count = 1;
    uint32_t mapping = map("/gone/app", ID_23, false);
    struct hr_modules *modules = create();
    uint64_t vaddr;
    CHECK_EQ(
        hr_module_vaddr(module_of(modules, mapping), &model->mappings[mapping], 0x10000234, &vaddr),
        0);
    CHECK_EQ(vaddr, 0x401234);
    end(modules);
}
