/* Are these bytes what they were? CRC-32 with zlib's polynomial. */
#ifndef DRV_CHECKSUM_H
#define DRV_CHECKSUM_H

#include <stdint.h>

/* What each byte adds, for each of eight places: made when it is needed, which takes a few microseconds, so that the
 * library keeps no tables. */
typedef struct drv_checksum {
    uint32_t change[8][256];
} drv_checksum;

void drv_checksum_prepare(drv_checksum *checksum);

/* Of the bytes that had `before` and then these; 0 before the first. */
uint32_t drv_checksum_of(const drv_checksum *checksum, uint32_t before, const uint8_t *bytes, uint64_t count);

#endif
