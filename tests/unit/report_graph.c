/* SPDX-License-Identifier: MIT */
#include "report/graph.h"

#include "report_fixture.h"

/* main calls work, work calls itself and leaf; helper is inlined into work. */
static struct hr_model *make_model(void)
{
    struct hr_model *model =
        fixture_model("heap profile:    26:     2626 [    26:     2626] @ heapprofile\n"
                      "    20:     2020 [    20:     2020] @ 1010 1020 1020 1020 1030\n"
                      "     3:      303 [     3:      303] @ 1020 1030\n"
                      "     2:      202 [     2:      202] @ 1040 1030\n"
                      "     1:      101 [     1:      101] @ 9999 1030\n"
                      "\nMAPPED_LIBRARIES:\n00001000-00002000 r-xp 00000000 08:01 7 /opt/app\n"
                      "00009000-0000a000 r-xp 00000000 08:01 7 /lib/libx.so\n");

    fixture_name(model, 0x1010, "leaf", NULL);
    fixture_name(model, 0x1020, "helper", "work", NULL);
    fixture_name(model, 0x1030, "main", NULL);
    fixture_name(model, 0x1040, "helper", NULL);
    return model;
}

static struct hr_nodes nodes;
static struct hr_graph graph;

static void build(struct hr_model *model, struct hr_graph_options options,
                  enum hr_granularity granularity)
{
    options.value = HR_INUSE_SPACE;
    hr_nodes_free(&nodes);
    hr_graph_free(&graph);
    CHECK_EQ(hr_nodes_make(model, granularity, &nodes), 0);
    CHECK_EQ(hr_graph_make(model, &nodes, &options, &graph), 0);
}

static const char *name(const struct hr_model *model, uint32_t row)
{
    return hr_string_text(model, nodes.nodes[graph.rows[row].node].name);
}

static const struct hr_row *row(const struct hr_model *model, const char *wanted)
{
    for (uint32_t i = 0; i < graph.count; i++)
        if (strcmp(name(model, i), wanted) == 0)
            return &graph.rows[i];
    test_fail(__FILE__, __LINE__, "no row %s", wanted);
}

TEST(recursion_counts_once_in_cum)
{
    struct hr_model *model = make_model();

    build(model, (struct hr_graph_options){0}, HR_FUNCTIONS);
    CHECK_EQ(graph.count, 5);
    CHECK_EQ(row(model, "work")->flat, 0);
    CHECK_EQ(row(model, "work")->cum, 2323);
    CHECK_EQ(row(model, "helper")->flat, 505);
    CHECK_EQ(row(model, "helper")->cum, 2525);
    CHECK_EQ(row(model, "main")->cum, 2626);
    CHECK_EQ(row(model, "leaf")->flat, 2020);
    hr_model_destroy(model);
}

TEST(rows_go_from_heavy_to_light_and_then_by_name)
{
    struct hr_model *model = make_model();

    build(model, (struct hr_graph_options){0}, HR_FUNCTIONS);
    CHECK_STR(name(model, 0), "leaf");
    CHECK_STR(name(model, 1), "helper");
    CHECK_STR(name(model, 2), "[libx.so]");
    CHECK_STR(name(model, 3), "main");
    CHECK_STR(name(model, 4), "work");
    build(model, (struct hr_graph_options){.cum_sort = true}, HR_FUNCTIONS);
    CHECK_STR(name(model, 0), "main");
    CHECK_STR(name(model, 1), "helper");
    CHECK_STR(name(model, 2), "work");
    hr_model_destroy(model);
}

TEST(inlined_calls_mark_the_callee)
{
    struct hr_model *model = make_model();

    build(model, (struct hr_graph_options){0}, HR_FUNCTIONS);
    CHECK_EQ(row(model, "helper")->inlined, HR_INLINED_SOMETIMES); /* once called by main */
    CHECK_EQ(row(model, "work")->inlined, HR_INLINED_NEVER);
    CHECK_EQ(row(model, "leaf")->inlined, HR_INLINED_NEVER);
    build(model, (struct hr_graph_options){.edge_fraction = 0.1}, HR_FUNCTIONS);
    CHECK_EQ(row(model, "helper")->inlined, HR_INLINED_ALWAYS);
    hr_model_destroy(model);
}

