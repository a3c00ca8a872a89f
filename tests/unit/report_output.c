/* SPDX-License-Identifier: MIT */
#include "report/output.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

static struct hr_output output;
static struct hr_error err;

/* An empty scratch folder, the working directory from now on. */
static void enter_scratch(void)
{
    static char folder[64];

    strcpy(folder, "/tmp/hr_output.XXXXXX");
    CHECK(mkdtemp(folder) && chdir(folder) == 0);
    err = (struct hr_error){0};
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    CHECK(file);
    fputs(text, file);
    fclose(file);
}

static const char *read_file(const char *path)
{
    static char text[256];
    FILE *file = fopen(path, "r");

    CHECK(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    fclose(file);
    return text;
}

static int count_files(void)
{
    DIR *dir = opendir(".");
    int count = -2; /* . and .. */

    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

TEST(the_old_file_is_there_until_the_new_one_is_whole)
{
    enter_scratch();
    write_file("r.txt", "old");
    CHECK_EQ(chmod("r.txt", 0640), 0);
    CHECK_EQ(hr_output_open(&output, "r.txt", &err), 0);
    fputs("new", output.stream);
    fflush(output.stream);
    CHECK_STR(read_file("r.txt"), "old");
    CHECK_EQ(hr_output_commit(&output, &err), 0);
    CHECK_STR(read_file("r.txt"), "new");

    struct stat st;

    CHECK(stat("r.txt", &st) == 0);
    CHECK_EQ(st.st_mode & 0777, 0640);
    CHECK_EQ(count_files(), 1);
}

TEST(an_abandoned_report_leaves_nothing)
{
    enter_scratch();
    CHECK_EQ(hr_output_open(&output, "r.txt", &err), 0);
    fputs("half", output.stream);
    hr_output_abandon(&output);
    CHECK_EQ(count_files(), 0);
}

TEST(a_symbolic_link_stays_one)
{
    enter_scratch();
    write_file("target", "old");
    CHECK_EQ(symlink("target", "link"), 0);
    CHECK_EQ(hr_output_open(&output, "link", &err), 0);
    fputs("new", output.stream);
    CHECK_EQ(hr_output_commit(&output, &err), 0);

    struct stat st;

    CHECK(lstat("link", &st) == 0 && S_ISLNK(st.st_mode));
    CHECK_STR(read_file("target"), "new");
}

TEST(a_full_device_is_an_error)
{
    CHECK_EQ(hr_output_open(&output, "/dev/full", &err), 0);
    fputs("text", output.stream);
    CHECK_EQ(hr_output_commit(&output, &err), -ENOSPC);
    CHECK_STR(err.place, "/dev/full");
    CHECK_STR(err.text, "cannot write: No space left on device");
}

TEST(what_cannot_be_a_file_is_told)
{
    enter_scratch();
    CHECK_EQ(hr_output_open(&output, ".", &err), -EISDIR);
    err = (struct hr_error){0};
    CHECK_EQ(hr_output_open(&output, "missing/r.txt", &err), -ENOENT);
    hr_output_abandon(&output);
    CHECK_EQ(count_files(), 0);
}
