/* Are angles, overlaps and distances right? Against libm, polygon clipping and dense sub-stepping. */
#include "check.h"
#include "math/geometry.h"
#include "rng.h"

static const double pi = 3.14159265358979323846;

/* ---- angles ---- */

static double direction_error(float angle_rad) {
    const drv_point found = drv_direction(angle_rad);
    const double dx = fabs((double)found.x - cos((double)angle_rad));
    const double dy = fabs((double)found.y - sin((double)angle_rad));
    return dx > dy ? dx : dy;
}

TEST(a_direction_is_within_1e_7_of_libm_between_minus_pi_and_pi) {
    const int32_t steps = 2000000;
    double worst = 0.0;
    float worst_at = 0.0f;
    for (int32_t i = -steps; i <= steps; i++) {
        const float angle = drv_pi * (float)i / (float)steps;
        const double error = direction_error(angle);
        if (error > worst) worst = error, worst_at = angle;
    }
    /* Every float near the bounds of the quarters, where the range reduction selects another one. */
    for (int32_t eighth = -8; eighth <= 8; eighth++) {
        float angle = nextafterf((float)(eighth * pi / 4), -10.0f);
        for (int32_t i = 0; i < 2000; i++) angle = nextafterf(angle, -10.0f);
        for (int32_t i = 0; i < 4000; i++, angle = nextafterf(angle, 10.0f)) {
            const double error = direction_error(angle);
            if (fabs((double)angle) <= (double)drv_pi && error > worst) worst = error, worst_at = angle;
        }
    }
    CHECK(worst <= 1e-7, "%g at %.9g", worst, (double)worst_at);
}

TEST(a_direction_of_a_few_hundred_radians_stays_accurate) {
    test_rng rng = {11};
    for (int32_t i = 0; i < 1000000; i++) {
        const float angle = (float)rng_between(&rng, -300.0, 300.0);
        CHECK(direction_error(angle) <= 3e-7, "%g at %.9g", direction_error(angle), (double)angle);
    }
}

TEST(the_four_quarters_are_exact_where_exact_is_possible) {
    const drv_point ahead = drv_direction(0.0f);
    CHECK(ahead.x == 1.0f && ahead.y == 0.0f, "(%g, %g)", (double)ahead.x, (double)ahead.y);
    for (int32_t quarter = -3; quarter <= 3; quarter++) {
        const drv_point found = drv_direction((float)(quarter * pi / 2));
        CHECK_NEAR(found.x, (quarter & 1) ? 0 : (quarter & 2) ? -1 : 1, 2e-7);
        CHECK_NEAR(found.y, !(quarter & 1) ? 0 : (quarter & 2) ? -1 : 1, 2e-7);
    }
}

TEST(an_arc_tangent_is_within_3e_7_of_libm) {
    for (int32_t i = -300000; i <= 300000; i++) {
        /* spaced by 0.001 near 0, and by ever more up to 9,300 */
        const float tangent = (float)(i / 1000.0 + 1e-7 * i * i * (i > 0 ? 1 : -1));
        const double found = (double)drv_arc_tangent(tangent), error = fabs(found - atan((double)tangent));
        CHECK(error <= 3e-7, "%g at %.9g", error, (double)tangent);
        CHECK(drv_arc_tangent(-tangent) == -drv_arc_tangent(tangent), "%.9g", (double)tangent);
    }
}

TEST(a_wrapped_angle_is_the_same_direction_inside_the_half_open_turn) {
    test_rng rng = {12};
    for (int32_t i = 0; i < 1000000; i++) {
        const double limit = i % 2 ? 10.0 : 1000.0;
        const float angle = (float)rng_between(&rng, -limit, limit), wrapped = drv_wrap_angle(angle);
        CHECK(wrapped >= -drv_pi && wrapped < drv_pi, "%.9g from %.9g", (double)wrapped, (double)angle);
        const double turns = ((double)angle - (double)wrapped) / (2 * pi);
        CHECK(fabs(turns - round(turns)) < 1e-7 * (2.0 + fabs((double)angle)), "%.9g from %.9g", (double)wrapped,
              (double)angle);
        CHECK(drv_wrap_angle(wrapped) == wrapped, "%.9g changes when wrapped again", (double)wrapped);
    }
}

