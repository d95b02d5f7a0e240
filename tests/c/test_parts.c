/* Do steps in flight and parts of a batch equal whole steps byte for byte, and are calls that share a world refused? */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "batch_play.h"
#include "check.h"
#include "drive.h"
#include "rng.h"
#include "small_scene.h"

enum { MANY = 7, CALLS = 40 };

static const int64_t many_ids[MANY] = {0, 1, 2, 3, 4, 5, 6};

static void begin_many(batch_play *play, drv_config config, int32_t threads, int32_t parts) {
    begin_scene(play, config, threads);
    play->setup.num_worlds = MANY;
    play->setup.world_ids = many_ids;
    play->setup.part_count = parts;
    begin_batch(play);
}

/* The actions of a call: different for every agent, the same in every batch. */
static void act_by_call(batch_play *play, int32_t call) {
    test_rng rng = {1 + (uint64_t)call};
    for (int32_t i = 0; i < play->needs.num_agents * play->needs.action_width; i++) {
        const int32_t bins = play->needs.action_width == 1  ? PLAY_ACTIONS
                             : i % 2 == 0                   ? PLAY_ACCELERATION_BINS
                                                            : PLAY_STEERING_BINS;
        play->actions[i] = rng_below(&rng, bins);
        play->shares[i] = (float)rng_between(&rng, -1.0, 1.0);
    }
}

static void overwrite_actions(batch_play *play) {
    for (int32_t i = 0; i < play->needs.num_agents * play->needs.action_width; i++) {
        play->actions[i] = -1;
        play->shares[i] = NAN;
    }
}

static void must(drv_status status, const batch_play *play) {
    CHECK(status == DRV_OK, "%d: %s", status, play->message);
}

static void must_begin(batch_play *play, int32_t part) {
    must(drv_batch_step_async(play->batch, part, NULL, play->message), play);
}

static void must_wait(batch_play *play, int32_t part) { must(drv_batch_wait(play->batch, part, play->message), play); }

