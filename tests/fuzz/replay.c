/* SPDX-License-Identifier: MIT */
/* replay.c - runs a fuzz target over files and folders of inputs; any crash is the test's failure.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned runs;

static void replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    long size;
    if (!file || fseek(file, 0, SEEK_END) < 0 || (size = ftell(file)) < 0) {
        perror(path);
        exit(1);
    }
    rewind(file);
    /* Exactly as large as the input, so that a sanitizer sees a read past its end. */
    uint8_t *data = malloc(size ? (size_t)size : 1);
    if (!data || fread(data, 1, (size_t)size, file) != (size_t)size) {
        perror(path);
        exit(1);
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    runs++;
}

static void replay(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) {
        replay_file(path);
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char name[4096];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        replay_file(name);
    }
    closedir(folder);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    printf("%u inputs\n", runs);
    return runs == 0;
}
