/* SPDX-License-Identifier: MIT */
/* elf.h - one ELF file: headers read by pread, contents mapped only where it may fail.
 *
 * Layer report; uses error. Opening copies headers, segments, section table and build id and
 * touches no mapped page, so a file that is cut while we look cannot kill us. Contents (symbols,
 * debug sections) are mapped on first use: that belongs into a worker. Every offset and length of
 * the file is checked before use. Only 64-bit little-endian files. Not thread safe. */
#ifndef HR_REPORT_ELF_H
#define HR_REPORT_ELF_H

#include <sys/types.h>

#include "report/error.h"

struct hr_elf_segment {
    uint32_t type, flags;
    uint64_t offset, vaddr, file_size, memory_size;
};

struct hr_elf_section {
    const char *name; /* terminated; "" when the name table is damaged */
    uint32_t type, link;
    uint64_t flags, address, offset, size, entry_size;
    uint8_t *unpacked; /* decompressed contents, owned */
    uint64_t unpacked_size;
};

struct hr_elf {
    char *path;
    uint16_t type, machine; /* ET_EXEC, ET_DYN; EM_... */
    uint64_t file_size;
    dev_t device; /* with inode: which file was read, path or not */
    ino_t inode;
    int64_t modified_ns;
    char build_id[129]; /* lower-case hex; "" none */
    struct hr_elf_segment *segments;
    uint32_t segment_count;
    struct hr_elf_section *sections; /* index 0 is the null section */
    uint32_t section_count;
    /* private */
    char *section_names;
    const uint8_t *memory; /* caller's image, or NULL for a file */
    const uint8_t *image;  /* all contents; NULL until mapped */
};

/* Reads the headers of a file. -ENOENT and other errno of open; -ENOEXEC: not an ELF file we know
 * or damaged headers, *err says what. Contents are not touched. */
int hr_elf_open(const char *path, struct hr_elf **ret_elf, struct hr_error *err);

/* The same over an image that the caller keeps. name is for messages. */
int hr_elf_open_memory(const void *image, size_t size, const char *name, struct hr_elf **ret_elf,
                       struct hr_error *err);

void hr_elf_close(struct hr_elf *elf); /* NULL is fine */

/* Virtual address of a file offset by the loadable segments (executable ones first); -ERANGE when
 * no segment has it. Debug files keep no contents, so their offsets say nothing: look at
 * hr_elf_is_debug_only first. */
int hr_elf_vaddr_of_offset(const struct hr_elf *elf, uint64_t offset, uint64_t *ret_vaddr);

/* A file made by objcopy --only-keep-debug: segments describe another file. */
bool hr_elf_is_debug_only(const struct hr_elf *elf);

/* NULL when there is none. ".debug_info" finds ".zdebug_info" too. */
struct hr_elf_section *hr_elf_find_section(struct hr_elf *elf, const char *name);

/* Contents, decompressed where needed (zlib and zstd). Borrowed until close. -ENOEXEC damaged,
 * -ESTALE the file was replaced meanwhile, -EOPNOTSUPP unknown compression, -ENOMEM, -ENODATA for a
 * section that takes no room in the file. */
int hr_elf_section_data(struct hr_elf *elf, struct hr_elf_section *section,
                        const uint8_t **ret_data, uint64_t *ret_size, struct hr_error *err);

/* Name and checksum of the separate debug file; read by pread. -ENODATA: none. */
int hr_elf_debuglink(const struct hr_elf *elf, char name[256], uint32_t *ret_crc);

/* Path and build id (hex) of the file that dwz moved common parts to. -ENODATA: none. */
int hr_elf_debugaltlink(const struct hr_elf *elf, char path[1024], char build_id[129]);

/* Checksum of a whole file as .gnu_debuglink has it. */
int hr_elf_checksum(const char *path, uint32_t *ret_crc);

/* Unpacks .gnu_debugdata: the symbol table that some distributions leave in stripped files.
 * The result borrows nothing; close it before elf. -ENODATA: none. */
int hr_elf_open_minidebug(struct hr_elf *elf, struct hr_elf **ret_elf, struct hr_error *err);

#endif
