/* SPDX-License-Identifier: MIT */
/* cache.h - remembers every answer it ever gave; nothing leaves it. */
#ifndef ORDERS_CACHE_H
#define ORDERS_CACHE_H

#include <mutex>
#include <unordered_map>
#include <utility>

namespace orders
{

template <class K, class V> class cache
{
  public:
    /* The value of key, made by make() the first time. The reference stays good: nodes of an
     * unordered_map do not move. */
    template <class Make> const V &get(const K &key, Make make)
    {
        std::lock_guard<std::mutex> hold(lock_);
        auto found = entries_.find(key);

        if (found == entries_.end())
            found = insert(key, make());
        return found->second;
    }

    size_t size() const
    {
        return entries_.size();
    }

  private:
    using map = std::unordered_map<K, V>;

    typename map::iterator insert(const K &key, V &&value)
    {
        return entries_.emplace(key, std::move(value)).first;
    }

    std::mutex lock_;
    map entries_;
};

} // namespace orders

#endif
