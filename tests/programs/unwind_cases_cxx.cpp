// SPDX-License-Identifier: MIT
// unwind_cases_cxx.cpp - stacks of every shape that C++ adds.
#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "unwind_oracle.h"

#define NOINLINE __attribute__((noinline))

namespace
{

struct Probing {
    ~Probing()
    {
        unwind_probe();
    }
};

// Before main, from the loader's or libc's list of constructors.
struct Early {
    Early()
    {
        unwind_probe();
    }
} early;

NOINLINE void throw_deep(int n)
{
    Probing on_the_way;
    std::string text(23, 'x');
    if (n > 0)
        throw_deep(n - 1);
    else
        throw std::runtime_error(text);
}

void destructors_while_unwinding()
{
    try {
        throw_deep(7);
    } catch (const std::exception &) {
        unwind_probe();
    }
    unwind_probe();
}

NOINLINE void catch_and_rethrow(int n)
{
    try {
        if (n > 0)
            catch_and_rethrow(n - 1);
        else
            throw 23;
    } catch (int) {
        unwind_probe();
        throw;
    }
}

void rethrown_from_handlers()
{
    try {
        catch_and_rethrow(5);
    } catch (...) {
        unwind_probe();
    }
}

struct Member {
    explicit Member(int n)
    {
        if (n == 0)
            throw n;
    }
};

struct FunctionTry {
    Member member;
    explicit FunctionTry(int n)
    try : member(n) {
        unwind_probe();
    } catch (int) {
        unwind_probe();
    }
};

void function_try_block()
{
    FunctionTry fine(1);
    try {
        FunctionTry not_fine(0);
    } catch (int) {
        unwind_probe();
    }
}

void callbacks_through_the_library()
{
    std::vector<int> values{3, 1, 2, 5, 4};
    std::sort(values.begin(), values.end(), [](int a, int b) {
        unwind_probe();
        return a < b;
    });
    std::function<void(int)> again = [&](int n) {
        if (n > 0)
            again(n - 1);
        else
            unwind_probe();
    };
    again(6);
}

struct Base {
    virtual ~Base() = default;
    virtual int call(int n) = 0;
};

struct Second {
    virtual ~Second() = default;
    virtual int other(int n) = 0;
};

// Called through thunks.
struct Derived : Base, Second {
    int call(int n) override
    {
        return n > 0 ? static_cast<Second *>(this)->other(n - 1) + 1 : 0;
    }
    NOINLINE int other(int n) override
    {
        unwind_probe();
        return static_cast<Base *>(this)->call(n) + 1;
    }
};

void virtual_calls_through_thunks()
{
    Derived object;
    Second *second = &object;
    second->other(5);
}

} // namespace

extern "C" const struct unwind_case unwind_cases_cxx[] = {
    {"destructors_while_unwinding", destructors_while_unwinding, 10},
    {"rethrown_from_handlers", rethrown_from_handlers, 7},
    {"function_try_block", function_try_block, 3},
    {"callbacks_through_the_library", callbacks_through_the_library, 5},
    {"virtual_calls_through_thunks", virtual_calls_through_thunks, 6},
    {nullptr, nullptr, 0},
};