TEST(an_angle_inside_the_turn_is_left_alone_and_pi_becomes_minus_pi) {
    const float inside[] = {0.0f, 1.0f, -1.0f, nextafterf(drv_pi, 0.0f), -drv_pi, nextafterf(-drv_pi, 0.0f)};
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        CHECK(drv_wrap_angle(inside[i]) == inside[i], "%.9g", (double)inside[i]);
    CHECK(drv_wrap_angle(drv_pi) == -drv_pi, "%.9g", (double)drv_wrap_angle(drv_pi));
}

/* ---- boxes, in float64 and by clipping ---- */

typedef struct polygon {
    int32_t count;
    double x[16], y[16];
} polygon;

static double area2(const polygon *shape) {
    double sum = 0.0;
    for (int32_t i = 0; i < shape->count; i++) {
        const int32_t j = (i + 1) % shape->count;
        sum += shape->x[i] * shape->y[j] - shape->x[j] * shape->y[i];
    }
    return sum;
}

/* The four corners counter-clockwise, each side `margin_m` further out (or in), moved by (dx, dy). */
static polygon corners(drv_box box, double margin_m, double dx, double dy) {
    const double along = (double)box.half_length_m + margin_m, across = (double)box.half_width_m + margin_m;
    const double sx[4] = {along, -along, -along, along}, sy[4] = {across, across, -across, -across};
    const double c = (double)box.ahead.x, s = (double)box.ahead.y;
    polygon shape = {.count = 4};
    for (int32_t i = 0; i < 4; i++) {
        shape.x[i] = (double)box.centre.x + dx + sx[i] * c - sy[i] * s;
        shape.y[i] = (double)box.centre.y + dy + sx[i] * s + sy[i] * c;
    }
    return shape;
}

/* The part of `shape` to the left of the line from (ax, ay) to (bx, by) (Sutherland and Hodgman 1974). */
static polygon clip(const polygon *shape, double ax, double ay, double bx, double by) {
    polygon kept = {.count = 0};
    for (int32_t i = 0; i < shape->count; i++) {
        const int32_t j = (i + 1) % shape->count;
        const double side_i = (bx - ax) * (shape->y[i] - ay) - (by - ay) * (shape->x[i] - ax);
        const double side_j = (bx - ax) * (shape->y[j] - ay) - (by - ay) * (shape->x[j] - ax);
        if (side_i >= 0.0) {
            kept.x[kept.count] = shape->x[i];
            kept.y[kept.count++] = shape->y[i];
        }
        if ((side_i < 0.0) != (side_j < 0.0)) {
            const double share = side_i / (side_i - side_j);
            kept.x[kept.count] = shape->x[i] + share * (shape->x[j] - shape->x[i]);
            kept.y[kept.count++] = shape->y[i] + share * (shape->y[j] - shape->y[i]);
        }
    }
    return kept;
}

static int overlap(drv_box a, double margin_m, double dx, double dy, drv_box b) {
    polygon shape = corners(a, margin_m, dx, dy);
    const polygon by = corners(b, margin_m, 0.0, 0.0);
    for (int32_t i = 0; i < 4 && shape.count > 0; i++)
        shape = clip(&shape, by.x[i], by.y[i], by.x[(i + 1) % 4], by.y[(i + 1) % 4]);
    return shape.count > 0 && area2(&shape) >= 0.0;
}

/* Whether the segment from (ax, ay) to (bx, by) has a point in the box moved by (dx, dy) (Liang and Barsky 1984). */
static int crosses(drv_box box, double margin_m, double dx, double dy, const double *from, const double *to) {
    const double c = (double)box.ahead.x, s = (double)box.ahead.y;
    const double ox = from[0] - (double)box.centre.x - dx, oy = from[1] - (double)box.centre.y - dy;
    const double wx = to[0] - from[0], wy = to[1] - from[1];
    const double at[2] = {ox * c + oy * s, oy * c - ox * s}, displacement[2] = {wx * c + wy * s, wy * c - wx * s};
    const double half[2] = {(double)box.half_length_m + margin_m, (double)box.half_width_m + margin_m};
    double enter = 0.0, leave = 1.0;
    for (int32_t axis = 0; axis < 2; axis++) {
        if (displacement[axis] == 0.0) {
            if (fabs(at[axis]) > half[axis]) return 0;
            continue;
        }
        const double one = (-half[axis] - at[axis]) / displacement[axis];
        const double other = (half[axis] - at[axis]) / displacement[axis];
        enter = fmax(enter, fmin(one, other));
        leave = fmin(leave, fmax(one, other));
    }
    return enter <= leave;
}

