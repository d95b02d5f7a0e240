/* Do steps in flight and parts of a batch equal whole steps byte for byte, and are calls that share a world refused? */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "batch_fixture.h"
#include "check.h"
#include "drive.h"
#include "rng.h"
#include "small_scene.h"

enum { MANY = 7 /* worlds */, CALLS = 40 };

static const int64_t many_ids[MANY] = {0, 1, 2, 3, 4, 5, 6};

static void set_up_many(batch_fixture *test, drv_config config, int32_t threads, int32_t parts) {
    set_up_scene(test, config, threads);
    test->setup.num_worlds = MANY;
    test->setup.world_ids = many_ids;
    test->setup.part_count = parts;
    set_up_batch(test);
}

/* The actions of a call: different for every agent, the same in every batch. */
static void act_by_call(batch_fixture *test, int32_t call) {
    test_rng rng = {1 + (uint64_t)call};
    for (int32_t i = 0; i < test->needs.num_agents * test->needs.action_width; i++) {
        const int32_t bins = test->needs.action_width == 1  ? ACTION_COUNT
                             : i % 2 == 0                   ? ACCELERATION_BINS
                                                            : STEERING_BINS;
        test->actions[i] = rng_below(&rng, bins);
        test->shares[i] = (float)rng_between(&rng, -1.0, 1.0);
    }
}

static void overwrite_actions(batch_fixture *test) {
    for (int32_t i = 0; i < test->needs.num_agents * test->needs.action_width; i++) {
        test->actions[i] = -1;
        test->shares[i] = NAN;
    }
}

static void check_ok(drv_status status, const batch_fixture *test) {
    CHECK(status == DRV_OK, "%d: %s", status, test->message);
}

static void begin_step(batch_fixture *test, int32_t part) {
    check_ok(drv_batch_step_async(test->batch, part, NULL, test->message), test);
}

static void wait_for_step(batch_fixture *test, int32_t part) {
    check_ok(drv_batch_wait(test->batch, part, test->message), test);
}

static void check_equal(const batch_fixture *found, const batch_fixture *wanted, const char *about) {
    const size_t agents = (size_t)wanted->needs.num_agents;
    CHECK(memcmp(found->block, wanted->block, (size_t)wanted->needs.block_bytes) == 0, "%s: the state differs", about);
    CHECK(memcmp(found->arrays.observations, wanted->arrays.observations,
                 agents * (size_t)wanted->needs.observation_bytes) == 0, "%s: observations differ", about);
    CHECK(memcmp(found->arrays.rewards, wanted->arrays.rewards, agents * sizeof(float)) == 0, "%s: rewards differ",
          about);
    CHECK(memcmp(found->arrays.code, wanted->arrays.code, agents * sizeof(uint16_t)) == 0, "%s: channels differ",
          about);
}

/* A batch driven by whole steps. */
static void step_whole(batch_fixture *test, drv_config config) {
    set_up_many(test, config, 1, 0);
    reset_batch(test);
    for (int32_t call = 0; call < CALLS; call++) {
        act_by_call(test, call);
        step_batch(test);
    }
}

/* ---- a step in flight ---- */

TEST(a_step_in_flight_gives_the_bytes_of_a_step_even_if_its_actions_are_overwritten) {
    for (int32_t type = DRV_DISCRETE; type <= DRV_CONTINUOUS; type++) {
        drv_config config = small_config();
        config.action_type = type;
        batch_fixture whole;
        step_whole(&whole, config);
        for (int32_t threads = 1; threads <= 4; threads++) {
            batch_fixture in_flight;
            set_up_many(&in_flight, config, threads, 0);
            reset_batch(&in_flight);
            for (int32_t call = 0; call < CALLS; call++) {
                act_by_call(&in_flight, call);
                begin_step(&in_flight, DRV_WHOLE_BATCH);
                overwrite_actions(&in_flight);
                wait_for_step(&in_flight, DRV_WHOLE_BATCH);
            }
            check_equal(&in_flight, &whole, "in flight");
            tear_down(&in_flight);
        }
        tear_down(&whole);
    }
}

static void *wait_for_it(void *argument) {
    wait_for_step(argument, DRV_WHOLE_BATCH);
    return NULL;
}

