// SPDX-License-Identifier: MIT
// shapes.cc - templates, inlining, lambdas, local classes and threads, to have frames of all kinds.
#include <vector>
#include <string>
#include <map>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>
namespace app
{
namespace
{
struct Hidden {
    int v;
    inline int twice(int k) const
    {
        return v * k + (int)std::string(k, 'x').size();
    }
};
} // namespace
template <class T> struct Box {
    T value;
    T get(int n)
    {
        std::vector<T> t;
        for (int i = 0; i < n; i++)
            t.push_back(value);
        return t.back();
    }
};
static inline int helper(int n)
{
    std::map<int, std::string> m;
    for (int i = 0; i < n; i++)
        m[i] = std::to_string(i);
    return (int)m.size();
}
static int outer(int n)
{
    auto f = [n](int k) {
        Hidden h{n};
        return h.twice(k) + helper(k);
    };
    int s = 0;
    for (int i = 0; i < n; i++)
        s += f(i);
    return s;
}
class Shape
{
  public:
    virtual ~Shape()
    {
    }
    virtual double area() const = 0;
};
class Sq : public Shape
{
    double d;

  public:
    Sq(double x) : d(x)
    {
    }
    double area() const override
    {
        return d * d;
    }
    bool operator<(const Sq &o) const
    {
        return d < o.d;
    }
};
} // namespace app
int main(int argc, char **argv)
{
    app::Box<std::string> b{argv[0]};
    app::Box<int> c{argc};
    std::vector<std::unique_ptr<app::Shape>> v;
    std::vector<app::Sq> q;
    for (int i = 0; i < argc * 10; i++) {
        v.emplace_back(new app::Sq(i));
        q.emplace_back(app::Sq(10 - i));
    }
    std::sort(q.begin(), q.end());
    double a = 0;
    for (auto &s : v)
        a += s->area();
    struct Local {
        int go(int n)
        {
            std::string s(n, 'y');
            return (int)s.size() + app::outer(n);
        }
    } l;
    std::thread t([&] { printf("%d\n", l.go(argc)); });
    t.join();
    printf("%s %d %d %f\n", b.get(3).c_str(), c.get(2), app::outer(argc), a);
}
