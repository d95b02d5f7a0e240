/* Does a batch work from C alone, and does it refuse invalid setups and calls? */
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
#include "step/state.h"

static int64_t trials_of(batch_fixture *test) {
    drv_metric_value found = {0.0, -1};
    CHECK(drv_batch_trials(test->batch, DRV_OF_EGOS, &found, test->message) == DRV_OK, "%s", test->message);
    return found.n;
}

static drv_metric_value metric_value_of(batch_fixture *test, int32_t metric) {
    drv_metric_value found = {0.0, -1};
    CHECK(drv_batch_metric(test->batch, metric, -1, DRV_OF_EGOS, &found, test->message) == DRV_OK, "%s", test->message);
    return found;
}

/* The time spent in all phases so far; `on` is whether the next steps are timed. */
static int64_t time_ns(batch_fixture *test, int32_t on) {
    int64_t spent_ns[PHASE_CAPACITY], sum_ns = 0;
    CHECK(drv_phase_count() <= PHASE_CAPACITY, "%d phases", drv_phase_count());
    CHECK(drv_batch_time_phases(test->batch, on, spent_ns, test->message) == DRV_OK, "%s", test->message);
    for (int32_t phase = 0; phase < drv_phase_count(); phase++) sum_ns += spent_ns[phase];
    return sum_ns;
}

/* ---- what a setup may hold ---- */

static const float not_a_number = NAN, infinite = INFINITY;

/* Breaks one field of a setup; returns what the message must name, or NULL past the last case. */
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
    BREAK(field, infinite, named)         \
    BREAK(field, -infinite, named)
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
    BREAK_NUMBER(c->goal_heading_tolerance_rad, -1.1f, 3.1f, "goal_heading_tolerance_rad")
    BREAK(c->goal_heading_tolerance_rad, 0.3f, "goal_heading_tolerance_rad") /* goals is 0 */
    BREAK_NUMBER(c->goal_max_speed_mps, -1.1f, 201.0f, "goal_max_speed_mps")
    BREAK_CODE(c->on_goal, 5, "on_goal")
    BREAK_NUMBER(c->goal_spacing_m, 0.0f, 10001.0f, "goal_spacing_m")
    BREAK_CODE(c->goals, 17, "goals")
    BREAK(c->goals, 2, "goals") /* on_goal is not next */
    BREAK_CODE(c->max_goals, 10001, "max_goals")
    BREAK(c->max_goals, 1, "max_goals") /* on_goal is not next */
    BREAK_CODE(c->on_collision, 3, "on_collision")
    BREAK_CODE(c->on_offroad, 3, "on_offroad")
    BREAK_NUMBER(c->stopped_share_limit, -0.1f, 1.1f, "stopped_share_limit")
    BREAK_CODE(c->partners, 4097, "partners")
    BREAK_NUMBER(c->coplayers, -0.1f, 65536.0f, "coplayers")
    BREAK(c->coplayers, 64.0f, "coplayers")
    BREAK_NUMBER(c->idm_headway_s, -0.1f, 1001.0f, "idm_headway_s")
    BREAK_NUMBER(c->idm_acceleration_mps2, 0.0f, 101.0f, "idm_acceleration_mps2")
    BREAK_NUMBER(c->idm_speed_factor, 0.0f, 11.0f, "idm_speed_factor")
    BREAK(c->idm_hardest_braking_mps2, 1.9f, "idm_hardest_braking_mps2") /* below idm_braking_mps2 */
    BREAK_NUMBER(c->mobil_politeness, -0.1f, 11.0f, "mobil_politeness")
    BREAK_CODE(c->roads, 4097, "roads")
    BREAK_NUMBER(c->view_radius_m, 0.0f, 10001.0f, "view_radius_m")
    BREAK(c->image_size, 0, "image_size")
    BREAK(c->image_size, 4097, "image_size")
    BREAK_NUMBER(c->image_metres_per_pixel, 0.0f, 1001.0f, "image_metres_per_pixel")
    BREAK(c->image_layers, 0, "image_layers")
    BREAK(c->image_layers, 1 << DRV_IMAGE_LAYER_COUNT, "image_layers")
    BREAK_CODE(c->time_left, 3, "time_left")
    BREAK(c->time_left, DRV_TIME_LEFT_CRITIC, "time_left")
    BREAK(c->goal_reveal_share, 0.5f, "goal_reveal_share") /* of goals that are always observed */
    BREAK_CODE(c->critic_observations, 2, "critic_observations")
    BREAK_CODE(c->action_mask, 2, "action_mask")
    BREAK(c->range_reward_goal_low, 1.0f, "range_reward_goal_low") /* above the other end, which is 0 */
    BREAK_CODE(c->reveal_hidden, 2, "reveal_hidden")
    BREAK_CODE(c->hidden_scope, 2, "hidden_scope")
    BREAK_CODE(c->hidden_per, 2, "hidden_per")
    BREAK_NUMBER(c->hidden_steering_flip, -0.1f, 1.1f, "hidden_steering_flip")
    BREAK_NUMBER(c->sensor_partner_dropout, -0.1f, 1.1f, "sensor_partner_dropout")
    BREAK_NUMBER(c->sensor_road_position_noise_m, -0.1f, 1001.0f, "sensor_road_position_noise_m")
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
    batch_fixture test;
    const char *about = "", *named;
    set_up_scene(&test, small_config(), 1);
    int32_t number = 0;
    for (;; number++) {
        drv_batch_setup setup = test.setup;
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
        drv_batch *batch = (drv_batch *)(uintptr_t)64; /* neither NULL nor a batch */
        CHECK(drv_batch_create(&setup, NULL, 0, &batch, message) == status && !batch, "%s: it was created", about);
        free(message);
    }
    CHECK(number > 100, "only %d cases", number);
    drv_scene_release(test.scene);
}

