/* SPDX-License-Identifier: MIT */
/* cfi_expr.c - DWARF expressions, as far as frames use them. */
#include "capture/cfi_expr.h"

#define STACK_MAX 16
#define STEPS_MAX 256 /* garbage may loop */

struct stack {
    struct xp_cfi_value values[STACK_MAX];
    unsigned depth;
    bool bad;
};

static void push(struct stack *stack, struct xp_cfi_value value)
{
    if (stack->depth == STACK_MAX)
        stack->bad = true;
    else
        stack->values[stack->depth++] = value;
}

static void push_number(struct stack *stack, uint64_t number)
{
    push(stack, (struct xp_cfi_value){.kind = XP_CFI_NUMBER, .number = (int64_t)number});
}

static struct xp_cfi_value pop(struct stack *stack)
{
    if (stack->depth == 0) {
        stack->bad = true;
        return (struct xp_cfi_value){.kind = XP_CFI_NUMBER};
    }
    return stack->values[--stack->depth];
}

/* The value below the top by index; 0 is the top. */
static void push_copy(struct stack *stack, unsigned index)
{
    if (index >= stack->depth)
        stack->bad = true;
    else
        push(stack, stack->values[stack->depth - 1 - index]);
}

static void push_register(struct stack *stack, unsigned reg, int64_t offset, uintptr_t pc)
{
    struct xp_cfi_value value = {.kind = XP_CFI_ADDRESS, .number = offset};

    switch (reg) {
    case 6:
        value.base = XP_CFI_FP;
        break;
    case 7:
        value.base = XP_CFI_SP;
        break;
    case 16:
        value.kind = XP_CFI_NUMBER;
        value.number = (int64_t)(pc + (uint64_t)offset);
        break;
    default:
        stack->bad = true;
        break;
    }
    push(stack, value);
}

static void load(struct stack *stack)
{
    struct xp_cfi_value value = pop(stack);

    if (value.kind != XP_CFI_ADDRESS)
        stack->bad = true;
    value.kind = XP_CFI_LOADED;
    push(stack, value);
}

static void add(struct stack *stack, struct xp_cfi_value a, struct xp_cfi_value b)
{
    if (a.kind == XP_CFI_NUMBER && b.kind != XP_CFI_NUMBER) {
        struct xp_cfi_value swap = a;
        a = b;
        b = swap;
    }
    if (a.kind == XP_CFI_LOADED || b.kind != XP_CFI_NUMBER)
        stack->bad = true;
    a.number = (int64_t)((uint64_t)a.number + (uint64_t)b.number);
    push(stack, a);
}

static void binary(struct stack *stack, uint8_t opcode)
{
    struct xp_cfi_value right = pop(stack), left = pop(stack);
    uint64_t a = (uint64_t)left.number, b = (uint64_t)right.number, result = 0;
    int64_t sa = left.number, sb = right.number;

    if (opcode == 0x22) { /* plus */
        add(stack, left, right);
        return;
    }
    if (opcode == 0x1c && right.kind == XP_CFI_NUMBER) { /* minus */
        right.number = (int64_t)(0 - b);
        add(stack, left, right);
        return;
    }
    if (left.kind != XP_CFI_NUMBER || right.kind != XP_CFI_NUMBER) {
        stack->bad = true;
        return;
    }
    switch (opcode) {
    case 0x1a:
        result = a & b;
        break;
    case 0x1e:
        result = a * b;
        break;
    case 0x21:
        result = a | b;
        break;
    case 0x24:
        result = b < 64 ? a << b : 0;
        break;
    case 0x25:
        result = b < 64 ? a >> b : 0;
        break;
    case 0x26:
        result = (uint64_t)(sa >> (b < 64 ? b : 63));
        break;
    case 0x27:
        result = a ^ b;
        break;
    case 0x29:
        result = sa == sb;
        break;
    case 0x2a:
        result = sa >= sb;
        break;
    case 0x2b:
        result = sa > sb;
        break;
    case 0x2c:
        result = sa <= sb;
        break;
    case 0x2d:
        result = sa < sb;
        break;
    case 0x2e:
        result = sa != sb;
        break;
    default: /* division and remainder: no frame needs them */
        stack->bad = true;
        break;
    }
    push_number(stack, result);
}

/* bra and skip: forward only, inside the expression. */
static void jump(struct xp_cfi_reader *reader, struct stack *stack, bool always)
{
    int16_t distance = (int16_t)xp_cfi_read_fixed(reader, 2);

    if (!always) {
        struct xp_cfi_value condition = pop(stack);
        if (condition.kind != XP_CFI_NUMBER)
            stack->bad = true;
        if (condition.number == 0)
            return;
    }
    if (distance < 0 || distance > reader->end - reader->at)
        stack->bad = true;
    else
        reader->at += distance;
}

