/* Are lane links, arc lengths and routes those of the roads that a scene was created with? */
#include "scene/lanes.h"

#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "rng.h"
#include "scene/scene.h"
#include "scene_fixture.h"
#include "small_scene.h"

enum { ROADS = 5, POINTS = 12, LINKS = 5 };

/* A square of four lanes around an edge of one segment, road 2: lanes 0, 1, 3 and 4 lead into one another, and lane 0
 * also into lane 3. The first two sides are 30 m and 40 m long, with a point 10 m from their start. */
typedef struct square {
    small_scene small;
    int32_t road_start[ROADS + 1], lane_start[ROADS + 1], lane_successor[LINKS];
    uint8_t road_kind[ROADS];
    float width_m[ROADS], limit_mps[ROADS], x_m[POINTS], y_m[POINTS];
} square;

static void make_square(square *map) {
    /* the arrays */
    make_small(&map->small);
    const int32_t road_start[] = {0, 3, 6, 8, 10, 12}, lane_start[] = {0, 2, 3, 3, 4, 5};
    const int32_t lane_successor[] = {1, 3, 3, 4, 0};
    const uint8_t road_kind[] = {DRV_ROAD_LANE, DRV_ROAD_LANE, DRV_ROAD_EDGE, DRV_ROAD_LANE, DRV_ROAD_LANE};
    const float x_m[] = {0, 10, 30, 30, 30, 30, 5, 9, 30, 0, 0, 0}, y_m[] = {0, 0, 0, 0, 10, 40, 5, 5, 40, 40, 40, 0};
    memcpy(map->road_start, road_start, sizeof road_start);
    memcpy(map->lane_start, lane_start, sizeof lane_start);
    memcpy(map->lane_successor, lane_successor, sizeof lane_successor);
    memcpy(map->road_kind, road_kind, sizeof road_kind);
    memcpy(map->x_m, x_m, sizeof x_m);
    memcpy(map->y_m, y_m, sizeof y_m);
    memset(map->width_m, 0, sizeof map->width_m);
    memset(map->limit_mps, 0, sizeof map->limit_mps);
    /* the input that refers to them */
    drv_scene_input *in = &map->small.input;
    in->road_count = ROADS;
    in->point_count = POINTS;
    in->link_count = LINKS;
    in->road_start = map->road_start;
    in->road_kind = map->road_kind;
    in->road_width_m = map->width_m;
    in->road_speed_limit_mps = map->limit_mps;
    in->point_x_m = map->x_m;
    in->point_y_m = map->y_m;
    in->lane_start = map->lane_start;
    in->lane_successor = map->lane_successor;
}

/* ---- links ---- */

static bool has(const int32_t *start, const int32_t *links, int32_t from, int32_t to) {
    for (int32_t i = start[from]; i < start[from + 1]; i++)
        if (links[i] == to) return true;
    return false;
}

TEST(predecessors_are_the_inverse_of_successors) {
    enum { LANES = 12, MANY = 40 };
    test_rng rng = {61};
    for (int32_t round = 0; round < 200; round++) {
        /* random links of every lane to about a quarter of the others */
        small_scene small;
        make_small(&small);
        int32_t road_start[LANES + 1], lane_start[LANES + 1] = {0}, successor[MANY], count = 0;
        uint8_t kind[LANES];
        float zero[LANES] = {0}, at_m[LANES];
        for (int32_t i = 0; i <= LANES; i++) road_start[i] = i;
        for (int32_t i = 0; i < LANES; i++) {
            kind[i] = DRV_ROAD_LANE;
            at_m[i] = (float)i;
            for (int32_t to = 0; to < LANES && count < MANY; to++)
                if (to != i && rng_below(&rng, 4) == 0) successor[count++] = to;
            lane_start[i + 1] = count;
        }
        /* a scene of these lanes, each of one point */
        drv_scene_input *in = &small.input;
        in->road_count = in->point_count = LANES;
        in->link_count = count;
        in->road_start = road_start;
        in->road_kind = kind;
        in->road_width_m = in->road_speed_limit_mps = zero;
        in->point_x_m = in->point_y_m = at_m;
        in->lane_start = lane_start;
        in->lane_successor = successor;
        /* a predecessor for every successor, in ascending order */
        drv_scene *scene = scene_of(in);
        const drv_lanes *lanes = &scene->lanes;
        CHECK(lanes->predecessor_start[0] == 0 && lanes->predecessor_start[LANES] == count, "%d links",
              lanes->predecessor_start[LANES]);
        for (int32_t a = 0; a < LANES; a++)
            for (int32_t b = 0; b < LANES; b++)
                CHECK(has(lanes->successor_start, lanes->successor, a, b) ==
                          has(lanes->predecessor_start, lanes->predecessor, b, a), "%d to %d", a, b);
        for (int32_t lane = 0; lane < LANES; lane++)
            for (int32_t i = lanes->predecessor_start[lane] + 1; i < lanes->predecessor_start[lane + 1]; i++)
                CHECK(lanes->predecessor[i - 1] < lanes->predecessor[i], "predecessors of %d do not ascend", lane);
        drv_scene_release(scene);
    }
}

