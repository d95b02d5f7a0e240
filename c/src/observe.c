/* What does a row see? */
#include <math.h>
#include <string.h>

#include "geometry.h"
#include "layout.h"
#include "phases.h"
#include "vector.h"

/* The driver's own frame: x ahead, y to the left. */
typedef struct frame {
    drv_point origin, ahead;
} frame;

/* A record is what a slot shows of a thing, before it is seen from somewhere: place and direction in the scene's
 * frame, then four numbers that are the same from everywhere. */
typedef struct view {
    drv_float4 origin, along, across;
} view;

/* Seen from `ego`: (x, y) scaled, and a direction; `out = w * along + swapped(w) * across` does both turns at once. */
static view view_from(frame ego, float position_scale) {
    const float c = ego.ahead.x, s = ego.ahead.y, k = position_scale;
    return (view){{ego.origin.x, ego.origin.y, 0.0f, 0.0f}, {c * k, c * k, c, c}, {s * k, -s * k, s, -s}};
}

static void show_record(const float *record, view from, float *out) {
    const drv_float4 offset = drv_load4(record) - from.origin;
    drv_store4(out, drv_limited4(offset * from.along + drv_swap_pairs4(offset) * from.across));
    drv_store4(out + 4, drv_load4(record + 4));
}

/* Whether the row overlaps a vehicle that is still on the map after the verdicts of the step. */
static bool touches_any(const drv_world *world, int32_t row) {
    const uint64_t *words = world->touching + row * world->sizes.contact_words;
    for (int32_t word = 0; word < world->sizes.contact_words; word++)
        for (int32_t bit = 0; bit < 64 && words[word] >> bit != 0; bit++)
            if ((words[word] >> bit & 1u) && world->present[64 * word + bit]) return true;
    return false;
}

static void write_head(const drv_world *world, int32_t row, frame ego, const drv_head_scales *head, float *out) {
    const drv_config *config = world->config;
    const drv_scene *scene = world->scene;
    const float dx = scene->goal_x_m[row] - ego.origin.x, dy = scene->goal_y_m[row] - ego.origin.y;
    const drv_point goal = {dx * ego.ahead.x + dy * ego.ahead.y, dy * ego.ahead.x - dx * ego.ahead.y};
    const float goal_m = sqrtf(goal.x * goal.x + goal.y * goal.y);
    const float per_m = goal_m > 0.0f ? 1.0f / goal_m : 0.0f;
    const int32_t gone = *world->clock_steps + *world->age_steps;
    const bool shows_time = config->time_left == DRV_TIME_LEFT_ACTOR;
    float values[HEAD_COUNT] = {
        [EGO_PRESENT] = 1.0f,
        [EGO_SPEED] = world->speed_mps[row],
        [EGO_LENGTH] = scene->length_m[row],
        [EGO_WIDTH] = scene->width_m[row],
        [EGO_STEERING] = world->steering_rad[row],
        [EGO_ACCELERATION] = world->acceleration_mps2[row],
        [EGO_YAW_RATE] = world->yaw_rate_radps[row],
        [EGO_GOAL_X] = goal.x,
        [EGO_GOAL_Y] = goal.y,
        [EGO_GOAL_DIRECTION_X] = goal.x * per_m,
        [EGO_GOAL_DIRECTION_Y] = goal.y * per_m,
        [EGO_GOAL_DISTANCE] = goal_m,
        [EGO_IN_CONTACT] = touches_any(world, row),
        [EGO_OVER_EDGE] = world->over_edge[row],
        [EGO_TIME_LEFT] = shows_time ? (float)(scene->trial_steps - gone) / (float)scene->trial_steps : 0.0f,
        [EGO_COUNT + TRIAL_INDEX] = (float)*world->trial,
        [EGO_COUNT + TRIAL_REWARD] = world->last_reward[row],
        [EGO_COUNT + TRIAL_STEPS_SHARE] = world->previous_share[row],
    };
    values[EGO_COUNT + TRIAL_OUTCOME_NONE + world->previous_outcome[row]] = 1.0f;
    for (int32_t i = 0; i < HEAD_COUNT; i++) out[i] = drv_clip(values[i] * head->scale[i], head->low[i], 1.0f);
}

/* One record a vehicle of the world, as all its rows see them. */
static void write_vehicle_records(const drv_world *world, float *record) {
    const drv_config *config = world->config;
    const drv_scene *scene = world->scene;
    const float length = drv_layout_scale(config, SCALE_LENGTH), width = drv_layout_scale(config, SCALE_WIDTH);
    const float speed = drv_layout_scale(config, SCALE_SPEED), kind = drv_layout_scale(config, SCALE_OBJECT_KIND);
    for (int32_t i = 0; i < scene->vehicle_count; i++, record += PARTNER_COUNT) {
        record[PARTNER_X] = world->x_m[i];
        record[PARTNER_Y] = world->y_m[i];
        record[PARTNER_DIRECTION_X] = world->cos_heading[i];
        record[PARTNER_DIRECTION_Y] = world->sin_heading[i];
        record[PARTNER_LENGTH] = drv_smaller(scene->length_m[i] * length, 1.0f);
        record[PARTNER_WIDTH] = drv_smaller(scene->width_m[i] * width, 1.0f);
        record[PARTNER_SPEED] = drv_clip(world->speed_mps[i] * speed, -1.0f, 1.0f);
        record[PARTNER_KIND] = (float)scene->kind[i] * kind;
    }
}