static drv_box random_box(test_rng *rng, double spread_m) {
    const double heading = rng_between(rng, -pi, pi);
    return (drv_box){{(float)rng_between(rng, -spread_m, spread_m), (float)rng_between(rng, -spread_m, spread_m)},
                     {(float)cos(heading), (float)sin(heading)},
                     (float)rng_between(rng, 0.05, 6.0),
                     (float)rng_between(rng, 0.05, 1.5)};
}

/* Rounding error of float32 at these sizes, m. */
static const double rounding_m = 1e-4;

TEST(boxes_overlap_where_clipping_leaves_something) {
    test_rng rng = {21};
    int32_t overlapping = 0, apart = 0;
    for (int32_t i = 0; i < 200000; i++) {
        const drv_box a = random_box(&rng, 5.0), b = random_box(&rng, 5.0);
        const int surely = overlap(a, -rounding_m, 0, 0, b), perhaps = overlap(a, rounding_m, 0, 0, b);
        if (surely != perhaps) continue;
        CHECK(drv_boxes_overlap(a, b) == (bool)surely, "pair %d", i);
        CHECK(drv_boxes_overlap(b, a) == (bool)surely, "pair %d, the other way round", i);
        overlapping += surely;
        apart += !surely;
    }
    CHECK(overlapping > 50000 && apart > 50000, "%d overlapping, %d apart", overlapping, apart);
}

TEST(boxes_that_share_an_edge_or_a_corner_overlap_and_those_1_cm_apart_do_not) {
    const drv_box middle = {{0, 0}, {1, 0}, 2.0f, 1.0f};
    const drv_point neighbours[] = {{4, 0}, {-4, 0}, {0, 2}, {0, -2}, {4, 2}, {-4, -2}, {3, 2}};
    for (size_t i = 0; i < sizeof neighbours / sizeof *neighbours; i++) {
        drv_box other = middle;
        other.centre = neighbours[i];
        CHECK(drv_boxes_overlap(middle, other), "neighbour %d", (int)i);
        other.centre.x *= 1.0f + 0.0025f;
        other.centre.y *= 1.0f + 0.005f;
        CHECK(!drv_boxes_overlap(middle, other), "neighbour %d, a gap away", (int)i);
    }
}

/* The point of a box's outline at a share of its way around, in double precision. */
static void outline_point(drv_box box, double share, double *x_m, double *y_m) {
    const double sides[4][4] = {{1, -1, 1, 1}, {1, 1, -1, 1}, {-1, 1, -1, -1}, {-1, -1, 1, -1}}; /* from, to */
    const double *side = sides[(int32_t)(share * 4.0) % 4], along = share * 4.0 - floor(share * 4.0);
    const double x = (double)box.half_length_m * (side[0] + along * (side[2] - side[0]));
    const double y = (double)box.half_width_m * (side[1] + along * (side[3] - side[1]));
    *x_m = (double)box.centre.x + x * (double)box.ahead.x - y * (double)box.ahead.y;
    *y_m = (double)box.centre.y + x * (double)box.ahead.y + y * (double)box.ahead.x;
}

