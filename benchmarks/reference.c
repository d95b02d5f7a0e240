/* How fast is a straightforward simulator of the same step? core.py reports its results as ratios to this one.
 *
 * Arrays of structs, the C library's trigonometry, per-cell lists of nearby segments that are truncated when the slots
 * are full, and an all-pairs narrow phase. One step does the work of one step of the core (dynamics, log-replay
 * vehicles, collisions, road edges, goals, rewards, observations of the same size) with fewer guarantees: the observed
 * segments are near but not the k nearest, there is no swept overlap, and the bits depend on the compiler. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Sizes of an observation, as in the core. */
enum { EGO_FLOATS = 24, SLOT_FLOATS = 8 };

/* How many cells away from a vehicle its near segments are, and the edges that it may cross; the limit of a list. */
enum { NEAR_CELLS = 10, EDGE_CELLS = 2, LIST_LIMIT = 512 };

/* Floats of a vehicle, a logged state and a segment in the caller's arrays. */
enum { START_FLOATS = 8, LOG_FLOATS = 5, SEGMENT_FLOATS = 7 };

/* The code of a road edge, and the middle and the number of the bins of actions, as in the core. */
enum { ROAD_EDGE = 3, NO_ACCELERATION = 3, NO_STEERING = 6, STEERING_BINS = 13 };

static const float cell_m = 5.0f, view_m = 100.0f;

/* The default config. */
static const float max_acceleration_mps2 = 4.0f, max_steering_rad = 0.6f, max_speed_mps = 40.0f, goal_radius_m = 2.0f;
static const float goal_reward = 1.0f, collision_cost = 0.5f, offroad_cost = 0.2f;

/* The values at which features are 1, and the kind of a vehicle in a slot, as in the core. */
static const float full_length_m = 20.0f, full_width_m = 5.0f, full_half_length_m = 5.0f, full_road_width_m = 10.0f;
static const float road_kinds = 8.0f, vehicle_kind = 0.25f;

/* The wheelbase of a vehicle, as a share of its length. */
static const float wheelbase_share = 0.6f;

static const float half_turn_rad = 3.14159265f;

/* Beyond every coordinate of a map. */
static const float far_m = 1e9f;

typedef struct vehicle {
    float x, y, heading, speed, length, width, goal_x, goal_y;
    bool on_map, overlapping, off_road, at_goal;
} vehicle;

typedef struct segment {
    float x0, y0, x1, y1, width, speed_limit;
    int kind;
} segment;

typedef struct list {
    int count;
    int items[LIST_LIMIT];
} list;

typedef struct map {
    float left, bottom;
    int columns, rows, segment_count;
    segment *segments;
    list *near;  /* of each cell: segments within NEAR_CELLS cells of it */
    list *edges; /* of each cell: road edges in it */
} map;

typedef struct world {
    int clock;
    vehicle *vehicles;
} world;

typedef struct reference {
    map map;
    int worlds, agents, logged, vehicles, frames, trial_steps, partners, roads;
    float dt;
    const float *start; /* vehicles x 8: x, y, heading, speed, length, width, goal x, goal y */
    const float *log;   /* frames x logged vehicles x 5: x, y, heading, speed, valid */
    world *states;
    float *observations, *rewards;
} reference;

static int cell_of(const map *map, float x, float y) {
    int column = (int)((x - map->left) / cell_m), row = (int)((y - map->bottom) / cell_m);
    if (column < 0) column = 0;
    if (row < 0) row = 0;
    if (column >= map->columns) column = map->columns - 1;
    if (row >= map->rows) row = map->rows - 1;
    return row * map->columns + column;
}

static void append(list *list, int item) {
    if (list->count < LIST_LIMIT) list->items[list->count++] = item;
}

