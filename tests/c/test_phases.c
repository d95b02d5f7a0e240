/* Does each phase change the arrays that name it, and no other?
 *
 * Phases run one at a time, and every array of state and caller is compared before and after each. Rollouts are random
 * and varied enough to cover every entry of the lists. */
#include <stdlib.h>
#include <string.h>

#include "batch/batch.h"
#include "check.h"
#include "drive.h"
#include "platform/arena.h"
#include "rng.h"
#include "small_scene.h"
#include "step/phases.h"

enum { NUM_WORLDS = 3, SCENES = 2, STEPS = 300, STEPS_PER_RESET = 50, ARRAY_LIMIT = 128, TRIAL_STEPS = 12 };
/* the variants of the scene in which a vehicle changes lanes, and agents respawn */
enum { LANE_CHANGES = SCENES, FREE_START, FREE_START_AT_GOAL };

static const struct {
    const char *name;
    drv_phase *run;
} phases[DRV_PHASE_COUNT] = {
#define X(name, meaning) {#name, drv_##name},
    DRV_PHASES(X)
#undef X
};

/* An array as the lists describe it, and where its bytes are. */
typedef struct watched {
    const char *name, *listed;
    int32_t index; /* in its list */
    uint8_t *bytes;
    size_t stride, world_bytes; /* from world to world, and of one world */
    uint8_t *before;
    bool is_owned; /* to be freed with the rollout */
} watched;

/* What a phase changed in any rollout, by the index of the array in its list. */
static bool seen[2][ARRAY_LIMIT][DRV_PHASE_COUNT];

typedef struct rollout {
    drv_scene *scenes[SCENES];
    drv_batch *batch;
    drv_arrays arrays;
    uint8_t *block;
    watched watch[2][ARRAY_LIMIT]; /* of the caller, of the state */
    int32_t watch_count[2];
} rollout;

/* Logs of agents that stand at the origin, and a lane graph of two lanes that lead to each other. */
static const uint8_t agent_log_valid[SMALL_FRAMES * SMALL_AGENTS] = {[SMALL_AGENTS] = 1};
static const float agent_log_m[SMALL_FRAMES * SMALL_AGENTS] = {0.0f};
static const int32_t lane_start[SMALL_ROADS + 1] = {0, 1, 1, 2, 2}, lane_successor[] = {2, 0};

/* Makes the scene one of two lanes in which a slow agent is ahead of a rule-based vehicle. */
static void make_two_lanes(small_scene *small) {
    small->vx_mps[0] = 0.5f;
    small->x_m[2] = -30.0f;
    small->y_m[2] = 60.0f;
    small->input.num_agents = small->input.rule_based_count = 1;
    small->input.log_replay_count = 0;
    for (int32_t frame = 0; frame < SMALL_FRAMES; frame++) {
        small->log_x_m[frame] = (float)frame - 25.0f;
        small->log_y_m[frame] = small->log_heading_rad[frame] = small->log_vy_mps[frame] = 0.0f;
        small->log_vx_mps[frame] = 10.0f;
        small->log_valid[frame] = 1;
    }
    small->road_kind[2] = DRV_ROAD_LANE; /* beside the lane of road 0 */
    small->road_width_m[2] = 3.5f;
    small->point_x_m[0] = small->point_x_m[5] = -60.0f;
    small->point_x_m[1] = small->point_x_m[6] = 400.0f;
    small->point_y_m[5] = small->point_y_m[6] = 3.5f;
    small->input.has_lane_changes = 1;
}

/* Makes the scene one in which the start of an agent is free when the other one has reached its goal. */
static void make_free_start(small_scene *small) {
    small->goal_x_m[0] = 12.0f;
    small->goal_x_m[1] = 500.0f;
    small->y_m[3] = 60.0f;
}

/* The same, but the agent that reached its goal stands before a stop sign and on a road edge, and has run into a static
 * vehicle; and the free start is inside the goal that belongs to it. */
static void make_free_start_at_goal(small_scene *small) {
    small->vx_mps[0] = 0.1f;
    small->goal_x_m[0] = 5.3f;
    small->x_m[3] = 4.2f;
    small->y_m[3] = 0.0f;
    small->control_line_m[4] = small->control_line_m[6] = 4.5f;
    for (int32_t point = small->road_start[1]; point < small->road_start[2]; point++) small->point_y_m[point] = -0.5f;
}