TEST(world_ids_are_not_negative) {
    batch_fixture test;
    set_up_scene(&test, small_config(), 1);
    test.ids[2] = -1;
    CHECK(drv_batch_plan(&test.setup, &test.needs, test.message) == DRV_ERROR_CONFIG, "it was accepted");
    CHECK(strstr(test.message, "world id 2 is -1"), "%s", test.message);
    drv_scene_release(test.scene);
}

TEST(a_scene_with_more_agents_than_a_world_is_refused) {
    batch_fixture test;
    set_up_scene(&test, small_config(), 1);
    drv_batch_setup setup = test.setup;
    setup.agents_per_world = 1;
    CHECK(drv_batch_plan(&setup, &test.needs, test.message) == DRV_ERROR_SCENE, "fewer agents: %s", test.message);
    CHECK(strstr(test.message, "small has 2"), "%s", test.message);
    drv_scene_release(test.scene);
}

TEST(a_scene_without_what_a_reward_term_needs_is_refused) {
    batch_fixture test;
    set_up_scene(&test, small_config(), 1);
    drv_batch_setup setup = test.setup;
    setup.config.reward_distance_to_log_per_m_s = 1.0f;
    CHECK(drv_batch_plan(&setup, &test.needs, test.message) == DRV_ERROR_SCENE, "no logs: %s", test.message);
    CHECK(strstr(test.message, "small was created with agent_log_frames 0"), "%s", test.message);
    setup.config.reward_distance_to_log_per_m_s = 0.0f;
    setup.config.range_reward_route_progress_per_m_high = 1.0f;
    CHECK(drv_batch_plan(&setup, &test.needs, test.message) == DRV_ERROR_SCENE, "no routes: %s", test.message);
    CHECK(strstr(test.message, "small was created with has_routes 0"), "%s", test.message);
    drv_scene_release(test.scene);
}

TEST(a_scene_without_a_lane_graph_is_refused_where_on_goal_is_next) {
    batch_fixture test;
    set_up_scene(&test, small_config(), 1);
    drv_batch_setup setup = test.setup;
    setup.config.on_goal = DRV_NEXT;
    CHECK(drv_batch_plan(&setup, &test.needs, test.message) == DRV_ERROR_SCENE, "no lanes: %s", test.message);
    CHECK(strstr(test.message, "small was created without lane_start"), "%s", test.message);
    drv_scene_release(test.scene);
}

TEST(an_instruction_set_is_one_of_those_on_offer) {
    batch_fixture test;
    set_up_scene(&test, small_config(), 1);
    const char *const unknown[] = {"v9", "BASELINE", "%s%n", "a name much longer than any sentence has a place for"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        test.setup.instruction_set = unknown[i];
        CHECK(drv_batch_plan(&test.setup, &test.needs, test.message) == DRV_ERROR_CONFIG, "%s", unknown[i]);
        CHECK(strstr(test.message, "offers baseline"), "%s", test.message);
    }
    test.setup.instruction_set = "baseline";
    CHECK(drv_batch_plan(&test.setup, &test.needs, test.message) == DRV_OK, "%s", test.message);
    drv_scene_release(test.scene);
}

TEST(a_batch_too_large_for_any_memory_is_refused) {
    batch_fixture test;
    set_up_scene(&test, small_config(), 1);
    int64_t *ids = calloc(1 << 20, sizeof *ids);
    test.setup.world_ids = ids;
    test.setup.num_worlds = 1 << 20;
    test.setup.agents_per_world = 4096;
    CHECK(drv_batch_plan(&test.setup, &test.needs, test.message) == DRV_ERROR_MEMORY, "%s", test.message);
    test.setup.num_worlds = 1;
    test.setup.agents_per_world = 65535;
    test.setup.config.max_trials = 10000;
    CHECK(drv_batch_plan(&test.setup, &test.needs, test.message) == DRV_ERROR_MEMORY, "%s", test.message);
    test.setup.agents_per_world = 4096;
    CHECK(drv_batch_plan(&test.setup, &test.needs, test.message) == DRV_ERROR_MEMORY, "%s", test.message);
    free(ids);
    drv_scene_release(test.scene);
}

