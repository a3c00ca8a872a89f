// SPDX-License-Identifier: MIT
// thread_early_and_late.cc - allocates before main, in TLS destructors, in key destructors of every
// round, after main: wherever an allocator may not exist yet or no longer.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <pthread.h>
#include <string>
#include <threads.h>
#include <thread>
#include <vector>

static void work()
{
    for (std::size_t n = 1; n < 400000; n = n * 5 + 3) {
        char *p = static_cast<char *>(std::malloc(n));
        std::memset(p, 1, n);
        char *q = static_cast<char *>(std::realloc(p, n + n / 2));
        std::free(q);
    }
}

__attribute__((constructor(101))) static void before_main()
{
    work();
    std::thread(work).join();
}

struct Global {
    std::vector<std::string> texts;
    Global() : texts(101, std::string(101, 'x'))
    {
        work();
    }
    ~Global()
    {
        work();
    }
};
static Global global;

struct PerThread {
    std::unique_ptr<std::string> text{new std::string(1001, 'y')};
    ~PerThread()
    {
        work();
        text.reset(new std::string(2003, 'z'));
    }
};
static thread_local PerThread per_thread;

static pthread_key_t keys[40];

// Comes back as often as the C library lets it.
static void key_destructor(void *arg)
{
    auto **cell = static_cast<void **>(arg);
    pthread_key_t key = keys[reinterpret_cast<std::size_t>(cell[0])];
    work();
    pthread_setspecific(key, cell);
}

static int thread_body(void *)
{
    static void *cells[40][2];
    work();
    per_thread.text->append("used");
    for (std::size_t i = 0; i < 40; i++) {
        cells[i][0] = reinterpret_cast<void *>(i);
        pthread_setspecific(keys[i], cells[i]);
    }
    return 0;
}

static void *posix_body(void *arg)
{
    thread_body(arg);
    return std::malloc(101);
}

int main()
{
    for (pthread_key_t &key : keys)
        pthread_key_create(&key, key_destructor);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *result = nullptr;
        pthread_create(&thread, nullptr, posix_body, nullptr);
        pthread_join(thread, &result);
        std::free(result);
        thrd_t other; // does not pass through pthread_create
        int value;
        thrd_create(&other, thread_body, nullptr);
        thrd_join(other, &value);
    }
    std::atexit(work);
    std::puts("done");
    std::fflush(stdout);
    std::thread([] { work(); }).join();
    // The process goes on in another thread and ends with it.
    std::thread([] {
        work();
        std::exit(7);
    }).detach();
    pthread_exit(nullptr);
}
