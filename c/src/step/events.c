/* Which events occur in the step? Onsets of collisions, off-road and goals; trial.c applies the event responses.
 *
 * Continuous collision detection: the sweep from the pose before the step to the pose after it is tested, so nothing
 * tunnels at large steps. An event is an onset: where two overlap at the start, or when one of them appears on the map,
 * only an overlap that begins after they have separated counts. */
#include <math.h>

#include "math/bits.h"
#include "math/geometry.h"
#include "math/vector.h"
#include "step/goals.h"
#include "step/height.h"
#include "step/on_map.h"
#include "step/phases.h"
#include "step/scripts.h"
#include "step/sweep.h"
#include "step/vehicle_box.h"

static drv_sweep sweep_of(const drv_world *world, int32_t vehicle) {
    const drv_scene *scene = world->scene;
    return (drv_sweep){
        {world->previous_x_m[vehicle], world->previous_y_m[vehicle]},
        {world->x_m[vehicle], world->y_m[vehicle]},
        world->previous_heading_rad[vehicle],
        drv_wrap_angle(world->heading_rad[vehicle] - world->previous_heading_rad[vehicle]),
        0.5f * scene->length_m[vehicle],
        0.5f * scene->width_m[vehicle],
    };
}

static drv_moving_box moving_box_of(const drv_world *world, int32_t vehicle) {
    return (drv_moving_box){sweep_of(world, vehicle), drv_vehicle_box(world, vehicle)};
}

/* ---- contacts ---- */

/* The vehicles on the map, each with its bounding circle: the circle about its end position that contains its sweep. */
typedef struct bounding_circles {
    const drv_on_map *on_map;
    float *radius_m; /* by index in on_map */
} bounding_circles;

static bounding_circles bounding_circles_of(const drv_world *world, drv_scratch *scratch) {
    drv_on_map_list(world, scratch);
    const bounding_circles all = {&scratch->on_map, scratch->buffer};
    for (int32_t i = 0; i < all.on_map->count; i++) {
        const int32_t vehicle = all.on_map->vehicle[i];
        const float dx = world->x_m[vehicle] - world->previous_x_m[vehicle];
        const float dy = world->y_m[vehicle] - world->previous_y_m[vehicle];
        const float path = world->previous_present[vehicle] ? sqrtf(dx * dx + dy * dy) : 0.0f;
        all.radius_m[i] = world->scene->radius_m[vehicle] + path;
    }
    for (int32_t i = 0; i < DRV_SIMD_PAD; i++) all.radius_m[all.on_map->count + i] = 0.0f;
    return all;
}

/* Broad phase between vehicles. Bit i: the bounding circle of entry first + i of on_map overlaps that of entry `index`.
 * The bit of `index` itself is 0. */
static uint64_t overlapping_circles(bounding_circles all, int32_t index, int32_t first) {
    const drv_on_map *on_map = all.on_map;
    const int32_t remaining = on_map->count - first, count = remaining < 64 ? remaining : 64;
    const drv_floats x_m = drv_splat(on_map->x_m[index]), y_m = drv_splat(on_map->y_m[index]);
    const drv_floats own_m = drv_splat(all.radius_m[index]);
    uint64_t bits = 0;
    for (int32_t i = 0; i < count; i += DRV_WIDTH) {
        const drv_floats distance2 = drv_squared_distances(on_map->x_m + first + i, on_map->y_m + first + i, x_m, y_m);
        const drv_floats sum_m = own_m + drv_load(all.radius_m + first + i);
        bits |= (uint64_t)drv_movemask_le(distance2 - sum_m * sum_m, 0.0f) << i;
    }
    if (index >= first && index < first + count) bits &= ~((uint64_t)1 << (index - first));
    return bits;
}

/* Narrow phase: returns whether the agent overlaps the vehicle at the end of the step, and sets the onset of a
 * collision. */
static bool detect_contact(drv_world *world, int32_t agent, const drv_moving_box *own, int32_t vehicle,
                           bool overlapped_before) {
    const drv_moving_box other = moving_box_of(world, vehicle);
    const bool appeared = !world->previous_present[vehicle];
    if (!appeared && drv_separated_by_axes_of(own, &other)) return false;
    const bool overlaps = drv_boxes_overlap(own->end, other.end);
    if (appeared || overlapped_before || (!overlaps && !drv_sweeps_overlap(own, &other))) return overlaps;
    world->collision_onset[agent] = 1;
    if (world->collision_vehicle[agent] < 0) world->collision_vehicle[agent] = vehicle;
    return overlaps;
}

