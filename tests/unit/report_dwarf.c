/* SPDX-License-Identifier: MIT */
/* report_dwarf.c - chains of inlined functions, scopes, damage: on debug information made by hand.
 */
#include <errno.h>
#include <stdlib.h>

#include "report/dwarf.h"
#include "test.h"

#include "elf_image.h"

/* One byte each: abbreviation codes of the table below. */
enum {
    A_UNIT = 1,
    A_NAMESPACE,
    A_CLASS,
    A_DECLARATION, /* of a member function: name */
    A_ABSTRACT,    /* specification */
    A_PLAIN,       /* abstract function with a name */
    A_CONCRETE,    /* low, high, abstract_origin */
    A_INLINED,     /* origin, low, high, call file and line */
    A_BLOCK,       /* lexical block without a range */
    A_LINKAGE,     /* concrete function: linkage name, name, low, high */
    A_NAMELESS,    /* namespace without a name */
    A_SKELETON,
};

static const uint8_t abbreviations[] = {A_UNIT,
                                        0x11,
                                        1,
                                        0x13,
                                        0x0b,
                                        0x11,
                                        0x01,
                                        0x12,
                                        0x06,
                                        0,
                                        0, /* language low_pc high_pc */
                                        A_NAMESPACE,
                                        0x39,
                                        1,
                                        0x03,
                                        0x08,
                                        0,
                                        0, /**/
                                        A_CLASS,
                                        0x02,
                                        1,
                                        0x03,
                                        0x08,
                                        0,
                                        0, /**/
                                        A_DECLARATION,
                                        0x2e,
                                        0,
                                        0x03,
                                        0x08,
                                        0,
                                        0, /**/
                                        A_ABSTRACT,
                                        0x2e,
                                        0,
                                        0x47,
                                        0x13,
                                        0,
                                        0, /**/
                                        A_PLAIN,
                                        0x2e,
                                        0,
                                        0x03,
                                        0x08,
                                        0,
                                        0, /**/
                                        A_CONCRETE,
                                        0x2e,
                                        1,
                                        0x11,
                                        0x01,
                                        0x12,
                                        0x06,
                                        0x31,
                                        0x13,
                                        0,
                                        0, /**/
                                        A_INLINED,
                                        0x1d,
                                        1,
                                        0x31,
                                        0x13,
                                        0x11,
                                        0x01,
                                        0x12,
                                        0x06,
                                        0x58,
                                        0x0b,
                                        0x59,
                                        0x0b,
                                        0,
                                        0, /**/
                                        A_BLOCK,
                                        0x0b,
                                        1,
                                        0,
                                        0, /**/
                                        A_LINKAGE,
                                        0x2e,
                                        1,
                                        0x6e,
                                        0x08,
                                        0x03,
                                        0x08,
                                        0x11,
                                        0x01,
                                        0x12,
                                        0x06,
                                        0,
                                        0, /**/
                                        A_NAMELESS,
                                        0x39,
                                        1,
                                        0,
                                        0, /**/
                                        A_SKELETON,
                                        0x11,
                                        0,
                                        0x13,
                                        0x0b,
                                        0x11,
                                        0x01,
                                        0x12,
                                        0x06,
                                        0xb0,
                                        0x42,
                                        0x08,
                                        0,
                                        0, /* GNU_dwo_name */
                                        0};

enum { CXX = 4, C99 = 12 };

static struct {
    uint8_t bytes[8192];
    size_t size, unit;
} info;

static void put(uint64_t value, unsigned size)
{
    memcpy(info.bytes + info.size, &value, size);
    info.size += size;
}

static void put_text(const char *text)
{
    memcpy(info.bytes + info.size, text, strlen(text) + 1);
    info.size += strlen(text) + 1;
}

/* Offset in its unit of what comes next. */
static uint32_t here(void)
{
    return (uint32_t)(info.size - info.unit);
}

static void begin_unit(unsigned code, unsigned language, uint64_t low, uint32_t length)
{
    info.unit = info.size;
    put(0, 4); /* length: by end_unit */
    put(4, 2);
    put(0, 4);
    put(8, 1);
    put(code, 1);
    put(language, 1);
    put(low, 8);
    put(length, 4);
}

static void end_unit(void)
{
    uint32_t length = (uint32_t)(info.size - info.unit - 4);
    memcpy(info.bytes + info.unit, &length, 4);
}

static void end_children(void)
{
    put(0, 1);
}

static uint32_t named(unsigned code, const char *name)
{
    uint32_t at = here();
    put(code, 1);
    if (name)
        put_text(name);
    return at;
}

static uint32_t abstract(uint32_t declaration)
{
    uint32_t at = here();
    put(A_ABSTRACT, 1);
    put(declaration, 4);
    return at;
}

