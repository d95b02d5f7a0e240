/* Do swept overlaps equal those of dense sub-steps? Intervals that are skipped, and candidates that the broad phase
 * rejects, must contain no overlap. */
#include "check.h"
#include "rng.h"
#include "step/sweep.h"
#include "math/vector.h"

/* The definition: as many pieces as keep each corner within 6 cm of turning; each with the heading of its middle. */
static int32_t pieces_of(const drv_sweep *way) {
    return (int32_t)(1.0f + fabsf(way->turn_rad) * (way->half_length_m + way->half_width_m) / 0.06f);
}

static drv_box in_piece(const drv_sweep *way, int32_t piece, int32_t pieces) {
    const float begin = (float)piece / (float)pieces, middle = ((float)piece + 0.5f) / (float)pieces;
    return (drv_box){{way->from.x + begin * (way->to.x - way->from.x), way->from.y + begin * (way->to.y - way->from.y)},
                     drv_direction(way->heading_from_rad + middle * way->turn_rad),
                     way->half_length_m,
                     way->half_width_m};
}

static int32_t pieces_of_both(const drv_sweep *a, const drv_sweep *b) {
    const int32_t of_a = pieces_of(a), of_b = pieces_of(b);
    return of_a > of_b ? of_a : of_b;
}

static bool meet_on_some_piece(const drv_sweep *a, const drv_sweep *b, int32_t pieces) {
    const drv_point path = {((a->to.x - a->from.x) - (b->to.x - b->from.x)) / (float)pieces,
                            ((a->to.y - a->from.y) - (b->to.y - b->from.y)) / (float)pieces};
    for (int32_t piece = 0; piece < pieces; piece++)
        if (drv_swept_boxes_overlap(in_piece(a, piece, pieces), path, in_piece(b, piece, pieces))) return true;
    return false;
}

enum { EDGES = 8, EDGE_ROOM = EDGES + DRV_SIMD_PAD };

typedef struct some_edges {
    float x_m[EDGE_ROOM], y_m[EDGE_ROOM], half_length_m[EDGE_ROOM], along_x[EDGE_ROOM], along_y[EDGE_ROOM];
} some_edges;

static drv_segments segments_of(some_edges *edges) {
    return (drv_segments){.middle_x_m = edges->x_m, .middle_y_m = edges->y_m, .half_length_m = edges->half_length_m,
                          .along_x = edges->along_x, .along_y = edges->along_y, .count = EDGES};
}

static void fill_edges(some_edges *edges, test_rng *rng, drv_point around, double far_m) {
    for (int32_t edge = 0; edge < EDGES; edge++) {
        const drv_point along = drv_direction((float)rng_between(rng, -3.1, 3.1));
        edges->x_m[edge] = around.x + (float)rng_between(rng, -far_m, far_m);
        edges->y_m[edge] = around.y + (float)rng_between(rng, -far_m, far_m);
        edges->half_length_m[edge] = (float)rng_between(rng, 0, 5);
        edges->along_x[edge] = along.x;
        edges->along_y[edge] = along.y;
    }
}

static bool meets_edge_on_some_piece(const drv_sweep *way, const drv_segments *edges, int32_t edge, int32_t pieces) {
    const drv_point path = {(way->to.x - way->from.x) / (float)pieces, (way->to.y - way->from.y) / (float)pieces};
    const drv_point middle = {edges->middle_x_m[edge], edges->middle_y_m[edge]};
    const drv_point along = {edges->along_x[edge], edges->along_y[edge]};
    for (int32_t piece = 0; piece < pieces; piece++)
        if (drv_swept_box_overlaps_segment(in_piece(way, piece, pieces), path, middle, along,
                                           edges->half_length_m[edge]))
            return true;
    return false;
}

/* Boxes from 0.1 m to the size of a lorry, slow and straight or fast and turning; near the origin, at the limits of the
 * coordinates, or as far away as days of driving lead. */
