/* SPDX-License-Identifier: MIT */
/* book.h - the orders of one instrument: matched when prices cross, kept when they do not. */
#ifndef ORDERS_BOOK_H
#define ORDERS_BOOK_H

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace orders
{

enum class side { buy, sell };

struct order {
    uint64_t id;
    side way;
    int64_t price;
    int64_t quantity;
    std::string customer;
};

struct trade {
    uint64_t buyer, seller;
    int64_t price, quantity;
};

/* One side of the book, best price first. Better(a, b): a is the better price. */
template <class Better> class ladder
{
  public:
    using queue = std::list<order>;

    void rest(const order &o)
    {
        levels_[o.price].push_back(o);
        resting_++;
    }

    /* Takes what o can have from this side, best price first. */
    template <class OnTrade> void match(order &o, OnTrade on_trade)
    {
        while (o.quantity > 0 && !levels_.empty()) {
            auto best = levels_.begin();

            if (Better()(o.price, best->first))
                return;
            take(best->second, o, on_trade);
            if (best->second.empty())
                levels_.erase(best);
        }
    }

    size_t resting() const
    {
        return resting_;
    }

  private:
    template <class OnTrade> void take(queue &waiting, order &o, OnTrade on_trade)
    {
        while (o.quantity > 0 && !waiting.empty()) {
            order &other = waiting.front();
            int64_t quantity = std::min(o.quantity, other.quantity);

            on_trade(other, quantity);
            o.quantity -= quantity;
            other.quantity -= quantity;
            if (other.quantity == 0) {
                waiting.pop_front();
                resting_--;
            }
        }
    }

    std::map<int64_t, queue, Better> levels_;
    size_t resting_ = 0;
};

class book
{
  public:
    void submit(order o)
    {
        if (o.way == side::buy) {
            asks_.match(o, [&](const order &other, int64_t quantity) {
                trades_.push_back({o.id, other.id, other.price, quantity});
            });
            if (o.quantity > 0)
                bids_.rest(o);
        } else {
            bids_.match(o, [&](const order &other, int64_t quantity) {
                trades_.push_back({other.id, o.id, other.price, quantity});
            });
            if (o.quantity > 0)
                asks_.rest(o);
        }
        by_customer_[o.customer].push_back(o.id);
    }

    size_t resting() const
    {
        return bids_.resting() + asks_.resting();
    }

    size_t trades() const
    {
        return trades_.size();
    }

  private:
    ladder<std::greater<int64_t>> bids_;
    ladder<std::less<int64_t>> asks_;
    std::vector<trade> trades_;
    std::unordered_map<std::string, std::vector<uint64_t>> by_customer_;
};

} // namespace orders

#endif