/* Fills both lists of every cell of a map with segments. */
static void fill_lists(map *map) {
    /* the segments of each cell itself */
    const size_t cells = (size_t)map->columns * (size_t)map->rows;
    list *own = calloc(cells, sizeof *own);
    map->near = calloc(cells, sizeof *map->near);
    map->edges = calloc(cells, sizeof *map->edges);
    for (int i = 0; i < map->segment_count; i++) {
        const segment *s = &map->segments[i];
        const int cell = cell_of(map, 0.5f * (s->x0 + s->x1), 0.5f * (s->y0 + s->y1));
        append(&own[cell], i);
        if (s->kind == ROAD_EDGE) append(&map->edges[cell], i);
    }

    /* those near each cell, ring by ring, so that a full list holds the nearest */
    for (int row = 0; row < map->rows; row++)
        for (int column = 0; column < map->columns; column++) {
            list *near = &map->near[row * map->columns + column];
            for (int ring = 0; ring <= NEAR_CELLS; ring++)
                for (int dy = -ring; dy <= ring; dy++)
                    for (int dx = -ring; dx <= ring; dx++) {
                        const int x = column + dx, y = row + dy;
                        const bool on_ring = abs(dx) == ring || abs(dy) == ring;
                        if (!on_ring || x < 0 || y < 0 || x >= map->columns || y >= map->rows) continue;
                        const list *there = &own[y * map->columns + x];
                        for (int i = 0; i < there->count; i++) append(near, there->items[i]);
                    }
        }
    free(own);
}

/* Sets a world to the start of a trial. */
static void begin(const reference *all, world *state) {
    state->clock = 0;
    for (int i = 0; i < all->vehicles; i++) {
        const float *start = all->start + START_FLOATS * i;
        state->vehicles[i] = (vehicle){start[0], start[1], start[2], start[3], start[4],
                                       start[5], start[6], start[7], true, false, false, false};
    }
}

reference *reference_open(int worlds, int agents, int logged, int vehicles, int frames, int trial_steps, int partners,
                          int roads, float dt, const float *start, const float *log, const float *segments,
                          int segment_count, float *observations, float *rewards) {
    reference *all = calloc(1, sizeof *all);
    *all = (reference){.worlds = worlds, .agents = agents, .logged = logged, .vehicles = vehicles, .frames = frames,
                       .trial_steps = trial_steps, .partners = partners, .roads = roads, .dt = dt, .start = start,
                       .log = log, .observations = observations, .rewards = rewards};

    /* the map, and the cells that cover it */
    map *map = &all->map;
    float right = -far_m, top = -far_m;
    map->left = map->bottom = far_m;
    map->segment_count = segment_count;
    map->segments = calloc((size_t)segment_count, sizeof *map->segments);
    for (int i = 0; i < segment_count; i++) {
        const float *s = segments + SEGMENT_FLOATS * i;
        map->segments[i] = (segment){s[0], s[1], s[2], s[3], s[4], s[5], (int)s[6]};
        map->left = fminf(map->left, fminf(s[0], s[2]));
        map->bottom = fminf(map->bottom, fminf(s[1], s[3]));
        right = fmaxf(right, fmaxf(s[0], s[2]));
        top = fmaxf(top, fmaxf(s[1], s[3]));
    }
    map->columns = 1 + (int)fmaxf((right - map->left) / cell_m, 0.0f);
    map->rows = 1 + (int)fmaxf((top - map->bottom) / cell_m, 0.0f);
    fill_lists(map);

    /* the worlds */
    all->states = calloc((size_t)worlds, sizeof *all->states);
    for (int i = 0; i < worlds; i++) {
        all->states[i].vehicles = calloc((size_t)vehicles, sizeof(vehicle));
        begin(all, &all->states[i]);
    }
    return all;
}

void reference_close(reference *all) {
    for (int i = 0; i < all->worlds; i++) free(all->states[i].vehicles);
    free(all->states);
    free(all->map.segments);
    free(all->map.near);
    free(all->map.edges);
    free(all);
}

/* ---- a step ---- */

/* Moves a vehicle by one step: the kinematic bicycle of the core, with the C library's trigonometry. */
static void move(vehicle *car, int action, float dt) {
    const float acceleration =
        (float)(action / STEERING_BINS - NO_ACCELERATION) / NO_ACCELERATION * max_acceleration_mps2;
    const float steering = (float)(action % STEERING_BINS - NO_STEERING) / NO_STEERING * max_steering_rad;
    car->speed = fminf(fmaxf(car->speed + acceleration * dt, 0.0f), max_speed_mps);
    const float slip = atanf(0.5f * tanf(steering));
    car->x += car->speed * cosf(car->heading + slip) * dt;
    car->y += car->speed * sinf(car->heading + slip) * dt;
    car->heading += car->speed * cosf(slip) * tanf(steering) / (wheelbase_share * car->length) * dt;
    car->heading = remainderf(car->heading, 2.0f * half_turn_rad);
}

