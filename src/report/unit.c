/* SPDX-License-Identifier: MIT */
/* unit.c - numbers as pprof writes them: the same scale, digits and padding. */
#include "report/unit.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *label; /* as printed */
    const char *names; /* as asked for, lower case, without a plural s; blank separated */
    double factor;
} units[HR_UNITS] = {
    [HR_UNIT_MINIMUM] = {"", "minimum", 0},
    [HR_UNIT_AUTO] = {"", "auto", 0},
    [HR_UNIT_B] = {"B", "b byte", 1},
    [HR_UNIT_KB] = {"kB", "kb kbyte kilobyte", 1024.0},
    [HR_UNIT_MB] = {"MB", "mb mbyte megabyte", 1048576.0},
    [HR_UNIT_GB] = {"GB", "gb gbyte gigabyte", 1073741824.0},
    [HR_UNIT_TB] = {"TB", "tb tbyte terabyte", 1099511627776.0},
    [HR_UNIT_PB] = {"PB", "pb pbyte petabyte", 1125899906842624.0},
};

static bool is_listed(const char *names, const char *name, size_t length)
{
    while (*names) {
        size_t n = strcspn(names, " ");

        if (n == length && strncasecmp(names, name, n) == 0)
            return true;
        names += n + (names[n] == ' ');
    }
    return false;
}

enum hr_unit hr_unit_find(const char *name)
{
    size_t length = strlen(name);

    if (length > 2 && tolower((unsigned char)name[length - 1]) == 's')
        length--;
    for (int unit = 0; unit < HR_UNITS; unit++)
        if (is_listed(units[unit].names, name, length))
            return (enum hr_unit)unit;
    return HR_UNITS;
}

enum hr_unit hr_unit_of(int64_t bytes)
{
    double size = fabs((double)bytes);
    enum hr_unit unit = HR_UNIT_B;

    while (unit + 1 < HR_UNITS && size >= units[unit + 1].factor)
        unit++;
    return unit;
}

const char *hr_format_value(char *buffer, int64_t value, enum hr_dimension dimension,
                            enum hr_unit unit)
{
    const char *label = "";
    double scaled = (double)value;

    if (dimension == HR_BYTES) {
        if (unit == HR_UNIT_MINIMUM || unit == HR_UNIT_AUTO)
            unit = hr_unit_of(value);
        label = units[unit].label;
        scaled /= units[unit].factor;
    }

    int length = snprintf(buffer, HR_NUMBER_SIZE, "%.2f", scaled);

    if (length > 3 && strcmp(buffer + length - 3, ".00") == 0)
        buffer[length -= 3] = 0;
    if (strcmp(buffer, "0") == 0 || strcmp(buffer, "-0") == 0)
        return strcpy(buffer, "0");
    snprintf(buffer + length, HR_NUMBER_SIZE - (size_t)length, "%s", label);
    return buffer;
}

const char *hr_format_percent(char *buffer, int64_t value, int64_t total)
{
    double ratio = total ? fabs((double)value / (double)total) * 100 : 0;

    if (ratio >= 99.95 && ratio <= 100.05)
        return strcpy(buffer, "  100%");
    snprintf(buffer, HR_NUMBER_SIZE, ratio >= 1 ? "%5.2f%%" : "%5.2g%%", ratio);
    return buffer;
}
