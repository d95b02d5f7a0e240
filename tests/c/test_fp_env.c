/* Does the caller's rounding mode change a byte, and does each call restore it? */
#include <fenv.h>

#include "batch_play.h"
#include "check.h"
#include "drive.h"
#include "rng.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

enum { CALLS = 30, FLUSHES = -1, TRAPS = -2 };

/* What other libraries leave behind in the thread that loads or calls them. */
static const struct {
    const char *name;
    int mode; /* of fesetround, or one of the above */
} foreign[] = {
    {"rounds up", FE_UPWARD},
    {"rounds down", FE_DOWNWARD},
    {"cuts off", FE_TOWARDZERO},
    {"traps", TRAPS},
#if defined(__SSE2__)
    {"flushes to zero", FLUSHES},
#endif
};
enum { FOREIGN_COUNT = sizeof foreign / sizeof *foreign };

/* Whether this processor has such a mode. */
static int enter_mode(int mode) {
    if (mode == TRAPS) return feenableexcept(FE_ALL_EXCEPT) != -1;
#if defined(__SSE2__)
    if (mode == FLUSHES) _mm_setcsr(_mm_getcsr() | 0x8040);
    if (mode == FLUSHES) return 1;
#endif
    return fesetround(mode) == 0;
}

static int mode_now(int mode) {
    if (mode == TRAPS) return fegetexcept() == FE_ALL_EXCEPT ? TRAPS : 0;
#if defined(__SSE2__)
    if (mode == FLUSHES) return (_mm_getcsr() & 0x8040) == 0x8040 ? FLUSHES : 0;
#endif
    return fegetround();
}

/* Subnormal rewards, and a goal two metres ahead. */
static drv_config tiny_config(void) {
    drv_config config = small_config();
    config.reward_goal = 0x1p-140f;
    config.goal_radius_m = 498.0f;
    return config;
}

/* Integers only: in the changed mode nothing but the core may compute with floats. */
static void act_at_random(batch_play *play, test_rng *rng) {
    for (int32_t agent = 0; agent < play->needs.num_agents; agent++)
        play->actions[agent] = rng_below(rng, PLAY_ACTIONS);
}

/* A rollout, from the creation of its scene to its last step. */
static void play_through(batch_play *play, int32_t threads) {
    test_rng rng = {5};
    begin(play, tiny_config(), threads);
    must_reset(play, NULL);
    for (int32_t call = 0; call < CALLS; call++) {
        act_at_random(play, &rng);
        must_step(play);
    }
}

static void check_mode(int which, int32_t threads) {
    batch_play plain, other;
    fenv_t usual;
    fegetenv(&usual);
    const int has_mode = enter_mode(foreign[which].mode);
    fesetenv(&usual);
    if (!has_mode) return;
    play_through(&plain, 1);
    enter_mode(foreign[which].mode);
    play_through(&other, threads);
    const int left = mode_now(foreign[which].mode);
    fesetenv(&usual);
    CHECK(left == foreign[which].mode, "the caller's thread no longer %s", foreign[which].name);
    const size_t floats = (size_t)plain.needs.num_agents * (size_t)plain.needs.observation_size;
    CHECK(memcmp(plain.block, other.block, (size_t)plain.needs.block_bytes) == 0,
          "state of %d threads where the caller's %s", threads, foreign[which].name);
    CHECK(memcmp(plain.arrays.observations, other.arrays.observations, floats * sizeof(float)) == 0,
          "observations of %d threads where the caller's %s", threads, foreign[which].name);
    end(&plain);
    end(&other);
}

TEST(a_foreign_rounding_mode_changes_no_byte_and_stays_the_callers) {
    for (int which = 0; which < FOREIGN_COUNT; which++)
        for (int32_t threads = 1; threads <= 3; threads++) check_mode(which, threads);
}

TEST(a_subnormal_reward_is_not_flushed_to_zero) {
    batch_play play;
    begin(&play, tiny_config(), 1);
    must_reset(&play, NULL);
    act(&play, 3, 6);
    float reward = 0.0f;
    for (int32_t call = 0; call < CALLS; call++) {
        must_step(&play);
        if (play.arrays.rewards[0] != 0.0f) reward = play.arrays.rewards[0];
    }
    CHECK(reward == 0x1p-140f, "%a", (double)reward);
    end(&play);
}

/* Begun in one mode; a worker ends it in another. */
TEST(a_step_in_flight_runs_in_no_callers_rounding_mode) {
    for (int which = 0; which < FOREIGN_COUNT; which++) {
        batch_play plain, in_flight;
        fenv_t usual;
        test_rng rng = {5};
        play_through(&plain, 1);
        begin(&in_flight, tiny_config(), 1);
        must_reset(&in_flight, NULL);
        fegetenv(&usual);
        int has_mode = 1;
        for (int32_t call = 0; call < CALLS; call++) {
            act_at_random(&in_flight, &rng);
            has_mode &= enter_mode(foreign[which].mode);
            CHECK(drv_batch_step_async(in_flight.batch, DRV_WHOLE_BATCH, NULL, in_flight.message) == DRV_OK, "%s",
                  in_flight.message);
            const int begun = mode_now(foreign[which].mode);
            CHECK(drv_batch_wait(in_flight.batch, DRV_WHOLE_BATCH, in_flight.message) == DRV_OK, "%s",
                  in_flight.message);
            const int ended = mode_now(foreign[which].mode);
            fesetenv(&usual);
            CHECK(!has_mode || (begun == foreign[which].mode && ended == begun), "the caller's thread no longer %s",
                  foreign[which].name);
        }
        CHECK(memcmp(plain.block, in_flight.block, (size_t)plain.needs.block_bytes) == 0, "where the caller's %s",
              foreign[which].name);
        end(&plain);
        end(&in_flight);
    }
}

TEST(a_call_raises_no_exception_flag_of_the_callers) {
    batch_play play;
    test_rng rng = {6};
    begin(&play, tiny_config(), 2);
    must_reset(&play, NULL);
    for (int32_t call = 0; call < CALLS; call++) {
        act_at_random(&play, &rng);
        feclearexcept(FE_ALL_EXCEPT);
        must_step(&play);
        /* The step rounded nearly every number of it. */
        CHECK(fetestexcept(FE_ALL_EXCEPT) == 0, "flags %d", fetestexcept(FE_ALL_EXCEPT));
    }
    end(&play);
}

TEST(the_layout_is_the_same_in_every_rounding_mode) {
    const drv_config config = small_config();
    drv_feature usual[64], other[64];
    const int32_t count = drv_observation_layout(&config, usual, 64);
    CHECK(count > 0 && count <= 64, "%d features", count);
    fesetround(FE_UPWARD);
    drv_observation_layout(&config, other, 64);
    fesetround(FE_TONEAREST);
    for (int32_t i = 0; i < count; i++)
        CHECK(usual[i].scale == other[i].scale, "%s: %a, %a", usual[i].name, (double)usual[i].scale,
              (double)other[i].scale);
}