static void concrete(uint64_t low, uint32_t length, uint32_t origin)
{
    put(A_CONCRETE, 1);
    put(low, 8);
    put(length, 4);
    put(origin, 4);
}

static void inlined(uint32_t origin, uint64_t low, uint32_t length, unsigned line)
{
    put(A_INLINED, 1);
    put(origin, 4);
    put(low, 8);
    put(length, 4);
    put(1, 1);
    put(line, 1);
}

static void with_linkage(const char *linkage, const char *name, uint64_t low, uint32_t length)
{
    put(A_LINKAGE, 1);
    put_text(linkage);
    put_text(name);
    put(low, 8);
    put(length, 4);
}

/* ns::Box<int>::get, inlined into (anonymous namespace)::run with a block between, which is inlined
 * into main: 0x1000 main only, 0x1010 run in main, 0x1014 get in run in main. */
static void make_unit(unsigned language, uint64_t base)
{
    begin_unit(A_UNIT, language, base, 0x100);
    named(A_NAMESPACE, "ns");
    named(A_CLASS, "Box<int>");
    uint32_t declared = named(A_DECLARATION, "get");
    end_children();
    end_children();
    put(A_NAMELESS, 1);
    uint32_t run = named(A_PLAIN, "run");
    end_children();
    uint32_t get = abstract(declared);
    uint32_t main_origin = named(A_PLAIN, "main");
    concrete(base, 0x40, main_origin);
    inlined(run, base + 0x10, 0x10, 23);
    put(A_BLOCK, 1);
    inlined(get, base + 0x14, 4, 101);
    end_children();
    end_children();
    end_children();
    end_children();
    with_linkage("_ZN2ns5otherEi", "other", base + 0x40, 0x10);
    end_children();
    end_children();
    end_unit();
}

static struct image image;
static char text[4096];

static void print(uint32_t index, const struct hr_dwarf_frame *frames, uint32_t count,
                  void *context)
{
    (void)context;
    size_t used = strlen(text);
    used += (size_t)snprintf(text + used, sizeof(text) - used, "%u:", index);
    for (uint32_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, " %s%s/%u",
                                 frames[i].mangled ? "!" : "",
                                 frames[i].function ? frames[i].function : "?", frames[i].line);
    snprintf(text + used, sizeof(text) - used, "\n");
}

static int find(const uint64_t *addresses, uint32_t count, uint32_t share, uint32_t shares,
                bool *mine, struct hr_dwarf_notes *notes)
{
    struct hr_elf *elf;
    image_begin(&image);
    image_section(&image, ".debug_info", SHT_PROGBITS, 0, 0, info.bytes, info.size);
    image_section(&image, ".debug_abbrev", SHT_PROGBITS, 0, 0, abbreviations,
                  sizeof(abbreviations));
    image_end(&image);
    CHECK_EQ(hr_elf_open_memory(image.data, image.size, "image", &elf, NULL), 0);
    const struct hr_dwarf_query query = {.elf = elf,
                                         .addresses = addresses,
                                         .count = count,
                                         .share = share,
                                         .shares = shares,
                                         .take = print};
    text[0] = 0;
    int r = hr_dwarf_find(&query, mine, notes, NULL);
    hr_elf_close(elf);
    return r;
}

static const char *names_of(const uint64_t *addresses, uint32_t count)
{
    bool mine[64];
    struct hr_dwarf_notes notes;
    CHECK_EQ(find(addresses, count, 0, 1, mine, &notes), 0);
    for (uint32_t i = 0; i < count; i++)
        CHECK(mine[i]);
    return text;
}

TEST(a_chain_goes_from_the_innermost_to_the_function)
{
    const uint64_t addresses[] = {0xfff,  0x1000, 0x1010, 0x1014, 0x1018,
                                  0x103f, 0x1040, 0x1050, 0x1100};
    info.size = 0;
    make_unit(CXX, 0x1000);
    CHECK_STR(names_of(addresses, 9),
              "1: main/0\n"
              "2: (anonymous namespace)::run/0 main/23\n"
              "3: ns::Box<int>::get/0 (anonymous namespace)::run/101 main/23\n"
              "4: (anonymous namespace)::run/0 main/23\n"
              "5: main/0\n"
              "6: !_ZN2ns5otherEi/0\n");
}

TEST(c_has_no_scopes_and_the_names_of_its_source)
{
    const uint64_t addresses[] = {0x1014, 0x1040};
    info.size = 0;
    make_unit(C99, 0x1000);
    CHECK_STR(names_of(addresses, 2), "0: get/0 run/101 main/23\n1: other/0\n");
}

