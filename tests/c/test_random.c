/* Are the random streams of worlds independent and uniform? */
#include "check.h"
#include "math/random.h"

TEST(the_mixer_is_the_published_one) {
    /* The first outputs of SplitMix64 from state 0, as its authors' reference program prints them. */
    const uint64_t golden = 0x9e3779b97f4a7c15u;
    const uint64_t published[] = {0xe220a8397b1dcdafu, 0x6e789e6aa1b965f4u, 0x06c45d188009454fu};
    for (uint64_t i = 0; i < 3; i++)
        CHECK(drv_mix((i + 1) * golden) == published[i], "output %d is %llx", (int)i,
              (unsigned long long)drv_mix((i + 1) * golden));
}

TEST(every_argument_changes_the_draw) {
    const uint64_t base = drv_random_bits(3, 5, 7, DRV_PURPOSE_SCENE, 9);
    CHECK(base == drv_random_bits(3, 5, 7, DRV_PURPOSE_SCENE, 9), "the same arguments have two results");
    CHECK(base != drv_random_bits(4, 5, 7, DRV_PURPOSE_SCENE, 9), "seed");
    CHECK(base != drv_random_bits(3, 6, 7, DRV_PURPOSE_SCENE, 9), "world");
    CHECK(base != drv_random_bits(3, 5, 8, DRV_PURPOSE_SCENE, 9), "episode");
    CHECK(base != drv_random_bits(3, 5, 7, DRV_PURPOSE_PATH, 9), "purpose");
    CHECK(base != drv_random_bits(3, 5, 7, DRV_PURPOSE_SCENE, 10), "index");
    CHECK(drv_random_bits(0, 1, 0, DRV_PURPOSE_SCENE, 0) != drv_random_bits(0, 0, 1, DRV_PURPOSE_SCENE, 0),
          "world and episode are taken for one another");
    CHECK(drv_random_bits(1, 0, 0, DRV_PURPOSE_SCENE, 0) != drv_random_bits(0, 1, 0, DRV_PURPOSE_SCENE, 0),
          "seed and world are taken for one another");
}

TEST(extreme_seeds_ids_and_episodes_are_ordinary) {
    const uint64_t seeds[] = {0, 1, UINT64_MAX};
    const int64_t numbers[] = {0, 1, INT64_MAX};
    uint64_t seen[27];
    int count = 0;
    for (int s = 0; s < 3; s++)
        for (int w = 0; w < 3; w++)
            for (int e = 0; e < 3; e++) {
                const uint64_t bits = drv_random_bits(seeds[s], numbers[w], numbers[e], DRV_PURPOSE_SCENE, 0);
                for (int i = 0; i < count; i++) CHECK(seen[i] != bits, "seed %d, world %d, episode %d", s, w, e);
                seen[count++] = bits;
            }
}

TEST(a_draw_below_n_is_below_n_and_even) {
    for (uint32_t n = 1; n <= 64; n += 7) {
        int32_t found[64] = {0};
        const int32_t draws = 64000;
        for (int64_t i = 0; i < draws; i++) {
            const uint32_t drawn = drv_random_below(drv_random_bits(1, i % 40, i / 40, DRV_PURPOSE_SCENE, 0), n);
            CHECK(drawn < n, "%u of %u", drawn, n);
            if (drawn < n) found[drawn]++;
        }
        double chi2 = 0.0;
        const double wanted = (double)draws / n;
        for (uint32_t i = 0; i < n; i++) chi2 += (found[i] - wanted) * (found[i] - wanted) / wanted;
        /* Mean n - 1, deviation sqrt(2 (n - 1)): five of them are one draw in millions. */
        CHECK(chi2 < (n - 1) + 5.0 * sqrt(2.0 * (n - 1)) + 1e-9, "chi2 %g for %u", chi2, n);
    }
    CHECK(drv_random_below(UINT64_MAX, UINT32_MAX) == UINT32_MAX - 1, "the top of the range");
    CHECK(drv_random_below(0, 5) == 0, "the bottom of the range");
}
