/* What happened? Facts only: contacts, crossings of road edges, goals; what they mean is for trial.c to say.
 *
 * Everything is judged from the poses before and after the step and swept between them, so nothing tunnels at large
 * steps. A fact is the onset: what overlaps already, at the start or when it appears on the map, counts once it has
 * separated. */
#include <math.h>

#include "geometry.h"
#include "on_map.h"
#include "phases.h"
#include "vector.h"

/* A sweep holds the heading over pieces of the step in which turning moves no corner by more than this; the heading is
 * that of the piece's middle, so a corner is misplaced by half of it at most. End poses are always exact. */
static const float piece_corner_m = 0.06f;
enum { piece_limit = 128 };

/* What a step may misplace by rounding, at the far ends of the coordinates. */
static const float rounding_m = 0.02f;

typedef struct sweep {
    drv_point from, to;
    float heading_from_rad, turn_rad, half_length_m, half_width_m;
} sweep;

static sweep sweep_of(const drv_world *world, int32_t vehicle) {
    const drv_scene *scene = world->scene;
    return (sweep){
        {world->before_x_m[vehicle], world->before_y_m[vehicle]},
        {world->x_m[vehicle], world->y_m[vehicle]},
        world->before_heading_rad[vehicle],
        drv_wrap_angle(world->heading_rad[vehicle] - world->before_heading_rad[vehicle]),
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

/* A vehicle in a step: its way, and where it is now. */
typedef struct mover {
    sweep way;
    drv_box now;
} mover;

static mover mover_of(const drv_world *world, int32_t vehicle) {
    return (mover){sweep_of(world, vehicle), box_now(world, vehicle)};
}

/* Pieces of a step in which one box turns, or of one in which two do. */
static int32_t piece_count(const sweep *motion) {
    float corner_m = motion->half_length_m + motion->half_width_m; /* a little more than the half diagonal */
    return (int32_t)drv_smaller(1.0f + drv_absolute(motion->turn_rad) * corner_m / piece_corner_m, (float)piece_limit);
}

/* The box at the start of a piece, with the heading of the piece's middle. */
static drv_box box_in_piece(const sweep *motion, int32_t piece, int32_t pieces) {
    float begin = (float)piece / (float)pieces, middle = ((float)piece + 0.5f) / (float)pieces;
    return (drv_box){{motion->from.x + begin * (motion->to.x - motion->from.x),
                      motion->from.y + begin * (motion->to.y - motion->from.y)},
                     drv_direction(motion->heading_from_rad + middle * motion->turn_rad),
                     motion->half_length_m,
                     motion->half_width_m};
}

/* How much further along any axis a corner may have been on its way, since the box turned. */
static float turned_m(const mover *own) {
    return (own->now.half_length_m + own->now.half_width_m) * drv_absolute(own->way.turn_rad);
}

/* At most half of what the box covers of an axis at any time of the step, seen from where it is at the end. */
static float half_cover(const mover *own, drv_point axis) {
    const drv_box now = own->now;
    const float ahead = drv_absolute(now.ahead.x * axis.x + now.ahead.y * axis.y);
    const float aside = drv_absolute(now.ahead.x * axis.y - now.ahead.y * axis.x);
    return now.half_length_m * ahead + now.half_width_m * aside + turned_m(own) + rounding_m;
}

/* Whether a gap that goes evenly from one value to the other stays wider than `reach_m`, on one side. */
static bool stays_wide(float from_m, float to_m, float reach_m) {
    return drv_smaller(from_m, to_m) > reach_m || drv_larger(from_m, to_m) < -reach_m;
}

/* Sure that they do not meet, by the axes of the first one's pose now. */
static bool stay_apart(const mover *a, const mover *b) {
    const drv_point from = {b->way.from.x - a->way.from.x, b->way.from.y - a->way.from.y};
    const drv_point to = {b->way.to.x - a->way.to.x, b->way.to.y - a->way.to.y};
    const drv_point axes[2] = {{-a->now.ahead.y, a->now.ahead.x}, a->now.ahead};
    for (int32_t i = 0; i < 2; i++) {
        const float reach_m = half_cover(a, axes[i]) + half_cover(b, axes[i]);
        const float from_m = from.x * axes[i].x + from.y * axes[i].y, to_m = to.x * axes[i].x + to.y * axes[i].y;
        if (stays_wide(from_m, to_m, reach_m)) return true;
    }
    return false;
}

/* Some of the pieces of a step. */
typedef struct stretch {
    int32_t first, end, of;
} stretch;

static stretch half_of(stretch whole, bool second) {
    const int32_t middle = (whole.first + whole.end) / 2;
    return second ? (stretch){middle, whole.end, whole.of} : (stretch){whole.first, middle, whole.of};
}

static mover on_stretch(const sweep *motion, stretch pieces) {
    const float begin = (float)pieces.first / (float)pieces.of, end = (float)pieces.end / (float)pieces.of;
    const drv_point path = {motion->to.x - motion->from.x, motion->to.y - motion->from.y};
    sweep way = *motion;
    way.from = (drv_point){motion->from.x + begin * path.x, motion->from.y + begin * path.y};
    way.to = (drv_point){motion->from.x + end * path.x, motion->from.y + end * path.y};
    way.heading_from_rad += begin * motion->turn_rad;
    way.turn_rad *= end - begin;
    const drv_point ahead = drv_direction(way.heading_from_rad + way.turn_rad);
    return (mover){way, {way.to, ahead, way.half_length_m, way.half_width_m}};
}

/* Piece by piece, but where they surely stay apart on a stretch, none of its pieces is looked at. */
static bool meet_on_stretch(const sweep *a, const sweep *b, stretch pieces) {
    if (pieces.end - pieces.first == 1) {
        const drv_point path = {((a->to.x - a->from.x) - (b->to.x - b->from.x)) / (float)pieces.of,
                                ((a->to.y - a->from.y) - (b->to.y - b->from.y)) / (float)pieces.of};
        return drv_moving_boxes_meet(box_in_piece(a, pieces.first, pieces.of), path,
                                     box_in_piece(b, pieces.first, pieces.of));
    }
    const mover one = on_stretch(a, pieces), other = on_stretch(b, pieces);
    if (stay_apart(&one, &other) || stay_apart(&other, &one)) return false;
    return meet_on_stretch(a, b, half_of(pieces, false)) || meet_on_stretch(a, b, half_of(pieces, true));
}

static bool sweeps_meet(const sweep *a, const sweep *b) {
    const int32_t of_a = piece_count(a), of_b = piece_count(b), pieces = of_a > of_b ? of_a : of_b;
    return meet_on_stretch(a, b, (stretch){0, pieces, pieces});
}

static float path_m(const sweep *motion) {
    float dx = motion->to.x - motion->from.x, dy = motion->to.y - motion->from.y;
    return sqrtf(dx * dx + dy * dy);
}

/* ---- contacts ---- */

/* Who may be felt, and how far from its centre now it may have been during the step. */
typedef struct nearby {
    const drv_on_map *on_map;
    float *reach_m; /* of each there */
} nearby;

static nearby who_is_nearby(const drv_world *world, drv_scratch *scratch) {
    drv_on_map_list(world, scratch);
    const nearby all = {&scratch->on_map, scratch->room};
    for (int32_t i = 0; i < all.on_map->count; i++) {
        const int32_t vehicle = all.on_map->vehicle[i];
        const float dx = world->x_m[vehicle] - world->before_x_m[vehicle];
        const float dy = world->y_m[vehicle] - world->before_y_m[vehicle];
        const float path = world->before_present[vehicle] ? sqrtf(dx * dx + dy * dy) : 0.0f;
        all.reach_m[i] = world->scene->radius_m[vehicle] + path;
    }
    for (int32_t i = 0; i < DRV_LANES; i++) all.reach_m[all.on_map->count + i] = 0.0f;
    return all;
}

/* Bit i: the one at place first + i is near enough to have met the row, which is at place `own` and not among them. */
static uint64_t near_bits(nearby all, int32_t own, int32_t first) {
    const drv_on_map *on_map = all.on_map;
    const int32_t left = on_map->count - first, count = left < 64 ? left : 64;
    const drv_floats x_m = drv_all(on_map->x_m[own]), y_m = drv_all(on_map->y_m[own]);
    const drv_floats own_m = drv_all(all.reach_m[own]);
    uint64_t bits = 0;
    for (int32_t i = 0; i < count; i += DRV_WIDTH) {
        const drv_floats distance2 = drv_squared_distances(on_map->x_m + first + i, on_map->y_m + first + i, x_m, y_m);
        const drv_floats sum_m = own_m + drv_load(all.reach_m + first + i);
        bits |= (uint64_t)drv_at_most(distance2 - sum_m * sum_m, 0.0f) << i;
    }
    if (own >= first && own < first + count) bits &= ~((uint64_t)1 << (own - first));
    return bits;
}

static int32_t lowest_bit(uint64_t bits) { return __builtin_ctzll(bits); }

/* Whether the row overlaps the vehicle now; books a contact that began. */
static bool detect_contact(drv_world *world, int32_t row, const mover *own, int32_t vehicle, bool touched_before) {
    const mover other = mover_of(world, vehicle);
    const bool appeared = !world->before_present[vehicle];
    if (!appeared && stay_apart(own, &other)) return false;
    const bool touches = drv_boxes_meet(own->now, other.now);
    if (appeared || touched_before || (!touches && !sweeps_meet(&own->way, &other.way))) return touches;
    world->hit[row] = 1;
    if (world->hit_vehicle[row] < 0) world->hit_vehicle[row] = vehicle;
    return touches;
}

/* `place` is the row's own among those on the map. */
static void detect_contacts(drv_world *world, int32_t row, int32_t place, const mover *own, nearby all) {
    uint64_t *touching = world->touching + row * world->sizes.contact_words;
    int32_t word = 0;
    uint64_t touches_now = 0; /* of the word; vehicles come in ascending order, so those before it are written */
    world->hit[row] = 0;
    world->hit_vehicle[row] = -1;
    for (int32_t first = 0; first < all.on_map->count; first += 64)
        for (uint64_t near = near_bits(all, place, first); near; near &= near - 1) {
            const int32_t vehicle = all.on_map->vehicle[first + lowest_bit(near)];
            for (; word < vehicle / 64; touches_now = 0) touching[word++] = touches_now;
            const bool touched_before = touching[word] >> (vehicle % 64) & 1u;
            const bool touches = detect_contact(world, row, own, vehicle, touched_before);
            touches_now |= (uint64_t)touches << (vehicle % 64);
        }
    for (; word < world->sizes.contact_words; touches_now = 0) touching[word++] = touches_now;
}

/* ---- road edges ---- */

static bool moving_box_meets_edge(drv_box box, drv_point path, const drv_segments *edges, int32_t edge) {
    const drv_point middle = {edges->middle_x_m[edge], edges->middle_y_m[edge]};
    const drv_point along = {edges->along_x[edge], edges->along_y[edge]};
    return drv_moving_box_meets_segment(box, path, middle, along, edges->half_length_m[edge]);
}

/* What an edge is ruled out by: the box now, how far the sweep reaches from there, and where it came from. */
typedef struct edge_search {
    drv_box box;
    drv_point half_back;                        /* half way from now to before */
    float half_back_ahead_m, half_back_aside_m; /* the same along the box's own axes */
    float reach_m, turned_m;                    /* turned: how much further a corner may have been on its way */
} edge_search;

static edge_search search_of(const mover *own, float reach_m) {
    const sweep *way = &own->way;
    const drv_box now = own->now;
    const drv_point half_back = {0.5f * (way->from.x - way->to.x), 0.5f * (way->from.y - way->to.y)};
    return (edge_search){
        .box = now,
        .half_back = half_back,
        .half_back_ahead_m = half_back.x * now.ahead.x + half_back.y * now.ahead.y,
        .half_back_aside_m = half_back.y * now.ahead.x - half_back.x * now.ahead.y,
        .reach_m = reach_m,
        .turned_m = turned_m(own) + rounding_m,
    };
}

/* By how much the gap between two things, seen along an axis, stays wider than what they cover of it. `half_m` is half
 * of what the gap changes by, `middle_m` what it is half way. */
static drv_floats spare_m(drv_floats middle_m, drv_floats half_m, drv_floats cover_m) {
    return drv_magnitudes(middle_m) - drv_magnitudes(half_m) - cover_m;
}

/* Bit i: the sweep may meet edge first + i. The others are surely clear of it, by their distance, by the edge's line or
 * by an axis of the box. */
static uint32_t edges_in_question(const drv_segments *edges, int32_t first, const edge_search *own) {
    const drv_floats x_m = drv_all(own->box.centre.x) - drv_load(edges->middle_x_m + first);
    const drv_floats y_m = drv_all(own->box.centre.y) - drv_load(edges->middle_y_m + first);
    const drv_floats half_length_m = drv_load(edges->half_length_m + first);
    const drv_floats near_m = drv_all(own->reach_m) + half_length_m;
    const drv_floats along_x = drv_load(edges->along_x + first), along_y = drv_load(edges->along_y + first);
    const drv_floats ahead_x = drv_all(own->box.ahead.x), ahead_y = drv_all(own->box.ahead.y);
    const drv_floats turned_m = drv_all(own->turned_m);
    const drv_floats box_length_m = drv_all(own->box.half_length_m), box_width_m = drv_all(own->box.half_width_m);
    const drv_floats parallel = drv_magnitudes(ahead_x * along_x + ahead_y * along_y);
    const drv_floats across = drv_magnitudes(ahead_y * along_x - ahead_x * along_y);

    const drv_floats beyond = x_m * x_m + y_m * y_m - near_m * near_m;
    const drv_floats half_line_m = drv_all(own->half_back.y) * along_x - drv_all(own->half_back.x) * along_y;
    const drv_floats line_m = spare_m(y_m * along_x - x_m * along_y + half_line_m, half_line_m,
                                      box_length_m * across + box_width_m * parallel + turned_m);
    const drv_floats half_ahead_m = drv_all(own->half_back_ahead_m), half_aside_m = drv_all(own->half_back_aside_m);
    const drv_floats ahead_m = spare_m(x_m * ahead_x + y_m * ahead_y + half_ahead_m, half_ahead_m,
                                       box_length_m + half_length_m * parallel + turned_m);
    const drv_floats aside_m = spare_m(y_m * ahead_x - x_m * ahead_y + half_aside_m, half_aside_m,
                                       box_width_m + half_length_m * across + turned_m);
    return drv_at_most(beyond, 0.0f) & drv_at_most(line_m, 0.0f) & drv_at_most(ahead_m, 0.0f) &
           drv_at_most(aside_m, 0.0f);
}

/* Whether the sweep meets the edge on some of its pieces; stretches that are clear are passed over here too. */
static bool meets_edge_on_stretch(const sweep *motion, const drv_segments *edges, int32_t edge, stretch pieces) {
    if (pieces.end - pieces.first == 1) {
        const drv_point path = {(motion->to.x - motion->from.x) / (float)pieces.of,
                                (motion->to.y - motion->from.y) / (float)pieces.of};
        return moving_box_meets_edge(box_in_piece(motion, pieces.first, pieces.of), path, edges, edge);
    }
    const mover part = on_stretch(motion, pieces);
    const float radius_m = part.now.half_length_m + part.now.half_width_m; /* a little more */
    const edge_search search = search_of(&part, radius_m + path_m(&part.way));
    if (!(edges_in_question(edges, edge, &search) & 1u)) return false;
    return meets_edge_on_stretch(motion, edges, edge, half_of(pieces, false)) ||
           meets_edge_on_stretch(motion, edges, edge, half_of(pieces, true));
}

static bool sweep_meets_edge(const sweep *motion, const drv_segments *edges, int32_t edge) {
    const int32_t pieces = piece_count(motion);
    return meets_edge_on_stretch(motion, edges, edge, (stretch){0, pieces, pieces});
}

typedef struct edge_facts {
    bool over; /* the box meets an edge at its pose now */
    bool met;  /* it does, or did on its way there; not looked for where `sweeps` is false */
} edge_facts;

static edge_facts find_edges(const drv_world *world, int32_t row, const mover *own, bool sweeps) {
    const drv_scene *scene = world->scene;
    const drv_segments *edges = &scene->edges;
    const edge_search search = search_of(own, scene->radius_m[row] + (sweeps ? path_m(&own->way) : 0.0f));
    const drv_point at = own->now.centre;
    const drv_window window =
        drv_grid_window(&scene->grid, at.x, at.y, search.reach_m + 0.5f * drv_segment_limit_m);
    const drv_point rest = {0.0f, 0.0f};
    edge_facts facts = {false, false};
    for (int32_t y = window.first_row; y <= window.last_row; y++) {
        const int32_t *cells = edges->cell_start + y * scene->grid.columns;
        const int32_t end = cells[window.last_column + 1];
        for (int32_t first = cells[window.first_column]; first < end; first += DRV_WIDTH) {
            uint32_t near = edges_in_question(edges, first, &search);
            if (end - first < DRV_WIDTH) near &= ((uint32_t)1 << (end - first)) - 1;
            for (; near; near &= near - 1) {
                const int32_t edge = first + lowest_bit(near);
                if (moving_box_meets_edge(own->now, rest, edges, edge)) return (edge_facts){true, true};
                facts.met = facts.met || (sweeps && sweep_meets_edge(&own->way, edges, edge));
            }
        }
    }
    return facts;
}

static void detect_crossing(drv_world *world, int32_t row, const mover *own) {
    const bool was_over = world->over_edge[row];
    const edge_facts facts = find_edges(world, row, own, !was_over);
    world->crossed[row] = !was_over && facts.met;
    world->over_edge[row] = facts.over;
}

/* ---- goals ---- */

static bool within_goal(const drv_world *world, int32_t row, drv_point from, drv_point to) {
    float radius_m = world->config->goal_radius_m;
    drv_point goal = {world->scene->goal_x_m[row], world->scene->goal_y_m[row]};
    return drv_squared_distance_to_path(goal, from, to) <= radius_m * radius_m;
}

/* A goal is reached once a trial; a row that starts inside it has to leave it first. */
static void detect_goal(drv_world *world, int32_t row) {
    drv_point from = {world->before_x_m[row], world->before_y_m[row]}, to = {world->x_m[row], world->y_m[row]};
    float limit_mps = world->config->goal_max_speed_mps;
    world->reached[row] = 0;
    if (world->had_goal[row]) return;
    if (world->goal_spent[row]) {
        world->goal_spent[row] = within_goal(world, row, to, to);
        return;
    }
    bool slow_enough = limit_mps < 0.0f || drv_absolute(world->speed_mps[row]) <= limit_mps;
    world->reached[row] = slow_enough && within_goal(world, row, from, to);
}

/* ---- phases ---- */

void drv_events_begin(drv_world *world, drv_scratch *scratch) {
    const drv_scene *scene = world->scene;
    const nearby all = who_is_nearby(world, scratch);
    for (int32_t i = 0; i < world->sizes.rows * world->sizes.contact_words; i++) world->touching[i] = 0;
    for (int32_t row = 0; row < world->sizes.rows; row++) {
        world->hit[row] = world->crossed[row] = world->reached[row] = 0;
        world->hit_vehicle[row] = -1;
        world->over_edge[row] = world->goal_spent[row] = 0;
        if (row >= scene->row_count) continue;
        drv_point start = {world->x_m[row], world->y_m[row]};
        world->goal_spent[row] = within_goal(world, row, start, start);
        const mover own = mover_of(world, row);
        world->over_edge[row] = find_edges(world, row, &own, false).over;
        for (int32_t first = 0; first < all.on_map->count; first += 64) /* all rows are on the map: the first there */
            for (uint64_t near = near_bits(all, row, first); near; near &= near - 1) {
                const int32_t vehicle = all.on_map->vehicle[first + lowest_bit(near)];
                const bool touches = drv_boxes_meet(own.now, box_now(world, vehicle));
                uint64_t *touching = world->touching + row * world->sizes.contact_words;
                touching[vehicle / 64] |= (uint64_t)touches << (vehicle % 64);
            }
    }
}

void drv_events_detect(drv_world *world, drv_scratch *scratch) {
    const nearby all = who_is_nearby(world, scratch);
    /* Rows are the first vehicles, and who drives is on the map. */
    for (int32_t row = 0, place = 0; row < world->scene->row_count; place += world->present[row++]) {
        if (world->status[row] != DRV_DRIVING) {
            world->hit[row] = world->crossed[row] = world->reached[row] = 0;
            continue;
        }
        const mover own = mover_of(world, row);
        detect_contacts(world, row, place, &own, all);
        detect_crossing(world, row, &own);
        detect_goal(world, row);
    }
}
