/* Swept overlap: does a vehicle overlap a vehicle or a road edge at any time of a step? */
#include "step/sweep.h"

#include <math.h>

#include "math/vector.h"

/* A sweep is divided into pieces so short that the turn within one moves no corner by more than this. A piece is tested
 * at the heading of its middle, so the error of a corner is at most half of it. End poses are tested exactly. */
static const float piece_corner_m = 0.06f;

/* Bound on the rounding error of positions in a step: 2 cm, plus a term for the spacing of floats at large
 * coordinates. */
static float rounding_m(const drv_moving_box *own) {
    return 0.02f + 1e-6f * (fabsf(own->end.centre.x) + fabsf(own->end.centre.y));
}

/* Upper bound on the distance of a corner from the centre. */
static float corner_m(const drv_sweep *motion) { return motion->half_length_m + motion->half_width_m; }

/* Number of pieces of a sweep: about ten thousand for a half turn of the largest box that a scene may have, 200 m by
 * 200 m. Bisection skips nearly all of them. */
static int32_t piece_count(const drv_sweep *motion) {
    return (int32_t)(1.0f + fabsf(motion->turn_rad) * corner_m(motion) / piece_corner_m);
}

/* The box at the start of a piece, with the heading of the piece's middle. */
static drv_box box_in_piece(const drv_sweep *motion, int32_t piece, int32_t pieces) {
    float begin = (float)piece / (float)pieces, middle = ((float)piece + 0.5f) / (float)pieces;
    return (drv_box){{motion->from.x + begin * (motion->to.x - motion->from.x),
                      motion->from.y + begin * (motion->to.y - motion->from.y)},
                     drv_direction(motion->heading_from_rad + middle * motion->turn_rad),
                     motion->half_length_m,
                     motion->half_width_m};
}

/* ---- two vehicles ---- */

/* Upper bound on the displacement of a corner by the turn of the box in the step. */
static float turn_margin_m(const drv_sweep *motion) { return corner_m(motion) * fabsf(motion->turn_rad); }

/* Upper bound on the projection radius of the box on an axis at any time of the step. */
static float projection_radius_m(const drv_moving_box *own, drv_point axis) {
    const drv_box end = own->end;
    const float ahead = fabsf(end.ahead.x * axis.x + end.ahead.y * axis.y);
    const float aside = fabsf(end.ahead.x * axis.y - end.ahead.y * axis.x);
    return end.half_length_m * ahead + end.half_width_m * aside + turn_margin_m(&own->sweep) + rounding_m(own);
}

/* Whether an offset that changes linearly between two values stays above `radii_m`, or stays below -radii_m. */
static bool stays_beyond(float from_m, float to_m, float radii_m) {
    return drv_smaller(from_m, to_m) > radii_m || drv_larger(from_m, to_m) < -radii_m;
}

bool drv_separated_by_axes_of(const drv_moving_box *a, const drv_moving_box *b) {
    const drv_point from = {b->sweep.from.x - a->sweep.from.x, b->sweep.from.y - a->sweep.from.y};
    const drv_point to = {b->sweep.to.x - a->sweep.to.x, b->sweep.to.y - a->sweep.to.y};
    const drv_point axes[2] = {{-a->end.ahead.y, a->end.ahead.x}, a->end.ahead};
    for (int32_t i = 0; i < 2; i++) {
        const float radii_m = projection_radius_m(a, axes[i]) + projection_radius_m(b, axes[i]);
        const float from_m = from.x * axes[i].x + from.y * axes[i].y, to_m = to.x * axes[i].x + to.y * axes[i].y;
        if (stays_beyond(from_m, to_m, radii_m)) return true;
    }
    return false;
}

/* An interval of the step: pieces first .. end - 1 of `total`. */
typedef struct interval {
    int32_t first, end, total;
} interval;

static int32_t middle_piece(interval pieces) { return (pieces.first + pieces.end) / 2; }
static interval first_half(interval pieces) { return (interval){pieces.first, middle_piece(pieces), pieces.total}; }
static interval second_half(interval pieces) { return (interval){middle_piece(pieces), pieces.end, pieces.total}; }