TEST(another_thread_may_end_the_step) {
    batch_fixture whole, in_flight;
    step_whole(&whole, small_config());
    set_up_many(&in_flight, small_config(), 2, 0);
    reset_batch(&in_flight);
    for (int32_t call = 0; call < CALLS; call++) {
        act_by_call(&in_flight, call);
        begin_step(&in_flight, DRV_WHOLE_BATCH);
        pthread_t other;
        pthread_create(&other, NULL, wait_for_it, &in_flight);
        pthread_join(other, NULL);
    }
    check_equal(&in_flight, &whole, "ended elsewhere");
    tear_down(&in_flight);
    tear_down(&whole);
}

/* Whether a call returned a DRV_ERROR_CALL whose message has the wanted words. */
static int is_error(drv_status status, const batch_fixture *test, const char *wanted) {
    return status == DRV_ERROR_CALL && strstr(test->message, wanted) != NULL;
}

/* Every call that has a part as argument; for DRV_WHOLE_BATCH also those without one. */
static void check_all_refused(batch_fixture *test, int32_t part, const char *wanted) {
    drv_batch *batch = test->batch;
    char *message = test->message;
    const size_t size = (size_t)test->needs.num_agents * (size_t)test->needs.observation_size;
    float *restarts = garbage(size, sizeof *restarts);
    CHECK(is_error(drv_batch_step(batch, part, NULL, message), test, wanted), "step: %s", message);
    CHECK(is_error(drv_batch_step_async(batch, part, NULL, message), test, wanted), "step_async: %s", message);
    CHECK(is_error(drv_batch_reset(batch, part, NULL, NULL, NULL, message), test, wanted), "reset: %s", message);
    CHECK(is_error(drv_batch_restart_observations(batch, part, restarts, message), test, wanted), "restarts: %s",
          message);
    free(restarts);
    if (part != DRV_WHOLE_BATCH) return;
    drv_metric_value value;
    int64_t spent_ns[PHASE_CAPACITY];
    void *copy = garbage((size_t)test->needs.block_bytes, 1);
    CHECK(is_error(drv_batch_trials(batch, DRV_OF_EGOS, &value, message), test, wanted), "trials: %s", message);
    CHECK(is_error(drv_batch_metric(batch, 0, -1, DRV_OF_EGOS, &value, message), test, wanted), "metric: %s", message);
    CHECK(is_error(drv_batch_adaptation(batch, 1, DRV_OF_EGOS, &value, message), test, wanted),
          "adaptation: %s", message);
    CHECK(is_error(drv_batch_time_phases(batch, 1, spent_ns, message), test, wanted), "phases: %s", message);
    CHECK(is_error(drv_batch_copy_world(batch, 0, copy, message), test, wanted), "copy of a world: %s", message);
    CHECK(is_error(drv_batch_goals(batch, 0, 0, NULL, NULL, message), test, wanted), "goals: %s", message);
    CHECK(is_error(drv_batch_copy(batch, copy, &test->arrays, message), test, wanted), "copy: %s", message);
    free(copy);
}

TEST(a_call_that_shares_a_world_with_a_step_in_flight_is_an_error) {
    batch_fixture whole, test;
    step_whole(&whole, small_config());
    set_up_many(&test, small_config(), 3, 3);
    reset_batch(&test);
    for (int32_t call = 0; call < CALLS; call++) {
        /* a step of the whole batch */
        act_by_call(&test, call);
        begin_step(&test, DRV_WHOLE_BATCH);
        check_all_refused(&test, DRV_WHOLE_BATCH, "a step is in flight; call wait first");
        for (int32_t part = 0; part < 3; part++) {
            check_all_refused(&test, part, "a step of the whole batch is in flight");
            CHECK(is_error(drv_batch_wait(test.batch, part, test.message), &test, "of the whole batch is in flight"),
                  "%s", test.message);
        }
        wait_for_step(&test, DRV_WHOLE_BATCH);
        /* one of part 1, beside which the other parts may step */
        act_by_call(&test, ++call);
        begin_step(&test, 1);
        check_all_refused(&test, 1, "a step is in flight; call wait first");
        check_all_refused(&test, DRV_WHOLE_BATCH, "a step of part 1 is in flight");
        CHECK(is_error(drv_batch_wait(test.batch, DRV_WHOLE_BATCH, test.message), &test, "of part 1 is in flight"),
              "%s", test.message);
        CHECK(is_error(drv_batch_wait(test.batch, 0, test.message), &test, "step_async"), "%s", test.message);
        check_ok(drv_batch_step(test.batch, 0, NULL, test.message), &test);
        check_ok(drv_batch_step(test.batch, 2, NULL, test.message), &test);
        wait_for_step(&test, 1);
        CHECK(is_error(drv_batch_wait(test.batch, 1, test.message), &test, "step_async"), "%s", test.message);
    }
    check_equal(&test, &whole, "refusals");
    tear_down(&test);
    tear_down(&whole);
}

