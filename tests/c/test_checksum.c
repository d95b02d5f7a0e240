/* Is the checksum zlib's CRC-32? By its published check value, and by the definition, bit by bit. */
#include "scene/checksum.h"

#include <string.h>

#include "check.h"
#include "rng.h"

/* The remainder of the bits, lowest first, divided by the polynomial: one bit at a time, no table. */
static uint32_t by_definition(const uint8_t *bytes, size_t count) {
    uint32_t remainder = 0xffffffffu;
    for (size_t i = 0; i < 8 * count; i++) {
        const uint32_t bit = (uint32_t)(bytes[i / 8] >> (i % 8)) & 1u;
        remainder = ((remainder ^ bit) & 1u) ? (remainder >> 1) ^ 0xedb88320u : remainder >> 1;
    }
    return ~remainder;
}

TEST(the_checksum_of_the_test_string_is_the_published_one) {
    drv_checksum checksum;
    drv_checksum_prepare(&checksum);
    const uint32_t found = drv_checksum_of(&checksum, 0, (const uint8_t *)"123456789", 9);
    CHECK(found == 0xcbf43926u, "%08x", found);
    CHECK(drv_checksum_of(&checksum, 0, NULL, 0) == 0, "of nothing");
}

TEST(the_checksum_follows_the_definition_for_every_length_and_split) {
    drv_checksum checksum;
    drv_checksum_prepare(&checksum);
    test_rng rng = {8};
    uint8_t bytes[67];
    for (size_t length = 0; length <= sizeof bytes; length++) {
        for (size_t i = 0; i < length; i++) bytes[i] = (uint8_t)rng_bits(&rng);
        const uint32_t wanted = by_definition(bytes, length);
        for (size_t split = 0; split <= length; split++) {
            const uint32_t before = drv_checksum_of(&checksum, 0, bytes, split);
            const uint32_t found = drv_checksum_of(&checksum, before, bytes + split, length - split);
            CHECK(found == wanted, "%d bytes split at %d: %08x, wanted %08x", (int)length, (int)split, found, wanted);
        }
    }
}