static drv_sweep some_sweep(test_rng *rng, drv_point around) {
    const float way_m = (float)rng_between(rng, 0.0, rng_below(rng, 4) ? 3.0 : 12.0);
    const float direction_rad = (float)rng_between(rng, -3.1, 3.1);
    const drv_point from = {around.x + (float)rng_between(rng, -8, 8), around.y + (float)rng_between(rng, -8, 8)};
    return (drv_sweep){from,
                       {from.x + way_m * cosf(direction_rad), from.y + way_m * sinf(direction_rad)},
                       (float)rng_between(rng, -3.1, 3.1),
                       rng_below(rng, 8) ? (float)rng_between(rng, -1.5, 1.5) : (float)rng_between(rng, -3.1, 3.1),
                       (float)rng_between(rng, 0.05, rng_below(rng, 3) ? 3.0 : 12.0),
                       (float)rng_between(rng, 0.05, rng_below(rng, 3) ? 1.0 : 2.0)};
}

static drv_moving_box moving_box_on(drv_sweep way) {
    const drv_point ahead = drv_direction(way.heading_from_rad + way.turn_rad);
    return (drv_moving_box){way, {way.to, ahead, way.half_length_m, way.half_width_m}};
}

static drv_point some_point(test_rng *rng) {
    const float far_m = rng_below(rng, 4) ? 100.0f : rng_below(rng, 2) ? 50000.0f : 5e6f;
    return (drv_point){far_m * (float)rng_between(rng, -1, 1), far_m * (float)rng_between(rng, -1, 1)};
}

TEST(two_sweeps_meet_where_they_meet_on_some_piece) {
    test_rng rng = {71};
    int32_t met = 0, apart = 0, ruled_out = 0;
    for (int32_t i = 0; i < 40000; i++) {
        const drv_point around = some_point(&rng);
        const drv_sweep a = some_sweep(&rng, around), b = some_sweep(&rng, around);
        const bool meet = meet_on_some_piece(&a, &b, pieces_of_both(&a, &b));
        const drv_moving_box one = moving_box_on(a), other = moving_box_on(b);
        const bool stay_apart = drv_separated_by_axes_of(&one, &other);
        CHECK(stay_apart || drv_sweeps_overlap(&one, &other) == meet, "case %d: %d", i, meet);
        CHECK(!(meet && stay_apart), "case %d", i);
        met += meet;
        apart += !meet;
        ruled_out += stay_apart;
    }
    CHECK(met > 7000 && apart > 7000 && ruled_out > 3000, "%d met, %d did not, %d were ruled out", met, apart,
          ruled_out);
}

TEST(a_sweep_meets_an_edge_where_it_does_on_some_piece) {
    test_rng rng = {72};
    int32_t met = 0, apart = 0, ruled_out = 0;
    for (int32_t i = 0; i < 6000; i++) {
        const drv_point around = some_point(&rng);
        const drv_sweep way = some_sweep(&rng, around);
        const drv_moving_box own = moving_box_on(way);
        some_edges stored = {0};
        fill_edges(&stored, &rng, around, 15.0);
        const drv_segments edges = segments_of(&stored);
        const float radius_m = way.half_length_m + way.half_width_m + drv_sweep_path_m(&way);
        const drv_edge_query search = drv_edge_query_of(&own, radius_m);
        for (int32_t edge = 0; edge < EDGES; edge++) {
            const bool meet = meets_edge_on_some_piece(&way, &edges, edge, pieces_of(&way));
            const bool in_question = drv_edge_broad_phase_bits(&edges, edge, &search) & 1u;
            CHECK(drv_sweep_overlaps_edge(&way, &edges, edge) == meet, "case %d, edge %d: %d", i, edge, meet);
            CHECK(in_question || !meet, "case %d, edge %d", i, edge);
            met += meet;
            apart += !meet;
            ruled_out += !in_question;
        }
    }
    CHECK(met > 3000 && apart > 15000 && ruled_out > 12000, "%d met, %d did not, %d were ruled out", met, apart,
          ruled_out);
}

/* ---- the bound ---- */

/* Largest error of a corner in a sweep, and in the reference pieces of this test. */
static const float bound_m = 0.03f, truth_m = 0.015f;
enum { FINER = 2 };

/* Vehicles of the largest and the narrowest size that a scene may have, which turn while they move. */
static drv_sweep some_huge_sweep(test_rng *rng) {
    const drv_point from = {(float)rng_between(rng, -60, 60), (float)rng_between(rng, -60, 60)};
    return (drv_sweep){from,
                       {from.x + (float)rng_between(rng, -80, 80), from.y + (float)rng_between(rng, -80, 80)},
                       (float)rng_between(rng, -3.1, 3.1),
                       (float)rng_between(rng, -3.1, 3.1),
                       (float)rng_between(rng, 0.1, rng_below(rng, 3) ? 25.0 : 100.0),
                       (float)rng_between(rng, 0.1, rng_below(rng, 3) ? 1.0 : 25.0)};
}