TEST(a_step_that_is_refused_is_not_in_flight) {
    batch_fixture test;
    set_up_many(&test, small_config(), 2, 2);
    act_by_call(&test, 0);
    for (int32_t part = DRV_WHOLE_BATCH; part < 2; part++)
        CHECK(is_error(drv_batch_step_async(test.batch, part, NULL, test.message), &test, "before reset"), "%s",
              test.message);
    reset_batch(&test);
    const drv_worlds second = drv_batch_part(test.batch, 1);
    const int32_t agent = second.first * SMALL_AGENTS + 3;
    test.actions[agent] = ACTION_COUNT;
    CHECK(drv_batch_step_async(test.batch, DRV_WHOLE_BATCH, NULL, test.message) == DRV_ERROR_ACTION, "it was accepted");
    CHECK(drv_batch_step_async(test.batch, 1, NULL, test.message) == DRV_ERROR_ACTION, "it was accepted");
    CHECK(strstr(test.message, "agent 3 (world 1)"), "a part's agents are numbered from its first: %s", test.message);
    CHECK(is_error(drv_batch_wait(test.batch, 1, test.message), &test, "step_async"), "%s", test.message);
    begin_step(&test, 0);
    wait_for_step(&test, 0);
    test.actions[agent] = ACTION_COUNT - 1;
    step_batch(&test);
    tear_down(&test);
}

TEST(a_part_out_of_range_is_an_error) {
    batch_fixture test;
    set_up_many(&test, small_config(), 1, 2);
    const int32_t wrong[] = {-2, 2, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        check_all_refused(&test, wrong[i], "it must be -1 to 1");
        CHECK(is_error(drv_batch_wait(test.batch, wrong[i], test.message), &test, "it must be -1 to 1"), "%s",
              test.message);
        CHECK(drv_batch_part(test.batch, wrong[i]).count == 0, "part %d has worlds", wrong[i]);
    }
    CHECK(is_error(drv_batch_wait(NULL, DRV_WHOLE_BATCH, test.message), &test, "closed"), "%s", test.message);
    tear_down(&test);
}

/* ---- parts ---- */

TEST(parts_are_consecutive_and_differ_by_one_world_at_most) {
    for (int32_t parts = 0; parts <= MANY; parts++) {
        batch_fixture test;
        set_up_many(&test, small_config(), 1, parts);
        CHECK(drv_batch_part(test.batch, DRV_WHOLE_BATCH).first == 0, "the whole begins elsewhere");
        CHECK(drv_batch_part(test.batch, DRV_WHOLE_BATCH).count == MANY, "the whole batch lacks worlds");
        int32_t next = 0;
        for (int32_t part = 0; part < parts; part++) {
            const drv_worlds worlds = drv_batch_part(test.batch, part);
            CHECK(worlds.first == next, "part %d of %d begins at %d, not %d", part, parts, worlds.first, next);
            CHECK(worlds.count == MANY / parts || worlds.count == MANY / parts + 1, "part %d of %d", part, parts);
            next += worlds.count;
        }
        CHECK(parts == 0 || next == MANY, "%d parts end at %d", parts, next);
        tear_down(&test);
    }
}

/* Drives all parts from one thread: each call is at random a step, or one in flight that ends later. */
static void step_parts_in_turns(batch_fixture *test, int32_t parts, test_rng *rng) {
    for (int32_t call = 0; call < CALLS; call++) {
        act_by_call(test, call);
        int32_t in_flight[DRV_PART_LIMIT] = {0};
        for (int32_t part = 0; part < parts; part++) {
            in_flight[part] = rng_below(rng, 3) > 0;
            if (in_flight[part]) begin_step(test, part);
            else check_ok(drv_batch_step(test->batch, part, NULL, test->message), test);
        }
        const int32_t first = rng_below(rng, parts);
        for (int32_t i = 0; i < parts; i++)
            if (in_flight[(first + i) % parts]) wait_for_step(test, (first + i) % parts);
    }
}

