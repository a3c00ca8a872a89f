/* SPDX-License-Identifier: MIT */
/* report_elf.c - ELF files: what is in them is found, what lies is refused. */
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "report/elf.h"
#include "test.h"

#include "elf_image.h"

static struct image image;

static struct hr_elf *open_image(void)
{
    struct hr_elf *elf;
    struct hr_error err = {0};
    CHECK_EQ(hr_elf_open_memory(image.data, image.size, "image", &elf, &err), 0);
    return elf;
}

static int open_status(const void *data, size_t size, char *text)
{
    struct hr_elf *elf;
    struct hr_error err = {0};
    int r = hr_elf_open_memory(data, size, "image", &elf, &err);
    strcpy(text, err.text);
    if (r == 0)
        hr_elf_close(elf);
    return r;
}

TEST(own_program_has_what_it_must_have)
{
    struct hr_elf *elf;
    CHECK_EQ(hr_elf_open("/proc/self/exe", &elf, NULL), 0);
    CHECK_EQ(elf->machine, EM_X86_64);
    CHECK(hr_elf_find_section(elf, ".text") != NULL);
    CHECK(hr_elf_find_section(elf, ".no-such-section") == NULL);
    CHECK(!hr_elf_is_debug_only(elf));
    hr_elf_close(elf);
}

TEST(the_build_id_is_lower_case_hex)
{
    image_begin(&image);
    image_build_id(&image, 0xAb);
    image_end(&image);
    struct hr_elf *elf = open_image();
    CHECK_STR(elf->build_id, "abababababababab");
    hr_elf_close(elf);
}

TEST(a_build_id_behind_another_note_is_found)
{
    uint8_t notes[] = {4, 0, 0, 0, 5, 0, 0,   0,   1,   0, 0,    0,    'G',  'N', 'U',
                       0, 1, 2, 3, 4, 5, 0,   0,   0,   4, 0,    0,    0,    3,   0,
                       0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 0x01, 0xfe, 0x7c, 0};
    image_begin(&image);
    image_section(&image, ".note", SHT_NOTE, 0, 0, notes, sizeof(notes));
    image_end(&image);
    struct hr_elf *elf = open_image();
    CHECK_STR(elf->build_id, "01fe7c");
    hr_elf_close(elf);
}

TEST(a_note_longer_than_its_section_is_no_build_id)
{
    uint8_t note[] = {4, 0, 0, 0, 200, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 1, 2, 3, 4};
    image_begin(&image);
    image_section(&image, ".note", SHT_NOTE, 0, 0, note, sizeof(note));
    memset(note, 0xff, 12);
    image_section(&image, ".note2", SHT_NOTE, 0, 0, note, sizeof(note));
    image_end(&image);
    struct hr_elf *elf = open_image();
    CHECK_STR(elf->build_id, "");
    hr_elf_close(elf);
}

TEST(what_is_not_elf_says_so)
{
    char text[512];
    CHECK_EQ(open_status("#!/bin/sh\n", 10, text), -ENOEXEC);
    CHECK_STR(text, "not an ELF file");
    CHECK_EQ(open_status("", 0, text), -ENOEXEC);
    image_begin(&image);
    image_end(&image);
    image.data[EI_CLASS] = ELFCLASS32;
    CHECK_EQ(open_status(image.data, image.size, text), -ENOEXEC);
    CHECK(strstr(text, "64-bit") != NULL);
}

TEST(a_missing_file_a_folder_and_a_fifo_are_refused)
{
    struct hr_elf *elf;
    char folder[] = "/tmp/report_elf.XXXXXX", fifo[64];
    CHECK(mkdtemp(folder) != NULL);
    snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
    CHECK_EQ(hr_elf_open("/nonexistent/x", &elf, NULL), -ENOENT);
    CHECK_EQ(hr_elf_open(folder, &elf, NULL), -ENOEXEC);
    char command[128];
    snprintf(command, sizeof(command), "mkfifo %s", fifo);
    CHECK_EQ(system(command), 0);
    CHECK_EQ(hr_elf_open(fifo, &elf, NULL), -ENOEXEC); /* and did not wait for a writer */
    unlink(fifo);
    rmdir(folder);
}

TEST(every_truncation_is_survived)
{
    image_begin(&image);
    image_build_id(&image, 7);
    image_section(&image, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, "code", 4);
    image_end(&image);
    for (size_t size = 0; size < image.size; size++) {
        char text[512];
        char *copy = malloc(size + 1); /* exact, so that a sanitizer sees one byte too many */
        memcpy(copy, image.data, size);
        open_status(copy, size, text);
        free(copy);
    }
}

TEST(every_changed_byte_is_survived)
{
    image_begin(&image);
    image_build_id(&image, 7);
    image_section(&image, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, "code", 4);
    image_end(&image);
    for (size_t at = 0; at < image.size; at++) {
        char text[512];
        uint8_t before = image.data[at];
        image.data[at] = 0xff;
        open_status(image.data, image.size, text);
        image.data[at] = before;
    }
}