TEST(a_block_too_small_or_not_aligned_is_refused) {
    batch_fixture test;
    set_up_scene(&test, small_config(), 1);
    CHECK(drv_batch_plan(&test.setup, &test.needs, test.message) == DRV_OK, "%s", test.message);
    CHECK(test.needs.num_agents == WORLDS * SMALL_AGENTS && test.needs.agents_per_world == SMALL_AGENTS &&
          test.needs.vehicles_per_world >= SMALL_VEHICLES && test.needs.action_width == 1, "needs");
    uint8_t *block = aligned_alloc(BLOCK_ALIGNMENT, (size_t)test.needs.block_bytes + BLOCK_ALIGNMENT);
    drv_batch *batch = (drv_batch *)(uintptr_t)64; /* neither NULL nor a batch */
    CHECK(drv_batch_create(&test.setup, block, test.needs.block_bytes - 1, &batch, test.message) == DRV_ERROR_MEMORY,
          "a block one byte short");
    CHECK(batch == NULL && strstr(test.message, "must be at least"), "%s", test.message);
    for (int32_t shift = 1; shift < BLOCK_ALIGNMENT; shift += 7)
        CHECK(drv_batch_create(&test.setup, block + shift, test.needs.block_bytes, &batch, test.message) ==
                  DRV_ERROR_MEMORY && !batch, "%d bytes beyond a multiple of 64", shift);
    CHECK(drv_batch_create(&test.setup, block, test.needs.block_bytes + BLOCK_ALIGNMENT, &batch, test.message) ==
              DRV_OK, "a block larger than needed: %s", test.message);
    drv_batch_free(batch);
    free(block);
    drv_scene_release(test.scene);
}

/* ---- life cycle ---- */

static void check_life_cycle(int32_t action_type, int32_t threads) {
    batch_fixture test;
    drv_config config = small_config();
    config.action_type = action_type;
    set_up(&test, config, threads);
    act(&test, COAST, STRAIGHT);
    CHECK(drv_batch_step(test.batch, DRV_WHOLE_BATCH, NULL, test.message) == DRV_ERROR_CALL &&
              strstr(test.message, "before reset"),
          "%s", test.message);
    /* the first observation */
    reset_batch(&test);
    for (int32_t agent = 0; agent < test.needs.num_agents; agent++)
        CHECK(test.arrays.first[agent] == 1 && test.arrays.waits[agent] == 0 && test.arrays.invalid_step[agent] == 0,
              "agent %d", agent);
    /* Three episodes of two trials of five steps and a restart; no vehicle or edge is near enough for an event. */
    for (int32_t call = 1; call <= 36; call++) {
        step_batch(&test);
        const int32_t within = (call - 1) % 12 + 1;
        const int ended = within == 5 || within == 11, restarted = within == 6 || within == 12;
        for (int32_t agent = 0; agent < test.needs.num_agents; agent++) {
            CHECK(test.arrays.trial_ended[agent] == ended, "call %d, agent %d", call, agent);
            CHECK(test.arrays.truncations[agent] == (within == 11), "call %d, agent %d", call, agent);
            CHECK(test.arrays.terminations[agent] == 0, "call %d, agent %d", call, agent);
            CHECK(test.arrays.invalid_step[agent] == restarted, "call %d, agent %d", call, agent);
            CHECK(test.arrays.first[agent] == (within == 12), "call %d, agent %d", call, agent);
            CHECK(test.arrays.trial_index[agent] == (within >= 6 && within < 12), "call %d", call);
            CHECK(test.arrays.rewards[agent] == 0.0f, "call %d: %g", call, (double)test.arrays.rewards[agent]);
            /* every feature is within its range */
            for (int32_t i = 0; i < test.needs.observation_size; i++) {
                const float *floats = (const float *)(const void *)test.arrays.observations;
                const float value = floats[agent * test.needs.observation_size + i];
                CHECK(fabsf(value) <= 1.0f, "call %d, agent %d, float %d: %g", call, agent, i, (double)value);
            }
        }
    }
    CHECK(trials_of(&test) == 6 * test.needs.num_agents, "%lld trials", (long long)trials_of(&test));
    tear_down(&test);
}

TEST(a_batch_begins_steps_restarts_and_ends) {
    for (int32_t action_type = DRV_DISCRETE; action_type <= DRV_CONTINUOUS; action_type++)
        for (int32_t threads = 1; threads <= 4; threads++) check_life_cycle(action_type, threads);
}

TEST(a_batch_that_is_never_stepped_ends) {
    batch_fixture test;
    set_up(&test, small_config(), 4);
    tear_down(&test);
    set_up(&test, small_config(), 4);
    reset_batch(&test);
    tear_down(&test);
    drv_batch_free(NULL);
}

TEST(no_batch_at_all_is_an_error_of_the_call) {
    char message[DRV_MESSAGE_BYTES];
    CHECK(drv_batch_step(NULL, DRV_WHOLE_BATCH, NULL, message) == DRV_ERROR_CALL && strstr(message, "closed"), "%s",
          message);
}