TEST(parts_give_the_bytes_of_the_whole_in_any_number_and_order) {
    test_rng rng = {17};
    batch_fixture whole;
    step_whole(&whole, small_config());
    for (int32_t parts = 1; parts <= MANY; parts++) {
        for (int32_t threads = 1; threads <= 4; threads++) {
            batch_fixture test;
            set_up_many(&test, small_config(), threads, parts);
            for (int32_t part = 0; part < parts; part++)
                check_ok(drv_batch_reset(test.batch, part, NULL, NULL, NULL, test.message), &test);
            step_parts_in_turns(&test, parts, &rng);
            check_equal(&test, &whole, "parts in turns");
            tear_down(&test);
        }
    }
    tear_down(&whole);
}

TEST(a_part_copies_its_actions_to_its_own_agents_alone) {
    for (int32_t type = DRV_DISCRETE; type <= DRV_CONTINUOUS; type++) {
        batch_fixture test;
        drv_config config = small_config();
        config.action_type = type;
        set_up_many(&test, config, 1, 2);
        reset_batch(&test);
        const size_t item = type == DRV_CONTINUOUS ? sizeof(float) : sizeof(int64_t);
        const size_t bytes = (size_t)(test.needs.num_agents * test.needs.action_width) * item;
        uint8_t *bound = type == DRV_CONTINUOUS ? (uint8_t *)test.shares : (uint8_t *)test.actions;
        uint8_t *own = malloc(bytes), *before = malloc(bytes);
        act_by_call(&test, 1);
        memcpy(own, bound, bytes);
        act_by_call(&test, 2);
        memcpy(before, bound, bytes);
        const drv_worlds second = drv_batch_part(test.batch, 1);
        const size_t offset = (size_t)(second.first * SMALL_AGENTS * test.needs.action_width) * item;
        check_ok(drv_batch_step(test.batch, 1, own + offset, test.message), &test);
        CHECK(memcmp(bound, before, offset) == 0, "type %d: another part's actions changed", type);
        CHECK(memcmp(bound + offset, own + offset, bytes - offset) == 0, "type %d: they were not kept", type);
        free(own);
        free(before);
        tear_down(&test);
    }
}

TEST(restart_observations_of_a_part_are_those_of_the_whole_batch) {
    batch_fixture test;
    set_up_many(&test, small_config(), 2, 3);
    reset_batch(&test);
    const size_t agent = (size_t)test.needs.observation_size, size = (size_t)test.needs.num_agents * agent;
    float *whole = garbage(size, sizeof *whole), *parts = garbage(size, sizeof *parts);
    const int32_t ages[MANY] = {0, 1, 2, 3, 4, 0, 1};
    check_ok(drv_batch_reset(test.batch, DRV_WHOLE_BATCH, NULL, NULL, ages, test.message), &test);
    for (int32_t call = 0; call < 12; call++) {
        act(&test, COAST, STRAIGHT);
        step_batch(&test);
        check_ok(drv_batch_restart_observations(test.batch, DRV_WHOLE_BATCH, whole, test.message), &test);
        for (int32_t part = 0; part < 3; part++) {
            float *part_restarts = parts + (size_t)(drv_batch_part(test.batch, part).first * SMALL_AGENTS) * agent;
            check_ok(drv_batch_restart_observations(test.batch, part, part_restarts, test.message), &test);
        }
        CHECK(memcmp(whole, parts, size * sizeof *whole) == 0, "after call %d", call);
    }
    free(whole);
    free(parts);
    tear_down(&test);
}

typedef struct part_driver {
    batch_fixture *test;
    int32_t part;
    uint64_t seed;
} part_driver;

