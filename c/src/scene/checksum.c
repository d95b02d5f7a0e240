/* What is the checksum of some bytes? CRC-32 with zlib's polynomial, by tables for eight bytes at a time (Kounavis and
 * Berry 2005). */
#include "scene/checksum.h"

/* The polynomial of ISO 3309 with its bits reversed: the lowest bit of a byte comes first. */
static const uint32_t polynomial = 0xedb88320u;

void drv_checksum_prepare(drv_checksum *checksum) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1u ? polynomial : 0u);
        checksum->change[0][byte] = crc;
    }
    for (int position = 1; position < 8; position++)
        for (uint32_t byte = 0; byte < 256; byte++) {
            const uint32_t nearer = checksum->change[position - 1][byte];
            checksum->change[position][byte] = (nearer >> 8) ^ checksum->change[0][nearer & 255u];
        }
}

static uint32_t word_at(const uint8_t *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

uint32_t drv_checksum_of(const drv_checksum *checksum, uint32_t before, const uint8_t *bytes, uint64_t count) {
    const uint32_t(*change)[256] = checksum->change;
    uint32_t crc = ~before;
    for (; count >= 8; count -= 8, bytes += 8) {
        const uint32_t near = crc ^ word_at(bytes), far = word_at(bytes + 4);
        crc = change[7][near & 255u] ^ change[6][near >> 8 & 255u] ^ change[5][near >> 16 & 255u] ^
               change[4][near >> 24] ^ change[3][far & 255u] ^ change[2][far >> 8 & 255u] ^
               change[1][far >> 16 & 255u] ^ change[0][far >> 24];
    }
    for (; count > 0; count--, bytes++) crc = (crc >> 8) ^ change[0][(crc ^ *bytes) & 255u];
    return ~crc;
}