TEST(calls_of_a_closed_batch_are_errors_until_it_is_freed) {
    batch_fixture test;
    set_up(&test, small_config(), 2);
    reset_batch(&test);
    act(&test, COAST, STRAIGHT);
    step_batch(&test);
    float *restarts = garbage((size_t)test.needs.num_agents * (size_t)test.needs.observation_size, sizeof *restarts);
    for (int32_t times = 0; times < 2; times++) {
        /* calls that reach worlds */
        drv_batch_close(test.batch);
        CHECK(drv_batch_step(test.batch, DRV_WHOLE_BATCH, NULL, test.message) == DRV_ERROR_CALL &&
              strstr(test.message, "closed"), "%s",
              test.message);
        CHECK(drv_batch_reset(test.batch, DRV_WHOLE_BATCH, NULL, NULL, NULL, test.message) == DRV_ERROR_CALL, "%s",
              test.message);
        CHECK(drv_batch_restart_observations(test.batch, DRV_WHOLE_BATCH, restarts, test.message) == DRV_ERROR_CALL,
              "%s", test.message);
        /* reports */
        drv_metric_value value;
        int64_t spent_ns[PHASE_CAPACITY];
        CHECK(drv_batch_trials(test.batch, DRV_OF_EGOS, &value, test.message) == DRV_ERROR_CALL, "%s", test.message);
        CHECK(drv_batch_metric(test.batch, 0, -1, DRV_OF_EGOS, &value, test.message) == DRV_ERROR_CALL,
              "%s", test.message);
        CHECK(drv_batch_adaptation(test.batch, 1, DRV_OF_EGOS, &value, test.message) == DRV_ERROR_CALL,
              "%s", test.message);
        CHECK(drv_batch_time_phases(test.batch, 1, spent_ns, test.message) == DRV_ERROR_CALL, "%s", test.message);
        drv_batch_forked(test.batch);
    }
    free(restarts);
    tear_down(&test);
}

TEST(a_batch_keeps_its_scene) {
    batch_fixture test;
    set_up(&test, small_config(), 2);
    drv_scene_release(test.scene);
    test.scene = NULL;
    reset_batch(&test);
    act(&test, ACCELERATION_BINS - 1, STRAIGHT);
    for (int32_t call = 0; call < 20; call++) step_batch(&test);
    tear_down(&test);
}

TEST(the_state_fields_are_inside_the_block) {
    batch_fixture test;
    set_up(&test, small_config(), 1);
    const int32_t count = drv_batch_state_fields(test.batch, NULL, 0);
    drv_state_field *fields = calloc((size_t)count, sizeof *fields);
    CHECK(drv_batch_state_fields(test.batch, fields, count) == count, "the count depends on the capacity");
    CHECK(drv_batch_state_fields(test.batch, fields, 1) == count, "the count depends on the capacity");
    for (int32_t i = 0; i < count; i++) {
        const uint64_t last = fields[i].offset + (WORLDS - 1) * fields[i].world_stride +
                              (uint64_t)fields[i].count * (uint64_t)(fields[i].type[1] - '0');
        CHECK(last <= test.needs.block_bytes, "%s ends at %llu of %llu", fields[i].name, (unsigned long long)last,
              (unsigned long long)test.needs.block_bytes);
    }
    free(fields);
    tear_down(&test);
}

TEST(metrics_and_phases_have_names_and_no_others) {
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
    batch_fixture test;
    set_up(&test, small_config(), 1);
    reset_batch(&test);
    /* before the first trial has ended */
    const int32_t metrics = drv_metric_names(&test.setup.config, NULL, 0);
    for (int32_t i = 0; i < metrics; i++) {
        const drv_metric_value value = metric_value_of(&test, i);
        CHECK(isnan(value.value) && value.n == 0, "%d: %g over %lld", i, value.value, (long long)value.n);
    }
    CHECK(trials_of(&test) == 0, "trials are counted");
    /* trials and metrics out of range are errors */
    drv_metric_value value;
    const int32_t max_trials = test.setup.config.max_trials, wrong_trials[] = {-2, max_trials, 1 << 30};
    for (size_t i = 0; i < sizeof wrong_trials / sizeof *wrong_trials; i++) {
        CHECK(drv_batch_metric(test.batch, 0, wrong_trials[i], DRV_OF_EGOS, &value, test.message) == DRV_ERROR_CALL,
              "trial %d was accepted", wrong_trials[i]);
        CHECK(drv_batch_adaptation(test.batch, wrong_trials[i], DRV_OF_EGOS, &value, test.message) == DRV_ERROR_CALL,
              "trial %d was accepted", wrong_trials[i]);
    }
    CHECK(drv_batch_metric(test.batch, -1, -1, DRV_OF_EGOS, &value, test.message) == DRV_ERROR_CALL,
          "a metric below the first");
    CHECK(drv_batch_metric(test.batch, metrics, -1, DRV_OF_EGOS, &value, test.message) == DRV_ERROR_CALL,
          "past the last");
    CHECK(drv_batch_adaptation(test.batch, 0, DRV_OF_EGOS, &value, test.message) == DRV_ERROR_CALL,
          "trial 0 against itself");
    tear_down(&test);
}

/* ---- invalid calls ---- */

static void check_state_is_unchanged(batch_fixture *test, const char *about, drv_status wanted) {
    void *before = malloc((size_t)test->needs.block_bytes);
    memcpy(before, test->block, (size_t)test->needs.block_bytes);
    const drv_status status = drv_batch_step(test->batch, DRV_WHOLE_BATCH, NULL, test->message);
    CHECK(status == wanted, "%s: status %d: %s", about, status, test->message);
    CHECK(memcmp(before, test->block, (size_t)test->needs.block_bytes) == 0, "%s: the state changed", about);
    free(before);
}