/* Drives one part to the end, beside others that drive theirs. */
static void *step_part(void *argument) {
    /* arrays of its own */
    const part_driver *self = argument;
    batch_fixture *test = self->test;
    const drv_worlds worlds = drv_batch_part(test->batch, self->part);
    const int32_t numbers = SMALL_AGENTS * test->needs.action_width;
    char message[DRV_MESSAGE_BYTES] = "";
    test_rng rng = {self->seed};
    float *restarts = garbage((size_t)(worlds.count * SMALL_AGENTS * test->needs.observation_size), sizeof *restarts);
    int64_t *actions = garbage((size_t)(MANY * numbers), sizeof *actions);
    drv_status status = drv_batch_reset(test->batch, self->part, NULL, NULL, NULL, message);
    for (int32_t call = 0; call < CALLS && status == DRV_OK; call++) {
        /* the actions of the call, of all parts */
        test_rng rng_of_call = {1 + (uint64_t)call};
        for (int32_t i = 0; i < MANY * numbers; i++) {
            actions[i] = rng_below(&rng_of_call, ACTION_COUNT);
            rng_between(&rng_of_call, -1.0, 1.0); /* as act_by_call draws */
        }
        /* a step with those of its own, or one in flight whose actions are overwritten */
        int64_t *own = actions + worlds.first * numbers;
        if (rng_below(&rng, 2)) {
            status = drv_batch_step(test->batch, self->part, own, message);
        } else {
            status = drv_batch_step_async(test->batch, self->part, own, message);
            memset(own, 0xff, (size_t)(worlds.count * numbers) * sizeof *own);
            if (status == DRV_OK) status = drv_batch_wait(test->batch, self->part, message);
        }
        if (status == DRV_OK) status = drv_batch_restart_observations(test->batch, self->part, restarts, message);
    }
    CHECK(status == DRV_OK, "part %d: %d: %s", self->part, status, message);
    free(actions);
    free(restarts);
    return NULL;
}

TEST(parts_in_separate_threads_are_independent) {
    enum { PARTS = 3 };
    batch_fixture whole;
    step_whole(&whole, small_config());
    for (int32_t threads = 1; threads <= 4; threads++) {
        batch_fixture test;
        set_up_many(&test, small_config(), threads, PARTS);
        part_driver drivers[PARTS];
        pthread_t running[PARTS];
        for (int32_t i = 0; i < PARTS; i++) {
            drivers[i] = (part_driver){&test, i, 5 + (uint64_t)i};
            pthread_create(&running[i], NULL, step_part, &drivers[i]);
        }
        for (int32_t i = 0; i < PARTS; i++) pthread_join(running[i], NULL);
        check_equal(&test, &whole, "parts in threads");
        tear_down(&test);
    }
    tear_down(&whole);
}

TEST(a_reset_of_a_part_is_that_of_its_worlds_alone) {
    batch_fixture test, other;
    set_up_many(&test, small_config(), 2, 2);
    set_up_many(&other, small_config(), 1, 0);
    act(&test, COAST, STRAIGHT);
    /* Each part needs a first reset of its own. */
    const drv_worlds second = drv_batch_part(test.batch, 1);
    const uint8_t none[MANY] = {0};
    CHECK(is_error(drv_batch_reset(test.batch, 1, NULL, none, NULL, test.message), &test, "leaves out world 0"), "%s",
          test.message);
    check_ok(drv_batch_reset(test.batch, 0, NULL, NULL, NULL, test.message), &test);
    CHECK(is_error(drv_batch_step(test.batch, 1, NULL, test.message), &test, "before reset"), "%s", test.message);
    CHECK(is_error(drv_batch_step(test.batch, DRV_WHOLE_BATCH, NULL, test.message), &test, "before reset"), "%s",
          test.message);
    check_ok(drv_batch_reset(test.batch, 1, NULL, NULL, NULL, test.message), &test);
    reset_batch(&other);
    /* Seeds, flags and ages, one a world: from the part's first, and from the batch's. */
    uint64_t seeds[MANY];
    uint8_t chosen[MANY] = {0};
    int32_t ages[MANY] = {0};
    for (int32_t world = 0; world < MANY; world++) seeds[world] = 100 + (uint64_t)world;
    chosen[second.first] = chosen[MANY - 1] = 1;
    ages[second.first] = 2;
    check_ok(drv_batch_reset(test.batch, 1, seeds + second.first, chosen + second.first, ages + second.first,
                             test.message), &test);
    check_ok(drv_batch_reset(other.batch, DRV_WHOLE_BATCH, seeds, chosen, ages, other.message), &other);
    check_equal(&test, &other, "a reset");
    /* A reset that is refused changes nothing. */
    ages[second.first] = 5;
    CHECK(is_error(drv_batch_reset(test.batch, 1, NULL, NULL, ages + second.first, test.message), &test,
                  "world 0 is 5; it must be 0 to 4"), "%s", test.message);
    check_equal(&test, &other, "a refused reset");
    tear_down(&test);
    tear_down(&other);
}

