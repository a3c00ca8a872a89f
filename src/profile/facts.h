/* SPDX-License-Identifier: MIT */
/* facts.h - the '#' lines of a dump: what the process and the profiler can say of themselves.
 *
 * Layer profile; uses base, format, capture, core. ../../pprof-compat/FORMAT.md says what each line
 * means. */
#ifndef XP_PROFILE_FACTS_H
#define XP_PROFILE_FACTS_H

#include "base/out.h"

struct xp_facts {
    uint64_t run; /* one number for all dumps of a process */
    uint64_t start_time_ns;
    uint64_t sequence; /* of this dump, from 1 */
    const char *command;
    const char *unwinder;
    const char *reason;
};

void xp_facts_write(struct xp_out *out, const struct xp_facts *facts);

#endif