TEST(the_distance_of_boxes_is_that_of_the_nearest_points_of_their_outlines) {
    enum { POINTS = 200 };
    test_rng rng = {26};
    int32_t apart = 0;
    for (int32_t i = 0; i < 400; i++) {
        /* 0 where they overlap, and the same with the boxes swapped */
        const drv_box a = random_box(&rng, 8.0), b = random_box(&rng, 8.0);
        const double found = (double)drv_boxes_distance(a, b);
        CHECK((found == 0.0) == drv_boxes_overlap(a, b), "pair %d: %g", i, found);
        CHECK(fabs((double)drv_boxes_distance(b, a) - found) < rounding_m, "pair %d: it differs, swapped", i);
        if (found == 0.0) continue;
        /* where they do not: that of the nearest pair of points on the outlines */
        const float half_side_m = drv_larger(drv_larger(a.half_length_m, a.half_width_m),
                                             drv_larger(b.half_length_m, b.half_width_m));
        const double spacing_m = 8.0 * (double)half_side_m / POINTS;
        double nearest = INFINITY;
        for (int32_t k = 0; k < POINTS * POINTS; k++) {
            double ax, ay, bx, by;
            outline_point(a, (double)(k / POINTS) / POINTS, &ax, &ay);
            outline_point(b, (double)(k % POINTS) / POINTS, &bx, &by);
            nearest = fmin(nearest, hypot(ax - bx, ay - by));
        }
        CHECK(found < nearest + rounding_m && nearest < found + 2.0 * spacing_m, "pair %d: %g and %g", i, found,
              nearest);
        apart++;
    }
    CHECK(apart > 100, "%d", apart);
}

/* Small enough that a box moves less than `fine_m` from one sub-step to the next. */
static const double fine_m = 0.02;

TEST(moving_boxes_overlap_where_they_do_at_a_sub_step) {
    test_rng rng = {22};
    int32_t overlapping = 0, apart = 0, passing = 0;
    for (int32_t i = 0; i < 4000; i++) {
        /* whether they overlap at a sub-step: surely if shrunk boxes do, perhaps if grown ones do */
        const drv_box a = random_box(&rng, 12.0), b = random_box(&rng, 12.0);
        const drv_point path = {(float)rng_between(&rng, -20.0, 20.0), (float)rng_between(&rng, -20.0, 20.0)};
        const int32_t sub_steps = (int32_t)(hypot((double)path.x, (double)path.y) / fine_m) + 2;
        int surely = 0, perhaps = 0;
        for (int32_t sub_step = 0; sub_step <= sub_steps && !surely; sub_step++) {
            const double share = (double)sub_step / sub_steps;
            const double dx = share * (double)path.x, dy = share * (double)path.y;
            perhaps = perhaps || overlap(a, fine_m, dx, dy, b);
            surely = perhaps && overlap(a, -rounding_m, dx, dy, b);
        }
        /* the same, swept, where rounding does not decide */
        const bool found = drv_swept_boxes_overlap(a, path, b);
        const drv_point back = {-path.x, -path.y};
        CHECK(drv_swept_boxes_overlap(b, back, a) == found, "pair %d: it differs with the boxes swapped", i);
        if (surely != perhaps) continue;
        CHECK(found == (bool)surely, "pair %d", i);
        overlapping += surely;
        apart += !surely;
        drv_box end = a;
        end.centre = (drv_point){a.centre.x + path.x, a.centre.y + path.y};
        passing += surely && !drv_boxes_overlap(a, b) && !drv_boxes_overlap(end, b);
    }
    CHECK(overlapping > 500 && apart > 1000 && passing > 200, "%d overlapping, %d apart, %d passing through",
          overlapping, apart, passing);
}

TEST(moving_boxes_first_touch_where_they_do_at_a_sub_step) {
    test_rng rng = {25};
    int32_t compared = 0;
    for (int32_t i = 0; i < 4000; i++) {
        const drv_box a = random_box(&rng, 12.0), b = random_box(&rng, 12.0);
        const drv_point path = {(float)rng_between(&rng, -20.0, 20.0), (float)rng_between(&rng, -20.0, 20.0)};
        const float contact = drv_swept_boxes_contact(a, path, b);
        CHECK((contact <= 1.0f) == drv_swept_boxes_overlap(a, path, b), "pair %d: %g", i, (double)contact);
        if (contact > 1.0f) continue;

        /* overlapping at the contact, by the grown box, and apart until just before it, by the shrunk one */
        const double x_m = (double)path.x, y_m = (double)path.y, sub_step = 0.5 * fine_m / hypot(x_m, y_m);
        const double at = (double)contact;
        CHECK(overlap(a, rounding_m, at * x_m, at * y_m, b), "pair %d: apart at %g", i, at);
        for (double share = 0.0; share < at - 4.0 * sub_step; share += sub_step)
            CHECK(!overlap(a, -rounding_m, share * x_m, share * y_m, b), "pair %d: earlier, at %g", i, share);
        compared += contact > 0.0f;
    }
    CHECK(compared > 300, "%d", compared);
}

