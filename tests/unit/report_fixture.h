/* SPDX-License-Identifier: MIT */
/* report_fixture.h - models out of text, for the tests of report's rooms. */
#ifndef REPORT_FIXTURE_H
#define REPORT_FIXTURE_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "report/load.h"
#include "report/model.h"
#include "report/nodes.h"
#include "report/source.h"
#include "test.h"

/* Loads size bytes as if they were the file x.heap. */
static inline int fixture_load(const char *bytes, size_t size, struct hr_model **ret_model,
                               struct hr_error *err)
{
    struct hr_source source;
    char path[64];
    int fd = memfd_create("profile", 0), r;

    CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    *err = (struct hr_error){0};
    r = hr_source_open(&source, path, err);
    if (r == 0) {
        source.name = "x.heap";
        r = hr_load(&source, ret_model, err);
        hr_source_close(&source);
    }
    close(fd);
    return r;
}

static inline struct hr_model *fixture_model(const char *text)
{
    struct hr_model *model = NULL;
    struct hr_error err;

    if (fixture_load(text, strlen(text), &model, &err) < 0)
        test_fail(__FILE__, __LINE__, "fixture: %s", err.text);
    return model;
}

static inline hr_string fixture_string(struct hr_model *model, const char *text)
{
    return hr_string_intern(model, text, strlen(text));
}

/* Names the location of the pc: functions innermost first, ended by NULL. Lines count up from the
 * pc's last two digits. */
static inline void fixture_name(struct hr_model *model, uint64_t pc, ...)
{
    uint32_t location = hr_model_location(model, pc, pc - 1);
    va_list names;
    const char *name;

    va_start(names, pc);
    while ((name = va_arg(names, const char *)) != NULL) {
        struct hr_frame frame = {
            .function = fixture_string(model, name),
            .system_name = fixture_string(model, name),
            .file = fixture_string(model, "src/app.c"),
            .line = (uint32_t)(pc % 100) + model->locations[location].frame_count,
        };
        uint32_t index = hr_model_add_frame(model, &frame);

        if (model->locations[location].frame_count++ == 0)
            model->locations[location].frame_first = index;
    }
    va_end(names);
}

#endif
