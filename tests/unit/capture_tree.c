/* SPDX-License-Identifier: MIT */
#include "capture/tree.h"

#include <errno.h>
#include <pthread.h>

#include "base/os.h"
#include "capture/capture.h"
#include "test.h"

static void start(void)
{
    static bool done;
    struct xp_capture_options options = {.nodes_max = 300007};

    if (!done)
        CHECK_EQ(xp_capture_init(&options), 0);
    done = true;
}

/* Numbers that no module uses, and that differ in every call. */
static uintptr_t fresh_pc(void)
{
    static uintptr_t next = 0x10000000;
    return next += 23;
}

static xp_node child(xp_node parent, uintptr_t pc)
{
    bool full = false;
    xp_node node = xp_tree_child(parent, pc, &full);
    CHECK(!full);
    return node;
}

TEST(a_stack_has_one_id_and_gives_its_frames_back_leaf_first)
{
    uintptr_t pcs[4] = {0}, a = fresh_pc(), b = fresh_pc(), c = fresh_pc();

    start();
    xp_node outer = child(XP_NODE_ROOT, a), middle = child(outer, b), inner = child(middle, c);
    CHECK(outer != middle && middle != inner && inner > XP_NODE_NESTED);
    CHECK_EQ(child(child(child(XP_NODE_ROOT, a), b), c), inner);
    CHECK_EQ(xp_tree_pcs(inner, pcs, 4), 3);
    CHECK(pcs[0] == c && pcs[1] == b && pcs[2] == a && pcs[3] == 0);
    CHECK_EQ(xp_tree_pcs(inner, pcs, 2), 2);
    CHECK(pcs[0] == c && pcs[1] == b);
    CHECK(inner < xp_tree_nodes());
}

TEST(the_same_frame_under_two_parents_is_two_nodes)
{
    uintptr_t a = fresh_pc(), b = fresh_pc();

    start();
    CHECK(child(child(XP_NODE_ROOT, a), b) != child(XP_NODE_ROOT, b));
    CHECK(child(child(XP_NODE_ROOT, a), a) != child(XP_NODE_ROOT, a));
}

TEST(the_empty_stack_has_no_frames_and_the_nested_one_has_its_mark)
{
    uintptr_t pc = 0;

    start();
    CHECK_EQ(xp_tree_pcs(XP_NODE_ROOT, &pc, 1), 0);
    CHECK_EQ(xp_tree_pcs(XP_NODE_NESTED, &pc, 1), 1);
    CHECK_EQ(pc, XP_NESTED_PC);
    CHECK_EQ(xp_tree_pcs(299999, &pc, 1), 0);
}

TEST(ids_are_dense_and_parents_come_first)
{
    start();
    size_t before = xp_tree_nodes();
    xp_node node = XP_NODE_ROOT;
    for (int i = 0; i < 1009; i++) {
        xp_node next = child(node, fresh_pc());
        CHECK(next > node);
        node = next;
    }
    CHECK_EQ(xp_tree_nodes() - before, 1009);
}

#define THREADS 4
#define CHAINS  1511

static struct {
    uintptr_t first_pc;
    pthread_barrier_t barrier;
    xp_node leaf[THREADS][CHAINS];
} race;

/* A segment that another thread maps is waited for no longer than 20 ms, which a busy machine may
 * take: then again. */
static xp_node insert_chain(size_t i)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        bool full = false;
        xp_node node = xp_tree_child(XP_NODE_ROOT, race.first_pc + i % 7, &full);

        node = xp_tree_child(node, race.first_pc + i, &full);
        node = xp_tree_child(node, race.first_pc + 3 * i, &full);
        if (!full)
            return node;
    }
    return 0;
}

static void *insert_chains(void *arg)
{
    size_t me = (size_t)arg;

    pthread_barrier_wait(&race.barrier);
    for (size_t i = 0; i < CHAINS; i++)
        race.leaf[me][i] = insert_chain(i);
    return NULL;
}

TEST(threads_that_meet_the_same_stacks_get_the_same_ids)
{
    pthread_t threads[THREADS];

    start();
    race.first_pc = 0x20000000;
    pthread_barrier_init(&race.barrier, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, insert_chains, (void *)i), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < CHAINS; i++) {
        uintptr_t pcs[4];
        CHECK(race.leaf[0][i] != 0);
        for (size_t t = 1; t < THREADS; t++)
            CHECK_EQ(race.leaf[t][i], race.leaf[0][i]);
        CHECK_EQ(xp_tree_pcs(race.leaf[0][i], pcs, 4), 3);
        CHECK_EQ(pcs[0], race.first_pc + 3 * i);
        CHECK_EQ(pcs[1], race.first_pc + i);
        CHECK_EQ(pcs[2], race.first_pc + i % 7);
    }
}

/* The next two use up what the tree has left, so they come last. */
TEST(without_memory_the_parent_is_charged_and_later_inserts_go_on)
{
    start();
    xp_node parent = child(XP_NODE_ROOT, fresh_pc());
    bool full = false;
    uintptr_t first = fresh_pc() + 0x1000000;

    xp_os_fault_every(1, 1u << XP_OS_MAP, ENOMEM);
    uintptr_t pc = first;
    while (!full && pc - first < 200000) {
        xp_node node = xp_tree_child(parent, pc++, &full);
        CHECK(full == (node == parent));
    }
    xp_os_fault_every(0, 0, 0);
    CHECK(full);
    CHECK(child(parent, pc) != parent);
    CHECK(child(parent, first) != parent);
}

TEST(a_full_tree_charges_the_parent_and_still_finds_what_it_has)
{
    start();
    uintptr_t known_pc = fresh_pc();
    xp_node known = child(XP_NODE_ROOT, known_pc);
    bool full = false;

    /* Nearly all children of a chain, so that pcs do not run out first. */
    xp_node parent = known;
    while (!full && xp_tree_nodes() < 400000)
        parent = xp_tree_child(parent, known_pc, &full);
    CHECK(full);
    CHECK_EQ(xp_tree_nodes(), 300007);
    full = false;
    CHECK_EQ(xp_tree_child(known, fresh_pc(), &full), known);
    CHECK(full);
    CHECK_EQ(child(XP_NODE_ROOT, known_pc), known);
}
