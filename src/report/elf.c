/* SPDX-License-Identifier: MIT */
/* elf.c - reads and checks ELF headers, finds sections, maps and hands out their contents. */
#include "report/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "report/unpack.h"

/* What real files never reach; a damaged header must not make us allocate gigabytes. */
#define SEGMENTS_MAX      4096u
#define SECTIONS_MAX      (1u << 20)
#define SECTION_NAMES_MAX (64u << 20)
#define NOTES_MAX         (1u << 20)
#define BUILD_ID_MAX      64u

/* ---- reading without mapping ---- */

/* Where headers come from while a file is opened: descriptor or image. */
struct source {
    int fd;
    const uint8_t *memory;
    uint64_t size;
};

static int read_at(const struct source *source, uint64_t offset, void *data, size_t size)
{
    if (offset > source->size || size > source->size - offset)
        return -ENOEXEC;
    if (source->memory) {
        memcpy(data, source->memory + offset, size);
        return 0;
    }
    uint8_t *to = data;
    while (size) {
        ssize_t n = pread(source->fd, to, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return -ENOEXEC; /* cut while we read */
        to += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

static int read_copy(const struct source *source, uint64_t offset, uint64_t size, void **ret_data)
{
    if (offset > source->size || size > source->size - offset)
        return -ENOEXEC;
    void *data = malloc(size + 1);
    if (!data)
        return -ENOMEM;
    int r = read_at(source, offset, data, size);
    if (r < 0) {
        free(data);
        return r;
    }
    ((char *)data)[size] = 0;
    *ret_data = data;
    return 0;
}

static void hex(const uint8_t *bytes, size_t count, char *text)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[2 * count] = 0;
}

/* ---- build id ---- */

static uint64_t round_up(uint64_t value, uint64_t align)
{
    return (value + align - 1) & ~(align - 1);
}

static bool find_build_id(const uint8_t *notes, uint64_t size, uint64_t align, char *text)
{
    align = align == 8 ? 8 : 4;
    uint64_t at = 0;
    while (size - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof(note));
        uint64_t name = at + sizeof(note);
        uint64_t desc = round_up(name + note.n_namesz, align);
        uint64_t next = round_up(desc + note.n_descsz, align);
        if (desc > size || note.n_descsz > size - desc)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz > 0 &&
            note.n_descsz <= BUILD_ID_MAX && memcmp(notes + name, "GNU", 4) == 0) {
            hex(notes + desc, note.n_descsz, text);
            return true;
        }
        if (next >= size)
            return false;
        at = next;
    }
    return false;
}

static bool build_id_in(const struct source *source, uint64_t offset, uint64_t size, uint64_t align,
                        char *text)
{
    if (size == 0 || size > NOTES_MAX)
        return false;
    void *notes;
    if (read_copy(source, offset, size, &notes) < 0)
        return false;
    bool found = find_build_id(notes, size, align, text);
    free(notes);
    return found;
}

/* ---- headers ---- */

static int read_segments(struct hr_elf *elf, const struct source *source, const Elf64_Ehdr *header)
{
    if (header->e_phnum == 0)
        return 0;
    if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > SEGMENTS_MAX)
        return -ENOEXEC;
    void *copy;
    int r = read_copy(source, header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr), &copy);
    if (r < 0)
        return r;
    elf->segments = calloc(header->e_phnum, sizeof(*elf->segments));
    if (!elf->segments) {
        free(copy);
        return -ENOMEM;
    }
    const Elf64_Phdr *p = copy;
    for (uint32_t i = 0; i < header->e_phnum; i++) {
        elf->segments[i] = (struct hr_elf_segment){.type = p[i].p_type,
                                                   .flags = p[i].p_flags,
                                                   .offset = p[i].p_offset,
                                                   .vaddr = p[i].p_vaddr,
                                                   .file_size = p[i].p_filesz,
                                                   .memory_size = p[i].p_memsz};
        if (p[i].p_type == PT_NOTE && !elf->build_id[0])
            build_id_in(source, p[i].p_offset, p[i].p_filesz, p[i].p_align, elf->build_id);
    }
    elf->segment_count = header->e_phnum;
    free(copy);
    return 0;
}