/* Heights that differ too little to separate anything: those of points, with a lane that rises, and those of all else,
 * which are lower in the first scene than in the second. */
static const float point_z_m[SMALL_POINTS] = {0.0f, 2.5f, 0.0f, 0.0f, 1.0f, 0.0f, 0.0f, 1.0f};
static const float heights_m[2 * SMALL_FRAMES + 1] = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.7f,
                                                      0.8f, 0.9f, 1.0f, 1.1f, 1.2f, 1.3f};

/* The small scene with everything near: a goal ahead, one around the start, a vehicle in the way, a log that turns, a
 * light and a stop sign; the log has a script. The second one has other goals, a single agent, which starts in
 * reverse before a stop sign, and two vehicles that follow crossing logs by rules, one of them with a stop sign 1 m
 * ahead of its front. With `has_lists`, the goals of the first one are in lists. */
static drv_scene *make_scene(int32_t variant, bool has_lists) {
    /* parts that only some configs need */
    enum { LOGS = 2 * SMALL_FRAMES };
    small_scene small;
    float crossing_x_m[LOGS], crossing_y_m[LOGS], crossing_heading_rad[LOGS], crossing_vx_mps[LOGS];
    float crossing_vy_mps[LOGS];
    uint8_t crossing_valid[LOGS];
    make_small(&small);
    small.input.trial_steps = TRIAL_STEPS;
    small.input.agent_log_frames = SMALL_FRAMES;
    small.input.agent_log_valid = agent_log_valid;
    small.input.agent_log_x_m = small.input.agent_log_y_m = agent_log_m;
    small.input.lane_start = lane_start;
    small.input.lane_successor = lane_successor;
    small.input.link_count = 2;
    small.road_kind[2] = DRV_ROAD_LANE; /* for goals beyond the end of the first lane */
    small.input.has_routes = small.input.has_height = 1;
    small.input.point_z_m = point_z_m;
    small.input.start_z_m = small.input.goal_z_m = small.input.log_z_m = small.input.control_z_m = heights_m + variant;
    small.input.script_count = variant == 0;
    small.input.listed_count = has_lists && variant == 0 ? SMALL_LISTED : 0;
    small.input.has_goal_headings = has_lists;

    /* all that is near */
    small.goal_x_m[0] = 8.0f;
    small.goal_y_m[0] = 0.0f;
    small.goal_x_m[1] = small.x_m[1];
    small.goal_y_m[1] = small.y_m[1];
    small.x_m[3] = 12.0f;
    small.y_m[3] = 20.0f;
    for (int32_t frame = 0; frame < SMALL_FRAMES; frame++) {
        small.log_x_m[frame] = 60.0f + (float)frame;
        small.log_heading_rad[frame] = 0.3f * (float)frame;
        small.log_vx_mps[frame] = 1.0f + (float)frame;
    }
    small.road_speed_limit_mps[0] = 5.0f; /* below the start speed */
    /* reached, where nothing stops the agent, at about the end of a trial */
    small.control_line_m[0] = small.control_line_m[2] = 13.0f;
    small.control_line_m[4] = small.control_line_m[6] = variant > 0 ? 4.0f : 13.0f;

    /* what the other variants have instead */
    if (variant == 1) {
        const float before_start_m[4] = {63.0f, 2.0f, 63.0f, -2.0f};
        memcpy(small.control_line_m + 8, before_start_m, sizeof before_start_m);
        small.vx_mps[0] = -1.0f; /* against the lane */
        small.goal_x_m[0] = 9.0f;
        small.goal_y_m[0] = 0.5f;
        small.input.num_agents = SMALL_AGENTS - 1;
        small.input.log_replay_count = 0;
        small.input.rule_based_count = 2;
        for (int32_t frame = 0; frame < SMALL_FRAMES; frame++) {
            const int32_t one = 2 * frame, other = one + 1;
            crossing_x_m[one] = 60.0f + 4.0f * (float)frame;
            crossing_y_m[one] = crossing_heading_rad[one] = crossing_vy_mps[one] = 0.0f;
            crossing_x_m[other] = 78.0f;
            crossing_y_m[other] = 4.0f * (float)frame - 14.0f;
            crossing_heading_rad[other] = 1.5707964f;
            crossing_vx_mps[other] = 0.0f;
            crossing_vx_mps[one] = crossing_vy_mps[other] = 1.0f + (float)frame;
            crossing_valid[one] = crossing_valid[other] = 1;
        }
        small.input.log_x_m = crossing_x_m;
        small.input.log_y_m = crossing_y_m;
        small.input.log_heading_rad = crossing_heading_rad;
        small.input.log_vx_mps = crossing_vx_mps;
        small.input.log_vy_mps = crossing_vy_mps;
        small.input.log_valid = crossing_valid;
    }
    if (variant == LANE_CHANGES) make_two_lanes(&small);
    if (variant == FREE_START) make_free_start(&small);
    if (variant == FREE_START_AT_GOAL) make_free_start_at_goal(&small);
    drv_scene *scene = NULL;
    char message[DRV_MESSAGE_BYTES];
    CHECK(drv_scene_create(&small.input, NULL, &scene, message) == DRV_OK, "%s", message);
    return scene;
}

