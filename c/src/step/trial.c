/* How do events end trials and episodes? The clock, event responses, restarts, and the channels that report them. */
#include "math/geometry.h"
#include "math/random.h"
#include "step/coplayers.h"
#include "step/details.h"
#include "step/disturbances.h"
#include "step/goals.h"
#include "step/hidden.h"
#include "step/lane.h"
#include "step/phases.h"
#include "step/proximity.h"
#include "step/respawn.h"
#include "step/stopping.h"
#include "step/weights.h"

/* ---- channels ---- */

/* The channel `code`: flags and outcome of an agent in one number. */
static uint16_t code_of(const drv_arrays *out, int32_t agent) {
    return (uint16_t)(out->trial_ended[agent] * DRV_CODE_TRIAL_ENDED | out->truncation[agent] * DRV_CODE_TRUNCATION |
                      out->removed[agent] * DRV_CODE_REMOVED | out->invalid_step[agent] * DRV_CODE_INVALID_STEP |
                      out->stopped[agent] * DRV_CODE_STOPPED | out->first[agent] * DRV_CODE_FIRST |
                      out->outcome[agent] << DRV_CODE_OUTCOME_SHIFT);
}

/* Writes the channels that describe the state after this step, on which the next action acts. */
static void write_state_channels(drv_world *world, int32_t agent, bool first) {
    drv_arrays *out = &world->out;
    const uint8_t status = world->status[agent];
    out->first[agent] = first;
    out->trial_index[agent] = *world->trial;
    out->removed[agent] = status == DRV_REMOVED || status == DRV_ABSENT;
    out->stopped[agent] = status == DRV_STOPPED;
    out->waits[agent] = status != DRV_DRIVING || out->trial_ended[agent];
    out->code[agent] = code_of(out, agent);
}

/* Writes the channels of a restart step or, where `is_step` is false, of a reset: no action took effect. */
static void write_start_channels(drv_world *world, bool first, bool is_step) {
    drv_arrays *out = &world->out;
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) {
        out->rewards[agent] = 0.0f;
        out->terminations[agent] = out->truncations[agent] = 0;
        out->trial_ended[agent] = out->truncation[agent] = 0;
        out->invalid_step[agent] = is_step;
        out->outcome[agent] = 0;
        write_state_channels(world, agent, first);
    }
    for (int32_t i = 0; out->reward_terms && i < world->sizes.agents * DRV_TERM_COUNT; i++) out->reward_terms[i] = 0.0f;
    for (int32_t i = 0; i < world->sizes.coplayer_agents; i++) out->coplayer[i] = world->coplayer[i];
    *out->scene_index = *world->scene_index;
}

/* ---- starts ---- */

/* Sets the world to the start state of its scene. */
static void begin_trial(drv_world *world, drv_scratch *scratch) {
    /* the clock, the vehicles and the status of agents */
    *world->clock_steps = 0;
    *world->age_steps = 0;
    *world->pending = DRV_GOES_ON;
    drv_traffic_begin(world);
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) {
        const bool exists = world->controller[agent] == DRV_CONTROLLER_AGENT;
        world->status[agent] = exists ? DRV_DRIVING : DRV_ABSENT;
        world->outcome[agent] = DRV_OUTCOME_NONE;
        world->recorded[agent] = 0;
        world->steps_driven[agent] = 0;
        world->had_goal[agent] = world->had_collision[agent] = world->had_offroad[agent] = world->scored[agent] = 0;
    }
    for (int32_t i = 0; i < world->sizes.agents * world->sizes.terms; i++) world->trial_reward[i] = 0.0f;
    drv_reward_begin(world);

    /* what the trial draws and measures: starts before goals, and heights before events, which need them */
    drv_respawn_begin(world);
    drv_goals_begin(world);
    drv_hidden_begin(world);
    drv_mask_begin(world);
    drv_disturbances_begin(world, scratch);
    drv_measures_begin(world);
    drv_lane_begin(world);
    drv_proximity_begin(world);
    drv_details_begin(world);
    drv_height_follow(world, scratch);
    drv_events_begin(world, scratch);
    drv_traffic_controls_begin(world, scratch);
}

void drv_trial_rewind(drv_world *world, drv_scratch *scratch) {
    for (int32_t agent = 0; agent < world->scene->num_agents; agent++) {
        world->previous_outcome[agent] = world->outcome[agent];
        world->previous_share[agent] = (float)world->steps_driven[agent] / (float)world->scene->trial_steps;
    }
    ++*world->trial;
    begin_trial(world, scratch);
}

