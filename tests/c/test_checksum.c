/* Is it zlib's CRC-32? By its published check value, and by the definition, bit by bit. */
#include "scene/checksum.h"

#include <string.h>

#include "check.h"
#include "rng.h"

/* The remainder of the bits, lowest first, divided by the polynomial: one bit at a time, no table. */
static uint32_t by_definition(const uint8_t *bytes, size_t count) {
    uint32_t rest = 0xffffffffu;
    for (size_t i = 0; i < 8 * count; i++) {
        const uint32_t bit = (uint32_t)(bytes[i / 8] >> (i % 8)) & 1u;
        rest = ((rest ^ bit) & 1u) ? (rest >> 1) ^ 0xedb88320u : rest >> 1;
    }
    return ~rest;
}

TEST(the_check_value_of_crc_32_comes_out) {
    drv_checksum checksum;
    drv_checksum_prepare(&checksum);
    const uint32_t found = drv_checksum_of(&checksum, 0, (const uint8_t *)"123456789", 9);
    CHECK(found == 0xcbf43926u, "%08x", found);
    CHECK(drv_checksum_of(&checksum, 0, NULL, 0) == 0, "of nothing");
}

TEST(every_length_and_every_cut_give_the_remainder_of_the_definition) {
    drv_checksum checksum;
    drv_checksum_prepare(&checksum);
    test_rng rng = {8};
    uint8_t bytes[67];
    for (size_t length = 0; length <= sizeof bytes; length++) {
        for (size_t i = 0; i < length; i++) bytes[i] = (uint8_t)rng_bits(&rng);
        const uint32_t wanted = by_definition(bytes, length);
        for (size_t cut = 0; cut <= length; cut++) {
            const uint32_t before = drv_checksum_of(&checksum, 0, bytes, cut);
            const uint32_t found = drv_checksum_of(&checksum, before, bytes + cut, length - cut);
            CHECK(found == wanted, "%d bytes cut at %d: %08x, wanted %08x", (int)length, (int)cut, found, wanted);
        }
    }
}
