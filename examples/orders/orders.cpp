/* SPDX-License-Identifier: MIT */
/* orders.cpp - an order service at the end of its day: worker threads, order books, and a cache
 * of rendered confirmations that nobody evicts.
 *
 * The same orders come in at each run. Confirmations: 307 customers x 101 instruments, each a page
 * of 3001 bytes, so 31007 pages and 93 MB stay behind. Messages come and go: many, and none stays.
 */
#include <cstdio>
#include <memory>
#include <thread>

#include "book.h"
#include "cache.h"

namespace orders
{

constexpr unsigned workers = 4;
constexpr unsigned instruments = 101;
constexpr unsigned customers = 307;
constexpr unsigned orders_per_worker = 79999;
constexpr size_t confirmation_bytes = 3001;

struct confirmation {
    std::unique_ptr<char[]> page;
    size_t length;
};

/* A reproducible stream of numbers; one per worker. */
class stream
{
  public:
    explicit stream(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1)
    {
    }

    unsigned below(unsigned limit)
    {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<unsigned>((state_ >> 32) % limit);
    }

  private:
    uint64_t state_;
};

/* The text that a client sends, and what it means. */
static std::string encode(const order &o, unsigned instrument)
{
    std::string text = "id=" + std::to_string(o.id);

    text += "|way=" + std::string(o.way == side::buy ? "B" : "S");
    text += "|instrument=" + std::to_string(instrument);
    text += "|price=" + std::to_string(o.price);
    text += "|quantity=" + std::to_string(o.quantity);
    text += "|customer=" + o.customer;
    return text;
}

static std::string field(const std::string &text, const char *name)
{
    std::string key = std::string(name) + "=";
    size_t start = text.find(key);

    if (start == std::string::npos)
        return "";
    start += key.size();
    return text.substr(start, text.find('|', start) - start);
}

static order decode(const std::string &text)
{
    return {std::stoull(field(text, "id")), field(text, "way") == "B" ? side::buy : side::sell,
            std::stoll(field(text, "price")), std::stoll(field(text, "quantity")),
            field(text, "customer")};
}

class service
{
  public:
    /* Each instrument belongs to one worker: its book needs no lock. */
    size_t take(unsigned instrument, const std::string &message)
    {
        order o = decode(message);
        std::string key = o.customer + "/" + std::to_string(instrument);

        books_[instrument].submit(std::move(o));
        return confirmations_.get(key, [&] { return render(key); }).length;
    }

    void report() const
    {
        size_t resting = 0, trades = 0;

        for (const book &b : books_) {
            resting += b.resting();
            trades += b.trades();
        }
        std::printf("%u orders: %zu trades, %zu resting, %zu confirmations cached\n",
                    workers * orders_per_worker, trades, resting, confirmations_.size());
    }

  private:
    static confirmation render(const std::string &key)
    {
        confirmation c{std::make_unique<char[]>(confirmation_bytes), 0};

        c.length = static_cast<size_t>(
            std::snprintf(c.page.get(), confirmation_bytes, "Dear customer: %s", key.c_str()));
        return c;
    }

    book books_[instruments];
    cache<std::string, confirmation> confirmations_;
};

static void work(service &s, unsigned worker)
{
    stream random(worker + 1);

    for (unsigned i = 0; i < orders_per_worker; i++) {
        unsigned instrument = worker + workers * random.below((instruments - worker + 3) / workers);
        char customer[32];

        std::snprintf(customer, sizeof(customer), "customer-%08u/desk", random.below(customers));
        order o{uint64_t(i) * workers + worker, random.below(2) ? side::buy : side::sell,
                1000 + random.below(211) - 105, 1 + random.below(97), customer};
        s.take(instrument, encode(o, instrument));
    }
}

} // namespace orders

int main()
{
    /* Serves until the process ends, so nobody deletes it: the last dump shows all of it. */
    static auto *service = new orders::service;
    std::vector<std::thread> threads;

    for (unsigned worker = 0; worker < orders::workers; worker++)
        threads.emplace_back(orders::work, std::ref(*service), worker);
    for (std::thread &thread : threads)
        thread.join();
    service->report();
    return 0;
}