int32_t drv_trial_next_scene(const drv_world *world, uint64_t seed, int64_t episode) {
    const int64_t count = world->scene_count;
    if (world->config->scene_order == DRV_ORDER_CYCLE) return (int32_t)((*world->id % count + episode % count) % count);
    uint64_t bits = drv_random_bits(seed, *world->id, episode, DRV_PURPOSE_SCENE, 0);
    return (int32_t)drv_random_below(bits, (uint32_t)count);
}

static void open_episode(drv_world *world, drv_scratch *scratch) {
    *world->scene_index = drv_trial_next_scene(world, *world->seed, *world->episode);
    world->scene = world->scenes[*world->scene_index];
    world->encoding = &world->encodings[*world->scene_index];
    *world->trial = 0;
    drv_weights_draw(world);
    drv_coplayers_draw(world);
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) {
        world->previous_outcome[agent] = DRV_OUTCOME_NONE;
        world->previous_share[agent] = world->last_reward[agent] = 0.0f;
    }
    begin_trial(world, scratch);
}

void drv_trial_open_episode(drv_world *world, drv_scratch *scratch, int32_t age_steps) {
    open_episode(world, scratch);
    *world->age_steps = age_steps;
    write_start_channels(world, true, false);
}

void drv_trial_restart(drv_world *world, drv_scratch *scratch) {
    const bool new_episode = *world->pending == DRV_OPENS_EPISODE;
    if (new_episode) {
        ++*world->episode;
        open_episode(world, scratch);
    } else {
        drv_trial_rewind(world, scratch);
    }
    write_start_channels(world, new_episode, true);
}

/* ---- event responses ---- */

/* Responses ascend in strength: ignore, stop, remove. */
static int32_t stronger(int32_t a, int32_t b) { return a > b ? a : b; }

/* Stores the violations of lights and signs of a driving agent; returns the strongest of their responses. */
static int32_t judge_violations(drv_world *world, int32_t agent) {
    const drv_config *config = world->config;
    const bool red_light_onset = world->red_light_onset[agent], stop_sign_onset = world->stop_sign_onset[agent];
    world->had_red_light[agent] |= red_light_onset;
    world->had_stop_sign[agent] |= stop_sign_onset;
    return stronger(red_light_onset ? config->on_red_light : DRV_IGNORE,
                    stop_sign_onset ? config->on_stop_sign : DRV_IGNORE);
}

/* The response to a goal that was reached. With DRV_NEXT it is DRV_IGNORE where another goal follows, and DRV_REMOVE at
 * the agent's last one. */
static int32_t goal_response(drv_world *world, int32_t agent) {
    const drv_config *config = world->config;
    switch (config->on_goal) {
        case DRV_NEXT:
            if (!drv_goals_advance(world, agent)) return DRV_REMOVE;
            drv_details_advance(world, agent);
            return DRV_IGNORE;
        /* respawn_agents sets the goal that follows */
        case DRV_RESPAWN: return ++world->goals_reached[agent] != config->max_goals ? DRV_IGNORE : DRV_REMOVE;
        default: return config->on_goal;
    }
}

