/* SPDX-License-Identifier: MIT */
/* dwarf.c - any bytes as debug information, through the whole symbolizer: the parent must stand.
 *
 * The input becomes the file of one mapping; a worker reads it, and may crash: libdwarf was not
 * made for this. With FUZZ_IN_PROCESS set our own part is driven without a worker, for a fuzzer
 * that wants to see what is covered; then crashes in libdwarf are noise. */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "report/dwarf.h"
#include "report/symbolize.h"

enum { ADDRESSES = 101 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(uint32_t index, const struct hr_dwarf_frame *frames, uint32_t count, void *context)
{
    size_t *length = context;
    if (index >= ADDRESSES || count == 0 || count > HR_INLINE_DEPTH_MAX)
        abort();
    for (uint32_t i = 0; i < count; i++)
        *length += (frames[i].function ? strlen(frames[i].function) : 0) +
                   (frames[i].file ? strlen(frames[i].file) : 0);
}

static void in_process(const uint8_t *data, size_t size)
{
    struct hr_elf *elf;
    uint64_t addresses[ADDRESSES];
    bool mine[ADDRESSES];
    size_t length = 0;
    struct hr_dwarf_notes notes;
    if (hr_elf_open_memory(data, size, "fuzz", &elf, NULL) < 0)
        return;
    for (uint32_t i = 0; i < ADDRESSES; i++)
        addresses[i] = 0x100 + 0x11 * (uint64_t)i;
    const struct hr_dwarf_query query = {.elf = elf,
                                         .addresses = addresses,
                                         .count = ADDRESSES,
                                         .shares = 1,
                                         .take = take,
                                         .context = &length};
    hr_dwarf_find(&query, mine, &notes, NULL);
    hr_elf_close(elf);
}

static void in_worker(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), fd);
    struct hr_model *model = hr_model_create();
    const struct hr_mapping mapping = {.start = 0x10000,
                                       .limit = 0x20000,
                                       .offset = 0,
                                       .path = hr_string_intern(model, path, strlen(path))};
    hr_model_add_mapping(model, &mapping);
    for (uint32_t i = 0; i < ADDRESSES; i++)
        hr_model_location(model, 0x10101 + 0x11 * (uint64_t)i, 0x10100 + 0x11 * (uint64_t)i);
    hr_model_resolve_mappings(model);
    const struct hr_symbolize_options options = {
        .workers = 1, .timeout_s = 2, .memory_max = UINT64_C(1) << 30};
    if (hr_symbolize(model, &options, NULL) < 0)
        abort();
    for (uint32_t i = 0; i < model->location_count; i++) {
        const struct hr_location *l = &model->locations[i];
        if (l->frame_first > model->frame_count ||
            l->frame_count > model->frame_count - l->frame_first)
            abort();
    }
    hr_model_destroy(model);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (getenv("FUZZ_IN_PROCESS"))
        in_process(data, size);
    else
        in_worker(data, size);
    return 0;
}
