/* SPDX-License-Identifier: MIT */
/* cfi.c - .eh_frame in, one frame rule out. */
#include "capture/cfi.h"

#include <string.h>

#include "capture/cfi_expr.h"
#include "capture/cfi_read.h"

/* DWARF register numbers of x86-64. */
enum { REG_FP = 6, REG_SP = 7, REG_RA = 16 };

enum { FOLLOWED_FP, FOLLOWED_RA, FOLLOWED }; /* registers whose rules are kept */

#define REMEMBER_MAX 8          /* nested remember_state; compilers need 1 or 2 */
#define SCAN_MAX     (1u << 20) /* entries looked at when there is no search table */

enum rule_how {
    RULE_SAME,
    RULE_UNDEFINED,
    RULE_OFFSET,
    RULE_VAL_OFFSET,
    RULE_EXPRESSION,
    RULE_VAL_EXPRESSION,
    RULE_REGISTER
};

struct rule {
    uint8_t how;  /* enum rule_how */
    int64_t data; /* offset from the CFA, or the address of the expression's length */
};

struct row {
    struct rule cfa; /* RULE_OFFSET: reg + data; RULE_EXPRESSION */
    uint64_t cfa_reg;
    struct rule saved[FOLLOWED];
};

struct cie {
    uint64_t code_align;
    int64_t data_align;
    uint64_t ra_reg;
    uint8_t pointer_encoding; /* of the FDEs' addresses */
    bool has_augmentation_data, signal_frame;
    struct xp_cfi_reader program;
};

struct fde {
    struct cie cie;
    uintptr_t begin, end;
    struct xp_cfi_reader program;
};

/* Places the reader over the entry at address: after its length, up to its end. False for the
 * terminator and for garbage. */
static bool enter(const uint8_t *entry, const struct xp_cfi_bounds *bounds,
                  struct xp_cfi_reader *ret_reader)
{
    struct xp_cfi_reader reader;

    xp_cfi_reader_init(&reader, entry, bounds);
    uint64_t length = xp_cfi_read_fixed(&reader, 4);
    if (length == 0xffffffff)
        length = xp_cfi_read_fixed(&reader, 8);
    if (reader.bad || length < 4 || length > (uint64_t)(reader.end - reader.at))
        return false;
    reader.end = reader.at + length;
    *ret_reader = reader;
    return true;
}

static bool read_augmentation(struct xp_cfi_reader *reader, const char *letters, struct cie *cie)
{
    if (letters[0] == 0)
        return true;
    if (letters[0] != 'z')
        return false;
    uint64_t size = xp_cfi_read_uleb(reader);
    if (reader->bad || size > (uint64_t)(reader->end - reader->at))
        return false;
    const uint8_t *end = reader->at + size;
    bool known = true;
    cie->has_augmentation_data = true;
    for (const char *letter = letters + 1; known && *letter != 0; letter++) {
        uintptr_t unused;
        switch (*letter) {
        case 'R':
            cie->pointer_encoding = (uint8_t)xp_cfi_read_fixed(reader, 1);
            break;
        case 'P': {
            uint8_t encoding = (uint8_t)xp_cfi_read_fixed(reader, 1);
            /* The personality's address is often stored indirectly; only its size matters. */
            xp_cfi_read_pointer(reader, encoding & (uint8_t)~XP_PE_INDIRECT, 0, &unused);
            break;
        }
        case 'L':
            xp_cfi_read_fixed(reader, 1);
            break;
        case 'S':
            cie->signal_frame = true;
            break;
        case 'B': /* a flag of another architecture, without data */
            break;
        default:
            /* Its data, and all that follow, can be passed over: the size is known. */
            known = false;
            break;
        }
    }
    reader->at = end;
    return !reader->bad;
}