TEST(the_error_of_an_invalid_action_names_the_agent_and_the_state_is_unchanged) {
    /* discrete */
    const int64_t bad[] = {-1, ACTION_COUNT, INT64_MIN, INT64_MAX, (int64_t)1 << 32};
    for (int32_t threads = 1; threads <= 2; threads++) {
        batch_fixture test;
        set_up(&test, small_config(), threads);
        reset_batch(&test);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            act(&test, COAST + 1, STRAIGHT);
            test.actions[3] = bad[i];
            check_state_is_unchanged(&test, "discrete", DRV_ERROR_ACTION);
            CHECK(strstr(test.message, "agent 3 (world 1)"), "%s", test.message);
        }
        act(&test, COAST + 1, STRAIGHT);
        step_batch(&test);
        tear_down(&test);
    }
    /* multi-discrete */
    batch_fixture test;
    drv_config config = small_config();
    config.action_type = DRV_MULTI_DISCRETE;
    set_up(&test, config, 1);
    reset_batch(&test);
    const int64_t pairs[][2] = {{-1, STRAIGHT}, {ACCELERATION_BINS, STRAIGHT}, {INT64_MIN, STRAIGHT},
                                {COAST, -1}, {COAST, STEERING_BINS}, {COAST, INT64_MAX}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        act(&test, COAST + 1, STRAIGHT);
        test.actions[10] = pairs[i][0];
        test.actions[11] = pairs[i][1];
        check_state_is_unchanged(&test, "multi_discrete", DRV_ERROR_ACTION);
        CHECK(strstr(test.message, "agent 5 (world 2)"), "%s", test.message);
    }
    tear_down(&test);
    /* continuous */
    config.action_type = DRV_CONTINUOUS;
    set_up(&test, config, 1);
    reset_batch(&test);
    const float shares[] = {NAN, INFINITY, -INFINITY, 1.0001f, -1.0001f};
    for (size_t i = 0; i < 2 * sizeof shares / sizeof *shares; i++) {
        act(&test, COAST + 1, STRAIGHT);
        test.shares[i % 2] = shares[i / 2];
        check_state_is_unchanged(&test, "continuous", DRV_ERROR_ACTION);
        CHECK(strstr(test.message, "agent 0 (world 0)"), "%s", test.message);
    }
    tear_down(&test);
}

TEST(ages_and_a_first_reset_are_checked_before_the_state_changes) {
    batch_fixture test;
    set_up(&test, small_config(), 1);
    const uint8_t two[WORLDS] = {1, 0, 1};
    CHECK(drv_batch_reset(test.batch, DRV_WHOLE_BATCH, NULL, two, NULL, test.message) == DRV_ERROR_CALL &&
          strstr(test.message, "world 1"), "%s", test.message);
    const int32_t old[WORLDS] = {0, 0, 5}, negative[WORLDS] = {-1, 0, 0}, fine[WORLDS] = {0, 2, 4};
    CHECK(drv_batch_reset(test.batch, DRV_WHOLE_BATCH, NULL, NULL, old, test.message) == DRV_ERROR_CALL &&
          strstr(test.message, "world 2 is 5; it must be 0 to 4"), "%s", test.message);
    CHECK(drv_batch_reset(test.batch, DRV_WHOLE_BATCH, NULL, NULL, negative, test.message) == DRV_ERROR_CALL, "%s",
          test.message);
    CHECK(drv_batch_step(test.batch, DRV_WHOLE_BATCH, NULL, test.message) == DRV_ERROR_CALL, "a refused reset counts");
    CHECK(drv_batch_reset(test.batch, DRV_WHOLE_BATCH, NULL, NULL, fine, test.message) == DRV_OK, "%s", test.message);
    act(&test, COAST, STRAIGHT);
    step_batch(&test);
    CHECK(test.arrays.trial_ended[4] == 1 && test.arrays.trial_ended[2] == 0, "ages have no effect");
    tear_down(&test);
}

TEST(with_restart_by_the_caller_a_step_after_the_episode_is_refused) {
    batch_fixture test;
    drv_config config = small_config();
    config.restart = DRV_RESTART_CALLER;
    config.max_trials = 1;
    set_up(&test, config, 1);
    reset_batch(&test);
    act(&test, COAST, STRAIGHT);
    for (int32_t call = 0; call < 5; call++) step_batch(&test);
    check_state_is_unchanged(&test, "restart required", DRV_ERROR_CALL);
    CHECK(strstr(test.message, "world 0"), "%s", test.message);
    reset_batch(&test);
    step_batch(&test);
    tear_down(&test);
}

/* ---- rewards of the caller ---- */