static void corners(const vehicle *car, float out[4][2]) {
    const float c = cosf(car->heading), s = sinf(car->heading), l = 0.5f * car->length, w = 0.5f * car->width;
    const float sides[4][2] = {{l, w}, {l, -w}, {-l, -w}, {-l, w}};
    for (int i = 0; i < 4; i++) {
        out[i][0] = car->x + sides[i][0] * c - sides[i][1] * s;
        out[i][1] = car->y + sides[i][0] * s + sides[i][1] * c;
    }
}

/* Whether two vehicles overlap: circles around them, then the axes of both as separating axes. */
static bool boxes_overlap(const vehicle *a, const vehicle *b) {
    const float dx = a->x - b->x, dy = a->y - b->y, reach = 0.5f * (a->length + b->length + a->width + b->width);
    if (dx * dx + dy * dy > reach * reach) return false;
    float of_a[4][2], of_b[4][2];
    corners(a, of_a);
    corners(b, of_b);
    for (int which = 0; which < 2; which++)
        for (int side = 0; side < 2; side++) {
            const float heading = (which ? b : a)->heading + (side ? 0.5f * half_turn_rad : 0.0f);
            const float axis_x = cosf(heading), axis_y = sinf(heading);
            float low_a = far_m, high_a = -far_m, low_b = far_m, high_b = -far_m;
            for (int i = 0; i < 4; i++) {
                const float at_a = of_a[i][0] * axis_x + of_a[i][1] * axis_y;
                const float at_b = of_b[i][0] * axis_x + of_b[i][1] * axis_y;
                low_a = fminf(low_a, at_a), high_a = fmaxf(high_a, at_a);
                low_b = fminf(low_b, at_b), high_b = fmaxf(high_b, at_b);
            }
            if (high_a < low_b || high_b < low_a) return false;
        }
    return true;
}

/* Above 0 where (x, y) is to the left of the line from a to b. */
static float side_of(const float a[2], const float b[2], float x, float y) {
    return (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]);
}

static bool lines_cross(const float a[2], const float b[2], const segment *s) {
    const float from[2] = {s->x0, s->y0}, to[2] = {s->x1, s->y1};
    return (side_of(a, b, s->x0, s->y0) > 0.0f) != (side_of(a, b, s->x1, s->y1) > 0.0f) &&
           (side_of(from, to, a[0], a[1]) > 0.0f) != (side_of(from, to, b[0], b[1]) > 0.0f);
}

static bool on_road_edge(const map *map, const vehicle *car) {
    float box[4][2];
    corners(car, box);
    const int cell = cell_of(map, car->x, car->y), column = cell % map->columns, row = cell / map->columns;
    for (int y = row - EDGE_CELLS; y <= row + EDGE_CELLS; y++)
        for (int x = column - EDGE_CELLS; x <= column + EDGE_CELLS; x++) {
            if (x < 0 || y < 0 || x >= map->columns || y >= map->rows) continue;
            const list *edges = &map->edges[y * map->columns + x];
            for (int i = 0; i < edges->count; i++)
                for (int side = 0; side < 4; side++)
                    if (lines_cross(box[side], box[(side + 1) % 4], &map->segments[edges->items[i]])) return true;
        }
    return false;
}

static float clipped(float value) { return fminf(fmaxf(value, -1.0f), 1.0f); }

