/* Do swept overlaps equal those of dense sub-steps? Intervals that are skipped, and candidates that the broad phase
 * rejects, must contain no overlap. */
#include "check.h"
#include "rng.h"
#include "step/sweep.h"
#include "math/vector.h"

/* The definition: so many pieces that in each the turn moves a corner by at most 6 cm; each has the heading of its
 * middle, so that a corner is off by half of that. */
static int32_t pieces_of(const drv_sweep *sweep) {
    return (int32_t)(1.0f + fabsf(sweep->turn_rad) * (sweep->half_length_m + sweep->half_width_m) / 0.06f);
}

static drv_box in_piece(const drv_sweep *sweep, int32_t piece, int32_t pieces) {
    const float begin = (float)piece / (float)pieces, middle = ((float)piece + 0.5f) / (float)pieces;
    return (drv_box){{sweep->from.x + begin * (sweep->to.x - sweep->from.x),
                      sweep->from.y + begin * (sweep->to.y - sweep->from.y)},
                     drv_direction(sweep->heading_from_rad + middle * sweep->turn_rad),
                     sweep->half_length_m,
                     sweep->half_width_m};
}

static int32_t pieces_of_both(const drv_sweep *a, const drv_sweep *b) {
    const int32_t of_a = pieces_of(a), of_b = pieces_of(b);
    return of_a > of_b ? of_a : of_b;
}

static bool overlap_on_some_piece(const drv_sweep *a, const drv_sweep *b, int32_t pieces) {
    const drv_point path = {((a->to.x - a->from.x) - (b->to.x - b->from.x)) / (float)pieces,
                            ((a->to.y - a->from.y) - (b->to.y - b->from.y)) / (float)pieces};
    for (int32_t piece = 0; piece < pieces; piece++)
        if (drv_swept_boxes_overlap(in_piece(a, piece, pieces), path, in_piece(b, piece, pieces))) return true;
    return false;
}

enum { EDGES = 8, EDGE_CAPACITY = EDGES + DRV_SIMD_PAD };

typedef struct edge_set {
    float x_m[EDGE_CAPACITY], y_m[EDGE_CAPACITY], half_length_m[EDGE_CAPACITY];
    float along_x[EDGE_CAPACITY], along_y[EDGE_CAPACITY];
} edge_set;

static drv_segments segments_of(edge_set *edges) {
    return (drv_segments){.middle_x_m = edges->x_m, .middle_y_m = edges->y_m, .half_length_m = edges->half_length_m,
                          .along_x = edges->along_x, .along_y = edges->along_y, .count = EDGES};
}

static void fill_edges(edge_set *edges, test_rng *rng, drv_point around, double far_m) {
    for (int32_t edge = 0; edge < EDGES; edge++) {
        const drv_point along = drv_direction((float)rng_between(rng, -3.1, 3.1));
        edges->x_m[edge] = around.x + (float)rng_between(rng, -far_m, far_m);
        edges->y_m[edge] = around.y + (float)rng_between(rng, -far_m, far_m);
        edges->half_length_m[edge] = (float)rng_between(rng, 0, 5);
        edges->along_x[edge] = along.x;
        edges->along_y[edge] = along.y;
    }
}

static bool overlaps_edge_on_some_piece(const drv_sweep *sweep, const drv_segments *edges, int32_t edge,
                                        int32_t pieces) {
    const drv_point path = {(sweep->to.x - sweep->from.x) / (float)pieces,
                            (sweep->to.y - sweep->from.y) / (float)pieces};
    const drv_point middle = {edges->middle_x_m[edge], edges->middle_y_m[edge]};
    const drv_point along = {edges->along_x[edge], edges->along_y[edge]};
    for (int32_t piece = 0; piece < pieces; piece++)
        if (drv_swept_box_overlaps_segment(in_piece(sweep, piece, pieces), path, middle, along,
                                           edges->half_length_m[edge]))
            return true;
    return false;
}

/* Boxes from 0.1 m to the size of a lorry, slow and straight or fast and turning; near the origin, at the limits of the
 * coordinates, or as far away as days of driving lead. */