TEST(a_step_is_rewarded_once_and_before_the_next_one) {
    batch_fixture test;
    set_up_scene(&test, small_config(), 1);
    test.setup.own_reward = 1;
    set_up_batch(&test);
    float rewards[WORLDS * SMALL_AGENTS];
    for (int32_t i = 0; i < WORLDS * SMALL_AGENTS; i++) rewards[i] = (float)i;
    reset_batch(&test);
    act(&test, COAST, STRAIGHT);
    step_batch(&test);
    CHECK(drv_batch_step(test.batch, DRV_WHOLE_BATCH, NULL, test.message) == DRV_ERROR_CALL &&
              strstr(test.message, "the last step of world 0 has no reward"), "%s", test.message);
    for (int again = 0; again < 2; again++) {
        CHECK(drv_batch_reward(test.batch, DRV_WHOLE_BATCH, rewards, test.message) == DRV_OK, "%s", test.message);
        for (int32_t i = 0; i < WORLDS * SMALL_AGENTS; i++) {
            CHECK(test.arrays.rewards[i] == (float)i, "agent %d: %g", i, (double)test.arrays.rewards[i]);
            rewards[i] = NAN; /* not read once the step is rewarded */
        }
    }
    step_batch(&test);
    CHECK(drv_batch_reward(test.batch, DRV_WHOLE_BATCH, rewards, test.message) == DRV_ERROR_CALL &&
              strstr(test.message, "the reward of agent 0 is"), "%s", test.message);
    tear_down(&test);
}

TEST(without_own_reward_rewards_of_the_caller_are_refused) {
    batch_fixture test;
    set_up(&test, small_config(), 1);
    reset_batch(&test);
    const float rewards[WORLDS * SMALL_AGENTS] = {0.0f};
    CHECK(drv_batch_reward(test.batch, DRV_WHOLE_BATCH, rewards, test.message) == DRV_ERROR_CALL &&
              strstr(test.message, "own_reward"), "%s", test.message);
    tear_down(&test);
}

/* ---- the state block holds the whole state ---- */

TEST(a_copy_of_the_block_continues_like_the_original) {
    batch_fixture one, other;
    test_rng rng = {71};
    set_up(&one, small_config(), 2);
    set_up(&other, small_config(), 1);
    reset_batch(&one);
    for (int32_t call = 0; call < 8; call++) {
        act(&one, rng_below(&rng, ACCELERATION_BINS), rng_below(&rng, STEERING_BINS));
        step_batch(&one);
    }
    memcpy(other.block, one.block, (size_t)one.needs.block_bytes);
    for (int32_t call = 0; call < 40; call++) {
        const int32_t push = rng_below(&rng, ACCELERATION_BINS), turn = rng_below(&rng, STEERING_BINS);
        act(&one, push, turn);
        act(&other, push, turn);
        step_batch(&one);
        step_batch(&other);
        CHECK(memcmp(one.block, other.block, (size_t)one.needs.block_bytes) == 0, "state differs after call %d", call);
        CHECK(memcmp(one.arrays.code, other.arrays.code, (size_t)one.needs.num_agents * sizeof(uint16_t)) == 0,
              "channels differ after call %d", call);
    }
    tear_down(&one);
    tear_down(&other);
}

TEST(a_block_copied_in_that_was_never_reset_is_not_stepped) {
    batch_fixture one, fresh;
    set_up(&one, small_config(), 2);
    set_up(&fresh, small_config(), 2);
    reset_batch(&one);
    act(&one, COAST, STRAIGHT);
    step_batch(&one);
    memcpy(one.block, fresh.block, (size_t)one.needs.block_bytes);
    check_state_is_unchanged(&one, "never reset", DRV_ERROR_CALL);
    CHECK(strstr(one.message, "call reset first"), "%s", one.message);
    tear_down(&one);
    tear_down(&fresh);
}

TEST(restart_observations_change_nothing_and_are_those_of_the_restart) {
    batch_fixture test;
    set_up(&test, small_config(), 2);
    float *restarts = garbage((size_t)test.needs.num_agents * (size_t)test.needs.observation_size, sizeof *restarts);
    CHECK(drv_batch_restart_observations(test.batch, DRV_WHOLE_BATCH, restarts, test.message) == DRV_ERROR_CALL, "%s",
          test.message);
    reset_batch(&test);
    act(&test, COAST, STRAIGHT);
    for (int32_t call = 0; call < 5; call++) step_batch(&test);
    void *before = malloc((size_t)test.needs.block_bytes);
    memcpy(before, test.block, (size_t)test.needs.block_bytes);
    CHECK(drv_batch_restart_observations(test.batch, DRV_WHOLE_BATCH, restarts, test.message) == DRV_OK, "%s",
          test.message);
    CHECK(memcmp(before, test.block, (size_t)test.needs.block_bytes) == 0, "the call changed the state");
    step_batch(&test);
    CHECK(memcmp(restarts, test.arrays.observations,
                 (size_t)test.needs.num_agents * (size_t)test.needs.observation_size * sizeof *restarts) == 0,
          "the observations differ");
    free(before);
    free(restarts);
    tear_down(&test);
}

/* ---- threads ---- */

typedef struct caller {
    batch_fixture *test;
    atomic_int *completed, *refused;
} caller;

static void *step_at_the_same_time(void *argument) {
    caller *self = argument;
    char message[DRV_MESSAGE_BYTES];
    for (int32_t call = 0; call < 2000; call++) {
        const drv_status status = drv_batch_step(self->test->batch, DRV_WHOLE_BATCH, NULL, message);
        CHECK(status == DRV_OK || (status == DRV_ERROR_CALL && strstr(message, "another thread")), "%d: %s", status,
              message);
        atomic_fetch_add(status == DRV_OK ? self->completed : self->refused, 1);
    }
    return NULL;
}

