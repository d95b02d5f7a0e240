/* Do two boxes, or a box and a segment, overlap, at rest or in motion? And: angles, their sine and cosine, clipping.
 *
 * Pure functions of values, independent of vehicles and trials. */
#ifndef DRV_GEOMETRY_H
#define DRV_GEOMETRY_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "platform/isa.h"

static const float drv_pi = 3.14159265358979f;

/* A point or a vector. */
typedef struct drv_point {
    float x, y;
} drv_point;

/* An oriented box. */
typedef struct drv_box {
    drv_point centre;
    drv_point ahead; /* unit vector along the length */
    float half_length_m, half_width_m;
} drv_box;

/* Wraps an angle to [-pi, pi), to float32 precision. */
static inline float drv_wrap_angle(float angle_rad) {
    const float turn = 2.0f * drv_pi;
    float turns = angle_rad / turn;
    float wrapped = angle_rad - turn * (float)(int32_t)(turns + (turns >= 0.0f ? 0.5f : -0.5f));
    wrapped = wrapped >= drv_pi ? wrapped - turn : wrapped;
    return wrapped < -drv_pi ? wrapped + turn : wrapped;
}

/* Returns (cos, sin) of an angle of at most a few hundred radians. The error is at most 1e-7 for |angle| <= pi.
 *
 * The results of libm differ between platforms; these are the same everywhere. Cody-Waite reduction by pi/2 in three
 * parts, then the minimax polynomials of Cephes (Moshier 1992). */
static inline drv_point drv_direction(float angle_rad) {
    float quarters = angle_rad * 0.636619772f;
    int32_t quarter = (int32_t)(quarters + (quarters >= 0.0f ? 0.5f : -0.5f));
    float q = (float)quarter;
    float r = ((angle_rad - q * 1.5703125f) - q * 4.837512969970703e-4f) - q * 7.549789954891882e-8f;
    float r2 = r * r;
    float sine = r + r * r2 * (-1.6666654611e-1f + r2 * (8.3321608736e-3f - r2 * 1.9515295891e-4f));
    float cosine = 1.0f - 0.5f * r2 +
                   r2 * r2 * (4.166664568298827e-2f + r2 * (-1.388731625493765e-3f + r2 * 2.443315711809948e-5f));
    float x = (quarter & 1) ? sine : cosine;
    float y = (quarter & 1) ? cosine : sine;
    x = ((quarter + 1) & 2) ? -x : x;
    y = (quarter & 2) ? -y : y;
    return (drv_point){x, y};
}

/* Returns the arc tangent, in [-pi/2, pi/2]; the error is at most 3e-7 rad. Reduction and polynomial of Cephes (Moshier
 * 1992). */
static inline float drv_arc_tangent(float tangent) {
    const float magnitude = fabsf(tangent);
    const bool steep = magnitude > 2.414213562f, middle = magnitude > 0.414213562f; /* tan(3 pi / 8), tan(pi / 8) */
    const float base = steep ? 0.5f * drv_pi : middle ? 0.25f * drv_pi : 0.0f;
    const float t = steep ? -1.0f / magnitude : middle ? (magnitude - 1.0f) / (magnitude + 1.0f) : magnitude;
    const float t2 = t * t;
    const float odd = ((8.05374449538e-2f * t2 - 1.38776856032e-1f) * t2 + 1.99777106478e-1f) * t2 - 3.33329491539e-1f;
    const float angle = base + (odd * t2 * t + t);
    return tangent < 0.0f ? -angle : angle;
}

/* Returns the angle of a unit vector, in [-pi, pi], within 1e-6 rad. */
static inline float drv_angle_of(drv_point ahead) {
    if (ahead.x == 0.0f) return ahead.y < 0.0f ? -0.5f * drv_pi : 0.5f * drv_pi;
    const float angle = drv_arc_tangent(ahead.y / ahead.x);
    return ahead.x > 0.0f ? angle : ahead.y < 0.0f ? angle - drv_pi : angle + drv_pi;
}

static inline float drv_larger(float a, float b) { return a > b ? a : b; }
static inline float drv_smaller(float a, float b) { return a < b ? a : b; }
static inline float drv_clip(float value, float low, float high) {
    /* in this order a value of -0 is kept, and each of the two compiles to one instruction */
    return drv_smaller(high, drv_larger(low, value));
}

/* Whether two boxes share a point; those that touch do. */
DRV_STEP_API bool drv_boxes_overlap(drv_box a, drv_box b);

/* The distance between two boxes; 0 where they overlap. */
DRV_STEP_API float drv_boxes_distance(drv_box a, drv_box b);

/* Swept overlap: whether `a`, translated by `path` with constant heading, shares a point with `b` at any time. `path`
 * is the motion of `a` relative to `b`. Exact for constant headings: each separating axis gives an interval of time. */
DRV_STEP_API bool drv_swept_boxes_overlap(drv_box a, drv_point path, drv_box b);

/* The share of `path`, in [0, 1], at which they first share a point; infinity where they never do. */
DRV_STEP_API float drv_swept_boxes_contact(drv_box a, drv_point path, drv_box b);

/* The same against the segment of centre `middle`, unit direction `along` and half length `half_length_m`. */
DRV_STEP_API bool drv_swept_box_overlaps_segment(drv_box box, drv_point path, drv_point middle, drv_point along,
                                                 float half_length_m);

/* Squared distance from `point` to the segment from `from` to `to`. */
DRV_STEP_API float drv_squared_distance_to_segment(drv_point point, drv_point from, drv_point to);

#endif