TEST(light_nodes_are_dropped_with_their_own_number)
{
    struct hr_model *model = make_model();

    build(model, (struct hr_graph_options){.node_fraction = 0.05}, HR_FUNCTIONS);
    CHECK_EQ(graph.count, 4); /* [libx.so] has 101 of 2626 */
    CHECK_EQ(graph.dropped, 1);
    CHECK_EQ(row(model, "main")->flat, 0); /* nobody inherits it */
    CHECK_EQ(row(model, "main")->cum, 2626);
    hr_model_destroy(model);
}

TEST(node_count_keeps_the_heaviest)
{
    struct hr_model *model = make_model();

    build(model, (struct hr_graph_options){.node_count = 2}, HR_FUNCTIONS);
    CHECK_EQ(graph.count, 2);
    CHECK_EQ(graph.full_count, 5);
    CHECK_STR(name(model, 0), "leaf");
    CHECK_EQ(graph.rows[0].flat, 2020);
    CHECK_STR(name(model, 1), "helper");
    hr_model_destroy(model);
}

TEST(lines_and_addresses_part_what_functions_join)
{
    struct hr_model *model = make_model();

    build(model, (struct hr_graph_options){0}, HR_LINES);
    CHECK_EQ(row(model, "helper src/app.c:28")->cum, 2323);
    CHECK_EQ(row(model, "helper src/app.c:60")->flat, 202);
    CHECK_EQ(row(model, "work src/app.c:29")->cum, 2323);
    build(model, (struct hr_graph_options){0}, HR_ADDRESSES);
    CHECK_EQ(row(model, "000000000000103f helper src/app.c:60")->flat, 202);
    CHECK_EQ(row(model, "0000000000009998 [libx.so]")->flat, 101);
    hr_model_destroy(model);
}

TEST(names_cannot_command_the_terminal)
{
    struct hr_model *model = make_model();

    fixture_name(model, 0x9999, "evil\033[2J", NULL);
    build(model, (struct hr_graph_options){0}, HR_FUNCTIONS);
    CHECK_EQ(row(model, "evil?[2J")->flat, 101);
    hr_model_destroy(model);
}

TEST(paths_are_shown_without_detours)
{
    static const char *const paths[][2] = {
        {"/a/./b//c.c", "/a/b/c.c"},
        {"/a/b/../c.c", "/a/c.c"},
        {"/../c.c", "/c.c"},
        {"../../x/../c.c", "../../c.c"},
        {"./c.c", "c.c"},
        {"a/../c.c", "c.c"},
        {"/a/b/..", "/a"},
        {"a../b./c.c", "a../b./c.c"},
    };

    for (size_t i = 0; i < XP_ARRAY_LENGTH(paths); i++) {
        struct hr_model *model = make_model();
        char wanted[64];

        fixture_name(model, 0x9999, "f", NULL);
        model->frames[model->frame_count - 1].file = fixture_string(model, paths[i][0]);
        build(model, (struct hr_graph_options){0}, HR_LINES);
        snprintf(wanted, sizeof(wanted), "f %s:21", paths[i][1]);
        CHECK_EQ(row(model, wanted)->flat, 101);
        hr_model_destroy(model);
    }
}

TEST(opposite_numbers_are_rows_while_they_do_not_cancel)
{
    struct hr_model *model = fixture_model("heap profile: 1: 1 [ 1: 1] @ heapprofile\n"
                                           "-2: -202 [0: 0] @ 0x1010 0x1030\n"
                                           "2: 202 [0: 0] @ 0x1020 0x1030\n");

    fixture_name(model, 0x1010, "a", NULL);
    fixture_name(model, 0x1020, "b", NULL);
    fixture_name(model, 0x1030, "main", NULL);
    build(model, (struct hr_graph_options){0}, HR_FUNCTIONS);
    CHECK_EQ(graph.count, 2);
    CHECK_EQ(row(model, "a")->flat, -202);
    hr_model_destroy(model);
}
