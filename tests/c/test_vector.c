/* Do the SIMD operations of this instruction set equal a loop over the elements? */
#include "math/vector.h"

#include "check.h"
#include "rng.h"

static drv_floats draw(test_rng *rng) {
    drv_floats values;
    for (int32_t i = 0; i < DRV_WIDTH; i++) values[i] = (float)rng_below(rng, 9) / 4.0f - 1.0f; /* many are equal */
    return values;
}

TEST(comparisons_are_those_of_the_elements) {
    test_rng rng = {1};
    for (int32_t round = 0; round < 5000; round++) {
        const drv_floats values = draw(&rng), limits = draw(&rng);
        const drv_ints mask = drv_mask_le(values, limits);
        const uint32_t bits = drv_movemask_le(values, limits[0]), mask_bits = drv_movemask(mask);
        for (int32_t i = 0; i < DRV_WIDTH; i++) {
            CHECK(mask[i] == (values[i] <= limits[i] ? -1 : 0), "%g, %g", (double)values[i], (double)limits[i]);
            CHECK((bits >> i & 1u) == (values[i] <= limits[0]), "%g, %g", (double)values[i], (double)limits[0]);
            CHECK((mask_bits >> i & 1u) == (values[i] <= limits[i]), "%g, %g", (double)values[i], (double)limits[i]);
        }
        const drv_floats smaller = drv_min(values, limits), larger = drv_max(values, limits);
        for (int32_t i = 0; i < DRV_WIDTH; i++) {
            CHECK(smaller[i] == fminf(values[i], limits[i]), "%g, %g", (double)values[i], (double)limits[i]);
            CHECK(larger[i] == fmaxf(values[i], limits[i]), "%g, %g", (double)values[i], (double)limits[i]);
        }
        CHECK(bits >> DRV_WIDTH == 0 && mask_bits >> DRV_WIDTH == 0, "%x, %x", bits, mask_bits);
    }
    const drv_floats infinite = drv_splat(INFINITY), undefined = drv_splat(NAN);
    CHECK(drv_movemask_le(infinite, 3e38f) == 0 && drv_movemask_le(undefined, 0.0f) == 0, "not below any number");
    CHECK(drv_movemask_le(infinite, INFINITY) == (1u << DRV_WIDTH) - 1, "equal");
}

TEST(compress_store_packs_the_chosen_items) {
    for (uint32_t bits = 0; bits < 1u << DRV_WIDTH; bits++) {
        int32_t stored[2 * DRV_WIDTH], due = 0;
        for (int32_t i = 0; i < 2 * DRV_WIDTH; i++) stored[i] = -7;
        const int32_t count = drv_compress_store(stored, drv_iota(100), bits);
        for (int32_t i = 0; i < DRV_WIDTH; i++)
            if (bits >> i & 1u) {
                CHECK(stored[due] == 100 + i, "mask %x: item %d is %d", bits, due, stored[due]);
                due++;
            }
        CHECK(count == due, "mask %x: %d", bits, count);
        for (int32_t i = DRV_WIDTH; i < 2 * DRV_WIDTH; i++) CHECK(stored[i] == -7, "mask %x: entry %d", bits, i);
    }
}

TEST(integers_are_those_towards_zero) {
    drv_floats values;
    for (int32_t i = 0; i < DRV_WIDTH; i++) values[i] = (float)(3 * i - 7) * 0.375f;
    const drv_ints whole = drv_truncate(values);
    const drv_floats back = drv_from_ints(whole);
    for (int32_t i = 0; i < DRV_WIDTH; i++) {
        CHECK(whole[i] == (int32_t)truncf(values[i]), "%g: %d", (double)values[i], whole[i]);
        CHECK(back[i] == truncf(values[i]), "%d: %g", whole[i], (double)back[i]);
    }
}

TEST(elements_are_swapped_clipped_and_summed) {
    const drv_ints numbers = drv_iota(5);
    drv_floats values;
    int32_t sum = 0;
    for (int32_t i = 0; i < DRV_WIDTH; i++) {
        CHECK(numbers[i] == 5 + i, "%d", numbers[i]);
        values[i] = (float)(i - 2) * 0.7f;
        sum += 5 + i;
    }
    CHECK(drv_sum(numbers) == sum, "%d", drv_sum(numbers));
    const drv_floats swapped = drv_swap_pairs(values), clipped = drv_clip_unit(values), sizes = drv_abs(values);
    for (int32_t i = 0; i < DRV_WIDTH; i++) {
        CHECK(swapped[i] == values[i ^ 1], "%g", (double)swapped[i]);
        CHECK(clipped[i] == fmaxf(-1.0f, fminf(1.0f, values[i])), "%g", (double)clipped[i]);
        CHECK(sizes[i] == fabsf(values[i]), "%g", (double)sizes[i]);
    }
    CHECK(signbit(drv_splat(-0.0f)[1]), "the sign of zero was lost");
}

/* The half float nearest to a value in [-1, 1], as a number: halves are 2^(e - 10) apart, at least 2^-24. */
static double nearest_half(double value) {
    int exponent;
    frexp(value, &exponent);
    const double spacing = ldexp(1.0, exponent - 1 < -14 ? -24 : exponent - 11);
    return nearbyint(value / spacing) * spacing; /* ties to even */
}

static double number_of(uint16_t half) {
    const int exponent = half >> 10 & 31, fraction = half & 1023;
    const double size = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return half & 0x8000 ? -size : size;
}

TEST(halves_are_rounded_to_nearest_even) {
    uint16_t halves[DRV_WIDTH];
    drv_floats values;
    for (uint32_t first = 0; first <= 0x3f800000u; first += 4093) {
        for (int32_t i = 0; i < DRV_WIDTH; i++) {
            /* one in two has its last bits replaced by a tie of two halves */
            uint32_t bits = first + 401u * (uint32_t)i;
            if (first & 1u) bits = (bits & ~0x1fffu) | 0x1000u;
            if (bits > 0x3f800000u) bits = 0x3f800000u;
            float value;
            memcpy(&value, &bits, sizeof value);
            values[i] = i & 1 ? -value : value;
        }
        drv_store_halves(halves, values);
        for (int32_t i = 0; i < DRV_WIDTH; i++) {
            CHECK(halves[i] == drv_float_to_half(values[i]), "%a: %x, %x", (double)values[i], halves[i],
                  drv_float_to_half(values[i]));
            CHECK(number_of(halves[i]) == nearest_half((double)values[i]), "%a became %a", (double)values[i],
                  number_of(halves[i]));
        }
    }
}
