/* SPDX-License-Identifier: MIT */
/* report_demangle.c - names as pprof shows them. */
#include <stdlib.h>

#include "report/demangle.h"
#include "test.h"

static void check(const char *symbol, enum hr_demangle mode, const char *wanted)
{
    char *got = hr_demangle(symbol, mode);
    CHECK_STR(got, wanted);
    free(got);
}

static void check_qualified(const char *name, enum hr_demangle mode, const char *wanted)
{
    char *got = hr_demangle_qualified(name, mode);
    CHECK_STR(got, wanted);
    free(got);
}

#define PUSH_BACK "_ZNSt6vectorIiSaIiEE9push_backERKi"

TEST(short_has_neither_parameters_nor_template_arguments)
{
    check(PUSH_BACK, HR_DEMANGLE_SHORT, "std::vector::push_back");
}

TEST(templates_keeps_template_arguments)
{
    check(PUSH_BACK, HR_DEMANGLE_TEMPLATES, "std::vector<int, std::allocator<int> >::push_back");
}

TEST(full_keeps_all)
{
    check(PUSH_BACK, HR_DEMANGLE_FULL,
          "std::vector<int, std::allocator<int> >::push_back(int const&)");
}

TEST(none_changes_nothing)
{
    check(PUSH_BACK, HR_DEMANGLE_NONE, PUSH_BACK);
    check("foo.part.0", HR_DEMANGLE_NONE, "foo.part.0");
}

TEST(a_return_type_of_a_template_function_goes)
{
    check("_Z4makeIiET_S0_", HR_DEMANGLE_SHORT, "make");
    check("_Z4makeIiET_S0_", HR_DEMANGLE_FULL, "int make<int>(int)");
}

TEST(parameters_of_an_enclosing_function_go)
{
    check("_ZZ5outeriENKUliE_clEi", HR_DEMANGLE_SHORT, "outer::{lambda(int)#1}::operator()");
    check("_ZZN1A1fIiEEvT_ENKUlvE_clEv", HR_DEMANGLE_SHORT, "A::f::{lambda()#1}::operator()");
}

TEST(const_member_functions_lose_the_const)
{
    check("_ZZNK1A3getEvE5local", HR_DEMANGLE_SHORT, "A::get::local");
}

TEST(operators_keep_their_signs)
{
    check("_ZN1AltERKS_", HR_DEMANGLE_SHORT, "A::operator<");
    check("_ZlsIiER1AS1_RKT_", HR_DEMANGLE_SHORT, "operator<<");
    check("_ZltIiEbT_S0_", HR_DEMANGLE_SHORT, "operator<");
    check("_ZltIiEbT_S0_", HR_DEMANGLE_TEMPLATES, "operator< <int>");
    check("_ZStplIcSt11char_traitsIcESaIcEESbIT_T0_T1_ERKS6_S8_", HR_DEMANGLE_SHORT,
          "std::operator+");
    check("_ZN1AptEv", HR_DEMANGLE_SHORT, "A::operator->");
    check("_ZN1AclEi", HR_DEMANGLE_SHORT, "A::operator()");
    check("_Znwm", HR_DEMANGLE_SHORT, "operator new");
    check("_ZdaPv", HR_DEMANGLE_SHORT, "operator delete[]");
    check("_ZN1AcvSt6vectorIiSaIiEEEv", HR_DEMANGLE_SHORT, "A::operator std::vector");
}

TEST(anonymous_namespaces_stay)
{
    check("_ZN12_GLOBAL__N_13fooEi", HR_DEMANGLE_SHORT, "(anonymous namespace)::foo");
}

TEST(thunks_say_so)
{
    check("_ZThn8_N1A3runEi", HR_DEMANGLE_SHORT, "non-virtual thunk to A::run");
}

TEST(clones_are_one_function_to_the_reader)
{
    check("_Z3fooi.cold", HR_DEMANGLE_SHORT, "foo");
    check("foo.part.0", HR_DEMANGLE_SHORT, "foo");
    check("foo.constprop.0.isra.1", HR_DEMANGLE_SHORT, "foo");
    check("foo.llvm.1234567", HR_DEMANGLE_SHORT, "foo");
    check("_Z3fooi.cold", HR_DEMANGLE_FULL, "foo(int) [clone .cold]");
}

TEST(other_dots_are_part_of_a_name)
{
    check("net/http.(*conn).serve", HR_DEMANGLE_SHORT, "net/http.(*conn).serve");
    check("foo.partition", HR_DEMANGLE_SHORT, "foo.partition");
}

TEST(rust_loses_its_hash_and_keeps_its_types)
{
    check("_ZN4core3ptr24drop_in_place$LT$i32$GT$17h0123456789abcdefE", HR_DEMANGLE_SHORT,
          "core::ptr::drop_in_place<i32>");
    check("_ZN39_$LT$app..Dog$u20$as$u20$app..Speak$GT$5speak17h0123456789abcdefE.llvm.77",
          HR_DEMANGLE_SHORT, "<app::Dog as app::Speak>::speak");
    check("_RNvCskwGfYPst2Cb_3foo16example_function", HR_DEMANGLE_SHORT, "foo::example_function");
}

TEST(d_is_read)
{
    check("_D3std5stdio4File5closeMFZv", HR_DEMANGLE_SHORT, "std.stdio.File.close");
}

TEST(c_names_stay)
{
    check("main", HR_DEMANGLE_SHORT, "main");
    check("_start", HR_DEMANGLE_FULL, "_start");
    check("", HR_DEMANGLE_SHORT, "");
}

TEST(what_only_looks_mangled_stays)
{
    check("_Z", HR_DEMANGLE_SHORT, "_Z");
    check("_ZNotAName", HR_DEMANGLE_SHORT, "_ZNotAName");
    check("_Dx", HR_DEMANGLE_SHORT, "_Dx");
}

TEST(names_of_debug_information_are_shortened_too)
{
    check_qualified("ns::Box<std::pair<int, long> >::get<3>", HR_DEMANGLE_SHORT, "ns::Box::get");
    check_qualified("ns::Box<int>::get", HR_DEMANGLE_TEMPLATES, "ns::Box<int>::get");
    check_qualified("ns::Box<int>::operator<", HR_DEMANGLE_SHORT, "ns::Box::operator<");
    check_qualified("main::<lambda(int)>::operator()", HR_DEMANGLE_SHORT,
                    "main::<lambda(int)>::operator()");
    check_qualified("(anonymous namespace)::f", HR_DEMANGLE_SHORT, "(anonymous namespace)::f");
    check_qualified("plain", HR_DEMANGLE_SHORT, "plain");
}

TEST(brackets_that_never_close_do_no_harm)
{
    check_qualified("a<b<c", HR_DEMANGLE_SHORT, "a");
    check_qualified("f(x", HR_DEMANGLE_SHORT, "f");
    check_qualified("a>b)c}d", HR_DEMANGLE_SHORT, "a>b)c}d");
    check_qualified("operator", HR_DEMANGLE_SHORT, "operator");
    check_qualified("{<(", HR_DEMANGLE_SHORT, "{");
}
