/* Does the caller's floating-point environment change a byte, and does each call restore it? */
#include <fenv.h>

#include "batch_fixture.h"
#include "check.h"
#include "drive.h"
#include "rng.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

enum { CALLS = 30, FLUSHES = -1, TRAPS = -2 };
enum { FLUSH_BITS = 0x8040 }; /* of x86's control register: flush results to zero, take subnormal operands as zero */

/* Environments that other libraries leave in the thread that loads or calls them. */
static const struct {
    const char *name;
    int mode; /* of fesetround, or one of the above */
} environments[] = {
    {"rounds up", FE_UPWARD},
    {"rounds down", FE_DOWNWARD},
    {"rounds towards zero", FE_TOWARDZERO},
    {"traps", TRAPS},
#if defined(__SSE2__)
    {"flushes to zero", FLUSHES},
#endif
};
enum { ENVIRONMENT_COUNT = sizeof environments / sizeof *environments };

/* Returns whether this processor has such a mode. */
static int enter_mode(int mode) {
    if (mode == TRAPS) return feenableexcept(FE_ALL_EXCEPT) != -1;
#if defined(__SSE2__)
    if (mode == FLUSHES) _mm_setcsr(_mm_getcsr() | FLUSH_BITS);
    if (mode == FLUSHES) return 1;
#endif
    return fesetround(mode) == 0;
}

static int mode_now(int mode) {
    if (mode == TRAPS) return fegetexcept() == FE_ALL_EXCEPT ? TRAPS : 0;
#if defined(__SSE2__)
    if (mode == FLUSHES) return (_mm_getcsr() & FLUSH_BITS) == FLUSH_BITS ? FLUSHES : 0;
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

/* Integers only: in the changed environment nothing but the core may compute with floats. */
static void act_at_random(batch_fixture *test, test_rng *rng) {
    for (int32_t agent = 0; agent < test->needs.num_agents; agent++)
        test->actions[agent] = rng_below(rng, ACTION_COUNT);
}

/* A rollout, from the creation of its scene to its last step. */
static void run_rollout(batch_fixture *test, int32_t threads) {
    test_rng rng = {5};
    set_up(test, tiny_config(), threads);
    reset_batch(test);
    for (int32_t call = 0; call < CALLS; call++) {
        act_at_random(test, &rng);
        step_batch(test);
    }
}

static void check_mode(int which, int32_t threads) {
    batch_fixture plain, other;
    fenv_t initial;
    fegetenv(&initial);
    const int has_mode = enter_mode(environments[which].mode);
    fesetenv(&initial);
    if (!has_mode) return;
    run_rollout(&plain, 1);
    enter_mode(environments[which].mode);
    run_rollout(&other, threads);
    const int left = mode_now(environments[which].mode);
    fesetenv(&initial);
    CHECK(left == environments[which].mode, "the caller's thread no longer %s", environments[which].name);
    const size_t floats = (size_t)plain.needs.num_agents * (size_t)plain.needs.observation_size;
    CHECK(memcmp(plain.block, other.block, (size_t)plain.needs.block_bytes) == 0,
          "state of %d threads where the caller %s", threads, environments[which].name);
    CHECK(memcmp(plain.arrays.observations, other.arrays.observations, floats * sizeof(float)) == 0,
          "observations of %d threads where the caller %s", threads, environments[which].name);
    tear_down(&plain);
    tear_down(&other);
}

TEST(the_callers_environment_changes_no_byte_and_is_restored) {
    for (int which = 0; which < ENVIRONMENT_COUNT; which++)
        for (int32_t threads = 1; threads <= 3; threads++) check_mode(which, threads);
}

TEST(a_subnormal_reward_is_not_flushed_to_zero) {
    batch_fixture test;
    set_up(&test, tiny_config(), 1);
    reset_batch(&test);
    act(&test, COAST, STRAIGHT);
    float reward = 0.0f;
    for (int32_t call = 0; call < CALLS; call++) {
        step_batch(&test);
        if (test.arrays.rewards[0] != 0.0f) reward = test.arrays.rewards[0];
    }
    CHECK(reward == 0x1p-140f, "%a", (double)reward);
    tear_down(&test);
}

/* It begins in the environment of the caller and ends in that of a worker. */
TEST(a_step_in_flight_does_not_run_in_the_callers_environment) {
    for (int which = 0; which < ENVIRONMENT_COUNT; which++) {
        /* the rollout in the usual environment */
        batch_fixture plain, in_flight;
        fenv_t initial;
        test_rng rng = {5};
        run_rollout(&plain, 1);
        set_up(&in_flight, tiny_config(), 1);
        reset_batch(&in_flight);
        /* the same in flight, each call of it in the changed environment */
        fegetenv(&initial);
        int has_mode = 1;
        for (int32_t call = 0; call < CALLS; call++) {
            act_at_random(&in_flight, &rng);
            has_mode &= enter_mode(environments[which].mode);
            CHECK(drv_batch_step_async(in_flight.batch, DRV_WHOLE_BATCH, NULL, in_flight.message) == DRV_OK, "%s",
                  in_flight.message);
            const int begun = mode_now(environments[which].mode);
            CHECK(drv_batch_wait(in_flight.batch, DRV_WHOLE_BATCH, in_flight.message) == DRV_OK, "%s",
                  in_flight.message);
            const int ended = mode_now(environments[which].mode);
            fesetenv(&initial);
            CHECK(!has_mode || (begun == environments[which].mode && ended == begun),
                  "the caller's thread no longer %s", environments[which].name);
        }
        CHECK(memcmp(plain.block, in_flight.block, (size_t)plain.needs.block_bytes) == 0,
              "where the caller's thread %s", environments[which].name);
        tear_down(&plain);
        tear_down(&in_flight);
    }
}

TEST(a_call_raises_no_exception_flag_of_the_caller) {
    batch_fixture test;
    test_rng rng = {6};
    set_up(&test, tiny_config(), 2);
    reset_batch(&test);
    for (int32_t call = 0; call < CALLS; call++) {
        act_at_random(&test, &rng);
        feclearexcept(FE_ALL_EXCEPT);
        step_batch(&test);
        /* Nearly every operation of the step rounds, which would raise the flag FE_INEXACT. */
        CHECK(fetestexcept(FE_ALL_EXCEPT) == 0, "flags %d", fetestexcept(FE_ALL_EXCEPT));
    }
    tear_down(&test);
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
