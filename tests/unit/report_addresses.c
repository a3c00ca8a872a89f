/* SPDX-License-Identifier: MIT */
#include "report/addresses.h"

#include "test.h"

TEST(the_first_address_from_a_value_on_is_found)
{
    static const uint64_t addresses[] = {23, 101, 101, 101, 409, UINT64_MAX};

    CHECK_EQ(hr_addresses_first_from(addresses, 6, 0), 0);
    CHECK_EQ(hr_addresses_first_from(addresses, 6, 23), 0);
    CHECK_EQ(hr_addresses_first_from(addresses, 6, 24), 1);
    CHECK_EQ(hr_addresses_first_from(addresses, 6, 101), 1);
    CHECK_EQ(hr_addresses_first_from(addresses, 6, 102), 4);
    CHECK_EQ(hr_addresses_first_from(addresses, 6, UINT64_MAX), 5);
    CHECK_EQ(hr_addresses_first_from(addresses, 5, 410), 5);
    CHECK_EQ(hr_addresses_first_from(addresses, 0, 23), 0);
}