TEST(a_concurrent_call_of_one_batch_is_an_error) {
    batch_fixture test;
    set_up(&test, small_config(), 2);
    reset_batch(&test);
    act(&test, COAST + 1, STRAIGHT + 1);
    atomic_int completed = 0, refused = 0;
    caller self = {&test, &completed, &refused};
    pthread_t callers[3];
    for (int32_t i = 0; i < 3; i++) pthread_create(&callers[i], NULL, step_at_the_same_time, &self);
    for (int32_t i = 0; i < 3; i++) pthread_join(callers[i], NULL);
    const int steps = atomic_load(&completed), errors = atomic_load(&refused);
    CHECK(steps + errors == 6000 && steps > 0, "%d completed, %d refused", steps, errors);
    tear_down(&test);
}

static void *step_until_closed(void *argument) {
    batch_fixture *test = argument;
    char message[DRV_MESSAGE_BYTES] = "it was not closed";
    drv_status status = DRV_OK;
    for (int32_t call = 0; call < 1000000 && status == DRV_OK; call++)
        status = drv_batch_step(test->batch, DRV_WHOLE_BATCH, NULL, message);
    CHECK(status == DRV_ERROR_CALL, "%d: %s", status, message);
    return NULL;
}

TEST(closing_waits_for_the_call_in_progress) {
    for (int32_t round = 0; round < 20; round++) {
        batch_fixture test;
        set_up(&test, small_config(), 2);
        reset_batch(&test);
        act(&test, COAST, STRAIGHT);
        pthread_t stepper;
        pthread_create(&stepper, NULL, step_until_closed, &test);
        usleep((useconds_t)(100 * round));
        drv_batch_close(test.batch);
        pthread_join(stepper, NULL);
        tear_down(&test);
    }
}

static void *report_until_closed(void *argument) {
    batch_fixture *test = argument;
    char message[DRV_MESSAGE_BYTES] = "it was not closed";
    drv_metric_value value;
    int64_t phase_ns[PHASE_CAPACITY];
    drv_status status = DRV_OK;
    while (status == DRV_OK || !strstr(message, "closed")) {
        status = drv_batch_metric(test->batch, 0, -1, DRV_OF_EGOS, &value, message);
        if (status == DRV_OK) status = drv_batch_adaptation(test->batch, 1, DRV_OF_EGOS, &value, message);
        if (status == DRV_OK) status = drv_batch_trials(test->batch, DRV_OF_EGOS, &value, message);
        if (status == DRV_OK) status = drv_batch_time_phases(test->batch, 1, phase_ns, message);
        CHECK(status == DRV_OK || status == DRV_ERROR_CALL, "%d: %s", status, message);
    }
    return NULL;
}

TEST(a_report_of_a_batch_that_another_thread_closed_is_an_error) {
    for (int32_t round = 0; round < 20; round++) {
        batch_fixture test;
        set_up(&test, small_config(), 1);
        reset_batch(&test);
        pthread_t readers[2];
        for (int32_t i = 0; i < 2; i++) pthread_create(&readers[i], NULL, report_until_closed, &test);
        usleep((useconds_t)(50 * round));
        drv_batch_close(test.batch);
        for (int32_t i = 0; i < 2; i++) pthread_join(readers[i], NULL);
        tear_down(&test);
    }
}

TEST(actions_of_another_array_are_copied_and_those_of_the_bound_one_are_not) {
    for (int32_t type = DRV_DISCRETE; type <= DRV_CONTINUOUS; type++) {
        batch_fixture own, bound;
        drv_config config = small_config();
        config.action_type = type;
        set_up(&own, config, 1);
        set_up(&bound, config, 1);
        reset_batch(&own);
        reset_batch(&bound);
        act(&own, 2, 9);
        act(&bound, 2, 9);
        /* one batch steps with an array of its caller, while the bound one holds garbage */
        const size_t bytes = (size_t)(own.needs.num_agents * own.needs.action_width) *
                             (type == DRV_CONTINUOUS ? sizeof(float) : sizeof(int64_t));
        void *in_use = type == DRV_CONTINUOUS ? (void *)own.shares : (void *)own.actions;
        void *own_actions = malloc(bytes);
        memcpy(own_actions, in_use, bytes);
        memset(in_use, 0xa5, bytes);
        CHECK(drv_batch_step(own.batch, DRV_WHOLE_BATCH, own_actions, own.message) == DRV_OK, "%s", own.message);
        CHECK(memcmp(in_use, own_actions, bytes) == 0, "the bound array has others");
        /* the other steps with the same actions in its bound array */
        step_batch(&bound);
        CHECK(memcmp(own.block, bound.block, (size_t)own.needs.block_bytes) == 0, "action type %d", type);
        free(own_actions);
        tear_down(&own);
        tear_down(&bound);
    }
}

static void *step_alone(void *argument) {
    batch_fixture *own = argument;
    test_rng rng = {72};
    for (int32_t call = 0; call < 300; call++) {
        act(own, rng_below(&rng, ACCELERATION_BINS), rng_below(&rng, STEERING_BINS));
        step_batch(own);
    }
    return NULL;
}

