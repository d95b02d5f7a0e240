/* What happened? Facts only: contacts, crossings of road edges, goals; what they mean is for trial.c to say.
 *
 * Everything is judged from the poses before and after the step and swept between them, so nothing tunnels at large
 * steps. A fact is the onset: what overlaps already, at the start or when it appears on the map, counts once it has
 * separated. */
#include <math.h>

#include "math/geometry.h"
#include "step/on_map.h"
#include "step/phases.h"
#include "step/sweep.h"
#include "math/vector.h"

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

static drv_box box_now(const drv_world *world, int32_t vehicle) {
    return (drv_box){{world->x_m[vehicle], world->y_m[vehicle]},
                     {world->cos_heading[vehicle], world->sin_heading[vehicle]},
                     0.5f * world->scene->length_m[vehicle],
                     0.5f * world->scene->width_m[vehicle]};
}

static drv_mover mover_of(const drv_world *world, int32_t vehicle) {
    return (drv_mover){sweep_of(world, vehicle), box_now(world, vehicle)};
}

/* ---- contacts ---- */

/* How far from its centre now each vehicle on the map may have been felt during the step. */
typedef struct reaches {
    const drv_on_map *on_map;
    float *reach_m; /* by place */
} reaches;

static reaches measure_reaches(const drv_world *world, drv_scratch *scratch) {
    drv_on_map_list(world, scratch);
    const reaches all = {&scratch->on_map, scratch->room};
    for (int32_t i = 0; i < all.on_map->count; i++) {
        const int32_t vehicle = all.on_map->vehicle[i];
        const float dx = world->x_m[vehicle] - world->previous_x_m[vehicle];
        const float dy = world->y_m[vehicle] - world->previous_y_m[vehicle];
        const float path = world->previous_present[vehicle] ? sqrtf(dx * dx + dy * dy) : 0.0f;
        all.reach_m[i] = world->scene->radius_m[vehicle] + path;
    }
    for (int32_t i = 0; i < DRV_SIMD_PAD; i++) all.reach_m[all.on_map->count + i] = 0.0f;
    return all;
}

/* Bit i: the one at place first + i is near enough to have met the one at `place`, which is not among them. */
static uint64_t near_bits(reaches all, int32_t place, int32_t first) {
    const drv_on_map *on_map = all.on_map;
    const int32_t left = on_map->count - first, count = left < 64 ? left : 64;
    const drv_floats x_m = drv_splat(on_map->x_m[place]), y_m = drv_splat(on_map->y_m[place]);
    const drv_floats own_m = drv_splat(all.reach_m[place]);
    uint64_t bits = 0;
    for (int32_t i = 0; i < count; i += DRV_WIDTH) {
        const drv_floats distance2 = drv_squared_distances(on_map->x_m + first + i, on_map->y_m + first + i, x_m, y_m);
        const drv_floats sum_m = own_m + drv_load(all.reach_m + first + i);
        bits |= (uint64_t)drv_movemask_le(distance2 - sum_m * sum_m, 0.0f) << i;
    }
    if (place >= first && place < first + count) bits &= ~((uint64_t)1 << (place - first));
    return bits;
}

static int32_t lowest_bit(uint64_t bits) { return __builtin_ctzll(bits); }

/* Whether the agent overlaps the vehicle now; records the onset of a contact. */
static bool detect_contact(drv_world *world, int32_t agent, const drv_mover *own, int32_t vehicle,
                           bool overlapped_before) {
    const drv_mover other = mover_of(world, vehicle);
    const bool appeared = !world->previous_present[vehicle];
    if (!appeared && drv_separated_by_axes_of(own, &other)) return false;
    const bool touches = drv_boxes_overlap(own->now, other.now);
    if (appeared || overlapped_before || (!touches && !drv_sweeps_overlap(own, &other))) return touches;
    world->collision_onset[agent] = 1;
    if (world->collision_vehicle[agent] < 0) world->collision_vehicle[agent] = vehicle;
    return touches;
}

static void detect_contacts(drv_world *world, int32_t agent, const drv_mover *own, reaches all) {
    const int32_t place = all.on_map->place[agent];
    uint64_t *overlapping = world->overlapping + agent * world->sizes.contact_words;
    int32_t word = 0;
    uint64_t overlaps_now = 0; /* of the word; vehicles come in ascending order, so those before it are written */
    world->collision_onset[agent] = 0;
    world->collision_vehicle[agent] = -1;
    for (int32_t first = 0; first < all.on_map->count; first += 64)
        for (uint64_t near = near_bits(all, place, first); near; near &= near - 1) {
            const int32_t vehicle = all.on_map->vehicle[first + lowest_bit(near)];
            for (; word < vehicle / 64; overlaps_now = 0) overlapping[word++] = overlaps_now;
            const bool overlapped_before = overlapping[word] >> (vehicle % 64) & 1u;
            const bool touches = detect_contact(world, agent, own, vehicle, overlapped_before);
            overlaps_now |= (uint64_t)touches << (vehicle % 64);
        }
    for (; word < world->sizes.contact_words; overlaps_now = 0) overlapping[word++] = overlaps_now;
}

