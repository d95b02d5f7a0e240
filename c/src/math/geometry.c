/* Do two boxes, or a box and a segment, overlap, at rest or in motion? By the separating axis theorem. */
#include "math/geometry.h"

static float dot(drv_point a, drv_point b) { return a.x * b.x + a.y * b.y; }
static drv_point minus(drv_point a, drv_point b) { return (drv_point){a.x - b.x, a.y - b.y}; }
/* `a` turned by 90 degrees counter-clockwise. */
static drv_point left_of(drv_point a) { return (drv_point){-a.y, a.x}; }

/* Half the length of the box's projection on an axis. */
static float projection_radius(drv_box box, drv_point axis) {
    return box.half_length_m * fabsf(dot(box.ahead, axis)) +
           box.half_width_m * fabsf(dot(left_of(box.ahead), axis));
}

typedef struct time_interval {
    float enter, leave; /* fractions of the path, in [0, 1]; the interval is empty where enter > leave */
} time_interval;

/* Intersects an interval with the times t at which |offset + t * rate| <= reach: those at which two projections with
 * that sum of radii overlap. */
static time_interval intersected(time_interval time, float offset, float rate, float reach) {
    if (rate == 0.0f) {
        if (fabsf(offset) > reach) time.enter = 2.0f;
        return time;
    }
    float one = (-reach - offset) / rate, other = (reach - offset) / rate;
    time.enter = drv_larger(time.enter, drv_smaller(one, other));
    time.leave = drv_smaller(time.leave, drv_larger(one, other));
    return time;
}

bool drv_boxes_overlap(drv_box a, drv_box b) {
    drv_point offset = minus(b.centre, a.centre);
    const drv_point axes[4] = {a.ahead, left_of(a.ahead), b.ahead, left_of(b.ahead)};
    for (int i = 0; i < 4; i++)
        if (fabsf(dot(offset, axes[i])) > projection_radius(a, axes[i]) + projection_radius(b, axes[i])) return false;
    return true;
}

/* The squared distance from a point to a box. */
static float squared_distance_to_box(drv_point point, drv_box box) {
    const drv_point offset = minus(point, box.centre);
    const float x = drv_larger(fabsf(dot(offset, box.ahead)) - box.half_length_m, 0.0f);
    const float y = drv_larger(fabsf(dot(offset, left_of(box.ahead))) - box.half_width_m, 0.0f);
    return x * x + y * y;
}

/* The squared distance from the nearest corner of a box to another box. */
static float squared_distance_of_corners(drv_box corners_of, drv_box to) {
    const drv_point ahead = corners_of.ahead, left = left_of(ahead);
    float nearest2 = INFINITY;
    for (int i = 0; i < 4; i++) {
        const float along = i & 1 ? corners_of.half_length_m : -corners_of.half_length_m;
        const float across = i & 2 ? corners_of.half_width_m : -corners_of.half_width_m;
        const drv_point corner = {corners_of.centre.x + along * ahead.x + across * left.x,
                                  corners_of.centre.y + along * ahead.y + across * left.y};
        nearest2 = drv_smaller(nearest2, squared_distance_to_box(corner, to));
    }
    return nearest2;
}

/* Of two convex shapes that are apart, one has a corner among the nearest points. */
float drv_boxes_distance(drv_box a, drv_box b) {
    if (drv_boxes_overlap(a, b)) return 0.0f;
    return sqrtf(drv_smaller(squared_distance_of_corners(a, b), squared_distance_of_corners(b, a)));
}

/* The times at which the translated `a` shares a point with `b`. */
static time_interval contact_interval(drv_box a, drv_point path, drv_box b) {
    drv_point offset = minus(a.centre, b.centre);
    const drv_point axes[4] = {a.ahead, left_of(a.ahead), b.ahead, left_of(b.ahead)};
    time_interval time = {0.0f, 1.0f};
    for (int i = 0; i < 4; i++)
        time = intersected(time, dot(offset, axes[i]), dot(path, axes[i]),
                           projection_radius(a, axes[i]) + projection_radius(b, axes[i]));
    return time;
}

bool drv_swept_boxes_overlap(drv_box a, drv_point path, drv_box b) {
    const time_interval time = contact_interval(a, path, b);
    return time.enter <= time.leave;
}

float drv_swept_boxes_contact(drv_box a, drv_point path, drv_box b) {
    const time_interval time = contact_interval(a, path, b);
    return time.enter <= time.leave ? time.enter : INFINITY;
}

bool drv_swept_box_overlaps_segment(drv_box box, drv_point path, drv_point middle, drv_point along,
                                    float half_length_m) {
    drv_point offset = minus(box.centre, middle);
    drv_point side = left_of(box.ahead), across = left_of(along);
    time_interval time = {0.0f, 1.0f};
    time = intersected(time, dot(offset, box.ahead), dot(path, box.ahead),
                       box.half_length_m + half_length_m * fabsf(dot(along, box.ahead)));
    if (time.enter > time.leave) return false;
    time = intersected(time, dot(offset, side), dot(path, side),
                       box.half_width_m + half_length_m * fabsf(dot(along, side)));
    if (time.enter > time.leave) return false;
    time = intersected(time, dot(offset, across), dot(path, across), projection_radius(box, across));
    return time.enter <= time.leave;
}

float drv_squared_distance_to_segment(drv_point point, drv_point from, drv_point to) {
    drv_point path = minus(to, from), offset = minus(point, from);
    float length2 = dot(path, path);
    float fraction = length2 > 0.0f ? drv_clip(dot(offset, path) / length2, 0.0f, 1.0f) : 0.0f;
    drv_point to_closest = {offset.x - fraction * path.x, offset.y - fraction * path.y};
    return dot(to_closest, to_closest);
}