TEST(a_scene_without_links_has_no_lane_graph_and_reports_it) {
    small_scene small;
    make_small(&small);
    drv_scene *scene = scene_of(&small.input);
    CHECK(scene->lanes.point_start == NULL, "there is one");
    const drv_route_ends ends = {0};
    char message[DRV_MESSAGE_BYTES] = "";
    int32_t count = 7;
    CHECK(drv_scene_route(scene, &ends, 0, NULL, &count, message) == DRV_ERROR_CALL && count == 0, "it was searched");
    CHECK(strstr(message, "scene small has no lane graph; it must"), "%s", message);
    drv_scene_release(scene);
}

TEST(only_the_lane_graph_takes_memory_and_nothing_else_changes) {
    square map;
    make_square(&map);
    drv_scene *with = scene_of(&map.small.input);
    map.small.input.lane_start = map.small.input.lane_successor = NULL;
    map.small.input.link_count = 0;
    drv_scene *without = scene_of(&map.small.input);
    CHECK(with->bytes > without->bytes, "%d bytes", (int)with->bytes);
    CHECK(with->segments.count == without->segments.count && with->edges.count == without->edges.count, "segments");
    drv_scene_release(with);
    drv_scene_release(without);
}

/* ---- points ---- */

TEST(arc_lengths_are_those_of_the_polyline) {
    square map;
    make_square(&map);
    drv_scene *scene = scene_of(&map.small.input);
    const drv_lanes *lanes = &scene->lanes;
    const float arc_m[] = {0, 10, 30, 0, 10, 40, 0, 30, 0, 40};
    CHECK(lanes->point_count == 10, "%d points of lanes", lanes->point_count);
    for (int32_t i = 0; i < lanes->point_count; i++) CHECK(lanes->arc_m[i] == arc_m[i], "%d: %g", i, (double)arc_m[i]);
    CHECK(lanes->point_start[2] == lanes->point_start[3], "an edge has points");
    CHECK(drv_lane_length_m(lanes, 1) == 40.0f, "%g m", (double)drv_lane_length_m(lanes, 1));
    const struct {
        float arc_m, x, y;
    } places[] = {{-1, 30, 0}, {0, 30, 0}, {4, 30, 4}, {10, 30, 10}, {25, 30, 25}, {40, 30, 40}, {41, 30, 40}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const drv_point point = drv_lane_point(lanes, 1, places[i].arc_m);
        CHECK(point.x == places[i].x && point.y == places[i].y, "at %g m: %g, %g", (double)places[i].arc_m,
              (double)point.x, (double)point.y);
    }
    drv_scene_release(scene);
}

/* ---- routes ---- */

TEST(a_route_is_the_shortest_path_between_its_two_ends) {
    square map;
    make_square(&map);
    drv_scene *scene = scene_of(&map.small.input);
    char message[DRV_MESSAGE_BYTES] = "";
    drv_route_lane lanes[8];
    int32_t count = 0;
    /* From lane 0, lane 3 is a successor: lane 1 is left out. */
    const drv_route_ends ends = {4.0f, 1.0f, 0.0f, 0.0f, 30.0f, NAN, NAN};
    CHECK(drv_scene_route(scene, &ends, 8, lanes, &count, message) == DRV_OK && count == 3, "%d: %s", count, message);
    const drv_route_lane expected[] = {{0, 4, 30}, {3, 0, 30}, {4, 0, 10}};
    for (int32_t i = 0; i < 3; i++)
        CHECK(lanes[i].road == expected[i].road && lanes[i].from_m == expected[i].from_m &&
              lanes[i].to_m == expected[i].to_m, "%d: road %d from %g to %g", i, lanes[i].road,
              (double)lanes[i].from_m, (double)lanes[i].to_m);
    float x_m[4], y_m[4];
    CHECK(drv_scene_lane_points(scene, lanes[0], 4, x_m, y_m, &count, message) == DRV_OK && count == 3, "%s", message);
    CHECK(x_m[0] == 4.0f && x_m[1] == 10.0f && x_m[2] == 30.0f && y_m[1] == 0.0f, "%g %g %g", (double)x_m[0],
          (double)x_m[1], (double)x_m[2]);

    /* A goal behind the start is reached around the square, on the same lane at both ends. */
    const drv_route_ends around = {8.0f, 0.0f, 0.0f, 2.0f, 0.0f, NAN, NAN};
    CHECK(drv_scene_route(scene, &around, 8, lanes, &count, message) == DRV_OK && count == 4, "%d: %s", count, message);
    CHECK(lanes[0].road == 0 && lanes[3].road == 0 && lanes[3].to_m == 2.0f, "ends on %d", lanes[3].road);
    /* A small array gets the first lanes, and the count of all. */
    lanes[1].road = -1;
    CHECK(drv_scene_route(scene, &around, 1, lanes, &count, message) == DRV_OK && count == 4, "%d", count);
    CHECK(lanes[0].road == 0 && lanes[1].road == -1, "it was written past the end");
    drv_scene_release(scene);
}