static int read_section_names(struct hr_elf *elf, const struct source *source, const Elf64_Shdr *s,
                              uint64_t index, uint64_t *ret_size)
{
    *ret_size = 0;
    if (index >= elf->section_count || s[index].sh_type == SHT_NOBITS ||
        s[index].sh_size > SECTION_NAMES_MAX)
        return 0;
    void *names;
    int r = read_copy(source, s[index].sh_offset, s[index].sh_size, &names);
    if (r == -ENOMEM)
        return r;
    if (r == 0) {
        elf->section_names = names;
        *ret_size = s[index].sh_size;
    }
    return 0;
}

/* A file without sections is fine (sstrip); one whose table lies outside of it is damaged, but its
 * segments may still be right: then it has no sections for us. */
static int read_sections(struct hr_elf *elf, const struct source *source, const Elf64_Ehdr *header)
{
    if (header->e_shoff == 0 || header->e_shentsize != sizeof(Elf64_Shdr))
        return 0;
    uint64_t count = header->e_shnum;
    uint64_t names_index = header->e_shstrndx;
    Elf64_Shdr first;
    if (read_at(source, header->e_shoff, &first, sizeof(first)) < 0)
        return 0;
    if (count == 0)
        count = first.sh_size;
    if (names_index == SHN_XINDEX)
        names_index = first.sh_link;
    if (count == 0 || count > SECTIONS_MAX)
        return 0;
    void *copy;
    int r = read_copy(source, header->e_shoff, count * sizeof(Elf64_Shdr), &copy);
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    const Elf64_Shdr *s = copy;
    elf->sections = calloc(count, sizeof(*elf->sections));
    if (!elf->sections) {
        free(copy);
        return -ENOMEM;
    }
    elf->section_count = (uint32_t)count;
    uint64_t names_size;
    r = read_section_names(elf, source, s, names_index, &names_size);
    for (uint32_t i = 0; r == 0 && i < count; i++) {
        elf->sections[i] = (struct hr_elf_section){
            .name = s[i].sh_name < names_size ? elf->section_names + s[i].sh_name : "",
            .type = s[i].sh_type,
            .link = s[i].sh_link,
            .flags = s[i].sh_flags,
            .address = s[i].sh_addr,
            .offset = s[i].sh_offset,
            .size = s[i].sh_size,
            .entry_size = s[i].sh_entsize};
        if (s[i].sh_type == SHT_NOTE && !elf->build_id[0])
            build_id_in(source, s[i].sh_offset, s[i].sh_size, s[i].sh_addralign, elf->build_id);
    }
    free(copy);
    return r;
}

static int read_headers(struct hr_elf *elf, const struct source *source, struct hr_error *err)
{
    Elf64_Ehdr header;
    int r = read_at(source, 0, &header, sizeof(header));
    if (r < 0 || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return hr_error_set(err, r < 0 ? r : -ENOEXEC, elf->path, 0, "not an ELF file");
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
        return hr_error_set(err, -ENOEXEC, elf->path, 0,
                            "not a 64-bit little-endian ELF file: heapreport reads no other");
    elf->type = header.e_type;
    elf->machine = header.e_machine;
    elf->file_size = source->size;
    r = read_segments(elf, source, &header);
    if (r == 0)
        r = read_sections(elf, source, &header);
    if (r < 0)
        return hr_error_set(err, r, elf->path, 0,
                            r == -ENOMEM ? "out of memory" : "damaged ELF headers");
    return 0;
}

int hr_elf_open_memory(const void *image, size_t size, const char *name, struct hr_elf **ret_elf,
                       struct hr_error *err)
{
    struct hr_elf *elf = calloc(1, sizeof(*elf));
    if (!elf || !(elf->path = strdup(name))) {
        free(elf);
        return hr_error_set(err, -ENOMEM, name, 0, "out of memory");
    }
    elf->memory = elf->image = image;
    const struct source source = {.fd = -1, .memory = image, .size = size};
    int r = read_headers(elf, &source, err);
    if (r < 0) {
        hr_elf_close(elf);
        return r;
    }
    *ret_elf = elf;
    return 0;
}

/* Non-blocking: the recorded path may name a FIFO or a device today. */
static int open_regular(const char *path, struct stat *st)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -errno;
    int r = fstat(fd, st) < 0 ? -errno : S_ISREG(st->st_mode) ? 0 : -ENOEXEC;
    if (r == 0)
        return fd;
    close(fd);
    return r;
}

