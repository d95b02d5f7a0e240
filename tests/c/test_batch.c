/* Does a batch work from C alone, and does it refuse invalid setups and calls? */
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
#include "step/state.h"

static int64_t trials_of(batch_play *play) {
    drv_figure found = {0.0, -1};
    CHECK(drv_batch_trials(play->batch, &found, play->message) == DRV_OK, "%s", play->message);
    return found.n;
}

static drv_figure figure_of(batch_play *play, int32_t metric) {
    drv_figure found = {0.0, -1};
    CHECK(drv_batch_metric(play->batch, metric, -1, &found, play->message) == DRV_OK, "%s", play->message);
    return found;
}

/* The time of all phases; timing goes on where `on`. */
static int64_t time_ns(batch_play *play, int32_t on) {
    int64_t spent_ns[64], sum_ns = 0;
    CHECK(drv_phase_count() <= 64, "%d phases", drv_phase_count());
    CHECK(drv_batch_time_phases(play->batch, on, spent_ns, play->message) == DRV_OK, "%s", play->message);
    for (int32_t phase = 0; phase < drv_phase_count(); phase++) sum_ns += spent_ns[phase];
    return sum_ns;
}

/* ---- what a setup may hold ---- */

static const float not_a_number = NAN, endless = INFINITY;