TEST(a_lane_has_the_direction_of_its_segment_and_past_an_end_that_of_the_end) {
    square map;
    make_square(&map);
    map.x_m[1] = map.y_m[1] = 10.0f; /* a bend: from (0, 0) to (10, 10), and from there to (30, 0) */
    drv_scene *scene = scene_of(&map.small.input);
    const float half = 0.70710678f, bend_m = 14.142136f, down_x = 0.89442719f, down_y = -0.44721360f;
    const float along_m[] = {-5.0f, 0.0f, bend_m - 0.01f, bend_m + 0.01f, 30.0f, 1e9f};
    for (int32_t i = 0; i < 6; i++) {
        float x = 9.0f, y = 9.0f;
        char message[DRV_MESSAGE_BYTES] = "";
        CHECK(drv_scene_lane_direction(scene, 0, along_m[i], &x, &y, message) == DRV_OK &&
              fabsf(x - (i < 3 ? half : down_x)) < 1e-6f && fabsf(y - (i < 3 ? half : down_y)) < 1e-6f,
              "%d: %g %g: %s", i, (double)x, (double)y, message);
    }
    drv_scene_release(scene);
}

TEST(lane_parts_and_ends_out_of_range_are_refused) {
    square map;
    make_square(&map);
    drv_scene *scene = scene_of(&map.small.input);
    const drv_route_lane wrong[] = {{2, 0, 1}, {-1, 0, 1}, {ROADS, 0, 1}, {INT32_MIN, 0, 1}, {0, -1, 1}, {0, 2, 1},
                                    {0, 0, 31}, {0, NAN, 1}, {0, 0, NAN}, {0, 0, INFINITY}};
    char message[DRV_MESSAGE_BYTES] = "";
    float x_m[4], y_m[4];
    int32_t count = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(drv_scene_lane_points(scene, wrong[i], 4, x_m, y_m, &count, message) == DRV_ERROR_CALL && count == 0 &&
              strstr(message, " must be "), "case %d: %s", (int)i, message);
    for (size_t i = 0; i < 4; i++) /* those of roads that are no lanes */
        CHECK(drv_scene_lane_direction(scene, wrong[i].road, 0.0f, x_m, y_m, message) == DRV_ERROR_CALL &&
              strstr(message, " must be "), "case %d: %s", (int)i, message);
    drv_route_ends ends[] = {{NAN, 0, 0, 0, 0, 0, 0}, {0, INFINITY, 0, 0, 0, 0, 0}, {0, 0, NAN, 0, 0, 0, 0},
                             {0, 0, 0, 1e30f, 0, 0, 0}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        CHECK(drv_scene_route(scene, &ends[i], 0, NULL, &count, message) == DRV_ERROR_CALL &&
              strstr(message, " must be "), "case %d: %s", (int)i, message);
    drv_scene_release(scene);
}

/* ---- what is refused ---- */

TEST(hostile_links_are_refused_by_name) {
    /* values of lane_successor, then of lane_start, each with the words of its error */
    const struct {
        int32_t link, to;
        const char *named;
    } links[] = {{0, -1, "lane_successor of link 0 is -1"},    {4, INT32_MIN, "lane_successor of link 4"},
                 {2, ROADS, "link 2 is 5; it must be below"},  {3, INT32_MAX, "lane_successor of link 3"},
                 {1, 2, "link 1 is road 2 of kind 3"},         {0, 0, "link 0 is road 0, the lane itself"},
                 {4, 4, "link 4 is road 4, the lane itself"}};
    const struct {
        int32_t entry, value;
        const char *named;
    } starts[] = {{0, 1, "lane_start runs from 1"},          {ROADS, 4, "to 4; it must run from 0 to 5"},
                  {1, -1, "lane_start of entry 1"},          {2, 1, "road 1 has -1 successors"},
                  {3, 4, "road 2 of kind 3 has successors"}, {2, INT32_MAX, "lane_start of entry 2"}};
    /* each in an otherwise valid scene */
    char message[DRV_MESSAGE_BYTES] = "";
    drv_scene *scene = NULL;
    square map;
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        make_square(&map);
        map.lane_successor[links[i].link] = links[i].to;
        CHECK(drv_scene_create(&map.small.input, NULL, &scene, message) == DRV_ERROR_SCENE && !scene,
              "%s", links[i].named);
        CHECK(strstr(message, links[i].named) && strstr(message, " must "), "%s: %s", links[i].named, message);
    }
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        make_square(&map);
        map.lane_start[starts[i].entry] = starts[i].value;
        CHECK(drv_scene_create(&map.small.input, NULL, &scene, message) == DRV_ERROR_SCENE && !scene,
              "%s", starts[i].named);
        CHECK(strstr(message, starts[i].named), "%s: %s", starts[i].named, message);
    }
    make_square(&map);
    map.small.input.lane_start = NULL;
    CHECK(drv_scene_create(&map.small.input, NULL, &scene, message) == DRV_ERROR_SCENE &&
          strstr(message, "link_count is 5"),
          "%s", message);
}
