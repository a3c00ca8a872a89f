/* SPDX-License-Identifier: MIT */
#include "profile/cleanup.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static char folder[64];

static const char *path_of(const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void make(const char *name, const char *second_line, int pid)
{
    FILE *f = fopen(path_of(name), "w");

    CHECK(f != NULL);
    fprintf(f, "heap profile:      1:      101 [01: 101] @ heapprofile\n%s\n# run 00\n# pid %d\n",
            second_line, pid);
    fclose(f);
}

static bool exists(const char *name)
{
    struct stat st;

    return lstat(path_of(name), &st) == 0;
}

#define OURS "# libxprof 0.1.0"

static int ended_pid(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    return pid;
}

TEST(only_files_of_ours_whose_process_has_ended_are_removed)
{
    char prefix[128];
    int gone = ended_pid();

    strcpy(folder, "/tmp/unit_cleanup.XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    snprintf(prefix, sizeof(prefix), "%s/hp", folder);
    /* A zombie: ended, though its number is still taken. */
    pid_t zombie = fork();
    if (zombie == 0)
        _exit(0);
    siginfo_t info;
    CHECK(waitid(P_PID, (id_t)zombie, &info, WEXITED | WNOWAIT) == 0);

    make("hp.0001.heap", OURS, gone);
    make("hp_123.0001.heap", OURS, gone);
    make("hp.0002.heap", OURS, zombie);
    make("hp.0badcafe.part", OURS, gone);
    make("hp.0003.heap", OURS, getppid());
    make("hp.0004.heap", OURS, getpid());
    make("hp.0005.heap", "# from another writer", gone);
    make("hp.0006.heap.gz", OURS, gone);
    make("hpx.0001.heap", OURS, gone);
    make("other.0001.heap", OURS, gone);
    make("hp.0007.heap", OURS, 0);
    char target[256];
    snprintf(target, sizeof(target), "%s", path_of("other.0001.heap"));
    CHECK(symlink(target, path_of("hp.0008.heap")) == 0);
    CHECK(mkfifo(path_of("hp.0009.heap"), 0600) == 0);
    CHECK(mkdir(path_of("hp.0010.heap"), 0700) == 0);

    xp_cleanup(prefix);
    waitpid(zombie, NULL, 0);
    CHECK(!exists("hp.0001.heap"));
    CHECK(!exists("hp_123.0001.heap"));
    CHECK(!exists("hp.0002.heap"));
    CHECK(!exists("hp.0badcafe.part"));
    CHECK(exists("hp.0003.heap"));
    CHECK(exists("hp.0004.heap"));
    CHECK(exists("hp.0005.heap"));
    CHECK(exists("hp.0006.heap.gz"));
    CHECK(exists("hpx.0001.heap"));
    CHECK(exists("other.0001.heap"));
    CHECK(exists("hp.0007.heap"));
    CHECK(exists("hp.0008.heap"));
    CHECK(exists("hp.0009.heap"));
    CHECK(exists("hp.0010.heap"));

    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", folder);
    CHECK(system(command) == 0);
}

TEST(a_missing_or_relative_folder_is_left_alone)
{
    xp_cleanup("/nonexistent/folder/hp");
    xp_cleanup("hp");
    xp_cleanup("");
}