int hr_elf_open(const char *path, struct hr_elf **ret_elf, struct hr_error *err)
{
    struct stat st;
    int fd = open_regular(path, &st);
    if (fd < 0)
        return hr_error_set(err, fd, path, 0, "%s",
                            fd == -ENOEXEC ? "not a regular file" : strerror(-fd));
    int r = -ENOMEM;
    struct hr_elf *elf = calloc(1, sizeof(*elf));
    if (!elf || !(elf->path = strdup(path))) {
        r = hr_error_set(err, -ENOMEM, path, 0, "out of memory");
        goto out;
    }
    elf->device = st.st_dev;
    elf->inode = st.st_ino;
    elf->modified_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    const struct source source = {.fd = fd, .size = (uint64_t)st.st_size};
    r = read_headers(elf, &source, err);
    if (r == 0) {
        *ret_elf = elf;
        elf = NULL;
    }
out:
    hr_elf_close(elf);
    close(fd);
    return r;
}

void hr_elf_close(struct hr_elf *elf)
{
    if (!elf)
        return;
    for (uint32_t i = 0; i < elf->section_count; i++)
        free(elf->sections[i].unpacked);
    if (elf->image && !elf->memory)
        munmap((void *)(uintptr_t)elf->image, elf->file_size);
    free(elf->sections);
    free(elf->section_names);
    free(elf->segments);
    free(elf->path);
    free(elf);
}

/* ---- questions to the headers ---- */

int hr_elf_vaddr_of_offset(const struct hr_elf *elf, uint64_t offset, uint64_t *ret_vaddr)
{
    /* Page rounding makes the first bytes of one segment appear in the mapping of its neighbour:
     * the executable segment is the one that is meant. */
    for (int executable = 1; executable >= 0; executable--) {
        for (uint32_t i = 0; i < elf->segment_count; i++) {
            const struct hr_elf_segment *s = &elf->segments[i];
            if (s->type != PT_LOAD || !(s->flags & PF_X) != !executable)
                continue;
            if (offset >= s->offset && offset - s->offset < s->file_size) {
                *ret_vaddr = s->vaddr + (offset - s->offset);
                return 0;
            }
        }
    }
    return -ERANGE;
}

bool hr_elf_is_debug_only(const struct hr_elf *elf)
{
    for (uint32_t i = 1; i < elf->section_count; i++) {
        const struct hr_elf_section *s = &elf->sections[i];
        if ((s->flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR))
            return s->type == SHT_NOBITS;
    }
    return false;
}

struct hr_elf_section *hr_elf_find_section(struct hr_elf *elf, const char *name)
{
    for (uint32_t i = 1; i < elf->section_count; i++) {
        struct hr_elf_section *s = &elf->sections[i];
        if (s->type == SHT_NOBITS || s->type == SHT_NULL)
            continue;
        if (strcmp(s->name, name) == 0)
            return s;
        if (strncmp(name, ".debug_", 7) == 0 && strncmp(s->name, ".zdebug_", 8) == 0 &&
            strcmp(s->name + 8, name + 7) == 0)
            return s;
    }
    return NULL;
}

/* ---- contents ---- */

