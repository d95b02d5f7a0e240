/* What does it mean? Clocks, verdicts, restarts; and the channels, of which this file is the only writer. */
#include "geometry.h"
#include "phases.h"
#include "random.h"

/* ---- channels ---- */

static uint16_t code_of(const drv_arrays *out, int32_t row) {
    return (uint16_t)(out->trial_ended[row] * DRV_CODE_TRIAL_ENDED | out->truncation[row] * DRV_CODE_TRUNCATION |
                      out->removed[row] * DRV_CODE_REMOVED | out->invalid_step[row] * DRV_CODE_INVALID_STEP |
                      out->stopped[row] * DRV_CODE_STOPPED | out->first[row] * DRV_CODE_FIRST |
                      out->outcome[row] << DRV_CODE_OUTCOME_SHIFT);
}

/* Says what describes the observation that comes next. */
static void announce_state(drv_world *world, int32_t row, bool first) {
    drv_arrays *out = &world->out;
    const uint8_t status = world->status[row];
    out->first[row] = first;
    out->trial_index[row] = *world->trial;
    out->removed[row] = status == DRV_REMOVED || status == DRV_ABSENT;
    out->stopped[row] = status == DRV_STOPPED;
    out->waits[row] = status != DRV_DRIVING || out->trial_ended[row];
    out->code[row] = code_of(out, row);
}

/* Says that no action counted: after a restart, or (no step at all) after a reset. */
static void announce_start(drv_world *world, bool first, bool is_step) {
    drv_arrays *out = &world->out;
    for (int32_t row = 0; row < world->sizes.rows; row++) {
        out->rewards[row] = 0.0f;
        out->terminations[row] = out->truncations[row] = 0;
        out->trial_ended[row] = out->truncation[row] = 0;
        out->invalid_step[row] = is_step;
        out->outcome[row] = 0;
        announce_state(world, row, first);
    }
    *out->scene_index = *world->scene_index;
}

/* ---- starts ---- */

static void begin_trial(drv_world *world, drv_scratch *scratch) {
    *world->clock_steps = 0;
    *world->age_steps = 0;
    *world->pending = DRV_GOES_ON;
    for (int32_t row = 0; row < world->sizes.rows; row++) {
        world->status[row] = row < world->scene->row_count ? DRV_DRIVING : DRV_ABSENT;
        world->outcome[row] = DRV_OUTCOME_NONE;
        world->booked[row] = 0;
        world->steps_driven[row] = 0;
        world->had_goal[row] = world->had_collision[row] = world->had_offroad[row] = world->scored[row] = 0;
        world->distance_m[row] = world->steering_rad[row] = 0.0f;
        world->acceleration_mps2[row] = world->yaw_rate_radps[row] = 0.0f;
        for (int32_t term = 0; term < DRV_REWARD_TERMS; term++)
            world->trial_reward[row * DRV_REWARD_TERMS + term] = 0.0f;
    }
    drv_traffic_begin(world);
    drv_events_begin(world, scratch);
}

void drv_trial_rewind(drv_world *world, drv_scratch *scratch) {
    for (int32_t row = 0; row < world->scene->row_count; row++) {
        world->previous_outcome[row] = world->outcome[row];
        world->previous_share[row] = (float)world->steps_driven[row] / (float)world->scene->trial_steps;
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
    *world->trial = 0;
    for (int32_t row = 0; row < world->sizes.rows; row++) {
        world->previous_outcome[row] = DRV_OUTCOME_NONE;
        world->previous_share[row] = world->last_reward[row] = 0.0f;
    }
    begin_trial(world, scratch);
}

void drv_trial_open_episode(drv_world *world, drv_scratch *scratch, int32_t age_steps) {
    open_episode(world, scratch);
    *world->age_steps = age_steps;
    announce_start(world, true, false);
}

void drv_trial_restart(drv_world *world, drv_scratch *scratch) {
    const bool new_episode = *world->pending == DRV_OPENS_EPISODE;
    if (new_episode) {
        ++*world->episode;
        open_episode(world, scratch);
    } else {
        drv_trial_rewind(world, scratch);
    }
    announce_start(world, new_episode, true);
}

/* ---- verdicts ---- */

static int32_t stronger(int32_t a, int32_t b) { return a > b ? a : b; }

/* Books the facts of a driving row and decides whether they end its trial. */
static void judge_row(drv_world *world, int32_t row) {
    const drv_config *config = world->config;
    const bool hit = world->hit[row], crossed = world->crossed[row], reached = world->reached[row];
    world->steps_driven[row]++;
    world->had_collision[row] |= hit;
    world->had_offroad[row] |= crossed;
    world->had_goal[row] |= reached;
    world->scored[row] |= reached && !world->had_collision[row] && !world->had_offroad[row];

    const int32_t on_collision = hit ? config->on_collision : DRV_IGNORE;
    const int32_t on_offroad = crossed ? config->on_offroad : DRV_IGNORE;
    const int32_t on_goal = reached ? config->on_goal : DRV_IGNORE;
    const int32_t verdict = stronger(on_collision, stronger(on_offroad, on_goal));
    if (verdict == DRV_IGNORE) return;
    world->outcome[row] = on_collision != DRV_IGNORE ? DRV_OUTCOME_COLLISION
                          : on_offroad != DRV_IGNORE ? DRV_OUTCOME_OFFROAD
                                                     : DRV_OUTCOME_GOAL;
    world->booked[row] = 1;
    world->status[row] = verdict == DRV_REMOVE ? DRV_REMOVED : DRV_STOPPED;
    world->present[row] = verdict != DRV_REMOVE;
    world->speed_mps[row] = world->acceleration_mps2[row] = world->yaw_rate_radps[row] = 0.0f;
}

void drv_trial_judge(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    drv_arrays *out = &world->out;
    const drv_config *config = world->config;
    const int32_t with_vehicle = world->scene->row_count;
    const bool last_trial = *world->trial + 1 == config->max_trials;
    int32_t driving = 0, stopped = 0;

    ++*world->clock_steps;
    for (int32_t row = 0; row < world->sizes.rows; row++) {
        const bool acted = world->status[row] == DRV_DRIVING;
        out->invalid_step[row] = !acted;
        world->booked[row] = 0;
        if (acted) judge_row(world, row);
        driving += world->status[row] == DRV_DRIVING;
        stopped += world->status[row] == DRV_STOPPED;
    }

    const bool out_of_time = *world->clock_steps + *world->age_steps >= world->scene->trial_steps;
    /* A quotient, not a product: 7 of 10 stopped meets a limit of 0.7 exactly. */
    const bool share_filled = config->stopped_share_limit > 0.0f &&
                              (float)stopped / (float)with_vehicle >= config->stopped_share_limit;
    const bool trial_ends = driving == 0 || out_of_time || share_filled;
    if (trial_ends) *world->pending = last_trial ? DRV_OPENS_EPISODE : DRV_OPENS_TRIAL;

    for (int32_t row = 0; row < world->sizes.rows; row++) {
        const bool cut = trial_ends && world->status[row] == DRV_DRIVING;
        out->terminations[row] = last_trial && world->booked[row];
        out->truncations[row] = last_trial && cut;
        out->trial_ended[row] = trial_ends;
        out->truncation[row] = cut;
        if (cut) {
            world->outcome[row] = DRV_OUTCOME_TIMEOUT;
            world->booked[row] = 1;
        }
        out->outcome[row] = world->booked[row] ? world->outcome[row] : DRV_OUTCOME_NONE;
        announce_state(world, row, false);
    }
}