/* Sets the overlap bits of an agent for all vehicles, and the onset of a collision. */
static void detect_contacts(drv_world *world, int32_t agent, const drv_moving_box *own, bounding_circles all) {
    const int32_t index = all.on_map->index[agent];
    uint64_t *overlapping = world->overlapping + agent * world->sizes.contact_words;
    int32_t word = 0;
    uint64_t word_bits = 0; /* new bits of the current word; vehicles ascend, so earlier words are complete */
    world->collision_onset[agent] = 0;
    world->collision_vehicle[agent] = -1;
    for (int32_t first = 0; first < all.on_map->count; first += 64)
        for (uint64_t near = overlapping_circles(all, index, first); near; near &= near - 1) {
            const int32_t vehicle = all.on_map->vehicle[first + drv_lowest_bit(near)];
            if (drv_is_apart(world, agent, vehicle)) continue;
            for (; word < vehicle / 64; word_bits = 0) overlapping[word++] = word_bits;
            const bool overlapped_before = overlapping[word] >> (vehicle % 64) & 1u;
            const bool overlaps = detect_contact(world, agent, own, vehicle, overlapped_before);
            word_bits |= (uint64_t)overlaps << (vehicle % 64);
        }
    for (; word < world->sizes.contact_words; word_bits = 0) overlapping[word++] = word_bits;
}

/* ---- road edges ---- */

typedef struct edge_overlap {
    bool at_end; /* the box overlaps an edge at the end of the step */
    bool at_any; /* the same at any time of the step */
} edge_overlap;

/* Tests an agent against the road edges near it. Where `sweeps` is false only the end of the step is tested. */
static edge_overlap find_edges(const drv_world *world, int32_t agent, const drv_moving_box *own, bool sweeps) {
    const drv_scene *scene = world->scene;
    const drv_segments *edges = &scene->edges;

    /* the window of cells whose edges may overlap the sweep */
    const float path_m = sweeps ? drv_sweep_path_m(&own->sweep) : 0.0f;
    const drv_edge_query query = drv_edge_query_of(own, scene->radius_m[agent] + path_m);
    const drv_point at = own->end.centre;
    const drv_window window =
        drv_grid_window(&scene->grid, at.x, at.y, query.bounding_radius_m + 0.5f * drv_segment_limit_m);

    /* broad phase over its rows, narrow phase on what remains */
    edge_overlap found = {false, false};
    for (int32_t y = window.first_row; y <= window.last_row; y++) {
        const int32_t *cells = edges->cell_start + y * scene->grid.columns;
        const int32_t end = cells[window.last_column + 1];
        for (int32_t first = cells[window.first_column]; first < end; first += DRV_WIDTH) {
            uint32_t near = drv_edge_broad_phase_bits(edges, first, &query);
            if (end - first < DRV_WIDTH) near &= ((uint32_t)1 << (end - first)) - 1;
            for (; near; near &= near - 1) {
                const int32_t edge = first + drv_lowest_bit(near);
                if (scene->has_height && drv_differs_in_level(world, world->z_m[agent], edges->middle_z_m[edge]))
                    continue;
                if (drv_box_overlaps_edge(own->end, edges, edge)) return (edge_overlap){true, true};
                found.at_any = found.at_any || (sweeps && drv_sweep_overlaps_edge(&own->sweep, edges, edge));
            }
        }
    }
    return found;
}

static void detect_offroad(drv_world *world, int32_t agent, const drv_moving_box *own) {
    const bool was_on_edge = world->on_road_edge[agent];
    const edge_overlap found = find_edges(world, agent, own, !was_on_edge);
    world->offroad_onset[agent] = !was_on_edge && found.at_any;
    world->on_road_edge[agent] = found.at_end;
}

/* ---- goals ---- */

/* Whether the path from one point to the other comes within the goal's radius, on its level. */
static bool within_goal(const drv_world *world, int32_t agent, drv_point from, drv_point to) {
    float radius_m = world->config->goal_radius_m;
    drv_point goal = {world->goal_x_m[agent], world->goal_y_m[agent]};
    if (world->scene->has_height && drv_differs_in_level(world, world->z_m[agent], world->goal_z_m[agent]))
        return false;
    return drv_squared_distance_to_segment(goal, from, to) <= radius_m * radius_m;
}

