/* What is the checksum of some bytes? CRC-32 with zlib's polynomial, eight bytes at a time by tables (slicing-by-8,
 * Kounavis and Berry 2005). */
#include "scene/checksum.h"

/* The polynomial of ISO 3309 with its bits reversed: the lowest bit of a byte comes first. */
static const uint32_t polynomial = 0xedb88320u;

void drv_checksum_prepare(drv_checksum *checksum) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (crc & 1u ? polynomial : 0u);
        checksum->table[0][byte] = crc;
    }
    for (int position = 1; position < 8; position++)
        for (uint32_t byte = 0; byte < 256; byte++) {
            const uint32_t previous = checksum->table[position - 1][byte];
            checksum->table[position][byte] = (previous >> 8) ^ checksum->table[0][previous & 255u];
        }
}

static uint32_t word_at(const uint8_t *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

uint32_t drv_checksum_of(const drv_checksum *checksum, uint32_t before, const uint8_t *bytes, uint64_t count) {
    const uint32_t(*table)[256] = checksum->table;
    uint32_t crc = ~before;
    for (; count >= 8; count -= 8, bytes += 8) {
        const uint32_t near = crc ^ word_at(bytes), far = word_at(bytes + 4);
        crc = table[7][near & 255u] ^ table[6][near >> 8 & 255u] ^ table[5][near >> 16 & 255u] ^
               table[4][near >> 24] ^ table[3][far & 255u] ^ table[2][far >> 8 & 255u] ^
               table[1][far >> 16 & 255u] ^ table[0][far >> 24];
    }
    for (; count > 0; count--, bytes++) crc = (crc >> 8) ^ table[0][(crc ^ *bytes) & 255u];
    return ~crc;
}