/* The part of a sweep in an interval, and the box at its end. */
static drv_moving_box part_of(const drv_sweep *motion, interval pieces) {
    const float begin = (float)pieces.first / (float)pieces.total, end = (float)pieces.end / (float)pieces.total;
    const drv_point path = {motion->to.x - motion->from.x, motion->to.y - motion->from.y};
    drv_sweep sweep = *motion;
    sweep.from = (drv_point){motion->from.x + begin * path.x, motion->from.y + begin * path.y};
    sweep.to = (drv_point){motion->from.x + end * path.x, motion->from.y + end * path.y};
    sweep.heading_from_rad += begin * motion->turn_rad;
    sweep.turn_rad *= end - begin;
    const drv_point ahead = drv_direction(sweep.heading_from_rad + sweep.turn_rad);
    return (drv_moving_box){sweep, {sweep.to, ahead, sweep.half_length_m, sweep.half_width_m}};
}

static bool is_single(interval pieces) { return pieces.end - pieces.first == 1; }

/* Broad phase on an interval. True for a single piece, whose narrow phase is as cheap. */
static bool may_overlap_on(const drv_sweep *a, const drv_sweep *b, interval pieces) {
    if (is_single(pieces)) return true;
    const drv_moving_box one = part_of(a, pieces), other = part_of(b, pieces);
    return !drv_separated_by_axes_of(&one, &other) && !drv_separated_by_axes_of(&other, &one);
}

/* Bisects the interval, skips halves that the broad phase excludes, and tests single pieces in the narrow phase. */
static bool overlap_on_interval(const drv_sweep *a, const drv_sweep *b, interval pieces) {
    if (is_single(pieces)) {
        const drv_point path = {((a->to.x - a->from.x) - (b->to.x - b->from.x)) / (float)pieces.total,
                                ((a->to.y - a->from.y) - (b->to.y - b->from.y)) / (float)pieces.total};
        return drv_swept_boxes_overlap(box_in_piece(a, pieces.first, pieces.total), path,
                                       box_in_piece(b, pieces.first, pieces.total));
    }
    const interval halves[2] = {first_half(pieces), second_half(pieces)};
    for (int32_t i = 0; i < 2; i++)
        if (may_overlap_on(a, b, halves[i]) && overlap_on_interval(a, b, halves[i])) return true;
    return false;
}

bool drv_sweeps_overlap(const drv_moving_box *a, const drv_moving_box *b) {
    if (drv_separated_by_axes_of(b, a)) return false;
    const int32_t count_a = piece_count(&a->sweep), count_b = piece_count(&b->sweep);
    const int32_t pieces = count_a > count_b ? count_a : count_b;
    return overlap_on_interval(&a->sweep, &b->sweep, (interval){0, pieces, pieces});
}

float drv_sweep_path_m(const drv_sweep *motion) {
    const float dx = motion->to.x - motion->from.x, dy = motion->to.y - motion->from.y;
    return sqrtf(dx * dx + dy * dy);
}

/* ---- a vehicle and road edges ---- */

static bool swept_box_overlaps_edge(drv_box box, drv_point path, const drv_segments *edges, int32_t edge) {
    const drv_point middle = {edges->middle_x_m[edge], edges->middle_y_m[edge]};
    const drv_point along = {edges->along_x[edge], edges->along_y[edge]};
    return drv_swept_box_overlaps_segment(box, path, middle, along, edges->half_length_m[edge]);
}

drv_edge_query drv_edge_query_of(const drv_moving_box *own, float radius_m) {
    const drv_sweep *sweep = &own->sweep;
    const drv_box end = own->end;
    const drv_point half_back = {0.5f * (sweep->from.x - sweep->to.x), 0.5f * (sweep->from.y - sweep->to.y)};
    return (drv_edge_query){
        .box = end,
        .half_back = half_back,
        .half_back_ahead_m = half_back.x * end.ahead.x + half_back.y * end.ahead.y,
        .half_back_aside_m = half_back.y * end.ahead.x - half_back.x * end.ahead.y,
        .bounding_radius_m = radius_m + rounding_m(own),
        .turn_margin_m = turn_margin_m(&own->sweep) + rounding_m(own),
    };
}

/* Lower bound on the separation of two shapes along an axis during the step, negative where they may overlap: their
 * offset is `middle_m` in the middle of the step and changes by 2 * `half_m`; `radii_m` is the sum of their projection
 * radii. */
static drv_floats separation_m(drv_floats middle_m, drv_floats half_m, drv_floats radii_m) {
    return drv_abs(middle_m) - drv_abs(half_m) - radii_m;
}

