/* SPDX-License-Identifier: MIT */
#include "capture/cfi.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/rng.h"
#include "capture/cfi_expr.h"
#include "test.h"

/* ---- a module, laid out as the loader would, but not loaded ---- */

struct image {
    uint8_t *start;
    size_t size;
    const uint8_t *frame_header;
    struct xp_cfi_bounds bounds;
};

static bool map_image(const char *path, struct image *ret_image)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return false;
    CHECK_EQ(fstat(fd, &st), 0);
    uint8_t *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    CHECK(file != MAP_FAILED);
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)file;
    const Elf64_Phdr *headers = (const Elf64_Phdr *)(file + elf->e_phoff);
    uint64_t end = 0, table = 0;
    for (int i = 0; i < elf->e_phnum; i++) {
        if (headers[i].p_type == PT_LOAD)
            end = xp_align_up(headers[i].p_vaddr + headers[i].p_memsz, 4096);
        if (headers[i].p_type == PT_GNU_EH_FRAME)
            table = headers[i].p_vaddr;
    }
    struct image image = {.size = end};
    image.start = mmap(NULL, end, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(image.start != MAP_FAILED);
    for (int i = 0; i < elf->e_phnum; i++) {
        const Elf64_Phdr *h = &headers[i];
        if (h->p_type != PT_LOAD)
            continue;
        memcpy(image.start + h->p_vaddr, file + h->p_offset, h->p_filesz);
        if (table >= h->p_vaddr && table < h->p_vaddr + h->p_filesz) {
            image.bounds.low = image.start + h->p_vaddr;
            image.bounds.high = image.bounds.low + h->p_filesz;
        }
    }
    image.frame_header = image.start + table;
    munmap(file, (size_t)st.st_size);
    *ret_image = image;
    return true;
}

/* ---- readelf's opinion ---- */

struct columns {
    int count, fp, ra; /* columns after the CFA; -1: not there */
};

struct tally {
    long rows, expressions, unsupported, ends;
};

/* "c-16", "u", "s", "v+8", "exp": is that what the place says? */
static bool place_matches(const char *text, const struct xp_cfi_place *place)
{
    switch (text[0]) {
    case 'u':
    case 's':
        return place->how == XP_CFI_SAME;
    case 'c':
        return place->how == XP_CFI_SAVED && place->base == XP_CFI_CFA &&
               place->offset == atoi(text + 1);
    case 'v':
        return text[1] == 'e' || (place->how == XP_CFI_VALUE && place->base == XP_CFI_CFA &&
                                  place->offset == atoi(text + 1));
    default:
        return strcmp(text, "exp") == 0;
    }
}

static bool rule_matches(const struct xp_cfi_rule *rule, const char *cfa, const char *fp,
                         const char *ra, struct tally *tally)
{
    if (ra && ra[0] == 'u') {
        tally->ends++;
        return rule->kind == XP_CFI_END;
    }
    bool from_sp = strncmp(cfa, "rsp", 3) == 0, from_fp = strncmp(cfa, "rbp", 3) == 0;
    if (strcmp(cfa, "exp") == 0) {
        tally->expressions++;
        return rule->kind == XP_CFI_STEP || rule->kind == XP_CFI_UNSUPPORTED;
    }
    if ((!from_sp && !from_fp) || (ra && ra[0] == 'r')) {
        tally->unsupported++;
        return rule->kind == XP_CFI_UNSUPPORTED;
    }
    return rule->kind == XP_CFI_STEP && !rule->cfa_load &&
           rule->cfa_base == (from_sp ? XP_CFI_SP : XP_CFI_FP) &&
           rule->cfa_offset == atoi(cfa + 3) && (!fp || place_matches(fp, &rule->fp)) &&
           (fp || rule->fp.how == XP_CFI_SAME) && ra && place_matches(ra, &rule->ra);
}

