/* SPDX-License-Identifier: MIT */
/* addresses.h - sorted addresses that are asked for: where among them a function begins.
 *
 * Layer report. Inline: asked once per symbol of a file and per range of its debug information. */
#ifndef HR_REPORT_ADDRESSES_H
#define HR_REPORT_ADDRESSES_H

#include <stdint.h>

/* The first index whose address is >= value; count when there is none. addresses ascend. */
static inline uint32_t hr_addresses_first_from(const uint64_t *addresses, uint32_t count,
                                               uint64_t value)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (addresses[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