static size_t item_bytes(const char *type) { return (size_t)(type[1] - '0'); }

static void watch_array(rollout *run, int list, watched array) {
    array.before = malloc(NUM_WORLDS * array.world_bytes);
    run->watch[list][run->watch_count[list]++] = array;
}

static void begin_rollout(rollout *run, drv_config config) {
    /* the batch */
    memset(run, 0, sizeof *run);
    for (int32_t i = 0; i < SCENES; i++)
        run->scenes[i] = make_scene(config.idm_lane_changes         ? LANE_CHANGES
                                    : config.on_goal == DRV_RESPAWN ? FREE_START + i
                                                                    : i,
                                    config.max_goals > 0);
    const int64_t ids[NUM_WORLDS] = {0, 1, 2};
    const drv_batch_setup setup = {.config = config, .num_worlds = NUM_WORLDS, .agents_per_world = SMALL_AGENTS + 1,
                                   .record_capacity = 3, .own_reward = config.on_goal == DRV_RESPAWN,
                                   .scene_count = SCENES, .scenes = run->scenes,
                                   .world_ids = ids, .seed = 3, .thread_count = 1};
    drv_batch_needs needs;
    char message[DRV_MESSAGE_BYTES];
    CHECK(drv_batch_plan(&setup, &needs, message) == DRV_OK, "%s", message);
    run->block = aligned_alloc(DRV_CACHE_LINE, (size_t)needs.block_bytes);
    CHECK(drv_batch_create(&setup, run->block, needs.block_bytes, &run->batch, message) == DRV_OK, "%s", message);

    /* the caller's arrays */
    drv_array_field fields[ARRAY_LIMIT];
    const int32_t arrays = drv_array_fields(&config, &needs, fields, ARRAY_LIMIT);
    for (int32_t i = 0; i < arrays; i++) {
        const int32_t columns = fields[i].columns ? fields[i].columns : 1;
        const int32_t depth = fields[i].depth ? fields[i].depth : 1, width = fields[i].width ? fields[i].width : 1;
        const int32_t entries = fields[i].per_world ? 1 : needs.agents_per_world;
        const size_t bytes = (size_t)(entries * columns * depth * width) * item_bytes(fields[i].type);
        uint8_t *array = calloc(NUM_WORLDS, bytes);
        memcpy((uint8_t *)&run->arrays + fields[i].offset, &array, sizeof array);
        watch_array(run, 0, (watched){fields[i].name, fields[i].phases,
                                      fields[i].offset / (int32_t)sizeof(void *), array, bytes, bytes, NULL, true});
    }
    drv_batch_bind(run->batch, &run->arrays);

    /* the arrays of the state */
    drv_state_field state[ARRAY_LIMIT];
    const int32_t states = drv_batch_state_fields(run->batch, state, ARRAY_LIMIT);
    for (int32_t i = 0; i < states; i++)
        watch_array(run, 1, (watched){state[i].name, state[i].phases, i, run->block + state[i].offset,
                                     (size_t)state[i].world_stride,
                                     (size_t)state[i].count * item_bytes(state[i].type), NULL, false});
}