/* ---- closing, and forks ---- */

TEST(closing_and_freeing_end_the_steps_in_flight) {
    for (int32_t round = 0; round < 40; round++) {
        batch_fixture test;
        set_up_many(&test, small_config(), 1 + round % 4, 3);
        reset_batch(&test);
        act_by_call(&test, 0);
        if (round % 3 == 0) begin_step(&test, DRV_WHOLE_BATCH);
        for (int32_t part = 0; round % 3 != 0 && part <= round % 3; part++) begin_step(&test, part);
        if (round % 2) usleep((useconds_t)(20 * round));
        if (round % 5 == 0) {
            drv_batch_close(test.batch);
            CHECK(is_error(drv_batch_wait(test.batch, 0, test.message), &test, "closed"), "%s", test.message);
            CHECK(is_error(drv_batch_wait(test.batch, DRV_WHOLE_BATCH, test.message), &test, "closed"), "%s",
                  test.message);
            check_all_refused(&test, DRV_WHOLE_BATCH, "closed");
        }
        tear_down(&test);
    }
}

static void *step_async_until_closed(void *argument) {
    const part_driver *self = argument;
    char message[DRV_MESSAGE_BYTES] = "";
    drv_status status = DRV_OK;
    while (status == DRV_OK) {
        status = drv_batch_step_async(self->test->batch, self->part, NULL, message);
        if (status == DRV_OK) status = drv_batch_wait(self->test->batch, self->part, message);
    }
    CHECK(status == DRV_ERROR_CALL && strstr(message, "closed"), "%d: %s", status, message);
    return NULL;
}

TEST(closing_under_steps_in_flight_of_other_threads_ends) {
    for (int32_t round = 0; round < 20; round++) {
        batch_fixture test;
        set_up_many(&test, small_config(), 2, 2);
        reset_batch(&test);
        act(&test, COAST, STRAIGHT);
        part_driver drivers[2] = {{&test, 0, 0}, {&test, 1, 0}};
        pthread_t threads[2];
        for (int32_t i = 0; i < 2; i++) pthread_create(&threads[i], NULL, step_async_until_closed, &drivers[i]);
        usleep((useconds_t)(100 * round));
        drv_batch_close(test.batch);
        for (int32_t i = 0; i < 2; i++) pthread_join(threads[i], NULL);
        tear_down(&test);
    }
}

TEST(a_copy_forked_with_a_step_in_flight_reports_the_fork_and_ends) {
    batch_fixture test;
    set_up_many(&test, small_config(), 2, 2);
    reset_batch(&test);
    act(&test, COAST, STRAIGHT);
    for (int32_t part = DRV_WHOLE_BATCH; part < 2; part++) {
        begin_step(&test, part);
        const pid_t child = fork();
        if (child == 0) {
            /* Every call of the child is an error, and closing and freeing do not wait for the parent's step. */
            char message[DRV_MESSAGE_BYTES] = "";
            drv_metric_value value;
            drv_batch_forked(test.batch);
            const int refused = drv_batch_wait(test.batch, part, message) == DRV_ERROR_CALL &&
                                strstr(message, "forked") &&
                                drv_batch_trials(test.batch, DRV_OF_EGOS, &value, message) == DRV_ERROR_CALL &&
                                strstr(message, "forked");
            drv_batch_close(test.batch);
            const int closed = drv_batch_wait(test.batch, part, message) == DRV_ERROR_CALL && strstr(message, "closed");
            drv_batch_free(test.batch);
            _exit(!refused ? 1 : !closed ? 2 : 0);
        }
        /* The parent's step goes on. */
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "part %d: the child ended with %d", part, status);
        wait_for_step(&test, part);
    }
    step_batch(&test);
    tear_down(&test);
}