static bool read_cie(const uint8_t *entry, const struct xp_cfi_bounds *bounds, struct cie *ret_cie)
{
    struct xp_cfi_reader reader;
    struct cie cie = {.pointer_encoding = 0};

    if (!enter(entry, bounds, &reader) || xp_cfi_read_fixed(&reader, 4) != 0)
        return false;
    uint64_t version = xp_cfi_read_fixed(&reader, 1);
    const char *letters = xp_cfi_read_text(&reader);
    if (reader.bad || (version != 1 && version != 3 && version != 4))
        return false;
    if (version == 4)
        xp_cfi_read_fixed(&reader, 2); /* sizes of addresses and segment selectors */
    cie.code_align = xp_cfi_read_uleb(&reader);
    cie.data_align = xp_cfi_read_sleb(&reader);
    cie.ra_reg = version == 1 ? xp_cfi_read_fixed(&reader, 1) : xp_cfi_read_uleb(&reader);
    if (reader.bad || !read_augmentation(&reader, letters, &cie))
        return false;
    cie.program = reader;
    *ret_cie = cie;
    return true;
}

static bool read_fde(const uint8_t *entry, const struct xp_cfi_bounds *bounds, struct fde *ret_fde)
{
    struct xp_cfi_reader reader;

    if (!enter(entry, bounds, &reader))
        return false;
    const uint8_t *at = reader.at;
    uint64_t distance = xp_cfi_read_fixed(&reader, 4);
    if (distance == 0 || distance > (uint64_t)(at - bounds->low) ||
        !read_cie(at - distance, bounds, &ret_fde->cie))
        return false;

    uintptr_t size;
    uint8_t encoding = ret_fde->cie.pointer_encoding;
    if (!xp_cfi_read_pointer(&reader, encoding, 0, &ret_fde->begin) ||
        !xp_cfi_read_pointer(&reader, encoding & XP_PE_FORMAT, 0, &size))
        return false;
    ret_fde->end = ret_fde->begin + size;
    if (ret_fde->cie.has_augmentation_data) {
        uint64_t skip = xp_cfi_read_uleb(&reader);
        if (reader.bad || skip > (uint64_t)(reader.end - reader.at))
            return false;
        reader.at += skip;
    }
    ret_fde->program = reader;
    return !reader.bad && ret_fde->end >= ret_fde->begin;
}

/* ---- which entry ---- */

/* Without a search table: all entries in turn. */
static bool scan(const uint8_t *eh_frame, const struct xp_cfi_bounds *bounds, uintptr_t address,
                 struct fde *ret_fde)
{
    const uint8_t *entry = eh_frame;

    for (unsigned i = 0; i < SCAN_MAX; i++) {
        struct xp_cfi_reader reader;
        if (!enter(entry, bounds, &reader))
            return false;
        const uint8_t *next = reader.end;
        if (xp_cfi_read_fixed(&reader, 4) != 0 && read_fde(entry, bounds, ret_fde) &&
            address - ret_fde->begin < ret_fde->end - ret_fde->begin)
            return true;
        entry = next;
    }
    return false;
}

struct search_table {
    const uint8_t *rows; /* start address, entry address; sorted */
    size_t count, row_size;
    uint8_t encoding;
    uintptr_t header;
};

static bool table_row(const struct search_table *table, const struct xp_cfi_bounds *bounds,
                      size_t i, uintptr_t *ret_start, uintptr_t *ret_entry)
{
    struct xp_cfi_reader reader;

    xp_cfi_reader_init(&reader, table->rows + i * table->row_size, bounds);
    return xp_cfi_read_pointer(&reader, table->encoding, table->header, ret_start) &&
           xp_cfi_read_pointer(&reader, table->encoding, table->header, ret_entry);
}