/* ---- road edges ---- */

typedef struct edge_facts {
    bool over; /* the box meets an edge at its pose now */
    bool met;  /* it does, or did on its way there; not looked for where `sweeps` is false */
} edge_facts;

static edge_facts find_edges(const drv_world *world, int32_t agent, const drv_mover *own, bool sweeps) {
    const drv_scene *scene = world->scene;
    const drv_segments *edges = &scene->edges;
    const float path_m = sweeps ? drv_sweep_path_m(&own->way) : 0.0f;
    const drv_edge_query search = drv_edge_query_of(own, scene->radius_m[agent] + path_m);
    const drv_point at = own->now.centre;
    const drv_window window =
        drv_grid_window(&scene->grid, at.x, at.y, search.reach_m + 0.5f * drv_segment_limit_m);
    edge_facts facts = {false, false};
    for (int32_t y = window.first_row; y <= window.last_row; y++) {
        const int32_t *cells = edges->cell_start + y * scene->grid.columns;
        const int32_t end = cells[window.last_column + 1];
        for (int32_t first = cells[window.first_column]; first < end; first += DRV_WIDTH) {
            uint32_t near = drv_edge_broad_phase_bits(edges, first, &search);
            if (end - first < DRV_WIDTH) near &= ((uint32_t)1 << (end - first)) - 1;
            for (; near; near &= near - 1) {
                const int32_t edge = first + lowest_bit(near);
                if (drv_box_overlaps_edge(own->now, edges, edge)) return (edge_facts){true, true};
                facts.met = facts.met || (sweeps && drv_sweep_overlaps_edge(&own->way, edges, edge));
            }
        }
    }
    return facts;
}

static void detect_offroad(drv_world *world, int32_t agent, const drv_mover *own) {
    const bool was_over = world->on_road_edge[agent];
    const edge_facts facts = find_edges(world, agent, own, !was_over);
    world->offroad_onset[agent] = !was_over && facts.met;
    world->on_road_edge[agent] = facts.over;
}

/* ---- goals ---- */

static bool within_goal(const drv_world *world, int32_t agent, drv_point from, drv_point to) {
    float radius_m = world->config->goal_radius_m;
    drv_point goal = {world->goal_x_m[agent], world->goal_y_m[agent]};
    return drv_squared_distance_to_path(goal, from, to) <= radius_m * radius_m;
}

/* A goal is reached once a trial; an agent that starts inside it has to leave it first. */
static void detect_goal(drv_world *world, int32_t agent) {
    const drv_point from = {world->previous_x_m[agent], world->previous_y_m[agent]};
    const drv_point to = {world->x_m[agent], world->y_m[agent]};
    float limit_mps = world->config->goal_max_speed_mps;
    world->goal_onset[agent] = 0;
    if (world->had_goal[agent]) return;
    if (world->goal_spent[agent]) {
        world->goal_spent[agent] = within_goal(world, agent, to, to);
        return;
    }
    bool slow_enough = limit_mps < 0.0f || fabsf(world->speed_mps[agent]) <= limit_mps;
    world->goal_onset[agent] = slow_enough && within_goal(world, agent, from, to);
}

/* ---- phases ---- */

void drv_events_begin(drv_world *world, drv_scratch *scratch) {
    const reaches all = measure_reaches(world, scratch);
    for (int32_t i = 0; i < world->sizes.agents * world->sizes.contact_words; i++) world->overlapping[i] = 0;
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) {
        world->collision_onset[agent] = world->offroad_onset[agent] = world->goal_onset[agent] = 0;
        world->collision_vehicle[agent] = -1;
        world->on_road_edge[agent] = world->goal_spent[agent] = 0;
        if (world->controller[agent] != DRV_CONTROLLER_AGENT) continue;
        drv_point start = {world->x_m[agent], world->y_m[agent]};
        world->goal_spent[agent] = within_goal(world, agent, start, start);
        const drv_mover own = mover_of(world, agent);
        world->on_road_edge[agent] = find_edges(world, agent, &own, false).over;
        for (int32_t first = 0; first < all.on_map->count; first += 64)
            for (uint64_t near = near_bits(all, all.on_map->place[agent], first); near; near &= near - 1) {
                const int32_t vehicle = all.on_map->vehicle[first + lowest_bit(near)];
                const bool touches = drv_boxes_overlap(own.now, box_now(world, vehicle));
                uint64_t *overlapping = world->overlapping + agent * world->sizes.contact_words;
                overlapping[vehicle / 64] |= (uint64_t)touches << (vehicle % 64);
            }
    }
}

void drv_events_detect(drv_world *world, drv_scratch *scratch) {
    const reaches all = measure_reaches(world, scratch);
    for (int32_t agent = 0; agent < world->scene->num_agents; agent++) { /* who drives is on the map */
        if (world->status[agent] != DRV_DRIVING) {
            world->collision_onset[agent] = world->offroad_onset[agent] = world->goal_onset[agent] = 0;
            continue;
        }
        const drv_mover own = mover_of(world, agent);
        detect_contacts(world, agent, &own, all);
        detect_offroad(world, agent, &own);
        detect_goal(world, agent);
    }
}