TEST(a_sweep_at_rest_is_an_overlap_at_rest) {
    test_rng rng = {23};
    const drv_point nowhere = {0.0f, 0.0f};
    for (int32_t i = 0; i < 100000; i++) {
        const drv_box a = random_box(&rng, 5.0), b = random_box(&rng, 5.0);
        CHECK(drv_swept_boxes_overlap(a, nowhere, b) == drv_boxes_overlap(a, b), "pair %d", i);
    }
}

TEST(a_moving_box_overlaps_a_segment_where_it_does_at_a_sub_step) {
    test_rng rng = {24};
    int32_t overlapping = 0, apart = 0;
    for (int32_t i = 0; i < 6000; i++) {
        /* a box, and a segment, one in five of which is a point */
        const drv_box box = random_box(&rng, 12.0);
        const double heading = rng_between(&rng, -pi, pi), half = i % 5 ? rng_between(&rng, 0.01, 5.0) : 0.0;
        const drv_point along = half > 0.0 ? (drv_point){(float)cos(heading), (float)sin(heading)} : (drv_point){0, 0};
        const drv_point middle = {(float)rng_between(&rng, -12, 12), (float)rng_between(&rng, -12, 12)};
        const double from[2] = {(double)middle.x - half * (double)along.x, (double)middle.y - half * (double)along.y};
        const double to[2] = {(double)middle.x + half * (double)along.x, (double)middle.y + half * (double)along.y};
        /* whether they overlap at a sub-step, as above; one box in three stands still */
        const float moves = i % 3 ? 1.0f : 0.0f;
        const drv_point path = {moves * (float)rng_between(&rng, -20, 20), moves * (float)rng_between(&rng, -20, 20)};
        const int32_t sub_steps = (int32_t)(hypot((double)path.x, (double)path.y) / fine_m) + 1;
        int surely = 0, perhaps = 0;
        for (int32_t sub_step = 0; sub_step <= sub_steps && !surely; sub_step++) {
            const double share = (double)sub_step / sub_steps;
            const double dx = share * (double)path.x, dy = share * (double)path.y;
            perhaps = perhaps || crosses(box, fine_m, dx, dy, from, to);
            surely = perhaps && crosses(box, -rounding_m, dx, dy, from, to);
        }
        if (surely != perhaps) continue;
        CHECK(drv_swept_box_overlaps_segment(box, path, middle, along, (float)half) == (bool)surely, "case %d", i);
        overlapping += surely;
        apart += !surely;
    }
    CHECK(overlapping > 400 && apart > 1000, "%d overlapping, %d apart", overlapping, apart);
}

TEST(the_distance_to_a_segment_is_the_least_over_its_points) {
    test_rng rng = {25};
    for (int32_t i = 0; i < 2000; i++) {
        const drv_point point = {(float)rng_between(&rng, -20, 20), (float)rng_between(&rng, -20, 20)};
        const drv_point from = {(float)rng_between(&rng, -20, 20), (float)rng_between(&rng, -20, 20)};
        drv_point to = {(float)rng_between(&rng, -20, 20), (float)rng_between(&rng, -20, 20)};
        if (i % 10 == 0) to = from;
        double least = INFINITY;
        for (int32_t sub_step = 0; sub_step <= 1000; sub_step++) {
            const double share = sub_step / 1000.0;
            const double dx = (double)from.x + share * (double)(to.x - from.x) - (double)point.x;
            const double dy = (double)from.y + share * (double)(to.y - from.y) - (double)point.y;
            least = fmin(least, hypot(dx, dy));
        }
        /* The nearest of a thousand points is at most half their spacing off. */
        CHECK_NEAR(sqrtf(drv_squared_distance_to_segment(point, from, to)), least, 0.03);
        CHECK((double)sqrtf(drv_squared_distance_to_segment(point, from, to)) <= least + 1e-4, "case %d", i);
    }
}