/* Breaks one field of a setup; returns what the sentence must name, or NULL past the last case. */
static const char *break_setup(int32_t number, drv_batch_setup *setup, const char **about) {
    drv_config *c = &setup->config;
#define BREAK(field, bad, named)       \
    if (number-- == 0) {               \
        field = bad;                   \
        *about = #field " = " #bad;    \
        return named;                  \
    }
#define BREAK_CODE(field, above, named)  \
    BREAK(field, -1, named)              \
    BREAK(field, above, named)           \
    BREAK(field, INT32_MIN, named)       \
    BREAK(field, INT32_MAX, named)
#define BREAK_NUMBER(field, below, above, named) \
    BREAK(field, below, named)           \
    BREAK(field, above, named)           \
    BREAK(field, not_a_number, named)    \
    BREAK(field, endless, named)         \
    BREAK(field, -endless, named)
    BREAK_CODE(setup->num_worlds, (1 << 20) + 1, "worlds")
    BREAK(setup->num_worlds, 0, "worlds")
    BREAK_CODE(setup->scene_count, (1 << 24) + 1, "scenes")
    BREAK(setup->scene_count, 0, "scenes")
    BREAK_CODE(setup->thread_count, 1025, "threads")
    BREAK(setup->thread_count, 0, "threads")
    BREAK_CODE(setup->part_count, WORLDS + 1, "parts")
    BREAK_CODE(setup->agents_per_world, 65536, "agents_per_world")
    BREAK(setup->agents_per_world, 0, "agents_per_world")
    BREAK_CODE(c->max_trials, 10001, "max_trials")
    BREAK(c->max_trials, 0, "max_trials")
    BREAK_CODE(c->action_type, 3, "action_type")
    BREAK_CODE(c->dynamics, DRV_DYNAMICS_COUNT, "dynamics")
    BREAK_NUMBER(c->max_acceleration_mps2, 0.0f, 101.0f, "max_acceleration_mps2")
    BREAK_NUMBER(c->max_steering_rad, 0.0f, 1.6f, "max_steering_rad")
    BREAK_NUMBER(c->max_speed_mps, 0.0f, 201.0f, "max_speed_mps")
    BREAK_NUMBER(c->min_speed_mps, -201.0f, 0.1f, "min_speed_mps")
    BREAK_NUMBER(c->friction, 0.0f, 10.1f, "friction")
    BREAK_NUMBER(c->goal_radius_m, 0.0f, 1001.0f, "goal_radius_m")
    BREAK_NUMBER(c->goal_max_speed_mps, -1.1f, 201.0f, "goal_max_speed_mps")
    BREAK_CODE(c->on_goal, 3, "on_goal")
    BREAK_CODE(c->on_collision, 3, "on_collision")
    BREAK_CODE(c->on_offroad, 3, "on_offroad")
    BREAK_NUMBER(c->stopped_share_limit, -0.1f, 1.1f, "stopped_share_limit")
    BREAK_CODE(c->partners, 4097, "partners")
    BREAK_CODE(c->roads, 4097, "roads")
    BREAK_NUMBER(c->view_radius_m, 0.0f, 10001.0f, "view_radius_m")
    BREAK_CODE(c->time_left, 2, "time_left")
    BREAK_CODE(c->reveal_hidden, 2, "reveal_hidden")
    BREAK_CODE(c->hidden_scope, 2, "hidden_scope")
    BREAK_CODE(c->hidden_per, 2, "hidden_per")
    BREAK_NUMBER(c->hidden_steering_flip, -0.1f, 1.1f, "hidden_steering_flip")
#define X(symbol, name, neutral, lowest, highest, meaning)                                                        \
    BREAK_NUMBER(c->hidden_##name##_low, -2.0f * (highest), 2.0f * (highest), "hidden_" #name "_low")             \
    BREAK_NUMBER(c->hidden_##name##_high, -2.0f * (highest), 2.0f * (highest), "hidden_" #name "_high")           \
    BREAK(c->hidden_##name##_low, (float)(highest), "hidden_" #name) /* above the other end, which is 0 */
    DRV_HIDDEN(X)
#undef X
    BREAK_CODE(c->scene_order, 2, "scene_order")
    BREAK_CODE(c->restart, 2, "restart")
    BREAK_NUMBER(c->reward_goal, -2e6f, 2e6f, "reward_goal")
    BREAK_NUMBER(c->reward_collision, -2e6f, 2e6f, "reward_collision")
    BREAK_NUMBER(c->reward_offroad, -2e6f, 2e6f, "reward_offroad")
    BREAK_NUMBER(c->reward_progress_per_m, -2e6f, 2e6f, "reward_progress_per_m")
    BREAK_NUMBER(c->log_ema_alpha, -0.1f, 1.1f, "log_ema_alpha")
    return NULL;
#undef BREAK
#undef BREAK_CODE
#undef BREAK_NUMBER
}

TEST(every_field_out_of_range_is_refused_by_name) {
    batch_play play;
    const char *about = "", *named;
    begin_scene(&play, small_config(), 1);
    int32_t number = 0;
    for (;; number++) {
        drv_batch_setup setup = play.setup;
        named = break_setup(number, &setup, &about);
        if (!named) break;
        char *message = malloc(DRV_MESSAGE_BYTES);
        memset(message, 'x', DRV_MESSAGE_BYTES);
        drv_batch_needs needs = {.num_agents = -77};
        const drv_status status = drv_batch_plan(&setup, &needs, message);
        message[DRV_MESSAGE_BYTES - 1] = '\0';
        CHECK(status == DRV_ERROR_CONFIG, "%s: status %d", about, status);
        CHECK(strstr(message, named) == message && strstr(message, "must be"), "%s: it says \"%s\"", about, message);
        CHECK(needs.num_agents == -77, "%s: needs were written", about);
        drv_batch *batch = (drv_batch *)(uintptr_t)64;
        CHECK(drv_batch_create(&setup, NULL, 0, &batch, message) == status && !batch, "%s: it was created", about);
        free(message);
    }
    CHECK(number > 100, "only %d cases", number);
    drv_scene_release(play.scene);
}

TEST(world_ids_are_not_negative) {
    batch_play play;
    begin_scene(&play, small_config(), 1);
    play.ids[2] = -1;
    CHECK(drv_batch_plan(&play.setup, &play.needs, play.message) == DRV_ERROR_CONFIG, "it was accepted");
    CHECK(strstr(play.message, "world id 2 is -1"), "%s", play.message);
    drv_scene_release(play.scene);
}

TEST(a_scene_with_more_agents_than_a_world_is_refused) {
    batch_play play;
    begin_scene(&play, small_config(), 1);
    drv_batch_setup setup = play.setup;
    setup.agents_per_world = 1;
    CHECK(drv_batch_plan(&setup, &play.needs, play.message) == DRV_ERROR_SCENE, "fewer agents: %s", play.message);
    CHECK(strstr(play.message, "small has 2"), "%s", play.message);
    drv_scene_release(play.scene);
}

TEST(an_instruction_set_is_one_of_those_on_offer) {
    batch_play play;
    begin_scene(&play, small_config(), 1);
    const char *const unknown[] = {"v9", "BASELINE", "%s%n", "a name much longer than any sentence has a place for"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        play.setup.instruction_set = unknown[i];
        CHECK(drv_batch_plan(&play.setup, &play.needs, play.message) == DRV_ERROR_CONFIG, "%s", unknown[i]);
        CHECK(strstr(play.message, "offers baseline"), "%s", play.message);
    }
    play.setup.instruction_set = "baseline";
    CHECK(drv_batch_plan(&play.setup, &play.needs, play.message) == DRV_OK, "%s", play.message);
    drv_scene_release(play.scene);
}

TEST(a_batch_too_large_for_any_memory_is_refused) {
    batch_play play;
    begin_scene(&play, small_config(), 1);
    int64_t *ids = calloc(1 << 20, sizeof *ids);
    play.setup.world_ids = ids;
    play.setup.num_worlds = 1 << 20;
    play.setup.agents_per_world = 4096;
    CHECK(drv_batch_plan(&play.setup, &play.needs, play.message) == DRV_ERROR_MEMORY, "%s", play.message);
    play.setup.num_worlds = 1;
    play.setup.agents_per_world = 65535;
    play.setup.config.max_trials = 10000;
    CHECK(drv_batch_plan(&play.setup, &play.needs, play.message) == DRV_ERROR_MEMORY, "%s", play.message);
    play.setup.agents_per_world = 4096;
    CHECK(drv_batch_plan(&play.setup, &play.needs, play.message) == DRV_ERROR_MEMORY, "%s", play.message);
    free(ids);
    drv_scene_release(play.scene);
}

TEST(a_block_too_small_or_off_its_line_is_refused) {
    batch_play play;
    begin_scene(&play, small_config(), 1);
    CHECK(drv_batch_plan(&play.setup, &play.needs, play.message) == DRV_OK, "%s", play.message);
    CHECK(play.needs.num_agents == WORLDS * SMALL_AGENTS && play.needs.agents_per_world == SMALL_AGENTS &&
          play.needs.vehicles_per_world >= SMALL_VEHICLES && play.needs.action_width == 1, "needs");
    uint8_t *block = aligned_alloc(BLOCK_LINE, (size_t)play.needs.block_bytes + BLOCK_LINE);
    drv_batch *batch = (drv_batch *)(uintptr_t)64;
    CHECK(drv_batch_create(&play.setup, block, play.needs.block_bytes - 1, &batch, play.message) == DRV_ERROR_MEMORY,
          "a block one byte short");
    CHECK(batch == NULL && strstr(play.message, "must be at least"), "%s", play.message);
    for (int32_t off = 1; off < BLOCK_LINE; off += 7)
        CHECK(drv_batch_create(&play.setup, block + off, play.needs.block_bytes, &batch, play.message) ==
                  DRV_ERROR_MEMORY && !batch, "%d bytes off its line", off);
    CHECK(drv_batch_create(&play.setup, block, play.needs.block_bytes + BLOCK_LINE, &batch, play.message) == DRV_OK,
          "a block larger than needed: %s", play.message);
    drv_batch_free(batch);
    free(block);
    drv_scene_release(play.scene);
}

/* ---- life cycle ---- */

static void check_life_cycle(int32_t action_type, int32_t threads) {
    batch_play play;
    drv_config config = small_config();
    config.action_type = action_type;
    begin(&play, config, threads);
    act(&play, 3, 6);
    CHECK(drv_batch_step(play.batch, DRV_WHOLE_BATCH, NULL, play.message) == DRV_ERROR_CALL &&
              strstr(play.message, "before reset"),
          "%s", play.message);
    must_reset(&play, NULL);
    for (int32_t agent = 0; agent < play.needs.num_agents; agent++)
        CHECK(play.arrays.first[agent] == 1 && play.arrays.waits[agent] == 0 && play.arrays.invalid_step[agent] == 0,
              "agent %d", agent);
    /* Two trials of five steps and a restart each; no vehicle or edge is near enough to be reached in them. */
    for (int32_t call = 1; call <= 36; call++) {
        must_step(&play);
        const int32_t within = (call - 1) % 12 + 1;
        const int ended = within == 5 || within == 11, restarted = within == 6 || within == 12;
        for (int32_t agent = 0; agent < play.needs.num_agents; agent++) {
            CHECK(play.arrays.trial_ended[agent] == ended, "call %d, agent %d", call, agent);
            CHECK(play.arrays.truncations[agent] == (within == 11), "call %d, agent %d", call, agent);
            CHECK(play.arrays.terminations[agent] == 0, "call %d, agent %d", call, agent);
            CHECK(play.arrays.invalid_step[agent] == restarted, "call %d, agent %d", call, agent);
            CHECK(play.arrays.first[agent] == (within == 12), "call %d, agent %d", call, agent);
            CHECK(play.arrays.trial_index[agent] == (within >= 6 && within < 12), "call %d", call);
            CHECK(play.arrays.rewards[agent] == 0.0f, "call %d: %g", call, (double)play.arrays.rewards[agent]);
            for (int32_t i = 0; i < play.needs.observation_size; i++) {
                const float *floats = (const float *)(const void *)play.arrays.observations;
                const float seen = floats[agent * play.needs.observation_size + i];
                CHECK(seen >= -1.0f && seen <= 1.0f, "call %d, agent %d, float %d: %g", call, agent, i, (double)seen);
            }
        }
    }
    CHECK(trials_of(&play) == 6 * play.needs.num_agents, "%lld trials", (long long)trials_of(&play));
    end(&play);
}

TEST(a_batch_begins_steps_restarts_and_ends) {
    for (int32_t action_type = DRV_DISCRETE; action_type <= DRV_CONTINUOUS; action_type++)
        for (int32_t threads = 1; threads <= 4; threads++) check_life_cycle(action_type, threads);
}

TEST(a_batch_that_is_never_stepped_ends) {
    batch_play play;
    begin(&play, small_config(), 4);
    end(&play);
    begin(&play, small_config(), 4);
    must_reset(&play, NULL);
    end(&play);
    drv_batch_free(NULL);
}

TEST(no_batch_at_all_is_an_error_of_the_call) {
    char message[DRV_MESSAGE_BYTES];
    CHECK(drv_batch_step(NULL, DRV_WHOLE_BATCH, NULL, message) == DRV_ERROR_CALL && strstr(message, "closed"), "%s",
          message);
}

TEST(calls_of_a_closed_batch_are_errors_until_it_is_freed) {
    batch_play play;
    begin(&play, small_config(), 2);
    must_reset(&play, NULL);
    act(&play, 3, 6);
    must_step(&play);
    float *restarts = made((size_t)play.needs.num_agents * (size_t)play.needs.observation_size, sizeof *restarts);
    for (int32_t times = 0; times < 2; times++) {
        drv_batch_close(play.batch);
        CHECK(drv_batch_step(play.batch, DRV_WHOLE_BATCH, NULL, play.message) == DRV_ERROR_CALL &&
              strstr(play.message, "closed"), "%s",
              play.message);
        CHECK(drv_batch_reset(play.batch, DRV_WHOLE_BATCH, NULL, NULL, NULL, play.message) == DRV_ERROR_CALL, "%s",
              play.message);
        CHECK(drv_batch_restart_observations(play.batch, DRV_WHOLE_BATCH, restarts, play.message) == DRV_ERROR_CALL,
              "%s", play.message);
        drv_figure figure;
        int64_t spent_ns[64];
        CHECK(drv_batch_trials(play.batch, &figure, play.message) == DRV_ERROR_CALL, "%s", play.message);
        CHECK(drv_batch_metric(play.batch, 0, -1, &figure, play.message) == DRV_ERROR_CALL, "%s", play.message);
        CHECK(drv_batch_adaptation(play.batch, 1, &figure, play.message) == DRV_ERROR_CALL, "%s", play.message);
        CHECK(drv_batch_time_phases(play.batch, 1, spent_ns, play.message) == DRV_ERROR_CALL, "%s", play.message);
        drv_batch_forked(play.batch);
    }
    free(restarts);
    end(&play);
}

TEST(a_batch_keeps_its_scene) {
    batch_play play;
    begin(&play, small_config(), 2);
    drv_scene_release(play.scene);
    play.scene = NULL;
    must_reset(&play, NULL);
    act(&play, 6, 6);
    for (int32_t call = 0; call < 20; call++) must_step(&play);
    end(&play);
}

TEST(the_state_fields_are_inside_the_block) {
    batch_play play;
    begin(&play, small_config(), 1);
    const int32_t count = drv_batch_state_fields(play.batch, NULL, 0);
    drv_state_field *fields = calloc((size_t)count, sizeof *fields);
    CHECK(drv_batch_state_fields(play.batch, fields, count) == count, "the count depends on the capacity");
    CHECK(drv_batch_state_fields(play.batch, fields, 1) == count, "the count depends on the capacity");
    for (int32_t i = 0; i < count; i++) {
        const uint64_t last = fields[i].offset + (WORLDS - 1) * fields[i].world_stride +
                              (uint64_t)fields[i].count * (uint64_t)(fields[i].type[1] - '0');
        CHECK(last <= play.needs.block_bytes, "%s ends at %llu of %llu", fields[i].name, (unsigned long long)last,
              (unsigned long long)play.needs.block_bytes);
    }
    free(fields);
    end(&play);
}

TEST(figures_and_phases_have_names_and_no_others) {
    const drv_config config = small_config();
    const char *names[64] = {NULL};
    const int32_t terms = drv_term_names(names, 64);
    for (int32_t i = 0; i < 64; i++) CHECK((i < terms) == (names[i] && names[i][0]), "term %d of %d", i, terms);
    memset(names, 0, sizeof names);
    const int32_t metrics = drv_metric_names(&config, names, 64);
    for (int32_t i = 0; i < 64; i++) CHECK((i < metrics) == (names[i] && names[i][0]), "metric %d of %d", i, metrics);
    CHECK(drv_phase_count() > 0, "none");
    for (int32_t i = 0; i < drv_phase_count(); i++) CHECK(drv_phase_name(i)[0] != '\0', "phase %d", i);
    const int32_t wrong[] = {-1, INT32_MIN, INT32_MAX, 1000};
    for (size_t i = 0; i < 4; i++)
        CHECK(drv_phase_name(wrong[i])[0] == '\0', "%d", wrong[i]);
}

TEST(a_figure_without_data_is_nan_with_a_count_of_0) {
    batch_play play;
    begin(&play, small_config(), 1);
    must_reset(&play, NULL);
    const int32_t metrics = drv_metric_names(&play.setup.config, NULL, 0);
    for (int32_t i = 0; i < metrics; i++) {
        const drv_figure figure = figure_of(&play, i);
        CHECK(isnan(figure.value) && figure.n == 0, "%d: %g over %lld", i, figure.value, (long long)figure.n);
    }
    CHECK(trials_of(&play) == 0, "trials are counted");
    drv_figure figure;
    const int32_t max_trials = play.setup.config.max_trials, wrong_trials[] = {-2, max_trials, 1 << 30};
    for (size_t i = 0; i < sizeof wrong_trials / sizeof *wrong_trials; i++) {
        CHECK(drv_batch_metric(play.batch, 0, wrong_trials[i], &figure, play.message) == DRV_ERROR_CALL, "taken");
        CHECK(drv_batch_adaptation(play.batch, wrong_trials[i], &figure, play.message) == DRV_ERROR_CALL, "taken");
    }
    CHECK(drv_batch_metric(play.batch, -1, -1, &figure, play.message) == DRV_ERROR_CALL, "a metric below the first");
    CHECK(drv_batch_metric(play.batch, metrics, -1, &figure, play.message) == DRV_ERROR_CALL,
          "past the last");
    CHECK(drv_batch_adaptation(play.batch, 0, &figure, play.message) == DRV_ERROR_CALL, "trial 0 against itself");
    end(&play);
}

/* ---- invalid calls ---- */

static void check_state_is_unchanged(batch_play *play, const char *about, drv_status wanted) {
    void *before = malloc((size_t)play->needs.block_bytes);
    memcpy(before, play->block, (size_t)play->needs.block_bytes);
    const drv_status status = drv_batch_step(play->batch, DRV_WHOLE_BATCH, NULL, play->message);
    CHECK(status == wanted, "%s: status %d: %s", about, status, play->message);
    CHECK(memcmp(before, play->block, (size_t)play->needs.block_bytes) == 0, "%s: the state changed", about);
    free(before);
}

TEST(the_error_of_an_invalid_action_names_the_agent_and_the_state_is_unchanged) {
    /* discrete */
    const int64_t bad[] = {-1, 91, INT64_MIN, INT64_MAX, (int64_t)1 << 32};
    for (int32_t threads = 1; threads <= 2; threads++) {
        batch_play play;
        begin(&play, small_config(), threads);
        must_reset(&play, NULL);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            act(&play, 4, 6);
            play.actions[3] = bad[i];
            check_state_is_unchanged(&play, "discrete", DRV_ERROR_ACTION);
            CHECK(strstr(play.message, "agent 3 (world 1)"), "%s", play.message);
        }
        act(&play, 4, 6);
        must_step(&play);
        end(&play);
    }
    /* multi-discrete */
    batch_play play;
    drv_config config = small_config();
    config.action_type = DRV_MULTI_DISCRETE;
    begin(&play, config, 1);
    must_reset(&play, NULL);
    const int64_t pairs[][2] = {{-1, 6}, {7, 6}, {3, -1}, {3, 13}, {INT64_MIN, 6}, {3, INT64_MAX}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        act(&play, 4, 6);
        play.actions[10] = pairs[i][0];
        play.actions[11] = pairs[i][1];
        check_state_is_unchanged(&play, "multi_discrete", DRV_ERROR_ACTION);
        CHECK(strstr(play.message, "agent 5 (world 2)"), "%s", play.message);
    }
    end(&play);
    /* continuous */
    config.action_type = DRV_CONTINUOUS;
    begin(&play, config, 1);
    must_reset(&play, NULL);
    const float shares[] = {NAN, INFINITY, -INFINITY, 1.0001f, -1.0001f};
    for (size_t i = 0; i < 2 * sizeof shares / sizeof *shares; i++) {
        act(&play, 4, 6);
        play.shares[i % 2] = shares[i / 2];
        check_state_is_unchanged(&play, "continuous", DRV_ERROR_ACTION);
        CHECK(strstr(play.message, "agent 0 (world 0)"), "%s", play.message);
    }
    end(&play);
}

TEST(ages_and_a_first_reset_are_checked_before_the_state_changes) {
    batch_play play;
    begin(&play, small_config(), 1);
    const uint8_t two[WORLDS] = {1, 0, 1};
    CHECK(drv_batch_reset(play.batch, DRV_WHOLE_BATCH, NULL, two, NULL, play.message) == DRV_ERROR_CALL &&
          strstr(play.message, "world 1"), "%s", play.message);
    const int32_t old[WORLDS] = {0, 0, 5}, negative[WORLDS] = {-1, 0, 0}, fine[WORLDS] = {0, 2, 4};
    CHECK(drv_batch_reset(play.batch, DRV_WHOLE_BATCH, NULL, NULL, old, play.message) == DRV_ERROR_CALL &&
          strstr(play.message, "world 2 is 5; it must be 0 to 4"), "%s", play.message);
    CHECK(drv_batch_reset(play.batch, DRV_WHOLE_BATCH, NULL, NULL, negative, play.message) == DRV_ERROR_CALL, "%s",
          play.message);
    CHECK(drv_batch_step(play.batch, DRV_WHOLE_BATCH, NULL, play.message) == DRV_ERROR_CALL, "a refused reset counts");
    CHECK(drv_batch_reset(play.batch, DRV_WHOLE_BATCH, NULL, NULL, fine, play.message) == DRV_OK, "%s", play.message);
    act(&play, 3, 6);
    must_step(&play);
    CHECK(play.arrays.trial_ended[4] == 1 && play.arrays.trial_ended[2] == 0, "ages have no effect");
    end(&play);
}

TEST(a_restart_left_to_the_caller_is_required_before_the_next_step) {
    batch_play play;
    drv_config config = small_config();
    config.restart = DRV_RESTART_CALLER;
    config.max_trials = 1;
    begin(&play, config, 1);
    must_reset(&play, NULL);
    act(&play, 3, 6);
    for (int32_t call = 0; call < 5; call++) must_step(&play);
    check_state_is_unchanged(&play, "restart required", DRV_ERROR_CALL);
    CHECK(strstr(play.message, "world 0"), "%s", play.message);
    must_reset(&play, NULL);
    must_step(&play);
    end(&play);
}

/* ---- the state block holds the whole state ---- */

TEST(a_copy_of_the_block_goes_on_like_the_batch_it_came_from) {
    batch_play one, other;
    test_rng rng = {71};
    begin(&one, small_config(), 2);
    begin(&other, small_config(), 1);
    must_reset(&one, NULL);
    for (int32_t call = 0; call < 8; call++) {
        act(&one, rng_below(&rng, 7), rng_below(&rng, 13));
        must_step(&one);
    }
    memcpy(other.block, one.block, (size_t)one.needs.block_bytes);
    for (int32_t call = 0; call < 40; call++) {
        const int32_t push = rng_below(&rng, 7), turn = rng_below(&rng, 13);
        act(&one, push, turn);
        act(&other, push, turn);
        must_step(&one);
        must_step(&other);
        CHECK(memcmp(one.block, other.block, (size_t)one.needs.block_bytes) == 0, "state differs after call %d", call);
        CHECK(memcmp(one.arrays.code, other.arrays.code, (size_t)one.needs.num_agents * sizeof(uint16_t)) == 0,
              "channels differ after call %d", call);
    }
    end(&one);
    end(&other);
}

TEST(a_block_copied_in_that_was_never_reset_is_not_stepped) {
    batch_play one, fresh;
    begin(&one, small_config(), 2);
    begin(&fresh, small_config(), 2);
    must_reset(&one, NULL);
    act(&one, 3, 6);
    must_step(&one);
    memcpy(one.block, fresh.block, (size_t)one.needs.block_bytes);
    check_state_is_unchanged(&one, "never reset", DRV_ERROR_CALL);
    CHECK(strstr(one.message, "call reset first"), "%s", one.message);
    end(&one);
    end(&fresh);
}

TEST(restart_observations_change_nothing_and_are_those_of_the_restart) {
    batch_play play;
    begin(&play, small_config(), 2);
    float *restarts = made((size_t)play.needs.num_agents * (size_t)play.needs.observation_size, sizeof *restarts);
    CHECK(drv_batch_restart_observations(play.batch, DRV_WHOLE_BATCH, restarts, play.message) == DRV_ERROR_CALL, "%s",
          play.message);
    must_reset(&play, NULL);
    act(&play, 3, 6);
    for (int32_t call = 0; call < 5; call++) must_step(&play);
    void *before = malloc((size_t)play.needs.block_bytes);
    memcpy(before, play.block, (size_t)play.needs.block_bytes);
    CHECK(drv_batch_restart_observations(play.batch, DRV_WHOLE_BATCH, restarts, play.message) == DRV_OK, "%s",
          play.message);
    CHECK(memcmp(before, play.block, (size_t)play.needs.block_bytes) == 0, "the call changed the state");
    must_step(&play);
    CHECK(memcmp(restarts, play.arrays.observations,
                 (size_t)play.needs.num_agents * (size_t)play.needs.observation_size * sizeof *restarts) == 0,
          "the observations differ");
    free(before);
    free(restarts);
    end(&play);
}

/* ---- threads ---- */

typedef struct caller {
    batch_play *play;
    atomic_int *done, *refused;
} caller;

static void *step_at_the_same_time(void *argument) {
    caller *self = argument;
    char message[DRV_MESSAGE_BYTES];
    for (int32_t call = 0; call < 2000; call++) {
        const drv_status status = drv_batch_step(self->play->batch, DRV_WHOLE_BATCH, NULL, message);
        CHECK(status == DRV_OK || (status == DRV_ERROR_CALL && strstr(message, "another thread")), "%d: %s", status,
              message);
        atomic_fetch_add(status == DRV_OK ? self->done : self->refused, 1);
    }
    return NULL;
}

TEST(a_concurrent_call_of_one_batch_is_an_error) {
    batch_play play;
    begin(&play, small_config(), 2);
    must_reset(&play, NULL);
    act(&play, 4, 7);
    atomic_int done = 0, refused = 0;
    caller self = {&play, &done, &refused};
    pthread_t callers[3];
    for (int32_t i = 0; i < 3; i++) pthread_create(&callers[i], NULL, step_at_the_same_time, &self);
    for (int32_t i = 0; i < 3; i++) pthread_join(callers[i], NULL);
    CHECK(atomic_load(&done) + atomic_load(&refused) == 6000 && atomic_load(&done) > 0, "%d done, %d refused",
          atomic_load(&done), atomic_load(&refused));
    end(&play);
}

static void *step_until_closed(void *argument) {
    batch_play *play = argument;
    char message[DRV_MESSAGE_BYTES] = "it was not closed";
    drv_status status = DRV_OK;
    for (int32_t call = 0; call < 1000000 && status == DRV_OK; call++)
        status = drv_batch_step(play->batch, DRV_WHOLE_BATCH, NULL, message);
    CHECK(status == DRV_ERROR_CALL, "%d: %s", status, message);
    return NULL;
}

TEST(closing_waits_for_the_call_in_progress) {
    for (int32_t round = 0; round < 20; round++) {
        batch_play play;
        begin(&play, small_config(), 2);
        must_reset(&play, NULL);
        act(&play, 3, 6);
        pthread_t stepper;
        pthread_create(&stepper, NULL, step_until_closed, &play);
        usleep((useconds_t)(100 * round));
        drv_batch_close(play.batch);
        pthread_join(stepper, NULL);
        end(&play);
    }
}

static void *report_until_closed(void *argument) {
    batch_play *play = argument;
    char message[DRV_MESSAGE_BYTES] = "it was not closed";
    drv_figure figure;
    int64_t phase_ns[64];
    drv_status status = DRV_OK;
    while (status == DRV_OK || !strstr(message, "closed")) {
        status = drv_batch_metric(play->batch, 0, -1, &figure, message);
        if (status == DRV_OK) status = drv_batch_adaptation(play->batch, 1, &figure, message);
        if (status == DRV_OK) status = drv_batch_trials(play->batch, &figure, message);
        if (status == DRV_OK) status = drv_batch_time_phases(play->batch, 1, phase_ns, message);
        CHECK(status == DRV_OK || status == DRV_ERROR_CALL, "%d: %s", status, message);
    }
    return NULL;
}

TEST(a_report_of_a_batch_that_another_thread_closed_is_an_error) {
    for (int32_t round = 0; round < 20; round++) {
        batch_play play;
        begin(&play, small_config(), 1);
        must_reset(&play, NULL);
        pthread_t readers[2];
        for (int32_t i = 0; i < 2; i++) pthread_create(&readers[i], NULL, report_until_closed, &play);
        usleep((useconds_t)(50 * round));
        drv_batch_close(play.batch);
        for (int32_t i = 0; i < 2; i++) pthread_join(readers[i], NULL);
        end(&play);
    }
}

TEST(actions_of_another_array_are_copied_and_those_of_the_bound_one_are_not) {
    for (int32_t type = DRV_DISCRETE; type <= DRV_CONTINUOUS; type++) {
        batch_play own, bound;
        drv_config config = small_config();
        config.action_type = type;
        begin(&own, config, 1);
        begin(&bound, config, 1);
        must_reset(&own, NULL);
        must_reset(&bound, NULL);
        act(&own, 2, 9);
        act(&bound, 2, 9);
        const size_t bytes = (size_t)(own.needs.num_agents * own.needs.action_width) *
                             (type == DRV_CONTINUOUS ? sizeof(float) : sizeof(int64_t));
        void *taken = type == DRV_CONTINUOUS ? (void *)own.shares : (void *)own.actions;
        void *own_actions = malloc(bytes);
        memcpy(own_actions, taken, bytes);
        memset(taken, 0xa5, bytes);
        CHECK(drv_batch_step(own.batch, DRV_WHOLE_BATCH, own_actions, own.message) == DRV_OK, "%s", own.message);
        CHECK(memcmp(taken, own_actions, bytes) == 0, "the bound array has others");
        must_step(&bound);
        CHECK(memcmp(own.block, bound.block, (size_t)own.needs.block_bytes) == 0, "action type %d", type);
        free(own_actions);
        end(&own);
        end(&bound);
    }
}

static void *play_alone(void *argument) {
    batch_play *own = argument;
    test_rng rng = {72};
    for (int32_t call = 0; call < 300; call++) {
        act(own, rng_below(&rng, 7), rng_below(&rng, 13));
        must_step(own);
    }
    return NULL;
}

TEST(two_batches_in_two_threads_step_as_each_does_alone) {
    batch_play plays[3];
    for (int32_t i = 0; i < 3; i++) {
        begin(&plays[i], small_config(), 2);
        must_reset(&plays[i], NULL);
    }
    pthread_t threads[2];
    for (int32_t i = 0; i < 2; i++) pthread_create(&threads[i], NULL, play_alone, &plays[i]);
    for (int32_t i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    play_alone(&plays[2]);
    for (int32_t i = 0; i < 2; i++)
        CHECK(memcmp(plays[i].block, plays[2].block, (size_t)plays[2].needs.block_bytes) == 0, "batch %d differs", i);
    for (int32_t i = 0; i < 3; i++) end(&plays[i]);
}

/* Forks while another thread steps without a pause, until the child finds a copy caught in a call; returns how the
 * child ended: 0, or the number of the check that failed. */
static int fork_beside_a_stepper(batch_play *play) {
    int ended = -1;
    for (int32_t round = 0; round < 400 && ended != 0; round++) {
        usleep((useconds_t)(round % 40));
        const pid_t child = fork();
        if (child == 0) {
            char message[DRV_MESSAGE_BYTES] = "";
            drv_batch_forked(play->batch);
            /* A call that starts no thread, which the thread sanitizer lets no child do. */
            drv_figure figure;
            const drv_status status = drv_batch_trials(play->batch, &figure, message);
            if (status == DRV_OK) _exit(10); /* caught between two calls: a good copy */
            const int refused = status == DRV_ERROR_CALL && strstr(message, "forked") != NULL;
            const int reset_too =
                drv_batch_reset(play->batch, DRV_WHOLE_BATCH, NULL, NULL, NULL, message) == DRV_ERROR_CALL;
            drv_batch_close(play->batch);
            const int closed = drv_batch_step(play->batch, DRV_WHOLE_BATCH, NULL, message) == DRV_ERROR_CALL &&
                               strstr(message, "closed") != NULL;
            _exit(!refused ? 1 : !reset_too ? 2 : !closed ? 3 : 0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        ended = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (ended != 0 && ended != 10) break;
    }
    return ended;
}

TEST(a_copy_forked_in_the_middle_of_a_call_reports_the_fork) {
    batch_play play;
    begin(&play, small_config(), 2);
    must_reset(&play, NULL);
    act(&play, 3, 6);
    pthread_t stepper;
    pthread_create(&stepper, NULL, step_until_closed, &play);
    const int ended = fork_beside_a_stepper(&play);
    CHECK(ended == 0, "the last child ended with %d", ended);
    drv_batch_close(play.batch);
    pthread_join(stepper, NULL);
    end(&play);
}

static void *close_it(void *argument) {
    drv_batch_close(((batch_play *)argument)->batch);
    return NULL;
}

TEST(a_copy_forked_in_the_middle_of_closing_ends_once) {
    /* One scene a hundred thousand times over: releasing it takes long enough for a fork in the middle. */
    enum { SCENES = 100000, ROUNDS = 40 };
    drv_scene **scenes = malloc(SCENES * sizeof(drv_scene *));
    for (int32_t round = 0; round < ROUNDS; round++) {
        batch_play play;
        begin_scene(&play, small_config(), 1);
        for (int32_t i = 0; i < SCENES; i++) scenes[i] = play.scene;
        play.setup.scenes = scenes;
        play.setup.scene_count = SCENES;
        begin_batch(&play);
        pthread_t closer;
        pthread_create(&closer, NULL, close_it, &play);
        usleep((useconds_t)(20 * round));
        const pid_t child = fork();
        if (child == 0) {
            drv_batch_forked(play.batch);
            drv_batch_free(play.batch);
            _exit(0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "round %d: the child ended with %d", round, status);
        pthread_join(closer, NULL);
        end(&play);
    }
    free(scenes);
}

TEST(timing_the_phases_changes_no_bit) {
    batch_play timed, plain;
    begin(&timed, small_config(), 2);
    begin(&plain, small_config(), 2);
    must_reset(&timed, NULL);
    must_reset(&plain, NULL);
    time_ns(&timed, 1);
    play_alone(&timed);
    play_alone(&plain);
    CHECK(memcmp(timed.block, plain.block, (size_t)plain.needs.block_bytes) == 0, "state differs");
    CHECK(time_ns(&timed, 0) > 0, "no time passed");
    CHECK(time_ns(&plain, 0) == 0, "phases were timed while timing was off");
    end(&timed);
    end(&plain);
}