static void write_partners(const drv_world *world, int32_t row, view from, drv_scratch *scratch, float *out) {
    const drv_config *config = world->config;
    const int32_t count = world->scene->vehicle_count;
    const float x_m = world->x_m[row], y_m = world->y_m[row];
    float *distance2 = scratch->distance2;
    for (int32_t i = 0; i < count; i++) {
        float dx = world->x_m[i] - x_m, dy = world->y_m[i] - y_m;
        distance2[i] = world->present[i] ? dx * dx + dy * dy : INFINITY;
    }
    distance2[row] = INFINITY;
    const drv_bracket bounds = {-1.0f, config->view_radius_m * config->view_radius_m};
    const int32_t found = drv_nearest(distance2, count, config->partners, bounds, scratch->room, scratch->kept);
    for (int32_t slot = 0; slot < found; slot++)
        show_record(scratch->vehicle_record + scratch->kept[slot] * PARTNER_COUNT, from, out + slot * PARTNER_COUNT);
    memset(out + found * PARTNER_COUNT, 0, (size_t)(config->partners - found) * PARTNER_COUNT * sizeof *out);
}

/* A window of the grid as runs of segments, one a row of cells: the segment at a place among the candidates is the
 * place plus the run's `ahead`. */
typedef struct run {
    int32_t end, ahead;
} run;

/* Squared distances to all segments of the window, in ascending index. */
static int32_t gather_segments(const drv_scene *scene, frame ego, float reach_m, float *distance2, run *runs) {
    const drv_segments *segments = &scene->segments;
    const drv_window window = drv_grid_window(&scene->grid, ego.origin.x, ego.origin.y, reach_m);
    int32_t count = 0;
    for (int32_t y = window.first_row; y <= window.last_row; y++, runs++) {
        const int32_t *cells = segments->cell_start + y * scene->grid.columns;
        const int32_t first = cells[window.first_column], length = cells[window.last_column + 1] - first;
        const float *x_m = segments->middle_x_m + first, *y_m = segments->middle_y_m + first;
        float *out = distance2 + count;
        /* By sixteens, past the run's end: the next run overwrites what is too much. */
        for (int32_t first_lane = 0; first_lane < length; first_lane += DRV_LANES)
            for (int32_t i = first_lane; i < first_lane + DRV_LANES; i++) {
                float dx = x_m[i] - ego.origin.x, dy = y_m[i] - ego.origin.y;
                out[i] = dx * dx + dy * dy;
            }
        *runs = (run){count + length, first - count};
        count += length;
    }
    return count;
}

static void write_roads(const drv_world *world, frame ego, view from, drv_scratch *scratch, float *out) {
    const drv_config *config = world->config;
    const drv_scene *scene = world->scene;
    if (config->roads == 0) return;
    const drv_reach reach =
        drv_grid_reach(&scene->grid, scene->cell_reach_m, config->view_radius_m, ego.origin.x, ego.origin.y);
    const run *runs = scratch->runs;
    const int32_t count = gather_segments(scene, ego, reach.most_m, scratch->distance2, scratch->runs);
    const float view2 = config->view_radius_m * config->view_radius_m;
    const drv_bracket bounds = {reach.least_m * reach.least_m, drv_smaller(reach.most_m * reach.most_m, view2)};
    const int32_t found = drv_nearest(scratch->distance2, count, config->roads, bounds, scratch->room, scratch->kept);
    for (int32_t slot = 0; slot < found; slot++) {
        const int32_t place = scratch->kept[slot];
        while (place >= runs->end) runs++;
        show_record(scene->record + (int64_t)(place + runs->ahead) * ROAD_COUNT, from, out + slot * ROAD_COUNT);
    }
    memset(out + found * ROAD_COUNT, 0, (size_t)(config->roads - found) * ROAD_COUNT * sizeof *out);
}

static void observe_row(const drv_world *world, int32_t row, const drv_head_scales *head, drv_scratch *scratch,
                        float *out) {
    const drv_config *config = world->config;
    const frame ego = {{world->x_m[row], world->y_m[row]}, {world->cos_heading[row], world->sin_heading[row]}};
    const view from = view_from(ego, drv_layout_scale(config, SCALE_POSITION));
    write_head(world, row, ego, head, out);
    out += HEAD_COUNT;
    write_partners(world, row, from, scratch, out);
    out += config->partners * PARTNER_COUNT;
    write_roads(world, ego, from, scratch, out);
}

void drv_observe_rows(const drv_world *world, const uint8_t *chosen, drv_scratch *scratch, float *out) {
    const int64_t size = drv_layout_size(world->config);
    const drv_head_scales head = drv_layout_head(world->config);
    write_vehicle_records(world, scratch->vehicle_record);
    for (int32_t row = 0; row < world->scene->row_count; row++)
        if (chosen[row]) observe_row(world, row, &head, scratch, out + row * size);
}

void drv_observe_write(drv_world *world, drv_scratch *scratch) {
    const int64_t size = drv_layout_size(world->config);
    /* A row that stopped in an earlier step keeps its last observation: nobody acts on it before the restart. */
    for (int32_t row = 0; row < world->sizes.rows; row++) {
        const bool off_map = world->status[row] == DRV_REMOVED || world->status[row] == DRV_ABSENT;
        const bool just_acted = !world->out.invalid_step[row] || world->status[row] == DRV_DRIVING;
        scratch->chosen[row] = !off_map && just_acted;
        /* It was zeroed when it left, or when its world began; nobody writes there since. */
        if (off_map && (just_acted || *world->clock_steps == 0))
            memset(world->out.observations + row * size, 0, (size_t)size * sizeof(float));
    }
    drv_observe_rows(world, scratch->chosen, scratch, world->out.observations);
}