/* Stores the events of a driving agent and applies the strongest of their responses. */
static void judge_agent(drv_world *world, drv_scratch *scratch, int32_t agent) {
    /* the events of the trial so far */
    const drv_config *config = world->config;
    const bool collision_onset = world->collision_onset[agent], offroad_onset = world->offroad_onset[agent];
    const bool goal_onset = world->goal_onset[agent];
    world->steps_driven[agent]++;
    world->had_collision[agent] |= collision_onset;
    world->had_offroad[agent] |= offroad_onset;
    world->had_goal[agent] |= goal_onset;
    const bool has_controls = drv_has_traffic_controls(world);
    const int32_t on_violation = has_controls ? judge_violations(world, agent) : DRV_IGNORE;
    const bool obeyed = !has_controls || (!world->had_red_light[agent] && !world->had_stop_sign[agent]);
    const int32_t on_goal = goal_onset ? goal_response(world, agent) : DRV_IGNORE;
    /* where there is a last goal, all of them make a score */
    const bool scores = goal_onset && (on_goal == DRV_REMOVE ||
                                       (config->max_goals == 0 && drv_goals_total(world, agent) == 0));
    world->scored[agent] |= scores && obeyed && !world->had_collision[agent] && !world->had_offroad[agent];

    /* the response, and the event that it is to */
    const int32_t on_collision = collision_onset ? config->on_collision : DRV_IGNORE;
    const int32_t on_offroad = offroad_onset ? config->on_offroad : DRV_IGNORE;
    const int32_t response = stronger(stronger(on_collision, on_offroad), stronger(on_violation, on_goal));
    if (response == DRV_IGNORE) return;
    world->outcome[agent] = on_collision != DRV_IGNORE ? DRV_OUTCOME_COLLISION
                          : on_offroad != DRV_IGNORE ? DRV_OUTCOME_OFFROAD
                          : on_violation != DRV_IGNORE ? DRV_OUTCOME_OTHER
                                                     : DRV_OUTCOME_GOAL;
    world->recorded[agent] = 1;
    world->status[agent] = response == DRV_REMOVE ? DRV_REMOVED : DRV_STOPPED;
    world->present[agent] = response != DRV_REMOVE;
    scratch->halted++;
}

/* Numbers of agents that a trial depends on: those of the scene that are no co-players. */
typedef struct tally {
    int32_t agents, driving, stopped;
} tally;

/* Leaves the co-players out of a tally. */
static tally without_coplayers(const drv_world *world, tally counted) {
    for (int32_t agent = 0; agent < world->sizes.coplayer_agents; agent++) {
        if (!world->coplayer[agent]) continue;
        counted.agents--;
        counted.driving -= world->status[agent] == DRV_DRIVING;
        counted.stopped -= world->status[agent] == DRV_STOPPED;
    }
    return counted;
}

void drv_trial_judge(drv_world *world, drv_scratch *scratch) {
    /* what holds for all agents */
    drv_arrays *out = &world->out;
    const drv_config *config = world->config;
    const bool last_trial = *world->trial + 1 == config->max_trials;
    tally counted = {.agents = world->scene->num_agents};
    const bool may_be_disturbed = world->sizes.disturbed_agents > 0;

    /* advance the clock and apply the responses */
    ++*world->clock_steps;
    scratch->halted = 0;
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) {
        const bool acted = world->status[agent] == DRV_DRIVING;
        out->invalid_step[agent] = !acted || (may_be_disturbed && drv_is_disturbed(world, agent));
        world->recorded[agent] = 0;
        if (acted) judge_agent(world, scratch, agent);
        counted.driving += world->status[agent] == DRV_DRIVING;
        counted.stopped += world->status[agent] == DRV_STOPPED;
    }
    counted = without_coplayers(world, counted);

    /* decide whether the trial ends */
    const bool out_of_time = *world->clock_steps + *world->age_steps >= world->scene->trial_steps;
    /* A quotient, not a product, so that 7 of 10 stopped agents meet a limit of 0.7 exactly. */
    const bool share_filled = config->stopped_share_limit > 0.0f &&
                              (float)counted.stopped / (float)counted.agents >= config->stopped_share_limit;
    const bool trial_ends = counted.driving == 0 || out_of_time || share_filled;
    if (trial_ends) *world->pending = last_trial ? DRV_OPENS_EPISODE : DRV_OPENS_TRIAL;

    /* write the channels; agents that still drive when the trial ends time out */
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) {
        const bool timed_out = trial_ends && world->status[agent] == DRV_DRIVING;
        out->terminations[agent] = last_trial && world->recorded[agent];
        out->truncations[agent] = last_trial && timed_out;
        out->trial_ended[agent] = trial_ends;
        out->truncation[agent] = timed_out;
        if (timed_out) {
            world->outcome[agent] = DRV_OUTCOME_TIMEOUT;
            world->recorded[agent] = 1;
        }
        out->outcome[agent] = world->recorded[agent] ? world->outcome[agent] : DRV_OUTCOME_NONE;
        write_state_channels(world, agent, false);
    }
}

void drv_trial_halt(drv_world *world, drv_scratch *scratch) {
    for (int32_t agent = 0; scratch->halted > 0 && agent < world->sizes.agents; agent++)
        if (world->recorded[agent] && world->status[agent] != DRV_DRIVING)
            world->speed_mps[agent] = world->acceleration_mps2[agent] = world->yaw_rate_radps[agent] = 0.0f;
}
