/* What is the checksum of bytes? CRC-32 with zlib's polynomial. */
#ifndef DRV_CHECKSUM_H
#define DRV_CHECKSUM_H

#include <stdint.h>

/* The change of the checksum by each byte, at each of eight positions. Computed for every file, in a few microseconds,
 * so that the library holds no tables. */
typedef struct drv_checksum {
    uint32_t change[8][256];
} drv_checksum;

void drv_checksum_prepare(drv_checksum *checksum);

/* The checksum of bytes that follow others, whose checksum is `before`; 0 at the start. */
uint32_t drv_checksum_of(const drv_checksum *checksum, uint32_t before, const uint8_t *bytes, uint64_t count);

#endif