static void check_row(const struct image *image, uint64_t address, const char *line,
                      const struct columns *columns, struct tally *tally)
{
    char words[24][24];
    int count = 0, used = 0;

    while (count < 24 && sscanf(line, "%23s%n", words[count], &used) == 1) {
        line += used;
        count += words[count][0] != '('; /* "r10 (r10)" is one value */
    }
    if (count < 1)
        return;
    struct xp_cfi_rule rule;
    xp_cfi_find(image->frame_header, &image->bounds, (uintptr_t)image->start + address, &rule);
    const char *fp = columns->fp >= 0 ? words[1 + columns->fp] : NULL;
    const char *ra = columns->ra >= 0 ? words[1 + columns->ra] : NULL;
    tally->rows++;
    if (!rule_matches(&rule, words[0], fp, ra, tally))
        test_fail(__FILE__, __LINE__, "at %lx readelf says CFA %s fp %s ra %s; kind %d %d%+d",
                  address, words[0], fp ? fp : "-", ra ? ra : "-", rule.kind, rule.cfa_base,
                  rule.cfa_offset);
}

static void read_columns(const char *line, struct columns *ret_columns)
{
    char word[24];
    int used = 0;
    struct columns columns = {0, -1, -1};

    for (int i = 0; sscanf(line, "%23s%n", word, &used) == 1; i++, line += used) {
        if (strcmp(word, "rbp") == 0)
            columns.fp = i - 2;
        if (strcmp(word, "ra") == 0)
            columns.ra = i - 2;
        columns.count = i - 1;
    }
    *ret_columns = columns;
}

/* Every row of the module, up to lines_max lines of readelf's; at both of its ends. */
static void compare_with_readelf(const char *path, long lines_max)
{
    struct image image;
    struct tally tally = {0};
    char command[512], line[1024], row[1024] = "";
    struct columns columns = {0, -1, -1};
    bool in_rows = false;
    uint64_t row_start = 0, end = 0;

    if (!map_image(path, &image))
        test_skip("module is not installed");
    snprintf(command, sizeof(command), "readelf --debug-dump=frames-interp '%s' 2>/dev/null", path);
    FILE *readelf = popen(command, "r");
    CHECK(readelf != NULL);
    for (long i = 0; i < lines_max && fgets(line, sizeof(line), readelf); i++) {
        char *fde = strstr(line, " FDE ");
        uint64_t start, address;
        int used = 0;
        if (fde || strstr(line, " CIE ") || line[0] == '\n') {
            if (row[0] && end > row_start)
                check_row(&image, end - 1, row, &columns, &tally);
            row[0] = 0;
            in_rows = false;
            if (fde)
                in_rows = sscanf(strstr(line, "pc="), "pc=%lx..%lx", &start, &end) == 2;
        } else if (in_rows && strstr(line, "LOC")) {
            read_columns(line, &columns);
        } else if (in_rows && sscanf(line, "%lx%n", &address, &used) == 1) {
            if (row[0] && address > row_start)
                check_row(&image, address - 1, row, &columns, &tally);
            row_start = address;
            strcpy(row, line + used);
            if (address < end)
                check_row(&image, address, row, &columns, &tally);
        }
    }
    bool whole = feof(readelf);
    pclose(readelf);
    munmap(image.start, image.size);
    printf("# %s: %ld rows, %ld expressions, %ld of other registers, %ld ends%s\n", path,
           tally.rows, tally.expressions, tally.unsupported, tally.ends, whole ? "" : " (part)");
    if (tally.rows == 0)
        test_skip("no readelf");
}

#define LIBS "/usr/lib/x86_64-linux-gnu/"

TEST(every_row_of_libc_is_read_as_readelf_reads_it)
{
    compare_with_readelf(LIBS "libc.so.6", 1L << 40);
}

TEST(every_row_of_the_loader_is_read_as_readelf_reads_it)
{
    compare_with_readelf(LIBS "ld-linux-x86-64.so.2", 1L << 40);
}

TEST(every_row_of_libstdcxx_is_read_as_readelf_reads_it)
{
    compare_with_readelf(LIBS "libstdc++.so.6", 1L << 40);
}

TEST(rows_of_libLLVM_are_read_as_readelf_reads_them)
{
    compare_with_readelf(LIBS "libLLVM-14.so.1", 400009);
}