TEST(shares_are_whole_and_disjoint)
{
    uint64_t addresses[23];
    info.size = 0;
    for (uint32_t i = 0; i < 23; i++) {
        make_unit(CXX, 0x1000 * (i + 1));
        addresses[i] = 0x1000 * (i + 1) + 0x10 + (i % 7 == 0 ? 0x1000000 : 0);
    }
    for (uint32_t i = 0; i < 23; i++) /* ascending: those in no unit stand at the end */
        for (uint32_t k = i + 1; k < 23; k++)
            if (addresses[k] < addresses[i]) {
                uint64_t swap = addresses[i];
                addresses[i] = addresses[k];
                addresses[k] = swap;
            }
    for (uint32_t shares = 1; shares <= 5; shares++) {
        uint32_t owners[23] = {0}, lines = 0;
        for (uint32_t share = 0; share < shares; share++) {
            bool mine[23];
            struct hr_dwarf_notes notes;
            CHECK_EQ(find(addresses, 23, share, shares, mine, &notes), 0);
            uint32_t own = 0;
            for (uint32_t i = 0; i < 23; i++) {
                owners[i] += mine[i];
                own += mine[i];
            }
            CHECK(shares > 3 || own > 3);
            for (const char *c = text; *c; c++)
                lines += *c == '\n';
        }
        for (uint32_t i = 0; i < 23; i++)
            CHECK_EQ(owners[i], 1);
        CHECK_EQ(lines, 23 - 4);
    }
}

TEST(a_damaged_unit_leaves_the_others)
{
    const uint64_t addresses[] = {0x1010, 0x2010, 0x3010};
    bool mine[3];
    struct hr_dwarf_notes notes;
    info.size = 0;
    make_unit(CXX, 0x1000);
    size_t second = info.size;
    make_unit(CXX, 0x2000);
    make_unit(CXX, 0x3000);
    info.bytes[second + 25] = 99; /* the first child has no such abbreviation */
    CHECK_EQ(find(addresses, 3, 0, 1, mine, &notes), 0);
    CHECK_STR(text, "0: (anonymous namespace)::run/0 main/23\n"
                    "2: (anonymous namespace)::run/0 main/23\n");
    CHECK_EQ(notes.damaged_units, 1);
}

TEST(code_at_0_was_dropped_by_the_linker)
{
    const uint64_t addresses[] = {0x14, 0x1014};
    info.size = 0;
    make_unit(CXX, 0);
    make_unit(CXX, 0x1000);
    CHECK_STR(names_of(addresses, 2),
              "1: ns::Box<int>::get/0 (anonymous namespace)::run/101 main/23\n");
}

TEST(of_two_units_the_narrower_has_the_address)
{
    const uint64_t addresses[] = {0x1010};
    info.size = 0;
    begin_unit(A_UNIT, CXX, 0x800, 0x10000);
    end_children();
    end_unit();
    make_unit(CXX, 0x1000);
    begin_unit(A_UNIT, CXX, 0x900, 0x10000);
    end_children();
    end_unit();
    CHECK_STR(names_of(addresses, 1), "0: (anonymous namespace)::run/0 main/23\n");
}

TEST(a_skeleton_is_noted)
{
    const uint64_t addresses[] = {0x1010};
    bool mine[1];
    struct hr_dwarf_notes notes;
    info.size = 0;
    begin_unit(A_SKELETON, CXX, 0x1000, 0x100);
    put_text("shapes.dwo");
    end_unit();
    CHECK_EQ(find(addresses, 1, 0, 1, mine, &notes), 0);
    CHECK_EQ(notes.split_units, 1);
    CHECK_STR(notes.split_name, "shapes.dwo");
    CHECK_STR(text, "");
}

TEST(origins_in_a_circle_end)
{
    const uint64_t addresses[] = {0x1004};
    info.size = 0;
    begin_unit(A_UNIT, CXX, 0x1000, 0x100);
    uint32_t at = here();
    abstract(at);
    concrete(0x1000, 0x10, at);
    end_children();
    end_children();
    end_unit();
    CHECK_STR(names_of(addresses, 1), "0: ?/0\n");
}

TEST(functions_inside_of_classes_are_found_by_looking_twice)
{
    const uint64_t addresses[] = {0x1004};
    info.size = 0;
    begin_unit(A_UNIT, CXX, 0x1000, 0x100);
    named(A_CLASS, "Local");
    with_linkage("_ZN5Local2goEv", "go", 0x1000, 0x10);
    end_children();
    end_children();
    end_children();
    end_unit();
    CHECK_STR(names_of(addresses, 1), "0: !_ZN5Local2goEv/0\n");
}

TEST(without_debug_information_there_is_no_data)
{
    struct hr_elf *elf;
    image_begin(&image);
    image_end(&image);
    CHECK_EQ(hr_elf_open_memory(image.data, image.size, "image", &elf, NULL), 0);
    const struct hr_dwarf_query query = {.elf = elf, .shares = 1, .take = print};
    struct hr_dwarf_notes notes;
    CHECK_EQ(hr_dwarf_find(&query, NULL, &notes, NULL), -ENODATA);
    hr_elf_close(elf);
}
