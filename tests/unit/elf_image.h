/* SPDX-License-Identifier: MIT */
/* elf_image.h - small ELF files made by hand, for the tests of what reads them. */
#ifndef XP_TESTS_ELF_IMAGE_H
#define XP_TESTS_ELF_IMAGE_H

#include <elf.h>
#include <stdio.h>
#include <string.h>

#define IMAGE_SECTIONS 24
#define IMAGE_SEGMENTS 8

struct image {
    size_t size;
    uint32_t section_count, segment_count;
    Elf64_Shdr sections[IMAGE_SECTIONS]; /* sh_name is an offset into names */
    Elf64_Phdr segments[IMAGE_SEGMENTS];
    char names[1024];
    uint32_t names_size;
    uint8_t data[1 << 17];
};

static inline void image_begin(struct image *image)
{
    memset(image, 0, sizeof(*image));
    image->size = sizeof(Elf64_Ehdr) + IMAGE_SEGMENTS * sizeof(Elf64_Phdr);
    image->section_count = 1;
    image->names_size = 1;
}

/* Appends bytes; their file offset. */
static inline uint64_t image_bytes(struct image *image, const void *data, size_t size)
{
    image->size = (image->size + 15) & ~(size_t)15;
    uint64_t offset = image->size;
    if (size)
        memcpy(image->data + offset, data, size);
    image->size += size;
    return offset;
}

/* Index of the new section. */
static inline uint32_t image_section(struct image *image, const char *name, uint32_t type,
                                     uint64_t flags, uint64_t address, const void *data,
                                     size_t size)
{
    Elf64_Shdr *s = &image->sections[image->section_count];
    s->sh_name = image->names_size;
    strcpy(image->names + image->names_size, name);
    image->names_size += (uint32_t)strlen(name) + 1;
    s->sh_type = type;
    s->sh_flags = flags;
    s->sh_addr = address;
    s->sh_size = size;
    s->sh_offset = type == SHT_NOBITS ? image->size : image_bytes(image, data, size);
    return image->section_count++;
}

static inline void image_segment(struct image *image, uint32_t type, uint32_t flags,
                                 uint64_t offset, uint64_t vaddr, uint64_t file_size,
                                 uint64_t memory_size)
{
    image->segments[image->segment_count++] = (Elf64_Phdr){.p_type = type,
                                                           .p_flags = flags,
                                                           .p_offset = offset,
                                                           .p_vaddr = vaddr,
                                                           .p_filesz = file_size,
                                                           .p_memsz = memory_size,
                                                           .p_align = 4};
}

/* A build id of eight bytes, all of them byte. */
static inline void image_build_id(struct image *image, uint8_t byte)
{
    uint8_t note[24] = {4, 0, 0, 0, 8, 0, 0, 0, NT_GNU_BUILD_ID, 0, 0, 0, 'G', 'N', 'U', 0};
    memset(note + 16, byte, 8);
    uint32_t index =
        image_section(image, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0, note, sizeof(note));
    image_segment(image, PT_NOTE, PF_R, image->sections[index].sh_offset, 0, sizeof(note),
                  sizeof(note));
}

/* Symbols end with one whose name is NULL. */
struct image_symbol {
    const char *name;
    uint64_t value, size;
    unsigned bind, type;
    uint16_t section;
};

static inline void image_symbols(struct image *image, bool dynamic,
                                 const struct image_symbol *symbols)
{
    static Elf64_Sym table[256];
    static char names[8192];
    uint32_t count = 1, names_size = 1;
    memset(table, 0, sizeof(table));
    for (; symbols->name; symbols++, count++) {
        table[count] =
            (Elf64_Sym){.st_name = names_size,
                        .st_info = (unsigned char)ELF64_ST_INFO(symbols->bind, symbols->type),
                        .st_shndx = symbols->section ? symbols->section : 1,
                        .st_value = symbols->value,
                        .st_size = symbols->size};
        strcpy(names + names_size, symbols->name);
        names_size += (uint32_t)strlen(symbols->name) + 1;
    }
    uint32_t strings =
        image_section(image, dynamic ? ".dynstr" : ".strtab", SHT_STRTAB, 0, 0, names, names_size);
    uint32_t index =
        image_section(image, dynamic ? ".dynsym" : ".symtab", dynamic ? SHT_DYNSYM : SHT_SYMTAB, 0,
                      0, table, count * sizeof(*table));
    image->sections[index].sh_link = strings;
    image->sections[index].sh_entsize = sizeof(*table);
}

/* Writes the headers; the image is image->data[0, image->size). */
static inline void image_end(struct image *image)
{
    uint32_t names_index = image->section_count;
    image_section(image, ".shstrtab", SHT_STRTAB, 0, 0, NULL, 0);
    image->sections[names_index].sh_offset = image_bytes(image, image->names, image->names_size);
    image->sections[names_index].sh_size = image->names_size;
    uint64_t sections =
        image_bytes(image, image->sections, image->section_count * sizeof(Elf64_Shdr));
    Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_phoff = sizeof(Elf64_Ehdr),
                         .e_shoff = sections,
                         .e_ehsize = sizeof(Elf64_Ehdr),
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_phnum = (uint16_t)image->segment_count,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = (uint16_t)image->section_count,
                         .e_shstrndx = (uint16_t)names_index};
    memcpy(image->data, &header, sizeof(header));
    memcpy(image->data + sizeof(header), image->segments,
           image->segment_count * sizeof(Elf64_Phdr));
}

static inline void image_write(const struct image *image, const char *path)
{
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK_EQ(fwrite(image->data, 1, image->size, file), image->size);
    fclose(file);
}

#endif