/* ---- garbage ---- */

/* A module's own table with random bytes in it, between unreadable pages. */
TEST(damaged_tables_are_never_read_past_their_segment)
{
    struct image image;
    struct xp_rng rng;

    if (!map_image(LIBS "ld-linux-x86-64.so.2", &image))
        test_skip("module is not installed");
    size_t size = (size_t)(image.bounds.high - image.bounds.low);
    size_t whole = xp_align_up(size, 4096);
    uint8_t *area = mmap(NULL, whole + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    CHECK_EQ(mprotect(area + 4096, whole, PROT_READ | PROT_WRITE), 0);
    uint8_t *copy = area + 4096 + whole - size; /* ends where the unreadable page begins */
    struct xp_cfi_bounds bounds = {copy, copy + size};
    uintptr_t header = (uintptr_t)(image.frame_header - image.bounds.low);
    unsigned kinds[4] = {0};

    xp_rng_seed(&rng, 20231);
    for (int round = 0; round < 300; round++) {
        memcpy(copy, image.bounds.low, size);
        for (int i = 0; i < 1 << (round % 14); i++) {
            size_t at = header + xp_rng_next(&rng) % (size - header);
            if (i == 0 && round % 3 == 0)
                at = header + xp_rng_next(&rng) % 12;
            copy[at] = (uint8_t)xp_rng_next(&rng);
        }
        for (int i = 0; i < 200; i++) {
            struct xp_cfi_rule rule;
            uintptr_t address = (uintptr_t)copy - (uintptr_t)(image.bounds.low - image.start) +
                                xp_rng_next(&rng) % (image.size + 4096);
            xp_cfi_find(copy + header, &bounds, address, &rule);
            CHECK(rule.kind <= XP_CFI_UNSUPPORTED);
            kinds[rule.kind]++;
        }
    }
    CHECK(kinds[XP_CFI_STEP] > 1000 && kinds[XP_CFI_NONE] > 1000);
    munmap(area, whole + 8192);
    munmap(image.start, image.size);
}

TEST(a_header_outside_of_the_segment_says_nothing)
{
    static const uint8_t segment[64] = {1, 0x1b, 3, 0x3b};
    struct xp_cfi_bounds bounds = {segment, segment + sizeof(segment)};
    struct xp_cfi_rule rule;

    for (size_t at = 0; at < 80; at++) {
        xp_cfi_find(segment + at, &bounds, 0x1234, &rule);
        CHECK_EQ(rule.kind, XP_CFI_NONE);
    }
}

/* ---- hand-made tables ---- */

static struct {
    uint8_t bytes[512];
    size_t size;
} made;

static void put(uint64_t value, size_t size)
{
    memcpy(made.bytes + made.size, &value, size);
    made.size += size;
}

static void put_bytes(const void *bytes, size_t size)
{
    memcpy(made.bytes + made.size, bytes, size);
    made.size += size;
}

#define CODE 0x700000001000u

/* A header without search table, one CIE with the given augmentation and encoding, one FDE for
 * CODE..CODE+256 with the given program. */
static void make(const char *letters, uint8_t encoding, const uint8_t *program, size_t program_size)
{
    static const uint8_t initial[] = {0x0c, 7, 8, 0x90, 1}; /* CFA = rsp + 8, ra at CFA - 8 */

    memset(&made, 0, sizeof(made));
    put(1, 1);
    put(0x1b, 1); /* pc-relative sdata4 */
    put(0xff, 1);
    put(0xff, 1);
    put(4, 4);
    size_t cie = made.size;
    put(0, 4);
    put(0, 4);
    put(1, 1);
    put_bytes(letters, strlen(letters) + 1);
    put(1, 1);
    put(0x78, 1);
    put(16, 1);
    if (letters[0] == 'z') {
        put(strchr(letters, 'P') ? 10 : 1, 1);
        for (const char *letter = letters + 1; *letter; letter++) {
            if (*letter == 'R')
                put(encoding, 1);
            if (*letter == 'P') { /* an indirect personality at a place that is not there */
                put(0x80, 1);
                put(0xdeadbeef000, 8);
            }
        }
    }
    put_bytes(initial, sizeof(initial));
    made.size = xp_align_up(made.size, 4);
    uint32_t length = (uint32_t)(made.size - cie - 4);
    memcpy(made.bytes + cie, &length, 4);

    size_t fde = made.size;
    put(0, 4);
    put(made.size - cie, 4);
    uintptr_t base = (encoding & 0x70) == 0x10 ? (uintptr_t)made.bytes + made.size : 0;
    size_t size = (encoding & 0xf) == 0x0b || (encoding & 0xf) == 3 ? 4 : 8;
    put(CODE - base, size);
    put(256, size);
    if (letters[0] == 'z')
        put(0, 1);
    put_bytes(program, program_size);
    made.size = xp_align_up(made.size, 4);
    length = (uint32_t)(made.size - fde - 4);
    memcpy(made.bytes + fde, &length, 4);
    put(0, 4);
}

static struct xp_cfi_rule find_made(uintptr_t address)
{
    struct xp_cfi_bounds bounds = {made.bytes, made.bytes + made.size};
    struct xp_cfi_rule rule;

    xp_cfi_find(made.bytes, &bounds, address, &rule);
    return rule;
}

TEST(restore_state_brings_the_cfa_back_too)
{
    static const uint8_t program[] = {
        0x41, 0x0e, 16,   0x86, 2, /* at 1: CFA = rsp + 16, rbp saved at CFA - 16 */
        0x43, 0x0a,                /* at 4: remember */
        0x0d, 6,                   /* CFA = rbp + 16 */
        0x44, 0x0b,                /* at 8: restore */
        0x41, 0xc6, 0x0c, 7,    8, /* at 9: rbp restored, CFA = rsp + 8 */
        0x42, 0x07, 16,            /* at 11: outermost */
    };

    make("zR", 0x1c, program, sizeof(program));
    CHECK_EQ(find_made(CODE - 1).kind, XP_CFI_NONE);
    CHECK_EQ(find_made(CODE).cfa_offset, 8);
    struct xp_cfi_rule rule = find_made(CODE + 1);
    CHECK(rule.cfa_base == XP_CFI_SP && rule.cfa_offset == 16 && rule.fp.offset == -16);
    rule = find_made(CODE + 7);
    CHECK(rule.cfa_base == XP_CFI_FP && rule.cfa_offset == 16);
    rule = find_made(CODE + 8);
    CHECK(rule.cfa_base == XP_CFI_SP && rule.cfa_offset == 16 && rule.fp.how == XP_CFI_SAVED);
    rule = find_made(CODE + 9);
    CHECK(rule.cfa_base == XP_CFI_SP && rule.cfa_offset == 8 && rule.fp.how == XP_CFI_SAME);
    CHECK_EQ(find_made(CODE + 11).kind, XP_CFI_END);
    CHECK_EQ(find_made(CODE + 255).kind, XP_CFI_END);
    CHECK_EQ(find_made(CODE + 256).kind, XP_CFI_NONE);
}

TEST(all_ways_to_write_an_address_are_read)
{
    static const struct {
        const char *letters;
        uint8_t encoding;
    } forms[] = {{"", 0},      {"zR", 0},     {"zR", 0x0c},  {"zR", 0x04},
                 {"zR", 0x1c}, {"zPR", 0x1c}, {"zRS", 0x1c}, {"zRBx", 0x1c}};
    static const uint8_t program[] = {0x0e, 104};

    for (size_t i = 0; i < XP_ARRAY_LENGTH(forms); i++) {
        make(forms[i].letters, forms[i].encoding, program, sizeof(program));
        struct xp_cfi_rule rule = find_made(CODE + 101);
        CHECK_EQ(rule.kind, XP_CFI_STEP);
        CHECK_EQ(rule.cfa_offset, 104);
        CHECK_EQ(rule.signal_frame, strchr(forms[i].letters, 'S') != NULL);
    }
}

TEST(registers_that_are_not_followed_are_unsupported_not_wrong)
{
    static const uint8_t cfa_rbx[] = {0x0c, 3, 16}, cfa_r10[] = {0x0c, 10, 0};
    static const uint8_t fp_in_rax[] = {0x09, 6, 0}, unknown[] = {0x3f};
    static const uint8_t ra_in_rax[] = {0x09, 16, 0},
                         too_deep[] = {10, 10, 10, 10, 10, 10, 10, 10, 10, 10};

    make("zR", 0x1c, cfa_rbx, sizeof(cfa_rbx));
    CHECK_EQ(find_made(CODE).kind, XP_CFI_UNSUPPORTED);
    make("zR", 0x1c, cfa_r10, sizeof(cfa_r10));
    CHECK_EQ(find_made(CODE).kind, XP_CFI_UNSUPPORTED);
    make("zR", 0x1c, ra_in_rax, sizeof(ra_in_rax));
    CHECK_EQ(find_made(CODE).kind, XP_CFI_UNSUPPORTED);
    make("zR", 0x1c, unknown, sizeof(unknown));
    CHECK_EQ(find_made(CODE).kind, XP_CFI_UNSUPPORTED);
    make("zR", 0x1c, too_deep, sizeof(too_deep));
    CHECK_EQ(find_made(CODE).kind, XP_CFI_UNSUPPORTED);
    make("zR", 0x1c, fp_in_rax, sizeof(fp_in_rax));
    CHECK_EQ(find_made(CODE).kind, XP_CFI_STEP);
    CHECK_EQ(find_made(CODE).fp.how, XP_CFI_UNKNOWN);
}

static bool evaluate(const uint8_t *expression, size_t size, uintptr_t pc,
                     struct xp_cfi_value *ret_value)
{
    struct xp_cfi_reader reader = {expression, expression + size, false};
    return xp_cfi_evaluate(&reader, pc, false, ret_value);
}

TEST(the_expression_of_plt_stubs_knows_the_pc)
{
    /* rsp + 8 + ((rip & 15) >= 11) * 8 */
    static const uint8_t plt[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    struct xp_cfi_value value;

    for (uintptr_t pc = 0x1000; pc < 0x1020; pc++) {
        CHECK(evaluate(plt, sizeof(plt), pc, &value));
        CHECK(value.kind == XP_CFI_ADDRESS && value.base == XP_CFI_SP);
        CHECK_EQ(value.number, pc % 16 >= 11 ? 16 : 8);
    }
}

TEST(expressions_that_have_no_form_are_refused)
{
    static const uint8_t other_register[] = {0x73, 8}; /* rbx + 8 */
    static const uint8_t load_twice[] = {0x77, 0, 0x06, 0x06};
    static const uint8_t underflow[] = {0x22};
    static const uint8_t empty[] = {0x96};
    static const uint8_t loop[] = {0x2f, 0xfd, 0xff};
    static const uint8_t jump_out[] = {0x30, 0x2f, 0xff, 0x7f};
    static const uint8_t overflow[] = {0x31, 0x12, 0x12, 0x12, 0x12, 0x12, 0x12, 0x12, 0x12,
                                       0x12, 0x12, 0x12, 0x12, 0x12, 0x12, 0x12, 0x12};
    static const uint8_t drap[] = {0x76, 0x78, 0x06};
    struct xp_cfi_value value;

    CHECK(!evaluate(other_register, sizeof(other_register), 0, &value));
    CHECK(!evaluate(load_twice, sizeof(load_twice), 0, &value));
    CHECK(!evaluate(underflow, sizeof(underflow), 0, &value));
    CHECK(!evaluate(empty, sizeof(empty), 0, &value));
    CHECK(!evaluate(loop, sizeof(loop), 0, &value));
    CHECK(!evaluate(jump_out, sizeof(jump_out), 0, &value));
    CHECK(!evaluate(overflow, sizeof(overflow), 0, &value));
    CHECK(evaluate(drap, sizeof(drap), 0, &value));
    CHECK(value.kind == XP_CFI_LOADED && value.base == XP_CFI_FP && value.number == -8);
}
