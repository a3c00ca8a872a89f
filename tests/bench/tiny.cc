/* SPDX-License-Identifier: MIT */
/* tiny.cc - a million blocks of 1 to 7 bytes by operator new into a vector that is then shrunk. */
#include <vector>

#include "workload.h"

static struct parameter parameters[] = {
    {"blocks", 1000000, 1, 1e8, nullptr},
};

static void work(struct worker *self)
{
    auto blocks = static_cast<uint64_t>(parameters[0].value);
    uint64_t operations = 0;
    std::vector<char *> kept;

    do {
        for (uint64_t i = 0; i < blocks; i++) {
            char *block = new char[1 + i % 7];
            block[0] = 1;
            kept.push_back(block);
        }
        for (char *block : kept)
            delete[] block;
        kept.clear();
        kept.shrink_to_fit();
        operations += blocks;
    } while (worker_goes_on());
    worker_done(self, operations);
}

int main(int argc, char **argv)
{
    struct measured measured;
    double seconds = workload_arguments(
        argc, argv, "Pushes new char[1..7] to a vector, deletes them, shrinks the vector; again.",
        parameters, 1);

    workload_run(1, seconds, work, nullptr, &measured);
    print_begin("tiny", static_cast<double>(measured.operations) / measured.seconds / 1e6, "Mops/s",
                &measured);
    print_end();
    return 0;
}
