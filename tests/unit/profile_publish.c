/* SPDX-License-Identifier: MIT */
#include "profile/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os.h"
#include "test.h"

static char folder[] = "/tmp/xprof-publish.XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[4096];

    if (folder[sizeof(folder) - 2] == 'X')
        CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static int files_in_folder(void)
{
    char command[4200];
    int count = -1;

    snprintf(command, sizeof(command), "ls -A %s | wc -l", folder);
    FILE *list = popen(command, "r");
    CHECK(list && fscanf(list, "%d", &count) == 1);
    pclose(list);
    return count;
}

static void check_content(const char *path, const char *wanted)
{
    char text[64] = "";
    int fd = open(path, O_RDONLY);

    CHECK(fd >= 0);
    CHECK(read(fd, text, sizeof(text) - 1) >= 0);
    close(fd);
    CHECK_STR(text, wanted);
}

static int publish(const char *name, const char *content)
{
    static struct xp_draft draft = {.fd = -1};

    CHECK_EQ(xp_draft_open(&draft, name), 0);
    CHECK_EQ(xp_os_write_all(draft.fd, content, strlen(content)), 0);
    return xp_draft_publish_as(&draft, name);
}

TEST(a_name_that_is_taken_keeps_its_content_and_no_draft_stays)
{
    const char *name = in_folder("counters");

    CHECK_EQ(publish(name, "first"), 0);
    CHECK_EQ(publish(name, "second"), -EEXIST);
    check_content(name, "first");
    CHECK_EQ(files_in_folder(), 1);
    unlink(name);
    rmdir(folder);
}

TEST(where_files_cannot_have_two_names_they_are_not_replaced_either)
{
    strcpy(folder + sizeof(folder) - 7, "XXXXXX");
    const char *name = in_folder("counters");
    static struct xp_draft draft = {.fd = -1};

    /* The link fails; the rename goes through, the second publication must not. */
    for (int turn = 0; turn < 2; turn++) {
        CHECK_EQ(xp_draft_open(&draft, name), 0);
        CHECK_EQ(xp_os_write_all(draft.fd, turn ? "b" : "a", 1), 0);
        xp_os_fault_every(2, 1u << XP_OS_NAME, EPERM);
        uint64_t failed = xp_os_fault_count();
        xp_os_unlink("/nonexistent"); /* the first of two */
        int r = xp_draft_publish_as(&draft, name);
        CHECK(xp_os_fault_count() > failed);
        xp_os_fault_every(0, 0, 0);
        CHECK_EQ(r, turn ? -EEXIST : 0);
        check_content(name, "a");
    }
    unlink(name);
    rmdir(folder);
}