TEST(two_batches_in_two_threads_step_as_each_does_alone) {
    batch_fixture tests[3];
    for (int32_t i = 0; i < 3; i++) {
        set_up(&tests[i], small_config(), 2);
        reset_batch(&tests[i]);
    }
    pthread_t threads[2];
    for (int32_t i = 0; i < 2; i++) pthread_create(&threads[i], NULL, step_alone, &tests[i]);
    for (int32_t i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    step_alone(&tests[2]);
    for (int32_t i = 0; i < 2; i++)
        CHECK(memcmp(tests[i].block, tests[2].block, (size_t)tests[2].needs.block_bytes) == 0, "batch %d differs", i);
    for (int32_t i = 0; i < 3; i++) tear_down(&tests[i]);
}

enum { BETWEEN_CALLS = 10 }; /* exit code of a child that was forked while no call was in progress */

/* Forks while another thread steps without a pause, until a fork falls within a call. Returns the exit code of the last
 * child: 0, or the number of the check that failed. */
static int fork_while_stepping(batch_fixture *test) {
    int child_code = -1;
    for (int32_t round = 0; round < 400 && child_code != 0; round++) {
        usleep((useconds_t)(round % 40));
        const pid_t child = fork();
        if (child == 0) {
            /* the child: three checks of its copy of the batch */
            char message[DRV_MESSAGE_BYTES] = "";
            drv_batch_forked(test->batch);
            /* This call starts no thread: the thread sanitizer allows none in a forked child. */
            drv_metric_value value;
            const drv_status status = drv_batch_trials(test->batch, DRV_OF_EGOS, &value, message);
            if (status == DRV_OK) _exit(BETWEEN_CALLS);
            const int refused = status == DRV_ERROR_CALL && strstr(message, "forked") != NULL;
            const int reset_too =
                drv_batch_reset(test->batch, DRV_WHOLE_BATCH, NULL, NULL, NULL, message) == DRV_ERROR_CALL;
            drv_batch_close(test->batch);
            const int closed = drv_batch_step(test->batch, DRV_WHOLE_BATCH, NULL, message) == DRV_ERROR_CALL &&
                               strstr(message, "closed") != NULL;
            _exit(!refused ? 1 : !reset_too ? 2 : !closed ? 3 : 0);
        }
        /* the parent: its exit code */
        int status = -1;
        waitpid(child, &status, 0);
        child_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (child_code != 0 && child_code != BETWEEN_CALLS) break;
    }
    return child_code;
}

TEST(a_copy_forked_in_the_middle_of_a_call_reports_the_fork) {
    batch_fixture test;
    set_up(&test, small_config(), 2);
    reset_batch(&test);
    act(&test, COAST, STRAIGHT);
    pthread_t stepper;
    pthread_create(&stepper, NULL, step_until_closed, &test);
    const int child_code = fork_while_stepping(&test);
    CHECK(child_code == 0, "the last child ended with %d", child_code);
    drv_batch_close(test.batch);
    pthread_join(stepper, NULL);
    tear_down(&test);
}

static void *close_it(void *argument) {
    drv_batch_close(((batch_fixture *)argument)->batch);
    return NULL;
}

TEST(a_copy_forked_in_the_middle_of_closing_ends_once) {
    /* One scene a hundred thousand times over: releasing it takes long enough for a fork in the middle. */
    enum { SCENES = 100000, ROUNDS = 40, WAIT_US = 800 };
    const int32_t rounds = check_cases(ROUNDS);
    drv_scene **scenes = malloc(SCENES * sizeof(drv_scene *));
    for (int32_t round = 0; round < rounds; round++) {
        batch_fixture test;
        set_up_scene(&test, small_config(), 1);
        for (int32_t i = 0; i < SCENES; i++) scenes[i] = test.scene;
        test.setup.scenes = scenes;
        test.setup.scene_count = SCENES;
        set_up_batch(&test);
        /* a fork while another thread closes the batch */
        pthread_t closer;
        pthread_create(&closer, NULL, close_it, &test);
        usleep((useconds_t)(WAIT_US * round / rounds));
        const pid_t child = fork();
        if (child == 0) {
            drv_batch_forked(test.batch);
            drv_batch_free(test.batch);
            _exit(0);
        }
        /* Both copies end. */
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "round %d: the child ended with %d", round, status);
        pthread_join(closer, NULL);
        tear_down(&test);
    }
    free(scenes);
}

TEST(timing_the_phases_changes_no_bit) {
    batch_fixture timed, plain;
    set_up(&timed, small_config(), 2);
    set_up(&plain, small_config(), 2);
    reset_batch(&timed);
    reset_batch(&plain);
    time_ns(&timed, 1);
    step_alone(&timed);
    step_alone(&plain);
    CHECK(memcmp(timed.block, plain.block, (size_t)plain.needs.block_bytes) == 0, "state differs");
    CHECK(time_ns(&timed, 0) > 0, "no time passed");
    CHECK(time_ns(&plain, 0) == 0, "phases were timed while timing was off");
    tear_down(&timed);
    tear_down(&plain);
}