static int map_image(struct hr_elf *elf, struct hr_error *err)
{
    if (elf->image)
        return 0;
    struct stat st;
    int fd = open_regular(elf->path, &st);
    if (fd < 0)
        return hr_error_set(err, fd, elf->path, 0, "%s", strerror(-fd));
    int r = 0;
    if (st.st_dev != elf->device || st.st_ino != elf->inode ||
        (uint64_t)st.st_size != elf->file_size)
        r = hr_error_set(err, -ESTALE, elf->path, 0, "the file was replaced while it was read");
    if (r == 0) {
        void *image = mmap(NULL, elf->file_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (image == MAP_FAILED)
            r = hr_error_set(err, -errno, elf->path, 0, "cannot map: %s", strerror(errno));
        else
            elf->image = image;
    }
    close(fd);
    return r;
}

int hr_elf_section_data(struct hr_elf *elf, struct hr_elf_section *section,
                        const uint8_t **ret_data, uint64_t *ret_size, struct hr_error *err)
{
    if (section->type == SHT_NOBITS)
        return -ENODATA;
    int r = map_image(elf, err);
    if (r < 0)
        return r;
    if (section->offset > elf->file_size || section->size > elf->file_size - section->offset)
        return hr_error_set(err, -ENOEXEC, elf->path, 0, "section %s lies outside of the file",
                            section->name);
    const uint8_t *data = elf->image + section->offset;
    bool old_style = strncmp(section->name, ".zdebug_", 8) == 0;
    if (!(section->flags & SHF_COMPRESSED) && !old_style) {
        *ret_data = data;
        *ret_size = section->size;
        return 0;
    }
    if (!section->unpacked) {
        r = hr_unpack_section(data, section->size, old_style, &section->unpacked,
                              &section->unpacked_size);
        if (r == -EOPNOTSUPP)
            return hr_error_set(err, r, elf->path, 0, "section %s: unknown compression",
                                section->name);
        if (r < 0)
            return hr_error_set(err, r, elf->path, 0,
                                r == -ENOMEM ? "section %s: out of memory"
                                             : "section %s: damaged compressed data",
                                section->name);
    }
    *ret_data = section->unpacked;
    *ret_size = section->unpacked_size;
    return 0;
}

/* A small section read without mapping: links to other files. */
static int read_small_section(const struct hr_elf *elf, const char *name, uint8_t *data,
                              size_t size, size_t *ret_size)
{
    const struct hr_elf_section *section = NULL;
    for (uint32_t i = 1; i < elf->section_count && !section; i++)
        if (elf->sections[i].type != SHT_NOBITS && strcmp(elf->sections[i].name, name) == 0)
            section = &elf->sections[i];
    if (!section || section->size > size)
        return -ENODATA;
    struct source source = {.fd = -1, .memory = elf->memory, .size = elf->file_size};
    struct stat st;
    if (!elf->memory && (source.fd = open_regular(elf->path, &st)) < 0)
        return source.fd;
    int r = read_at(&source, section->offset, data, section->size);
    if (source.fd >= 0)
        close(source.fd);
    if (r == 0)
        *ret_size = section->size;
    return r;
}

int hr_elf_debuglink(const struct hr_elf *elf, char name[256], uint32_t *ret_crc)
{
    uint8_t data[264];
    size_t size;
    int r = read_small_section(elf, ".gnu_debuglink", data, sizeof(data), &size);
    if (r < 0)
        return r;
    size_t length = strnlen((const char *)data, size);
    size_t crc_at = round_up(length + 1, 4);
    if (length == 0 || length > 255 || crc_at + 4 > size)
        return -ENODATA;
    memcpy(name, data, length + 1);
    memcpy(ret_crc, data + crc_at, 4);
    return 0;
}

int hr_elf_debugaltlink(const struct hr_elf *elf, char path[1024], char build_id[129])
{
    uint8_t data[1024 + BUILD_ID_MAX];
    size_t size;
    int r = read_small_section(elf, ".gnu_debugaltlink", data, sizeof(data), &size);
    if (r < 0)
        return r;
    size_t length = strnlen((const char *)data, size);
    if (length == 0 || length > 1023 || length + 1 >= size || size - length - 1 > BUILD_ID_MAX)
        return -ENODATA;
    memcpy(path, data, length + 1);
    hex(data + length + 1, size - length - 1, build_id);
    return 0;
}

int hr_elf_checksum(const char *path, uint32_t *ret_crc)
{
    struct stat st;
    int fd = open_regular(path, &st);
    if (fd < 0)
        return fd;
    uint8_t *buffer = malloc(1 << 18);
    int r = buffer ? 0 : -ENOMEM;
    uLong crc = crc32(0, NULL, 0);
    while (r == 0) {
        ssize_t n = read(fd, buffer, 1 << 18);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            r = -errno;
        if (n <= 0)
            break;
        crc = crc32(crc, buffer, (uInt)n);
    }
    free(buffer);
    close(fd);
    if (r == 0)
        *ret_crc = (uint32_t)crc;
    return r;
}

int hr_elf_open_minidebug(struct hr_elf *elf, struct hr_elf **ret_elf, struct hr_error *err)
{
    struct hr_elf_section *section = hr_elf_find_section(elf, ".gnu_debugdata");
    if (!section)
        return -ENODATA;
    const uint8_t *packed;
    uint64_t packed_size;
    int r = hr_elf_section_data(elf, section, &packed, &packed_size, err);
    if (r < 0)
        return r;
    if (!section->unpacked) {
        r = hr_unpack_xz(packed, packed_size, &section->unpacked, &section->unpacked_size);
        if (r < 0)
            return hr_error_set(err, r, elf->path, 0, "damaged .gnu_debugdata");
    }
    return hr_elf_open_memory(section->unpacked, section->unpacked_size, elf->path, ret_elf, err);
}