static void end_rollout(rollout *run) {
    drv_batch_free(run->batch);
    for (int32_t i = 0; i < SCENES; i++) drv_scene_release(run->scenes[i]);
    for (int list = 0; list < 2; list++)
        for (int32_t i = 0; i < run->watch_count[list]; i++) {
            free(run->watch[list][i].before);
            if (run->watch[list][i].is_owned) free(run->watch[list][i].bytes);
        }
    free(run->block);
}

/* ---- one phase at a time ---- */

static void snapshot(rollout *run) {
    for (int list = 0; list < 2; list++)
        for (int32_t i = 0; i < run->watch_count[list]; i++) {
            const watched *array = &run->watch[list][i];
            for (size_t world = 0; world < NUM_WORLDS; world++)
                memcpy(array->before + world * array->world_bytes, array->bytes + world * array->stride,
                       array->world_bytes);
        }
}

/* Words at a time: valgrind replaces memcmp by a loop over bytes. */
static bool differ(const uint8_t *one, const uint8_t *other, size_t bytes) {
    uint64_t difference = 0;
    size_t at = 0;
    for (; at + sizeof difference <= bytes; at += sizeof difference) {
        uint64_t first, second;
        memcpy(&first, one + at, sizeof first);
        memcpy(&second, other + at, sizeof second);
        difference |= first ^ second;
    }
    for (; at < bytes; at++) difference |= (uint64_t)(one[at] ^ other[at]);
    return difference != 0;
}

/* Checks what a phase changed since the snapshot, and brings the snapshot up to date. */
static void compare(rollout *run, int phase) {
    for (int list = 0; list < 2; list++)
        for (int32_t i = 0; i < run->watch_count[list]; i++) {
            const watched *array = &run->watch[list][i];
            bool changed = false;
            for (size_t world = 0; world < NUM_WORLDS; world++) {
                uint8_t *before = array->before + world * array->world_bytes;
                const uint8_t *after = array->bytes + world * array->stride;
                if (!differ(before, after, array->world_bytes)) continue;
                memcpy(before, after, array->world_bytes);
                changed = true;
            }
            if (!changed) continue;
            CHECK(strstr(array->listed, phases[phase].name), "%s changed %s, which lists %s", phases[phase].name,
                  array->name, array->listed);
            seen[list][array->index][phase] = true;
        }
}

static void run_phase(rollout *run, drv_world *world, int phase) {
    phases[phase].run(world, &run->batch->workers[0].scratch);
    compare(run, phase);
}

static void step_in_phases(rollout *run, int32_t number) {
    drv_world world = drv_batch_world(run->batch, number);
    snapshot(run);
    if (*world.pending != DRV_GOES_ON) {
        run_phase(run, &world, DRV_PHASE_trial_restart);
    } else {
        for (int phase = DRV_PHASE_traffic_plan; phase < DRV_PHASE_observe_write; phase++)
            run_phase(run, &world, phase);
    }
    for (int phase = DRV_PHASE_observe_write; phase < DRV_PHASE_COUNT; phase++) run_phase(run, &world, phase);
}

static void check_steps(drv_config config, uint64_t seed, int32_t steps) {
    rollout run;
    test_rng rng = {seed};
    char message[DRV_MESSAGE_BYTES];
    begin_rollout(&run, config);
    const int32_t some = check_cases(steps);
    for (int step = 0; step < some; step++) {
        const int32_t ages[NUM_WORLDS] = {0, step / STEPS_PER_RESET % TRIAL_STEPS, 1};
        if (step % STEPS_PER_RESET == 0)
            CHECK(drv_batch_reset(run.batch, DRV_WHOLE_BATCH, NULL, NULL, ages, message) == DRV_OK, "%s", message);
        const drv_action_space space = drv_action_space_of(&config);
        for (int32_t i = 0; i < run.batch->needs.num_agents * space.width; i++)
            if (space.type == DRV_DISCRETE) run.batch->actions.bin[i] = rng_below(&rng, space.count);
            else run.batch->actions.share[i] = (float)rng_between(&rng, -1.0, 1.0);
        for (int32_t world = 0; world < NUM_WORLDS; world++) step_in_phases(&run, world);
        if (run.batch->sizes.own_reward_agents == 0) continue;
        float rewards[NUM_WORLDS * (SMALL_AGENTS + 1)];
        for (int32_t i = 0; i < run.batch->needs.num_agents; i++) rewards[i] = 0.5f;
        CHECK(drv_batch_reward(run.batch, DRV_WHOLE_BATCH, rewards, message) == DRV_OK, "%s", message);
    }
    end_rollout(&run);
}