/* Whether an agent has the heading of its goal, within the config's tolerance; true where the goal has none. */
static bool has_goal_heading(const drv_world *world, int32_t agent) {
    const float tolerance_rad = world->config->goal_heading_tolerance_rad;
    if (tolerance_rad < 0.0f) return true;
    const drv_point along = drv_goals_direction(world, agent, drv_goals_current(world, agent));
    const float cos_error = world->cos_heading[agent] * along.x + world->sin_heading[agent] * along.y;
    return (along.x == 0.0f && along.y == 0.0f) || cos_error >= drv_direction(tolerance_rad).x;
}

/* A goal is reached once; an agent that starts inside it must leave it first. */
static void detect_goal(drv_world *world, int32_t agent) {
    const drv_point from = {world->previous_x_m[agent], world->previous_y_m[agent]};
    const drv_point to = {world->x_m[agent], world->y_m[agent]};
    float limit_mps = world->config->goal_max_speed_mps;
    world->goal_onset[agent] = 0;
    if (drv_goals_are_done(world, agent)) return;
    if (world->in_goal_since_start[agent]) {
        world->in_goal_since_start[agent] = within_goal(world, agent, to, to);
        return;
    }
    bool slow_enough = limit_mps < 0.0f || fabsf(world->speed_mps[agent]) <= limit_mps;
    world->goal_onset[agent] = slow_enough && within_goal(world, agent, from, to) && has_goal_heading(world, agent);
}

/* ---- phases ---- */

void drv_events_begin(drv_world *world, drv_scratch *scratch) {
    const bounding_circles all = bounding_circles_of(world, scratch);
    /* no vehicle, edge or goal overlaps unless found below */
    for (int32_t i = 0; i < world->sizes.agents * world->sizes.contact_words; i++) world->overlapping[i] = 0;
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) {
        world->collision_onset[agent] = world->offroad_onset[agent] = world->goal_onset[agent] = 0;
        world->collision_vehicle[agent] = -1;
        world->on_road_edge[agent] = world->in_goal_since_start[agent] = 0;
        if (world->controller[agent] != DRV_CONTROLLER_AGENT) continue;

        /* store what overlaps at the start */
        drv_point start = {world->x_m[agent], world->y_m[agent]};
        world->in_goal_since_start[agent] = within_goal(world, agent, start, start);
        const drv_moving_box own = moving_box_of(world, agent);
        world->on_road_edge[agent] = find_edges(world, agent, &own, false).at_end;
        for (int32_t first = 0; first < all.on_map->count; first += 64)
            for (uint64_t near = overlapping_circles(all, all.on_map->index[agent], first); near; near &= near - 1) {
                const int32_t vehicle = all.on_map->vehicle[first + drv_lowest_bit(near)];
                if (drv_is_apart(world, agent, vehicle)) continue;
                const bool overlaps = drv_boxes_overlap(own.end, drv_vehicle_box(world, vehicle));
                uint64_t *overlapping = world->overlapping + agent * world->sizes.contact_words;
                overlapping[vehicle / 64] |= (uint64_t)overlaps << (vehicle % 64);
            }
    }
}

void drv_events_place(drv_world *world, int32_t agent) {
    /* nothing overlaps the agent, and it overlaps nothing */
    const int32_t words = world->sizes.contact_words;
    for (int32_t word = 0; word < words; word++) world->overlapping[agent * words + word] = 0;
    for (int32_t other = 0; other < world->scene->num_agents; other++)
        world->overlapping[other * words + agent / 64] &= ~((uint64_t)1 << (agent % 64));

    /* edges and goals as at the start of a trial */
    const drv_point start = {world->x_m[agent], world->y_m[agent]};
    const drv_moving_box own = moving_box_of(world, agent);
    world->in_goal_since_start[agent] = within_goal(world, agent, start, start);
    world->on_road_edge[agent] = find_edges(world, agent, &own, false).at_end;
}

void drv_events_detect(drv_world *world, drv_scratch *scratch) {
    const bounding_circles all = bounding_circles_of(world, scratch);
    for (int32_t agent = 0; agent < world->scene->num_agents; agent++) {
        if (world->status[agent] != DRV_DRIVING) {
            world->collision_onset[agent] = world->offroad_onset[agent] = world->goal_onset[agent] = 0;
            continue;
        }
        const drv_moving_box own = moving_box_of(world, agent); /* a driving agent is on the map */
        detect_contacts(world, agent, &own, all);
        detect_offroad(world, agent, &own);
        detect_goal(world, agent);
    }
    drv_traffic_controls_detect(world);
    drv_scripts_detect(world);
}