TEST(offsets_become_addresses_by_the_executable_segment_first)
{
    image_begin(&image);
    image_segment(&image, PT_LOAD, PF_R, 0, 0, 0x1800, 0x1800);
    image_segment(&image, PT_LOAD, PF_R | PF_X, 0x1000, 0x401000, 0x700, 0x700);
    image_segment(&image, PT_LOAD, PF_R | PF_W, 0x1700, 0x502700, 0x100, 0x100000);
    image_end(&image);
    struct hr_elf *elf = open_image();
    uint64_t vaddr;
    CHECK_EQ(hr_elf_vaddr_of_offset(elf, 0x1010, &vaddr), 0);
    CHECK_EQ(vaddr, 0x401010);
    CHECK_EQ(hr_elf_vaddr_of_offset(elf, 0x17, &vaddr), 0);
    CHECK_EQ(vaddr, 0x17);
    CHECK_EQ(hr_elf_vaddr_of_offset(elf, 0x1800, &vaddr), -ERANGE);
    hr_elf_close(elf);
}

TEST(code_without_contents_means_a_debug_file)
{
    image_begin(&image);
    image_section(&image, ".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, NULL, 4096);
    image_end(&image);
    struct hr_elf *elf = open_image();
    CHECK(hr_elf_is_debug_only(elf));
    CHECK(hr_elf_find_section(elf, ".text") == NULL);
    hr_elf_close(elf);
}

static void check_contents(const char *name, const char *wanted)
{
    struct hr_elf *elf = open_image();
    struct hr_elf_section *section = hr_elf_find_section(elf, name);
    CHECK(section != NULL);
    for (int again = 0; again < 2; again++) {
        const uint8_t *data;
        uint64_t size;
        CHECK_EQ(hr_elf_section_data(elf, section, &data, &size, NULL), 0);
        CHECK_EQ(size, strlen(wanted));
        CHECK_EQ(memcmp(data, wanted, size), 0);
    }
    hr_elf_close(elf);
}

static int contents_status(const char *name, char *text)
{
    struct hr_elf *elf = open_image();
    struct hr_error err = {0};
    const uint8_t *data;
    uint64_t size;
    int r = hr_elf_section_data(elf, hr_elf_find_section(elf, name), &data, &size, &err);
    strcpy(text, err.text);
    hr_elf_close(elf);
    return r;
}

static const char contents[] =
    "twenty-three times a hundred and one, twenty-three times a hundred and one";

static size_t pack(uint8_t *packed, uint32_t method, uint64_t claimed)
{
    const Elf64_Chdr header = {.ch_type = method, .ch_size = claimed, .ch_addralign = 1};
    memcpy(packed, &header, sizeof(header));
    uLongf size = 1024;
    if (method == 2)
        size = ZSTD_compress(packed + sizeof(header), 1024, contents, strlen(contents), 3);
    else
        compress(packed + sizeof(header), &size, (const uint8_t *)contents, strlen(contents));
    return sizeof(header) + size;
}

TEST(contents_come_as_they_are)
{
    image_begin(&image);
    image_section(&image, ".debug_str", SHT_PROGBITS, 0, 0, contents, strlen(contents));
    image_end(&image);
    check_contents(".debug_str", contents);
}

TEST(zlib_zstd_and_the_old_zlib_form_are_unpacked)
{
    uint8_t packed[2048], old[2048] = "ZLIB\0\0\0\0\0\0\0";
    for (uint32_t method = 1; method <= 2; method++) {
        image_begin(&image);
        size_t size = pack(packed, method, strlen(contents));
        image_section(&image, ".debug_str", SHT_PROGBITS, SHF_COMPRESSED, 0, packed, size);
        image_end(&image);
        check_contents(".debug_str", contents);
    }
    uLongf size = 1024;
    old[11] = (uint8_t)strlen(contents);
    compress(old + 12, &size, (const uint8_t *)contents, strlen(contents));
    image_begin(&image);
    image_section(&image, ".zdebug_str", SHT_PROGBITS, 0, 0, old, size + 12);
    image_end(&image);
    check_contents(".debug_str", contents);
}

TEST(packed_contents_that_lie_about_their_size_are_refused)
{
    uint8_t packed[2048];
    char text[512];
    const uint64_t claims[] = {0,
                               1,
                               strlen(contents) - 1,
                               strlen(contents) + 1,
                               UINT64_C(1) << 30,
                               UINT64_C(1) << 33,
                               UINT64_MAX};
    for (uint32_t method = 1; method <= 2; method++)
        for (size_t i = 0; i < XP_ARRAY_LENGTH(claims); i++) {
            image_begin(&image);
            size_t size = pack(packed, method, claims[i]);
            image_section(&image, ".debug_str", SHT_PROGBITS, SHF_COMPRESSED, 0, packed, size);
            image_end(&image);
            CHECK_EQ(contents_status(".debug_str", text), -ENOEXEC);
            CHECK_STR(text, "section .debug_str: damaged compressed data");
        }
}

TEST(an_unknown_packing_says_so)
{
    uint8_t packed[2048];
    char text[512];
    image_begin(&image);
    size_t size = pack(packed, 77, strlen(contents));
    image_section(&image, ".debug_str", SHT_PROGBITS, SHF_COMPRESSED, 0, packed, size);
    image_end(&image);
    CHECK_EQ(contents_status(".debug_str", text), -EOPNOTSUPP);
    CHECK_STR(text, "section .debug_str: unknown compression");
}

TEST(contents_outside_of_the_file_are_refused)
{
    char text[512];
    for (int i = 0; i < 2; i++) {
        image_begin(&image);
        uint32_t index = image_section(&image, ".debug_str", SHT_PROGBITS, 0, 0, "abc", 3);
        if (i == 0)
            image.sections[index].sh_size = UINT64_MAX - 7;
        else
            image.sections[index].sh_offset = UINT64_MAX - 1;
        image_end(&image);
        CHECK_EQ(contents_status(".debug_str", text), -ENOEXEC);
        CHECK_STR(text, "section .debug_str lies outside of the file");
    }
}

TEST(a_replaced_file_is_noticed)
{
    char path[] = "/tmp/report_elf.XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    image_begin(&image);
    image_section(&image, ".debug_str", SHT_PROGBITS, 0, 0, "abc", 3);
    image_end(&image);
    image_write(&image, path);
    struct hr_elf *elf;
    CHECK_EQ(hr_elf_open(path, &elf, NULL), 0);
    CHECK_EQ(truncate(path, 100), 0);
    const uint8_t *data;
    uint64_t size;
    CHECK_EQ(hr_elf_section_data(elf, hr_elf_find_section(elf, ".debug_str"), &data, &size, NULL),
             -ESTALE);
    hr_elf_close(elf);
    unlink(path);
}

TEST(a_debuglink_has_name_and_checksum)
{
    const uint8_t link[] = {'a', '.', 'd', 'e', 'b', 'u', 'g', 0, 0x78, 0x56, 0x34, 0x12};
    image_begin(&image);
    image_section(&image, ".gnu_debuglink", SHT_PROGBITS, 0, 0, link, sizeof(link));
    image_end(&image);
    struct hr_elf *elf = open_image();
    char name[256];
    uint32_t crc;
    CHECK_EQ(hr_elf_debuglink(elf, name, &crc), 0);
    CHECK_STR(name, "a.debug");
    CHECK_EQ(crc, 0x12345678);
    hr_elf_close(elf);
}

TEST(a_broken_debuglink_is_none)
{
    const uint8_t link[] = {'a', '.', 'd', 'e', 'b', 'u', 'g', 'x', 'y', 'z', 'z', 'y'};
    for (size_t size = 0; size <= sizeof(link); size++) {
        image_begin(&image);
        image_section(&image, ".gnu_debuglink", SHT_PROGBITS, 0, 0, link, size);
        image_end(&image);
        struct hr_elf *elf = open_image();
        char name[256];
        uint32_t crc;
        CHECK_EQ(hr_elf_debuglink(elf, name, &crc), -ENODATA);
        hr_elf_close(elf);
    }
}

TEST(a_debugaltlink_has_path_and_build_id)
{
    const uint8_t link[] = {'.', '.', '/', 'x', 0, 0xab, 0x01};
    image_begin(&image);
    image_section(&image, ".gnu_debugaltlink", SHT_PROGBITS, 0, 0, link, sizeof(link));
    image_end(&image);
    struct hr_elf *elf = open_image();
    char path[1024], id[129];
    CHECK_EQ(hr_elf_debugaltlink(elf, path, id), 0);
    CHECK_STR(path, "../x");
    CHECK_STR(id, "ab01");
    hr_elf_close(elf);
}

TEST(the_checksum_is_that_of_gdb)
{
    char path[] = "/tmp/report_elf.XXXXXX";
    int fd = mkstemp(path);
    CHECK_EQ(write(fd, "123456789", 9), 9);
    close(fd);
    uint32_t crc;
    CHECK_EQ(hr_elf_checksum(path, &crc), 0);
    CHECK_EQ(crc, 0xcbf43926);
    CHECK_EQ(hr_elf_checksum("/nonexistent/x", &crc), -ENOENT);
    unlink(path);
}

TEST(minidebug_is_an_elf_file_in_an_elf_file)
{
    static uint8_t packed[1 << 16];
    static struct image inner;
    size_t size = 0;
    image_begin(&inner);
    image_section(&inner, ".inner", SHT_PROGBITS, 0, 0, "x", 1);
    image_end(&inner);
    CHECK_EQ(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, inner.data, inner.size, packed,
                                     &size, sizeof(packed)),
             LZMA_OK);
    for (int damaged = 0; damaged < 2; damaged++) {
        image_begin(&image);
        packed[size / 2] ^= (uint8_t)(damaged * 0x55);
        image_section(&image, ".gnu_debugdata", SHT_PROGBITS, 0, 0, packed, size);
        image_end(&image);
        struct hr_elf *elf = open_image(), *mini = NULL;
        int r = hr_elf_open_minidebug(elf, &mini, NULL);
        CHECK_EQ(r, damaged ? -ENOEXEC : 0);
        CHECK(damaged || hr_elf_find_section(mini, ".inner") != NULL);
        hr_elf_close(mini);
        hr_elf_close(elf);
    }
}