uint32_t drv_edge_broad_phase_bits(const drv_segments *edges, int32_t first, const drv_edge_query *own) {
    /* offsets of the box from DRV_WIDTH edges, and the angles between their axes */
    const drv_floats x_m = drv_splat(own->box.centre.x) - drv_load(edges->middle_x_m + first);
    const drv_floats y_m = drv_splat(own->box.centre.y) - drv_load(edges->middle_y_m + first);
    const drv_floats half_length_m = drv_load(edges->half_length_m + first);
    const drv_floats near_m = drv_splat(own->bounding_radius_m) + half_length_m;
    const drv_floats along_x = drv_load(edges->along_x + first), along_y = drv_load(edges->along_y + first);
    const drv_floats ahead_x = drv_splat(own->box.ahead.x), ahead_y = drv_splat(own->box.ahead.y);
    const drv_floats turn_margin_m = drv_splat(own->turn_margin_m);
    const drv_floats box_length_m = drv_splat(own->box.half_length_m), box_width_m = drv_splat(own->box.half_width_m);
    const drv_floats parallel = drv_abs(ahead_x * along_x + ahead_y * along_y);
    const drv_floats across = drv_abs(ahead_y * along_x - ahead_x * along_y);

    /* distance of the middles, less the sum of the bounding radii */
    const drv_floats beyond = x_m * x_m + y_m * y_m - near_m * near_m;
    /* separation along the edge's normal */
    const drv_floats half_normal_m = drv_splat(own->half_back.y) * along_x - drv_splat(own->half_back.x) * along_y;
    const drv_floats normal_m = separation_m(y_m * along_x - x_m * along_y + half_normal_m, half_normal_m,
                                             box_length_m * across + box_width_m * parallel + turn_margin_m);
    /* separation along the two axes of the box */
    const drv_floats half_ahead_m = drv_splat(own->half_back_ahead_m), half_aside_m = drv_splat(own->half_back_aside_m);
    const drv_floats ahead_m = separation_m(x_m * ahead_x + y_m * ahead_y + half_ahead_m, half_ahead_m,
                                            box_length_m + half_length_m * parallel + turn_margin_m);
    const drv_floats aside_m = separation_m(y_m * ahead_x - x_m * ahead_y + half_aside_m, half_aside_m,
                                            box_width_m + half_length_m * across + turn_margin_m);
    return drv_movemask_le(beyond, 0.0f) & drv_movemask_le(normal_m, 0.0f) & drv_movemask_le(ahead_m, 0.0f) &
           drv_movemask_le(aside_m, 0.0f);
}

static bool may_overlap_edge_on(const drv_sweep *motion, const drv_segments *edges, int32_t edge, interval pieces) {
    if (is_single(pieces)) return true;
    const drv_moving_box part = part_of(motion, pieces);
    const drv_edge_query query = drv_edge_query_of(&part, corner_m(motion) + drv_sweep_path_m(&part.sweep));
    return drv_edge_broad_phase_bits(edges, edge, &query) & 1u; /* bits of the following edges are ignored */
}

/* As overlap_on_interval. */
static bool overlaps_edge_on_interval(const drv_sweep *motion, const drv_segments *edges, int32_t edge,
                                      interval pieces) {
    if (is_single(pieces)) {
        const drv_point path = {(motion->to.x - motion->from.x) / (float)pieces.total,
                                (motion->to.y - motion->from.y) / (float)pieces.total};
        return swept_box_overlaps_edge(box_in_piece(motion, pieces.first, pieces.total), path, edges, edge);
    }
    const interval halves[2] = {first_half(pieces), second_half(pieces)};
    for (int32_t i = 0; i < 2; i++)
        if (may_overlap_edge_on(motion, edges, edge, halves[i]) &&
            overlaps_edge_on_interval(motion, edges, edge, halves[i]))
            return true;
    return false;
}

bool drv_sweep_overlaps_edge(const drv_sweep *motion, const drv_segments *edges, int32_t edge) {
    const int32_t pieces = piece_count(motion);
    return overlaps_edge_on_interval(motion, edges, edge, (interval){0, pieces, pieces});
}

bool drv_box_overlaps_edge(drv_box box, const drv_segments *edges, int32_t edge) {
    const drv_point rest = {0.0f, 0.0f};
    return swept_box_overlaps_edge(box, rest, edges, edge);
}