static drv_sweep random_sweep(test_rng *rng, drv_point around) {
    const float path_m = (float)rng_between(rng, 0.0, rng_below(rng, 4) ? 3.0 : 12.0);
    const float direction_rad = (float)rng_between(rng, -3.1, 3.1);
    const drv_point from = {around.x + (float)rng_between(rng, -8, 8), around.y + (float)rng_between(rng, -8, 8)};
    return (drv_sweep){from,
                       {from.x + path_m * cosf(direction_rad), from.y + path_m * sinf(direction_rad)},
                       (float)rng_between(rng, -3.1, 3.1),
                       rng_below(rng, 8) ? (float)rng_between(rng, -1.5, 1.5) : (float)rng_between(rng, -3.1, 3.1),
                       (float)rng_between(rng, 0.05, rng_below(rng, 3) ? 3.0 : 12.0),
                       (float)rng_between(rng, 0.05, rng_below(rng, 3) ? 1.0 : 2.0)};
}

static drv_moving_box moving_box_on(drv_sweep sweep) {
    const drv_point ahead = drv_direction(sweep.heading_from_rad + sweep.turn_rad);
    return (drv_moving_box){sweep, {sweep.to, ahead, sweep.half_length_m, sweep.half_width_m}};
}

static drv_point random_point(test_rng *rng) {
    const float far_m = rng_below(rng, 4) ? 100.0f : rng_below(rng, 2) ? 50000.0f : 5e6f;
    return (drv_point){far_m * (float)rng_between(rng, -1, 1), far_m * (float)rng_between(rng, -1, 1)};
}

TEST(two_sweeps_overlap_where_they_do_on_some_piece) {
    test_rng rng = {71};
    int32_t overlapping = 0, apart = 0, excluded = 0;
    for (int32_t i = 0; i < 40000; i++) {
        const drv_point around = random_point(&rng);
        const drv_sweep a = random_sweep(&rng, around), b = random_sweep(&rng, around);
        const bool overlaps = overlap_on_some_piece(&a, &b, pieces_of_both(&a, &b));
        const drv_moving_box one = moving_box_on(a), other = moving_box_on(b);
        const bool is_excluded = drv_separated_by_axes_of(&one, &other);
        CHECK(is_excluded || drv_sweeps_overlap(&one, &other) == overlaps, "case %d: %d", i, overlaps);
        CHECK(!(overlaps && is_excluded), "case %d", i);
        overlapping += overlaps;
        apart += !overlaps;
        excluded += is_excluded;
    }
    CHECK(overlapping > 7000 && apart > 7000 && excluded > 3000, "%d overlap, %d do not, %d are excluded",
          overlapping, apart, excluded);
}

TEST(a_sweep_overlaps_an_edge_where_it_does_on_some_piece) {
    test_rng rng = {72};
    int32_t overlapping = 0, apart = 0, excluded = 0;
    for (int32_t i = 0; i < 6000; i++) {
        const drv_point around = random_point(&rng);
        const drv_sweep sweep = random_sweep(&rng, around);
        const drv_moving_box own = moving_box_on(sweep);
        edge_set stored = {0};
        fill_edges(&stored, &rng, around, 15.0);
        const drv_segments edges = segments_of(&stored);
        const float radius_m = sweep.half_length_m + sweep.half_width_m + drv_sweep_path_m(&sweep);
        const drv_edge_query query = drv_edge_query_of(&own, radius_m);
        for (int32_t edge = 0; edge < EDGES; edge++) {
            const bool overlaps = overlaps_edge_on_some_piece(&sweep, &edges, edge, pieces_of(&sweep));
            const bool is_candidate = drv_edge_broad_phase_bits(&edges, edge, &query) & 1u;
            CHECK(drv_sweep_overlaps_edge(&sweep, &edges, edge) == overlaps, "case %d, edge %d: %d", i, edge, overlaps);
            CHECK(is_candidate || !overlaps, "case %d, edge %d", i, edge);
            overlapping += overlaps;
            apart += !overlaps;
            excluded += !is_candidate;
        }
    }
    CHECK(overlapping > 3000 && apart > 15000 && excluded > 12000, "%d overlap, %d do not, %d are excluded",
          overlapping, apart, excluded);
}

/* ---- the error bound ---- */

/* Largest error of a corner in a sweep, and in the reference pieces of this test. */
static const float bound_m = 0.03f, reference_m = 0.015f;
enum { FINER = 2 };

/* Vehicles of the largest and the narrowest size that a scene may have, which turn while they move. */
static drv_sweep random_huge_sweep(test_rng *rng) {
    const drv_point from = {(float)rng_between(rng, -60, 60), (float)rng_between(rng, -60, 60)};
    return (drv_sweep){from,
                       {from.x + (float)rng_between(rng, -80, 80), from.y + (float)rng_between(rng, -80, 80)},
                       (float)rng_between(rng, -3.1, 3.1),
                       (float)rng_between(rng, -3.1, 3.1),
                       (float)rng_between(rng, 0.1, rng_below(rng, 3) ? 25.0 : 100.0),
                       (float)rng_between(rng, 0.1, rng_below(rng, 3) ? 1.0 : 25.0)};
}