static drv_sweep grown(drv_sweep way, float by_m) {
    way.half_length_m += by_m;
    way.half_width_m += by_m;
    return way;
}

static drv_sweep moved(drv_sweep way, drv_point by) {
    way.from = (drv_point){way.from.x + by.x, way.from.y + by.y};
    way.to = (drv_point){way.to.x + by.x, way.to.y + by.y};
    return way;
}

/* A vehicle that passes another, or an edge if there is no other. */
typedef struct passage {
    drv_sweep way, other;
    const drv_segments *edges;
    drv_point aside; /* unit vector */
} passage;

static bool sweep_meets(const passage *one, float aside_m) {
    const drv_sweep way = moved(one->way, (drv_point){aside_m * one->aside.x, aside_m * one->aside.y});
    if (one->edges) return drv_sweep_overlaps_edge(&way, one->edges, 0);
    const drv_moving_box own = moving_box_on(way), other = moving_box_on(one->other);
    return !drv_separated_by_axes_of(&own, &other) && drv_sweeps_overlap(&own, &other);
}

/* The same on finer pieces, every side of a vehicle moved out by `grown_m`. */
static bool truly_meets(const passage *one, float aside_m, float grown_m) {
    const drv_point by = {aside_m * one->aside.x, aside_m * one->aside.y};
    const drv_sweep way = grown(moved(one->way, by), grown_m), other = grown(one->other, grown_m);
    return one->edges ? meets_edge_on_some_piece(&way, one->edges, 0, FINER * pieces_of(&way))
                      : meet_on_some_piece(&way, &other, FINER * pieces_of_both(&way, &other));
}

/* The smallest lateral offset without an overlap, to a centimetre. */
static float miss_m(const passage *one) {
    float meets_m = 0.0f, misses_m = 500.0f;
    while (misses_m - meets_m > 0.01f) {
        const float middle_m = 0.5f * (meets_m + misses_m);
        if (truly_meets(one, middle_m, 0.0f))
            meets_m = middle_m;
        else
            misses_m = middle_m;
    }
    return misses_m;
}

/* Checks both sides of that offset. */
static void check_bound(const passage *one, int32_t number) {
    const float first_m = miss_m(one) - 0.2f;
    int32_t met = 0;
    for (int32_t i = 0; i < 9; i++) {
        const float aside_m = first_m + 0.05f * (float)i;
        const bool meets = sweep_meets(one, aside_m);
        CHECK(meets ? truly_meets(one, aside_m, bound_m + truth_m) : !truly_meets(one, aside_m, -bound_m - truth_m),
              "case %d, %g m aside: %d", number, (double)aside_m, meets);
        met += meets;
    }
    CHECK(met < 9, "case %d: it met in all of %d", number, met);
}

TEST(a_sweep_of_the_largest_vehicles_is_off_by_3_cm_at_most) {
    test_rng rng = {73};
    for (int32_t i = 0; i < 30; i++) {
        const drv_point aside = drv_direction((float)rng_between(&rng, -3.1, 3.1));
        const passage one = {some_huge_sweep(&rng), some_huge_sweep(&rng), NULL, aside};
        check_bound(&one, i);
    }
}

TEST(a_sweep_of_the_largest_vehicles_over_an_edge_is_off_by_3_cm_at_most) {
    test_rng rng = {74};
    some_edges stored = {0};
    const drv_segments edges = segments_of(&stored);
    for (int32_t i = 0; i < 30; i++) {
        fill_edges(&stored, &rng, (drv_point){0.0f, 0.0f}, 80.0);
        const drv_point aside = drv_direction((float)rng_between(&rng, -3.1, 3.1));
        const drv_sweep none = {{0.0f, 0.0f}, {0.0f, 0.0f}, 0.0f, 0.0f, 0.0f, 0.0f};
        const passage one = {some_huge_sweep(&rng), none, &edges, aside};
        check_bound(&one, i);
    }
}