/* The last row that starts at or below address. */
static bool search(const struct search_table *table, const struct xp_cfi_bounds *bounds,
                   uintptr_t address, uintptr_t *ret_entry)
{
    size_t low = 0, high = table->count;
    uintptr_t start, entry, best = 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (!table_row(table, bounds, middle, &start, &entry))
            return false;
        if (start <= address) {
            best = entry;
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *ret_entry = best;
    return best != 0;
}

static bool find_fde(const uint8_t *frame_header, const struct xp_cfi_bounds *bounds,
                     uintptr_t address, struct fde *ret_fde)
{
    struct xp_cfi_reader reader;
    uintptr_t eh_frame, count, entry;

    xp_cfi_reader_init(&reader, frame_header, bounds);
    uint64_t version = xp_cfi_read_fixed(&reader, 1);
    uint8_t frame_encoding = (uint8_t)xp_cfi_read_fixed(&reader, 1);
    uint8_t count_encoding = (uint8_t)xp_cfi_read_fixed(&reader, 1);
    struct search_table table = {.encoding = (uint8_t)xp_cfi_read_fixed(&reader, 1),
                                 .header = (uintptr_t)frame_header};
    if (reader.bad || version != 1 ||
        !xp_cfi_read_pointer(&reader, frame_encoding, table.header, &eh_frame))
        return false;

    size_t word = xp_cfi_pointer_size(table.encoding);
    if (count_encoding == XP_PE_OMIT || word == 0)
        return scan((const uint8_t *)eh_frame, bounds, address, ret_fde);
    if (!xp_cfi_read_pointer(&reader, count_encoding, table.header, &count))
        return false;
    table.rows = reader.at;
    table.row_size = 2 * word;
    table.count = count;
    if (count > (size_t)(reader.end - reader.at) / table.row_size)
        return false;
    return search(&table, bounds, address, &entry) &&
           read_fde((const uint8_t *)entry, bounds, ret_fde) && address >= ret_fde->begin &&
           address < ret_fde->end;
}

/* ---- the program ---- */

struct machine {
    const struct cie *cie;
    struct row row;
    struct row initial; /* after the CIE's part: what restore goes back to */
    struct row remembered[REMEMBER_MAX];
    unsigned depth;
    uintptr_t location, address; /* rows begin at location; the wanted one holds address */
};

static void set_rule(struct machine *machine, uint64_t reg, enum rule_how how, int64_t data)
{
    struct rule rule = {(uint8_t)how, data};

    if (reg == REG_FP)
        machine->row.saved[FOLLOWED_FP] = rule;
    else if (reg == machine->cie->ra_reg)
        machine->row.saved[FOLLOWED_RA] = rule;
}

static void restore_rule(struct machine *machine, uint64_t reg)
{
    if (reg == REG_FP)
        machine->row.saved[FOLLOWED_FP] = machine->initial.saved[FOLLOWED_FP];
    else if (reg == machine->cie->ra_reg)
        machine->row.saved[FOLLOWED_RA] = machine->initial.saved[FOLLOWED_RA];
}

static void set_cfa(struct machine *machine, uint64_t reg, int64_t offset)
{
    machine->row.cfa = (struct rule){RULE_OFFSET, offset};
    machine->row.cfa_reg = reg;
}

/* An expression is kept as the address of its length. */
static int64_t take_block(struct xp_cfi_reader *reader)
{
    const uint8_t *at = reader->at;
    uint64_t size = xp_cfi_read_uleb(reader);

    if (reader->bad || size > (uint64_t)(reader->end - reader->at)) {
        reader->bad = true;
        return 0;
    }
    reader->at += size;
    return (int64_t)(uintptr_t)at;
}

static int64_t take_scaled(struct machine *machine, struct xp_cfi_reader *reader, bool is_signed)
{
    uint64_t factor = is_signed ? (uint64_t)xp_cfi_read_sleb(reader) : xp_cfi_read_uleb(reader);
    return (int64_t)(factor * (uint64_t)machine->cie->data_align);
}

/* The instructions whose low six bits are the opcode. False: not known, or not possible. */
static bool extended(struct machine *machine, struct xp_cfi_reader *reader, uint8_t opcode)
{
    uint64_t reg;

    switch (opcode) {
    case 0x00: /* nop */
        return true;
    case 0x01: { /* set_loc */
        uintptr_t location;
        if (!xp_cfi_read_pointer(reader, machine->cie->pointer_encoding, 0, &location))
            return false;
        machine->location = location;
        return true;
    }
    case 0x02: /* advance_loc1 */
        machine->location += xp_cfi_read_fixed(reader, 1) * machine->cie->code_align;
        return true;
    case 0x03: /* advance_loc2 */
        machine->location += xp_cfi_read_fixed(reader, 2) * machine->cie->code_align;
        return true;
    case 0x04: /* advance_loc4 */
        machine->location += xp_cfi_read_fixed(reader, 4) * machine->cie->code_align;
        return true;
    case 0x05: /* offset_extended */
    case 0x11: /* offset_extended_sf */
        reg = xp_cfi_read_uleb(reader);
        set_rule(machine, reg, RULE_OFFSET, take_scaled(machine, reader, opcode == 0x11));
        return true;
    case 0x06: /* restore_extended */
        restore_rule(machine, xp_cfi_read_uleb(reader));
        return true;
    case 0x07: /* undefined */
        set_rule(machine, xp_cfi_read_uleb(reader), RULE_UNDEFINED, 0);
        return true;
    case 0x08: /* same_value */
        set_rule(machine, xp_cfi_read_uleb(reader), RULE_SAME, 0);
        return true;
    case 0x09: /* register */
        reg = xp_cfi_read_uleb(reader);
        set_rule(machine, reg, RULE_REGISTER, (int64_t)xp_cfi_read_uleb(reader));
        return true;
    case 0x0a: /* remember_state */
        if (machine->depth == REMEMBER_MAX)
            return false;
        machine->remembered[machine->depth++] = machine->row;
        return true;
    case 0x0b: /* restore_state: the CFA too */
        if (machine->depth == 0)
            return false;
        machine->row = machine->remembered[--machine->depth];
        return true;
    case 0x0c: /* def_cfa */
    case 0x12: /* def_cfa_sf */
        reg = xp_cfi_read_uleb(reader);
        set_cfa(machine, reg,
                opcode == 0x12 ? take_scaled(machine, reader, true)
                               : (int64_t)xp_cfi_read_uleb(reader));
        return true;
    case 0x0d: /* def_cfa_register */
        machine->row.cfa_reg = xp_cfi_read_uleb(reader);
        return machine->row.cfa.how == RULE_OFFSET;
    case 0x0e: /* def_cfa_offset */
        machine->row.cfa.data = (int64_t)xp_cfi_read_uleb(reader);
        return machine->row.cfa.how == RULE_OFFSET;
    case 0x13: /* def_cfa_offset_sf */
        machine->row.cfa.data = take_scaled(machine, reader, true);
        return machine->row.cfa.how == RULE_OFFSET;
    case 0x0f: /* def_cfa_expression */
        machine->row.cfa = (struct rule){RULE_EXPRESSION, take_block(reader)};
        return true;
    case 0x10: /* expression */
    case 0x16: /* val_expression */
        reg = xp_cfi_read_uleb(reader);
        set_rule(machine, reg, opcode == 0x10 ? RULE_EXPRESSION : RULE_VAL_EXPRESSION,
                 take_block(reader));
        return true;
    case 0x14: /* val_offset */
    case 0x15: /* val_offset_sf */
        reg = xp_cfi_read_uleb(reader);
        set_rule(machine, reg, RULE_VAL_OFFSET, take_scaled(machine, reader, opcode == 0x15));
        return true;
    case 0x2e: /* GNU_args_size */
        xp_cfi_read_uleb(reader);
        return true;
    case 0x2f: /* GNU_negative_offset_extended */
        reg = xp_cfi_read_uleb(reader);
        set_rule(machine, reg, RULE_OFFSET, -take_scaled(machine, reader, false));
        return true;
    default:
        return false;
    }
}

/* Runs until the row of the address is complete. False when something cannot be understood. */
static bool run(struct machine *machine, struct xp_cfi_reader program)
{
    while (program.at < program.end && machine->location <= machine->address) {
        uint8_t opcode = (uint8_t)xp_cfi_read_fixed(&program, 1);
        uint8_t low = opcode & 0x3f;
        switch (opcode >> 6) {
        case 0:
            if (!extended(machine, &program, low))
                return false;
            break;
        case 1: /* advance_loc */
            machine->location += low * machine->cie->code_align;
            break;
        case 2: /* offset */
            set_rule(machine, low, RULE_OFFSET, take_scaled(machine, &program, false));
            break;
        default: /* restore */
            restore_rule(machine, low);
            break;
        }
        if (program.bad)
            return false;
    }
    return true;
}

/* ---- from the row to the rule ---- */

static bool fits(int64_t offset)
{
    return offset >= INT32_MIN && offset <= INT32_MAX;
}

static bool evaluate(const struct rule *rule, const struct xp_cfi_bounds *bounds, uintptr_t address,
                     bool push_cfa, struct xp_cfi_value *ret_value)
{
    struct xp_cfi_reader reader;

    xp_cfi_reader_init(&reader, (const uint8_t *)(uintptr_t)rule->data, bounds);
    uint64_t size = xp_cfi_read_uleb(&reader);
    if (reader.bad || size > (uint64_t)(reader.end - reader.at))
        return false;
    reader.end = reader.at + size;
    return xp_cfi_evaluate(&reader, address, push_cfa, ret_value) && fits(ret_value->number);
}

static struct xp_cfi_place place_of(const struct rule *rule, const struct xp_cfi_bounds *bounds,
                                    uintptr_t address)
{
    struct xp_cfi_place place = {.how = XP_CFI_UNKNOWN};
    struct xp_cfi_value value;

    switch (rule->how) {
    case RULE_SAME:
        place.how = XP_CFI_SAME;
        break;
    case RULE_OFFSET:
    case RULE_VAL_OFFSET:
        if (fits(rule->data))
            place =
                (struct xp_cfi_place){.how = rule->how == RULE_OFFSET ? XP_CFI_SAVED : XP_CFI_VALUE,
                                      .base = XP_CFI_CFA,
                                      .offset = (int32_t)rule->data};
        break;
    case RULE_EXPRESSION:
    case RULE_VAL_EXPRESSION: {
        /* An expression names the place, a val_expression the value: one load less. */
        bool is_value = rule->how == RULE_VAL_EXPRESSION;
        if (!evaluate(rule, bounds, address, true, &value) || value.kind == XP_CFI_NUMBER ||
            (value.kind == XP_CFI_LOADED && !is_value))
            break;
        place = (struct xp_cfi_place){
            .how = is_value && value.kind == XP_CFI_ADDRESS ? XP_CFI_VALUE : XP_CFI_SAVED,
            .base = value.base,
            .offset = (int32_t)value.number};
        break;
    }
    default:
        break;
    }
    return place;
}

static bool cfa_of(const struct row *row, const struct xp_cfi_bounds *bounds, uintptr_t address,
                   struct xp_cfi_rule *rule)
{
    struct xp_cfi_value value;

    if (row->cfa.how == RULE_OFFSET) {
        if ((row->cfa_reg != REG_SP && row->cfa_reg != REG_FP) || !fits(row->cfa.data))
            return false;
        rule->cfa_base = row->cfa_reg == REG_SP ? XP_CFI_SP : XP_CFI_FP;
        rule->cfa_offset = (int32_t)row->cfa.data;
        return true;
    }
    if (row->cfa.how != RULE_EXPRESSION || !evaluate(&row->cfa, bounds, address, false, &value) ||
        value.kind == XP_CFI_NUMBER || value.base == XP_CFI_CFA)
        return false;
    rule->cfa_base = value.base;
    rule->cfa_offset = (int32_t)value.number;
    rule->cfa_load = value.kind == XP_CFI_LOADED;
    return true;
}

void xp_cfi_find(const uint8_t *frame_header, const struct xp_cfi_bounds *bounds, uintptr_t address,
                 struct xp_cfi_rule *ret_rule)
{
    struct fde fde;
    struct machine machine;

    *ret_rule = (struct xp_cfi_rule){.kind = XP_CFI_NONE};
    if (!find_fde(frame_header, bounds, address, &fde))
        return;

    machine.cie = &fde.cie;
    memset(&machine.row, 0, sizeof(machine.row));
    memset(&machine.initial, 0, sizeof(machine.initial));
    machine.depth = 0;
    machine.address = address;
    machine.location = 0;
    ret_rule->kind = XP_CFI_UNSUPPORTED;
    ret_rule->signal_frame = fde.cie.signal_frame;
    if (!run(&machine, fde.cie.program))
        return;
    machine.initial = machine.row;
    machine.depth = 0;
    machine.location = fde.begin;
    if (!run(&machine, fde.program))
        return;

    const struct rule *ra = &machine.row.saved[FOLLOWED_RA];
    if (ra->how == RULE_UNDEFINED) {
        ret_rule->kind = XP_CFI_END;
        return;
    }
    ret_rule->ra = place_of(ra, bounds, address);
    ret_rule->fp = place_of(&machine.row.saved[FOLLOWED_FP], bounds, address);
    if (ret_rule->ra.how != XP_CFI_SAVED || !cfa_of(&machine.row, bounds, address, ret_rule))
        return;
    ret_rule->kind = XP_CFI_STEP;
}

bool xp_cfi_begins(const uint8_t *frame_header, const struct xp_cfi_bounds *bounds,
                   uintptr_t address)
{
    struct fde fde;

    return find_fde(frame_header, bounds, address, &fde) && fde.begin == address;
}