static void must_equal(const batch_play *found, const batch_play *wanted, const char *about) {
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
static void play_whole(batch_play *play, drv_config config) {
    begin_many(play, config, 1, 0);
    must_reset(play, NULL);
    for (int32_t call = 0; call < CALLS; call++) {
        act_by_call(play, call);
        must_step(play);
    }
}

/* ---- a step in flight ---- */

TEST(a_step_in_flight_gives_the_bytes_of_a_step_even_if_its_actions_are_overwritten) {
    for (int32_t type = DRV_DISCRETE; type <= DRV_CONTINUOUS; type++) {
        drv_config config = small_config();
        config.action_type = type;
        batch_play whole;
        play_whole(&whole, config);
        for (int32_t threads = 1; threads <= 4; threads++) {
            batch_play in_flight;
            begin_many(&in_flight, config, threads, 0);
            must_reset(&in_flight, NULL);
            for (int32_t call = 0; call < CALLS; call++) {
                act_by_call(&in_flight, call);
                must_begin(&in_flight, DRV_WHOLE_BATCH);
                overwrite_actions(&in_flight);
                must_wait(&in_flight, DRV_WHOLE_BATCH);
            }
            must_equal(&in_flight, &whole, "in flight");
            end(&in_flight);
        }
        end(&whole);
    }
}

static void *wait_for_it(void *argument) {
    must_wait(argument, DRV_WHOLE_BATCH);
    return NULL;
}

TEST(another_thread_may_end_the_step) {
    batch_play whole, in_flight;
    play_whole(&whole, small_config());
    begin_many(&in_flight, small_config(), 2, 0);
    must_reset(&in_flight, NULL);
    for (int32_t call = 0; call < CALLS; call++) {
        act_by_call(&in_flight, call);
        must_begin(&in_flight, DRV_WHOLE_BATCH);
        pthread_t other;
        pthread_create(&other, NULL, wait_for_it, &in_flight);
        pthread_join(other, NULL);
    }
    must_equal(&in_flight, &whole, "ended elsewhere");
    end(&in_flight);
    end(&whole);
}

/* Whether a call returned a DRV_ERROR_CALL whose message has the wanted words. */
static int is_error(drv_status status, const batch_play *play, const char *wanted) {
    return status == DRV_ERROR_CALL && strstr(play->message, wanted) != NULL;
}

/* Every call that takes a part; for DRV_WHOLE_BATCH also those that take none. */
static void must_all_refuse(batch_play *play, int32_t part, const char *wanted) {
    drv_batch *batch = play->batch;
    char *message = play->message;
    const size_t size = (size_t)play->needs.num_agents * (size_t)play->needs.observation_size;
    float *restarts = made(size, sizeof *restarts);
    CHECK(is_error(drv_batch_step(batch, part, NULL, message), play, wanted), "step: %s", message);
    CHECK(is_error(drv_batch_step_async(batch, part, NULL, message), play, wanted), "step_async: %s", message);
    CHECK(is_error(drv_batch_reset(batch, part, NULL, NULL, NULL, message), play, wanted), "reset: %s", message);
    CHECK(is_error(drv_batch_restart_observations(batch, part, restarts, message), play, wanted), "restarts: %s",
          message);
    free(restarts);
    if (part != DRV_WHOLE_BATCH) return;
    drv_figure figure;
    int64_t spent_ns[64];
    void *copy = made((size_t)play->needs.block_bytes, 1);
    CHECK(is_error(drv_batch_trials(batch, &figure, message), play, wanted), "trials: %s", message);
    CHECK(is_error(drv_batch_metric(batch, 0, -1, &figure, message), play, wanted), "metric: %s", message);
    CHECK(is_error(drv_batch_adaptation(batch, 1, &figure, message), play, wanted), "adaptation: %s", message);
    CHECK(is_error(drv_batch_time_phases(batch, 1, spent_ns, message), play, wanted), "phases: %s", message);
    CHECK(is_error(drv_batch_copy_world(batch, 0, copy, message), play, wanted), "copy of a world: %s", message);
    CHECK(is_error(drv_batch_copy(batch, copy, &play->arrays, message), play, wanted), "copy: %s", message);
    free(copy);
}

TEST(a_call_that_shares_a_world_with_a_step_in_flight_is_an_error) {
    batch_play whole, play;
    play_whole(&whole, small_config());
    begin_many(&play, small_config(), 3, 3);
    must_reset(&play, NULL);
    for (int32_t call = 0; call < CALLS; call++) {
        act_by_call(&play, call);
        must_begin(&play, DRV_WHOLE_BATCH);
        must_all_refuse(&play, DRV_WHOLE_BATCH, "a step is in flight; call wait first");
        for (int32_t part = 0; part < 3; part++) {
            must_all_refuse(&play, part, "a step of the whole batch is in flight");
            CHECK(is_error(drv_batch_wait(play.batch, part, play.message), &play, "of the whole batch is in flight"),
                  "%s", play.message);
        }
        must_wait(&play, DRV_WHOLE_BATCH);
        act_by_call(&play, ++call);
        must_begin(&play, 1);
        must_all_refuse(&play, 1, "a step is in flight; call wait first");
        must_all_refuse(&play, DRV_WHOLE_BATCH, "a step of part 1 is in flight");
        CHECK(is_error(drv_batch_wait(play.batch, DRV_WHOLE_BATCH, play.message), &play, "of part 1 is in flight"),
              "%s", play.message);
        CHECK(is_error(drv_batch_wait(play.batch, 0, play.message), &play, "step_async"), "%s", play.message);
        must(drv_batch_step(play.batch, 0, NULL, play.message), &play);
        must(drv_batch_step(play.batch, 2, NULL, play.message), &play);
        must_wait(&play, 1);
        CHECK(is_error(drv_batch_wait(play.batch, 1, play.message), &play, "step_async"), "%s", play.message);
    }
    must_equal(&play, &whole, "refusals");
    end(&play);
    end(&whole);
}

TEST(a_step_that_is_refused_is_not_in_flight) {
    batch_play play;
    begin_many(&play, small_config(), 2, 2);
    act_by_call(&play, 0);
    for (int32_t part = DRV_WHOLE_BATCH; part < 2; part++)
        CHECK(is_error(drv_batch_step_async(play.batch, part, NULL, play.message), &play, "before reset"), "%s",
              play.message);
    must_reset(&play, NULL);
    const drv_worlds second = drv_batch_part(play.batch, 1);
    const int32_t agent = second.first * SMALL_AGENTS + 3;
    play.actions[agent] = 91;
    CHECK(drv_batch_step_async(play.batch, DRV_WHOLE_BATCH, NULL, play.message) == DRV_ERROR_ACTION, "it was accepted");
    CHECK(drv_batch_step_async(play.batch, 1, NULL, play.message) == DRV_ERROR_ACTION, "it was accepted");
    CHECK(strstr(play.message, "agent 3 (world 1)"), "a part's agents are numbered from its first: %s", play.message);
    CHECK(is_error(drv_batch_wait(play.batch, 1, play.message), &play, "step_async"), "%s", play.message);
    must_begin(&play, 0);
    must_wait(&play, 0);
    play.actions[agent] = 90;
    must_step(&play);
    end(&play);
}

TEST(a_part_out_of_range_is_an_error) {
    batch_play play;
    begin_many(&play, small_config(), 1, 2);
    const int32_t wrong[] = {-2, 2, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        must_all_refuse(&play, wrong[i], "it must be -1 to 1");
        CHECK(is_error(drv_batch_wait(play.batch, wrong[i], play.message), &play, "it must be -1 to 1"), "%s",
              play.message);
        CHECK(drv_batch_part(play.batch, wrong[i]).count == 0, "part %d has worlds", wrong[i]);
    }
    CHECK(is_error(drv_batch_wait(NULL, DRV_WHOLE_BATCH, play.message), &play, "closed"), "%s", play.message);
    end(&play);
}

/* ---- parts ---- */

TEST(parts_are_consecutive_and_differ_by_one_world_at_most) {
    for (int32_t parts = 0; parts <= MANY; parts++) {
        batch_play play;
        begin_many(&play, small_config(), 1, parts);
        CHECK(drv_batch_part(play.batch, DRV_WHOLE_BATCH).first == 0, "the whole begins elsewhere");
        CHECK(drv_batch_part(play.batch, DRV_WHOLE_BATCH).count == MANY, "the whole batch lacks worlds");
        int32_t next = 0;
        for (int32_t part = 0; part < parts; part++) {
            const drv_worlds worlds = drv_batch_part(play.batch, part);
            CHECK(worlds.first == next, "part %d of %d begins at %d, not %d", part, parts, worlds.first, next);
            CHECK(worlds.count == MANY / parts || worlds.count == MANY / parts + 1, "part %d of %d", part, parts);
            next += worlds.count;
        }
        CHECK(parts == 0 || next == MANY, "%d parts end at %d", parts, next);
        end(&play);
    }
}

/* Drives all parts from one thread: each call is at random a step, or one in flight that ends later. */
static void play_parts_in_turns(batch_play *play, int32_t parts, test_rng *rng) {
    for (int32_t call = 0; call < CALLS; call++) {
        act_by_call(play, call);
        int32_t in_flight[DRV_PART_LIMIT] = {0};
        for (int32_t part = 0; part < parts; part++) {
            in_flight[part] = rng_below(rng, 3) > 0;
            if (in_flight[part]) must_begin(play, part);
            else must(drv_batch_step(play->batch, part, NULL, play->message), play);
        }
        const int32_t first = rng_below(rng, parts);
        for (int32_t i = 0; i < parts; i++)
            if (in_flight[(first + i) % parts]) must_wait(play, (first + i) % parts);
    }
}

TEST(parts_give_the_bytes_of_the_whole_in_any_number_and_order) {
    test_rng rng = {17};
    batch_play whole;
    play_whole(&whole, small_config());
    for (int32_t parts = 1; parts <= MANY; parts++) {
        for (int32_t threads = 1; threads <= 4; threads++) {
            batch_play play;
            begin_many(&play, small_config(), threads, parts);
            for (int32_t part = 0; part < parts; part++)
                must(drv_batch_reset(play.batch, part, NULL, NULL, NULL, play.message), &play);
            play_parts_in_turns(&play, parts, &rng);
            must_equal(&play, &whole, "parts in turns");
            end(&play);
        }
    }
    end(&whole);
}

TEST(a_part_copies_its_actions_to_its_own_agents_alone) {
    for (int32_t type = DRV_DISCRETE; type <= DRV_CONTINUOUS; type++) {
        batch_play play;
        drv_config config = small_config();
        config.action_type = type;
        begin_many(&play, config, 1, 2);
        must_reset(&play, NULL);
        const size_t item = type == DRV_CONTINUOUS ? sizeof(float) : sizeof(int64_t);
        const size_t bytes = (size_t)(play.needs.num_agents * play.needs.action_width) * item;
        uint8_t *bound = type == DRV_CONTINUOUS ? (uint8_t *)play.shares : (uint8_t *)play.actions;
        uint8_t *own = malloc(bytes), *before = malloc(bytes);
        act_by_call(&play, 1);
        memcpy(own, bound, bytes);
        act_by_call(&play, 2);
        memcpy(before, bound, bytes);
        const drv_worlds second = drv_batch_part(play.batch, 1);
        const size_t offset = (size_t)(second.first * SMALL_AGENTS * play.needs.action_width) * item;
        must(drv_batch_step(play.batch, 1, own + offset, play.message), &play);
        CHECK(memcmp(bound, before, offset) == 0, "type %d: another part's actions changed", type);
        CHECK(memcmp(bound + offset, own + offset, bytes - offset) == 0, "type %d: they were not kept", type);
        free(own);
        free(before);
        end(&play);
    }
}

TEST(restart_observations_of_a_part_are_those_of_the_whole_batch) {
    batch_play play;
    begin_many(&play, small_config(), 2, 3);
    must_reset(&play, NULL);
    const size_t agent = (size_t)play.needs.observation_size, size = (size_t)play.needs.num_agents * agent;
    float *whole = made(size, sizeof *whole), *parts = made(size, sizeof *parts);
    const int32_t ages[MANY] = {0, 1, 2, 3, 4, 0, 1};
    must(drv_batch_reset(play.batch, DRV_WHOLE_BATCH, NULL, NULL, ages, play.message), &play);
    for (int32_t call = 0; call < 12; call++) {
        act(&play, 3, 6);
        must_step(&play);
        must(drv_batch_restart_observations(play.batch, DRV_WHOLE_BATCH, whole, play.message), &play);
        for (int32_t part = 0; part < 3; part++) {
            float *part_restarts = parts + (size_t)(drv_batch_part(play.batch, part).first * SMALL_AGENTS) * agent;
            must(drv_batch_restart_observations(play.batch, part, part_restarts, play.message), &play);
        }
        CHECK(memcmp(whole, parts, size * sizeof *whole) == 0, "after call %d", call);
    }
    free(whole);
    free(parts);
    end(&play);
}

typedef struct part_driver {
    batch_play *play;
    int32_t part;
    uint64_t seed;
} part_driver;

/* Drives one part to the end, beside others that drive theirs. */
static void *play_part(void *argument) {
    const part_driver *self = argument;
    batch_play *play = self->play;
    const drv_worlds worlds = drv_batch_part(play->batch, self->part);
    const int32_t numbers = SMALL_AGENTS * play->needs.action_width;
    char message[DRV_MESSAGE_BYTES] = "";
    test_rng rng = {self->seed};
    float *restarts = made((size_t)(worlds.count * SMALL_AGENTS * play->needs.observation_size), sizeof *restarts);
    int64_t *actions = made((size_t)(MANY * numbers), sizeof *actions);
    drv_status status = drv_batch_reset(play->batch, self->part, NULL, NULL, NULL, message);
    for (int32_t call = 0; call < CALLS && status == DRV_OK; call++) {
        test_rng rng_of_call = {1 + (uint64_t)call};
        for (int32_t i = 0; i < MANY * numbers; i++) {
            actions[i] = rng_below(&rng_of_call, PLAY_ACTIONS);
            rng_between(&rng_of_call, -1.0, 1.0); /* as act_by_call draws */
        }
        int64_t *own = actions + worlds.first * numbers;
        if (rng_below(&rng, 2)) {
            status = drv_batch_step(play->batch, self->part, own, message);
        } else {
            status = drv_batch_step_async(play->batch, self->part, own, message);
            memset(own, 0xff, (size_t)(worlds.count * numbers) * sizeof *own);
            if (status == DRV_OK) status = drv_batch_wait(play->batch, self->part, message);
        }
        if (status == DRV_OK) status = drv_batch_restart_observations(play->batch, self->part, restarts, message);
    }
    CHECK(status == DRV_OK, "part %d: %d: %s", self->part, status, message);
    free(actions);
    free(restarts);
    return NULL;
}

TEST(parts_in_separate_threads_are_independent) {
    enum { PARTS = 3 };
    batch_play whole;
    play_whole(&whole, small_config());
    for (int32_t threads = 1; threads <= 4; threads++) {
        batch_play play;
        begin_many(&play, small_config(), threads, PARTS);
        part_driver drivers[PARTS];
        pthread_t running[PARTS];
        for (int32_t i = 0; i < PARTS; i++) {
            drivers[i] = (part_driver){&play, i, 5 + (uint64_t)i};
            pthread_create(&running[i], NULL, play_part, &drivers[i]);
        }
        for (int32_t i = 0; i < PARTS; i++) pthread_join(running[i], NULL);
        must_equal(&play, &whole, "parts in threads");
        end(&play);
    }
    end(&whole);
}

TEST(a_reset_of_a_part_is_that_of_its_worlds_alone) {
    batch_play play, other;
    begin_many(&play, small_config(), 2, 2);
    begin_many(&other, small_config(), 1, 0);
    act(&play, 3, 6);
    const drv_worlds second = drv_batch_part(play.batch, 1);
    const uint8_t none[MANY] = {0};
    CHECK(is_error(drv_batch_reset(play.batch, 1, NULL, none, NULL, play.message), &play, "leaves out world 0"), "%s",
          play.message);
    must(drv_batch_reset(play.batch, 0, NULL, NULL, NULL, play.message), &play);
    CHECK(is_error(drv_batch_step(play.batch, 1, NULL, play.message), &play, "before reset"), "%s", play.message);
    CHECK(is_error(drv_batch_step(play.batch, DRV_WHOLE_BATCH, NULL, play.message), &play, "before reset"), "%s",
          play.message);
    must(drv_batch_reset(play.batch, 1, NULL, NULL, NULL, play.message), &play);
    must_reset(&other, NULL);
    /* Seeds, flags and ages, one a world: from the part's first, and from the batch's. */
    uint64_t seeds[MANY];
    uint8_t chosen[MANY] = {0};
    int32_t ages[MANY] = {0};
    for (int32_t world = 0; world < MANY; world++) seeds[world] = 100 + (uint64_t)world;
    chosen[second.first] = chosen[MANY - 1] = 1;
    ages[second.first] = 2;
    must(drv_batch_reset(play.batch, 1, seeds + second.first, chosen + second.first, ages + second.first, play.message),
         &play);
    must(drv_batch_reset(other.batch, DRV_WHOLE_BATCH, seeds, chosen, ages, other.message), &other);
    must_equal(&play, &other, "a reset");
    ages[second.first] = 5;
    CHECK(is_error(drv_batch_reset(play.batch, 1, NULL, NULL, ages + second.first, play.message), &play,
                  "world 0 is 5; it must be 0 to 4"), "%s", play.message);
    must_equal(&play, &other, "a refused reset");
    end(&play);
    end(&other);
}

/* ---- closing, and forks ---- */

TEST(closing_and_freeing_end_the_steps_in_flight) {
    for (int32_t round = 0; round < 40; round++) {
        batch_play play;
        begin_many(&play, small_config(), 1 + round % 4, 3);
        must_reset(&play, NULL);
        act_by_call(&play, 0);
        if (round % 3 == 0) must_begin(&play, DRV_WHOLE_BATCH);
        for (int32_t part = 0; round % 3 != 0 && part <= round % 3; part++) must_begin(&play, part);
        if (round % 2) usleep((useconds_t)(20 * round));
        if (round % 5 == 0) {
            drv_batch_close(play.batch);
            CHECK(is_error(drv_batch_wait(play.batch, 0, play.message), &play, "closed"), "%s", play.message);
            CHECK(is_error(drv_batch_wait(play.batch, DRV_WHOLE_BATCH, play.message), &play, "closed"), "%s",
                  play.message);
            must_all_refuse(&play, DRV_WHOLE_BATCH, "closed");
        }
        end(&play);
    }
}

static void *step_async_until_closed(void *argument) {
    const part_driver *self = argument;
    char message[DRV_MESSAGE_BYTES] = "";
    drv_status status = DRV_OK;
    while (status == DRV_OK) {
        status = drv_batch_step_async(self->play->batch, self->part, NULL, message);
        if (status == DRV_OK) status = drv_batch_wait(self->play->batch, self->part, message);
    }
    CHECK(status == DRV_ERROR_CALL && strstr(message, "closed"), "%d: %s", status, message);
    return NULL;
}

TEST(closing_under_steps_in_flight_of_other_threads_ends) {
    for (int32_t round = 0; round < 20; round++) {
        batch_play play;
        begin_many(&play, small_config(), 2, 2);
        must_reset(&play, NULL);
        act(&play, 3, 6);
        part_driver drivers[2] = {{&play, 0, 0}, {&play, 1, 0}};
        pthread_t threads[2];
        for (int32_t i = 0; i < 2; i++) pthread_create(&threads[i], NULL, step_async_until_closed, &drivers[i]);
        usleep((useconds_t)(100 * round));
        drv_batch_close(play.batch);
        for (int32_t i = 0; i < 2; i++) pthread_join(threads[i], NULL);
        end(&play);
    }
}

TEST(a_copy_forked_with_a_step_in_flight_reports_the_fork_and_ends) {
    batch_play play;
    begin_many(&play, small_config(), 2, 2);
    must_reset(&play, NULL);
    act(&play, 3, 6);
    for (int32_t part = DRV_WHOLE_BATCH; part < 2; part++) {
        must_begin(&play, part);
        const pid_t child = fork();
        if (child == 0) {
            char message[DRV_MESSAGE_BYTES] = "";
            drv_figure figure;
            drv_batch_forked(play.batch);
            const int refused = drv_batch_wait(play.batch, part, message) == DRV_ERROR_CALL &&
                                strstr(message, "forked") &&
                                drv_batch_trials(play.batch, &figure, message) == DRV_ERROR_CALL &&
                                strstr(message, "forked");
            drv_batch_close(play.batch);
            const int closed = drv_batch_wait(play.batch, part, message) == DRV_ERROR_CALL && strstr(message, "closed");
            drv_batch_free(play.batch);
            _exit(!refused ? 1 : !closed ? 2 : 0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "part %d: the child ended with %d", part, status);
        must_wait(&play, part);
    }
    must_step(&play);
    end(&play);
}