static void check_config(drv_config config, uint64_t seed) { check_steps(config, seed, STEPS); }

/* Entries of the lists that no rollout has covered, of the arrays that a batch of this config has. */
static void check_all_seen(drv_config config) {
    if (check_cases(STEPS) < STEPS) return; /* a share of the steps need not cover all */
    rollout run;
    begin_rollout(&run, config);
    for (int list = 0; list < 2; list++)
        for (int32_t i = 0; i < run.watch_count[list]; i++)
            for (int phase = 0; phase < DRV_PHASE_COUNT; phase++) {
                const watched *array = &run.watch[list][i];
                CHECK(seen[list][array->index][phase] == (strstr(array->listed, phases[phase].name) != NULL),
                      "%s lists %s, which never changed it", array->name, phases[phase].name);
            }
    end_rollout(&run);
}

TEST(each_phase_changes_the_arrays_that_list_it_and_no_other) {
    /* every kind of response to events */
    drv_config config = small_config();
    config.scene_order = DRV_ORDER_CYCLE;
    config.min_speed_mps = -5.0f;
    config.observation_type = DRV_INDEX;
    config.reward_progress_per_m = 0.01f;
    config.reward_terms = config.critic_observations = config.detailed_metrics = config.traffic_controls = 1;
    check_config(config, 1);
    config.on_goal = config.on_collision = config.on_offroad = DRV_IGNORE;
    check_config(config, 2);
    config.on_collision = config.on_offroad = DRV_REMOVE;
    config.on_goal = DRV_STOP;
    config.max_trials = 1;
    check_config(config, 3);

    /* options that exclude those below */
    drv_config jumps = config;
    jumps.dynamics = DRV_STATE;
    jumps.action_type = DRV_CONTINUOUS;
    jumps.idm_handback_m = 1.0f;
    check_config(jumps, 4);
    drv_config masked = config;
    masked.action_mask = 1; /* excludes delays, which another config has */
    masked.max_speed_mps = 6.0f;
    masked.coplayers = 0.5f; /* one of two agents in the first scene, none in the second */
    masked.observation_type = DRV_IMAGE;
    check_config(masked, 6);

    /* draws, disturbances and next goals */
    config.draw_reward_weights = 1;
    config.range_reward_goal_high = 2.0f;
    config.hidden_steering_gain_low = 0.5f;
    config.hidden_steering_gain_high = 1.5f;
    config.hidden_action_delay_steps_high = 2.0f;
    config.dynamics = DRV_SINGLE_TRACK;
    config.disturbance_partner_blindness = config.disturbance_phantom_braking = 1.0f;
    config.disturbance_trigger_probability = 0.2f;
    check_config(config, 5);
    config.on_goal = DRV_NEXT;
    config.goal_radius_m = 5.0f;
    config.goal_spacing_m = 90.0f;
    check_config(config, 6);
    drv_config listed = config;
    listed.max_goals = 100;
    check_config(listed, 9);

    /* respawns, with lanes of goals */
    drv_config respawning = config;
    respawning.on_goal = DRV_RESPAWN;
    respawning.on_collision = respawning.on_offroad = DRV_IGNORE;
    respawning.observation_type = DRV_FLOAT32;
    respawning.goals = 1;
    check_config(respawning, 8);

    /* lane changes, which take longer than the other runs */
    drv_config passing = small_config();
    passing.idm_lane_changes = 1;
    check_steps(passing, 7, 50);
    check_all_seen(config);
    check_all_seen(masked);
    check_all_seen(respawning);
}