static void constant(struct xp_cfi_reader *reader, struct stack *stack, uint8_t opcode)
{
    switch (opcode) {
    case 0x08:
        push_number(stack, xp_cfi_read_fixed(reader, 1));
        break;
    case 0x09:
        push_number(stack, (uint64_t)(int8_t)xp_cfi_read_fixed(reader, 1));
        break;
    case 0x0a:
        push_number(stack, xp_cfi_read_fixed(reader, 2));
        break;
    case 0x0b:
        push_number(stack, (uint64_t)(int16_t)xp_cfi_read_fixed(reader, 2));
        break;
    case 0x0c:
        push_number(stack, xp_cfi_read_fixed(reader, 4));
        break;
    case 0x0d:
        push_number(stack, (uint64_t)(int32_t)xp_cfi_read_fixed(reader, 4));
        break;
    case 0x03: /* addr */
    case 0x0e:
    case 0x0f:
        push_number(stack, xp_cfi_read_fixed(reader, 8));
        break;
    case 0x10:
        push_number(stack, xp_cfi_read_uleb(reader));
        break;
    default:
        push_number(stack, (uint64_t)xp_cfi_read_sleb(reader));
        break;
    }
}

static void shuffle(struct xp_cfi_reader *reader, struct stack *stack, uint8_t opcode)
{
    switch (opcode) {
    case 0x12: /* dup */
        push_copy(stack, 0);
        break;
    case 0x13: /* drop */
        pop(stack);
        break;
    case 0x14: /* over */
        push_copy(stack, 1);
        break;
    case 0x15: /* pick */
        push_copy(stack, (unsigned)xp_cfi_read_fixed(reader, 1));
        break;
    case 0x16: { /* swap */
        struct xp_cfi_value top = pop(stack), next = pop(stack);
        push(stack, top);
        push(stack, next);
        break;
    }
    default: { /* rot */
        struct xp_cfi_value top = pop(stack), second = pop(stack), third = pop(stack);
        push(stack, top);
        push(stack, third);
        push(stack, second);
        break;
    }
    }
}

static void step(struct xp_cfi_reader *reader, struct stack *stack, uintptr_t pc)
{
    uint8_t opcode = (uint8_t)xp_cfi_read_fixed(reader, 1);

    if (opcode == 0x03 || (opcode >= 0x08 && opcode <= 0x11)) {
        constant(reader, stack, opcode);
    } else if (opcode >= 0x30 && opcode <= 0x4f) { /* lit0..31 */
        push_number(stack, opcode - 0x30u);
    } else if (opcode >= 0x70 && opcode <= 0x8f) { /* breg0..31 */
        push_register(stack, opcode - 0x70u, xp_cfi_read_sleb(reader), pc);
    } else if (opcode >= 0x12 && opcode <= 0x17) {
        shuffle(reader, stack, opcode);
    } else if (opcode == 0x06) {
        load(stack);
    } else if (opcode == 0x23) { /* plus_uconst */
        push_number(stack, xp_cfi_read_uleb(reader));
        binary(stack, 0x22);
    } else if (opcode == 0x28 || opcode == 0x2f) {
        jump(reader, stack, opcode == 0x2f);
    } else if (opcode >= 0x1a && opcode <= 0x2e && opcode != 0x1f && opcode != 0x20) {
        binary(stack, opcode);
    } else if (opcode == 0x1f || opcode == 0x20) { /* neg, not */
        struct xp_cfi_value value = pop(stack);
        if (value.kind != XP_CFI_NUMBER)
            stack->bad = true;
        push_number(stack, opcode == 0x1f ? 0 - (uint64_t)value.number : ~(uint64_t)value.number);
    } else if (opcode != 0x96) { /* nop */
        stack->bad = true;
    }
}

bool xp_cfi_evaluate(struct xp_cfi_reader *reader, uintptr_t pc, bool push_cfa,
                     struct xp_cfi_value *ret_value)
{
    struct stack stack = {.depth = 0};

    if (push_cfa)
        push(&stack, (struct xp_cfi_value){.kind = XP_CFI_ADDRESS, .base = XP_CFI_CFA});
    for (unsigned i = 0; reader->at < reader->end; i++) {
        step(reader, &stack, pc);
        if (stack.bad || reader->bad || i == STEPS_MAX)
            return false;
    }
    if (stack.depth == 0)
        return false;
    *ret_value = stack.values[stack.depth - 1];
    return true;
}