/* Writes the observation of one agent. */
static void observe(const reference *all, const world *state, int agent, float *out) {
    /* the agent itself */
    const vehicle *ego = &state->vehicles[agent];
    const float c = cosf(ego->heading), s = sinf(ego->heading);
    const float goal_x = ego->goal_x - ego->x, goal_y = ego->goal_y - ego->y;
    const float goal = sqrtf(goal_x * goal_x + goal_y * goal_y);
    memset(out, 0, (size_t)(EGO_FLOATS + SLOT_FLOATS * (all->partners + all->roads)) * sizeof *out);
    out[0] = 1.0f;
    out[1] = ego->speed / max_speed_mps;
    out[2] = ego->length / full_length_m;
    out[3] = ego->width / full_width_m;
    out[4] = clipped((goal_x * c + goal_y * s) / view_m);
    out[5] = clipped((goal_y * c - goal_x * s) / view_m);
    out[6] = clipped(goal / (4.0f * view_m));
    out[7] = ego->overlapping;
    out[8] = ego->off_road;
    out += EGO_FLOATS;

    /* vehicles in view, in the order of the scene */
    int filled = 0;
    for (int i = 0; i < all->vehicles && filled < all->partners; i++) {
        const vehicle *other = &state->vehicles[i];
        const float dx = other->x - ego->x, dy = other->y - ego->y, distance = sqrtf(dx * dx + dy * dy);
        if (i == agent || !other->on_map || distance > view_m) continue;
        const float turn = other->heading - ego->heading;
        float *slot = out + SLOT_FLOATS * filled++;
        slot[0] = clipped((dx * c + dy * s) / view_m);
        slot[1] = clipped((dy * c - dx * s) / view_m);
        slot[2] = cosf(turn);
        slot[3] = sinf(turn);
        slot[4] = other->length / full_length_m;
        slot[5] = other->width / full_width_m;
        slot[6] = clipped(other->speed / max_speed_mps);
        slot[7] = vehicle_kind;
    }
    out += SLOT_FLOATS * all->partners;

    /* segments near its cell */
    const list *near = &all->map.near[cell_of(&all->map, ego->x, ego->y)];
    for (int i = 0; i < near->count && i < all->roads; i++) {
        const segment *road = &all->map.segments[near->items[i]];
        const float dx = 0.5f * (road->x0 + road->x1) - ego->x, dy = 0.5f * (road->y0 + road->y1) - ego->y;
        const float along_x = road->x1 - road->x0, along_y = road->y1 - road->y0;
        const float length = sqrtf(along_x * along_x + along_y * along_y);
        const float unit_x = length > 0.0f ? along_x / length : 0.0f, unit_y = length > 0.0f ? along_y / length : 0.0f;
        float *slot = out + SLOT_FLOATS * i;
        slot[0] = clipped((dx * c + dy * s) / view_m);
        slot[1] = clipped((dy * c - dx * s) / view_m);
        slot[2] = unit_x * c + unit_y * s;
        slot[3] = unit_y * c - unit_x * s;
        slot[4] = clipped(0.5f * length / full_half_length_m);
        slot[5] = clipped(road->width / full_road_width_m);
        slot[6] = clipped(road->speed_limit / max_speed_mps);
        slot[7] = (float)road->kind / road_kinds;
    }
}

/* Moves the log-replay vehicles of a world to their states at its clock. */
static void replay(const reference *all, world *state) {
    for (int i = 0; i < all->logged; i++) {
        vehicle *car = &state->vehicles[all->agents + i];
        const float *at = all->log + LOG_FLOATS * (state->clock * all->logged + i);
        car->on_map = state->clock < all->frames && at[4] != 0.0f;
        if (!car->on_map) continue;
        car->x = at[0], car->y = at[1], car->heading = at[2], car->speed = at[3];
    }
}

void reference_step(reference *all, const int64_t *actions) {
    const int floats = EGO_FLOATS + SLOT_FLOATS * (all->partners + all->roads);
    for (int number = 0; number < all->worlds; number++) {
        world *state = &all->states[number];
        const int first = number * all->agents;

        /* motion */
        if (state->clock >= all->trial_steps) begin(all, state);
        state->clock++;
        replay(all, state);
        for (int i = 0; i < all->agents; i++) move(&state->vehicles[i], (int)actions[first + i], all->dt);

        /* events and rewards, then observations */
        for (int i = 0; i < all->agents; i++) {
            vehicle *car = &state->vehicles[i];
            bool overlapping = false;
            for (int other = 0; other < all->vehicles && !overlapping; other++)
                overlapping =
                    other != i && state->vehicles[other].on_map && boxes_overlap(car, &state->vehicles[other]);
            const bool off_road = on_road_edge(&all->map, car);
            const float dx = car->x - car->goal_x, dy = car->y - car->goal_y;
            const bool at_goal = sqrtf(dx * dx + dy * dy) < goal_radius_m;
            all->rewards[first + i] = (at_goal && !car->at_goal ? goal_reward : 0.0f) -
                                      (overlapping && !car->overlapping ? collision_cost : 0.0f) -
                                      (off_road && !car->off_road ? offroad_cost : 0.0f);
            car->overlapping = overlapping, car->off_road = off_road, car->at_goal = car->at_goal || at_goal;
        }
        for (int i = 0; i < all->agents; i++) observe(all, state, i, all->observations + (int64_t)(first + i) * floats);
    }
}
