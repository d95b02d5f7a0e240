/* Which lanes succeed a lane, and which point is at a length along it? */
#include "scene/lanes.h"

#include <math.h>
#include <string.h>

#include "platform/error.h"

/* 60 degrees. */
static const double same_way_cos = 0.5;

/* Checks the successors of one road: only a lane has them, and each must be another lane. */
static drv_status check_links(const drv_scene_input *in, int32_t road, char *message) {
    for (int32_t link = in->lane_start[road]; link < in->lane_start[road + 1]; link++) {
        const int32_t to = in->lane_successor[link];
        if (in->road_kind[road] != DRV_ROAD_LANE)
            return drv_fail(message, DRV_ERROR_SCENE,
                            "scene %.80s: road %d of kind %d has successors; only lanes, kind %d, have them", in->name,
                            road, in->road_kind[road], DRV_ROAD_LANE);
        if (to >= in->road_count)
            return drv_fail(message, DRV_ERROR_SCENE,
                            "scene %.80s: lane_successor of link %d is %d; it must be below road_count, %d", in->name,
                            link, to, in->road_count);
        if (in->road_kind[to] != DRV_ROAD_LANE)
            return drv_fail(message, DRV_ERROR_SCENE,
                            "scene %.80s: lane_successor of link %d is road %d of kind %d; it must be a lane, kind %d",
                            in->name, link, to, in->road_kind[to], DRV_ROAD_LANE);
        if (to == road)
            return drv_fail(message, DRV_ERROR_SCENE,
                            "scene %.80s: lane_successor of link %d is road %d, the lane itself; it must be another",
                            in->name, link, to);
    }
    return DRV_OK;
}

drv_status drv_lanes_check(const drv_scene_input *in, char *message) {
    const int32_t *start = in->lane_start;
    if (start[0] != 0 || start[in->road_count] != in->link_count)
        return drv_fail(message, DRV_ERROR_SCENE,
                        "scene %.80s: lane_start runs from %d to %d; it must run from 0 to %d", in->name, start[0],
                        start[in->road_count], in->link_count);
    for (int32_t road = 0; road < in->road_count; road++)
        if (start[road + 1] < start[road])
            return drv_fail(message, DRV_ERROR_SCENE, "scene %.80s: road %d has %d successors; it must have at least 0",
                            in->name, road, start[road + 1] - start[road]);
    drv_status status = DRV_OK;
    for (int32_t road = 0; status == DRV_OK && road < in->road_count; road++) status = check_links(in, road, message);
    return status;
}

drv_lanes drv_lanes_measure(const drv_scene_input *in) {
    drv_lanes lanes = {.road_count = in->road_count, .link_count = in->link_count};
    for (int32_t road = 0; road < in->road_count; road++)
        if (in->road_kind[road] == DRV_ROAD_LANE) lanes.point_count += in->road_start[road + 1] - in->road_start[road];
    return lanes;
}

/* Copies the points of all lanes, and measures the length along the lane up to each. */
static void fill_points(drv_lanes *lanes, const drv_scene_input *in) {
    int32_t filled = 0;
    for (int32_t road = 0; road < in->road_count; road++) {
        lanes->point_start[road] = filled;
        if (in->road_kind[road] != DRV_ROAD_LANE) continue;
        double arc_m = 0.0; /* a float32 sum of many short steps would drift */
        for (int32_t i = in->road_start[road]; i < in->road_start[road + 1]; i++, filled++) {
            lanes->x_m[filled] = in->point_x_m[i];
            lanes->y_m[filled] = in->point_y_m[i];
            if (lanes->z_m) lanes->z_m[filled] = in->point_z_m[i];
            if (i > in->road_start[road]) {
                const double dx = (double)in->point_x_m[i] - (double)in->point_x_m[i - 1];
                const double dy = (double)in->point_y_m[i] - (double)in->point_y_m[i - 1];
                arc_m += sqrt(dx * dx + dy * dy);
            }
            lanes->arc_m[filled] = (float)arc_m;
        }
    }
    lanes->point_start[in->road_count] = filled;
}

/* Copies the successors, and lists the predecessors of each lane, ascending, by a counting sort of the links. */
static void fill_links(drv_lanes *lanes, const drv_scene_input *in) {
    memcpy(lanes->successor_start, in->lane_start, ((size_t)in->road_count + 1) * sizeof *in->lane_start);
    if (in->link_count > 0)
        memcpy(lanes->successor, in->lane_successor, (size_t)in->link_count * sizeof *in->lane_successor);

    /* start[road + 1] first counts the links into the road; the prefix sum turns it into the end of their range */
    int32_t *start = lanes->predecessor_start;
    memset(start, 0, ((size_t)in->road_count + 1) * sizeof *start);
    for (int32_t link = 0; link < in->link_count; link++) start[in->lane_successor[link] + 1]++;
    for (int32_t road = 0; road < in->road_count; road++) start[road + 1] += start[road];

    /* fill each range from its end, which turns start[road + 1] into its beginning; then move that to start[road] */
    for (int32_t road = in->road_count - 1; road >= 0; road--)
        for (int32_t link = in->lane_start[road + 1] - 1; link >= in->lane_start[road]; link--)
            lanes->predecessor[--start[in->lane_successor[link] + 1]] = road;
    memmove(start, start + 1, (size_t)in->road_count * sizeof *start);
    start[in->road_count] = in->link_count;
}

void drv_lanes_fill(drv_lanes *lanes, const drv_scene_input *in) {
    fill_points(lanes, in);
    fill_links(lanes, in);
}

drv_lane_place drv_lane_nearest(const drv_lanes *lanes, int32_t lane, drv_point at, const drv_point *ahead) {
    drv_lane_place best = {lane, 0.0, INFINITY, 0.0f};
    for (int32_t i = lanes->point_start[lane]; i + 1 < lanes->point_start[lane + 1]; i++) {
        const double dx = (double)lanes->x_m[i + 1] - (double)lanes->x_m[i];
        const double dy = (double)lanes->y_m[i + 1] - (double)lanes->y_m[i];
        const double length_m = sqrt(dx * dx + dy * dy);
        if (!(length_m > 0.0)) continue;
        if (ahead && (dx * (double)ahead->x + dy * (double)ahead->y) / length_m < same_way_cos) continue;
        const double x = (double)at.x - (double)lanes->x_m[i], y = (double)at.y - (double)lanes->y_m[i];
        const double share = fmin(fmax((x * dx + y * dy) / (length_m * length_m), 0.0), 1.0);
        const double off_x = x - share * dx, off_y = y - share * dy;
        const double distance_m = sqrt(off_x * off_x + off_y * off_y);
        if (!(distance_m < best.distance_m)) continue;
        const double first_m = lanes->arc_m[i], step_m = (double)lanes->arc_m[i + 1] - first_m;
        const float z_m =
            lanes->z_m ? lanes->z_m[i] + (float)share * (lanes->z_m[i + 1] - lanes->z_m[i]) : 0.0f;
        best = (drv_lane_place){lane, first_m + share * step_m, distance_m, z_m};
    }
    return best;
}
