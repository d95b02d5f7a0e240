/* What is the checksum of some bytes? CRC-32 with zlib's polynomial. */
#ifndef DRV_CHECKSUM_H
#define DRV_CHECKSUM_H

#include <stdint.h>

/* The tables of slicing-by-8: entry [p][b] is the CRC of byte b followed by p zero bytes, without the inversions at the
 * ends. Computed for each file, in a few microseconds, so that the core has no mutable globals. */
typedef struct drv_checksum {
    uint32_t table[8][256];
} drv_checksum;

void drv_checksum_prepare(drv_checksum *checksum);

/* Returns the checksum of all bytes so far: `before` is that of the bytes before these, 0 if there are none. */
uint32_t drv_checksum_of(const drv_checksum *checksum, uint32_t before, const uint8_t *bytes, uint64_t count);

#endif
