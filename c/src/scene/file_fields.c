/* Is every number of a scene file's header, or of an entry of its table, within its range? */
#include <stdio.h>
#include <string.h>

#include "scene/file_reader.h"

/* A number of one of the types of the lists: u2, u4, u8, i4 or f8. */
static double field_value(const uint8_t *at, const char *type) {
    uint64_t whole = 0;
    memcpy(&whole, at, (size_t)(type[1] - '0')); /* the low bytes come first */
    double value;
    memcpy(&value, &whole, sizeof value);
    switch (type[0]) {
    case 'f': return value;
    case 'i': return (double)(int32_t)(uint32_t)whole;
    default: return (double)whole;
    }
}

drv_status drv_file_check_fields(const drv_file_reader *in, const char *part, const drv_file_field *fields,
                                 int32_t count, uint64_t first) {
    for (int32_t i = 0; i < count; i++) {
        const uint64_t at = first + (uint64_t)fields[i].offset;
        if (fields[i].type[0] == 'S') continue;
        const double value = field_value(in->bytes + at, fields[i].type);
        if (value >= fields[i].low && value <= fields[i].high) continue;
        char range[64] = "finite";
        if (fields[i].high < FILE_FINITE)
            snprintf(range, sizeof range, "%.16g to %.16g", fields[i].low, fields[i].high);
        return REFUSE(in, "%s: %s at byte %llu is %.17g; it must be %s", part, fields[i].name, (unsigned long long)at,
                      value, range);
    }
    return DRV_OK;
}