static drv_sweep grown(drv_sweep sweep, float by_m) {
    sweep.half_length_m += by_m;
    sweep.half_width_m += by_m;
    return sweep;
}

static drv_sweep moved(drv_sweep sweep, drv_point by) {
    sweep.from = (drv_point){sweep.from.x + by.x, sweep.from.y + by.y};
    sweep.to = (drv_point){sweep.to.x + by.x, sweep.to.y + by.y};
    return sweep;
}

/* A vehicle that passes another, or an edge if there is no other. */
typedef struct passing {
    drv_sweep sweep, other;
    const drv_segments *edges;
    drv_point aside; /* unit vector */
} passing;

static bool core_overlaps(const passing *one, float aside_m) {
    const drv_sweep sweep = moved(one->sweep, (drv_point){aside_m * one->aside.x, aside_m * one->aside.y});
    if (one->edges) return drv_sweep_overlaps_edge(&sweep, one->edges, 0);
    const drv_moving_box own = moving_box_on(sweep), other = moving_box_on(one->other);
    return !drv_separated_by_axes_of(&own, &other) && drv_sweeps_overlap(&own, &other);
}

/* The same on finer pieces, every side of a vehicle moved out by `grown_m`. */
static bool reference_overlaps(const passing *one, float aside_m, float grown_m) {
    const drv_point by = {aside_m * one->aside.x, aside_m * one->aside.y};
    const drv_sweep sweep = grown(moved(one->sweep, by), grown_m), other = grown(one->other, grown_m);
    return one->edges ? overlaps_edge_on_some_piece(&sweep, one->edges, 0, FINER * pieces_of(&sweep))
                      : overlap_on_some_piece(&sweep, &other, FINER * pieces_of_both(&sweep, &other));
}

/* The smallest lateral offset without an overlap, to a centimetre. */
static float smallest_clear_m(const passing *one) {
    float overlap_m = 0.0f, clear_m = 500.0f;
    while (clear_m - overlap_m > 0.01f) {
        const float middle_m = 0.5f * (overlap_m + clear_m);
        if (reference_overlaps(one, middle_m, 0.0f))
            overlap_m = middle_m;
        else
            clear_m = middle_m;
    }
    return clear_m;
}

/* Checks both sides of that offset. */
static void check_bound(const passing *one, int32_t number) {
    const float first_m = smallest_clear_m(one) - 0.2f;
    int32_t overlapping = 0;
    for (int32_t i = 0; i < 9; i++) {
        const float aside_m = first_m + 0.05f * (float)i;
        const bool overlaps = core_overlaps(one, aside_m);
        CHECK(overlaps ? reference_overlaps(one, aside_m, bound_m + reference_m)
                       : !reference_overlaps(one, aside_m, -bound_m - reference_m),
              "case %d, %g m aside: %d", number, (double)aside_m, overlaps);
        overlapping += overlaps;
    }
    CHECK(overlapping < 9, "case %d: it overlaps at all of %d", number, overlapping);
}

TEST(a_sweep_of_the_largest_vehicles_is_off_by_3_cm_at_most) {
    test_rng rng = {73};
    for (int32_t i = 0; i < 30; i++) {
        const drv_point aside = drv_direction((float)rng_between(&rng, -3.1, 3.1));
        const passing one = {random_huge_sweep(&rng), random_huge_sweep(&rng), NULL, aside};
        check_bound(&one, i);
    }
}

TEST(a_sweep_of_the_largest_vehicles_over_an_edge_is_off_by_3_cm_at_most) {
    test_rng rng = {74};
    edge_set stored = {0};
    const drv_segments edges = segments_of(&stored);
    for (int32_t i = 0; i < 30; i++) {
        fill_edges(&stored, &rng, (drv_point){0.0f, 0.0f}, 80.0);
        const drv_point aside = drv_direction((float)rng_between(&rng, -3.1, 3.1));
        const drv_sweep none = {{0.0f, 0.0f}, {0.0f, 0.0f}, 0.0f, 0.0f, 0.0f, 0.0f};
        const passing one = {random_huge_sweep(&rng), none, &edges, aside};
        check_bound(&one, i);
    }
}
