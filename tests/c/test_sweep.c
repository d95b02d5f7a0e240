/* Do sweeps meet what they would meet if every piece of the step was looked at? Stretches that are passed over, and
 * what is ruled out, must hold nothing. */
#include "check.h"
#include "dice.h"
#include "sweep.h"
#include "vector.h"

/* The definition: as many pieces as keep each corner within 6 cm of turning, 128 at most; each with the heading of its
 * middle. */
static int32_t pieces_of(const drv_sweep *way) {
    const float pieces = 1.0f + fabsf(way->turn_rad) * (way->half_length_m + way->half_width_m) / 0.06f;
    return pieces < 128.0f ? (int32_t)pieces : 128;
}

static drv_box in_piece(const drv_sweep *way, int32_t piece, int32_t pieces) {
    const float begin = (float)piece / (float)pieces, middle = ((float)piece + 0.5f) / (float)pieces;
    return (drv_box){{way->from.x + begin * (way->to.x - way->from.x), way->from.y + begin * (way->to.y - way->from.y)},
                     drv_direction(way->heading_from_rad + middle * way->turn_rad),
                     way->half_length_m,
                     way->half_width_m};
}

static bool meet_on_some_piece(const drv_sweep *a, const drv_sweep *b) {
    const int32_t of_a = pieces_of(a), of_b = pieces_of(b), pieces = of_a > of_b ? of_a : of_b;
    const drv_point path = {((a->to.x - a->from.x) - (b->to.x - b->from.x)) / (float)pieces,
                            ((a->to.y - a->from.y) - (b->to.y - b->from.y)) / (float)pieces};
    for (int32_t piece = 0; piece < pieces; piece++)
        if (drv_moving_boxes_meet(in_piece(a, piece, pieces), path, in_piece(b, piece, pieces))) return true;
    return false;
}

enum { EDGES = 8, EDGE_ROOM = EDGES + DRV_LANES };

typedef struct some_edges {
    float x_m[EDGE_ROOM], y_m[EDGE_ROOM], half_length_m[EDGE_ROOM], along_x[EDGE_ROOM], along_y[EDGE_ROOM];
} some_edges;

static drv_segments segments_of(some_edges *edges) {
    return (drv_segments){.middle_x_m = edges->x_m, .middle_y_m = edges->y_m, .half_length_m = edges->half_length_m,
                          .along_x = edges->along_x, .along_y = edges->along_y, .count = EDGES};
}

static bool meets_edge_on_some_piece(const drv_sweep *way, const drv_segments *edges, int32_t edge) {
    const int32_t pieces = pieces_of(way);
    const drv_point path = {(way->to.x - way->from.x) / (float)pieces, (way->to.y - way->from.y) / (float)pieces};
    const drv_point middle = {edges->middle_x_m[edge], edges->middle_y_m[edge]};
    const drv_point along = {edges->along_x[edge], edges->along_y[edge]};
    for (int32_t piece = 0; piece < pieces; piece++)
        if (drv_moving_box_meets_segment(in_piece(way, piece, pieces), path, middle, along, edges->half_length_m[edge]))
            return true;
    return false;
}

/* Boxes from a toy's to a lorry's, slow and straight or fast and round; near the middle, at the far ends of the
 * coordinates, or where somebody would be who drove on for days. */
static drv_sweep some_sweep(dice *die, drv_point around) {
    const float way_m = (float)dice_between(die, 0.0, dice_below(die, 4) ? 3.0 : 12.0);
    const float direction_rad = (float)dice_between(die, -3.1, 3.1);
    const drv_point from = {around.x + (float)dice_between(die, -8, 8), around.y + (float)dice_between(die, -8, 8)};
    return (drv_sweep){from,
                       {from.x + way_m * cosf(direction_rad), from.y + way_m * sinf(direction_rad)},
                       (float)dice_between(die, -3.1, 3.1),
                       dice_below(die, 8) ? (float)dice_between(die, -1.5, 1.5) : (float)dice_between(die, -3.1, 3.1),
                       (float)dice_between(die, 0.05, dice_below(die, 3) ? 3.0 : 12.0),
                       (float)dice_between(die, 0.05, dice_below(die, 3) ? 1.0 : 2.0)};
}

static drv_mover mover_on(drv_sweep way) {
    const drv_point ahead = drv_direction(way.heading_from_rad + way.turn_rad);
    return (drv_mover){way, {way.to, ahead, way.half_length_m, way.half_width_m}};
}

static drv_point some_place(dice *die) {
    const float far_m = dice_below(die, 4) ? 100.0f : dice_below(die, 2) ? 50000.0f : 5e6f;
    return (drv_point){far_m * (float)dice_between(die, -1, 1), far_m * (float)dice_between(die, -1, 1)};
}

TEST(two_sweeps_meet_where_they_meet_on_some_piece) {
    dice die = {71};
    int32_t met = 0, apart = 0, ruled_out = 0;
    for (int32_t i = 0; i < 40000; i++) {
        const drv_point around = some_place(&die);
        const drv_sweep a = some_sweep(&die, around), b = some_sweep(&die, around);
        const bool meet = meet_on_some_piece(&a, &b);
        const drv_mover one = mover_on(a), other = mover_on(b);
        const bool stay_apart = drv_apart_by_axes_of(&one, &other);
        CHECK(stay_apart || drv_sweeps_meet(&one, &other) == meet, "case %d: %d", i, meet);
        CHECK(!(meet && stay_apart), "case %d", i);
        met += meet;
        apart += !meet;
        ruled_out += stay_apart;
    }
    CHECK(met > 7000 && apart > 7000 && ruled_out > 3000, "%d met, %d did not, %d were ruled out", met, apart,
          ruled_out);
}

TEST(a_sweep_meets_an_edge_where_it_does_on_some_piece) {
    dice die = {72};
    int32_t met = 0, apart = 0, ruled_out = 0;
    for (int32_t i = 0; i < 6000; i++) {
        const drv_point around = some_place(&die);
        const drv_sweep way = some_sweep(&die, around);
        const drv_mover own = mover_on(way);
        some_edges room = {0};
        for (int32_t edge = 0; edge < EDGES; edge++) {
            const drv_point along = drv_direction((float)dice_between(&die, -3.1, 3.1));
            room.x_m[edge] = around.x + (float)dice_between(&die, -15, 15);
            room.y_m[edge] = around.y + (float)dice_between(&die, -15, 15);
            room.half_length_m[edge] = (float)dice_between(&die, 0, 5);
            room.along_x[edge] = along.x;
            room.along_y[edge] = along.y;
        }
        const drv_segments edges = segments_of(&room);
        const float reach_m = way.half_length_m + way.half_width_m + drv_sweep_path_m(&way);
        const drv_edge_search search = drv_edge_search_of(&own, reach_m);
        for (int32_t edge = 0; edge < EDGES; edge++) {
            const bool meet = meets_edge_on_some_piece(&way, &edges, edge);
            const bool in_question = drv_edges_in_question(&edges, edge, &search) & 1u;
            CHECK(drv_sweep_meets_edge(&way, &edges, edge) == meet, "case %d, edge %d: %d", i, edge, meet);
            CHECK(in_question || !meet, "case %d, edge %d", i, edge);
            met += meet;
            apart += !meet;
            ruled_out += !in_question;
        }
    }
    CHECK(met > 3000 && apart > 15000 && ruled_out > 12000, "%d met, %d did not, %d were ruled out", met, apart,
          ruled_out);
}
