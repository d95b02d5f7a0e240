/* How do roads become the segments of the grid? Long ones are split, and all sorted by the cell of their middle. */
#include "scene/segments.h"

#include <math.h>
#include <stdlib.h>

#include "math/simd_pad.h"
#include "scene/scene.h"

/* Points of a polyline that are nearer to each other than this are repetitions. */
static const float repeated_m = 1e-4f;

int64_t drv_segments_split(const drv_scene_input *in, drv_road_segment *out) {
    int64_t count = 0;
    for (int32_t road = 0; road < in->road_count; road++) {
        const int32_t first = in->road_start[road], end = in->road_start[road + 1];
        int64_t before = count;
        for (int32_t i = first; i + 1 < end; i++) {
            /* the step from a point to the next one, unless they are at one place */
            float dx = in->point_x_m[i + 1] - in->point_x_m[i], dy = in->point_y_m[i + 1] - in->point_y_m[i];
            float length_m = sqrtf(dx * dx + dy * dy);
            const float z_m = in->has_height ? in->point_z_m[i] : 0.0f;
            const float dz = in->has_height ? in->point_z_m[i + 1] - z_m : 0.0f;
            if (length_m < repeated_m) continue;
            /* split the step into pieces of at most the limit */
            int32_t pieces = (int32_t)ceilf(length_m / drv_segment_limit_m);
            if (!out) {
                count += pieces;
                continue;
            }
            for (int32_t piece = 0; piece < pieces; piece++, count++) {
                float share = ((float)piece + 0.5f) / (float)pieces;
                out[count] = (drv_road_segment){{in->point_x_m[i] + share * dx, in->point_y_m[i] + share * dy},
                                                {dx / length_m, dy / length_m},
                                                0.5f * length_m / (float)pieces,
                                                z_m + share * dz, 0.5f * dz / (float)pieces,
                                                road, 0, (int32_t)count};
            }
        }
        if (count == before) { /* a single point, such as a stop sign */
            if (out)
                out[count] = (drv_road_segment){{in->point_x_m[first], in->point_y_m[first]}, {0.0f, 0.0f}, 0.0f,
                                                in->has_height ? in->point_z_m[first] : 0.0f, 0.0f,
                                                road, 0, (int32_t)count};
            count++;
        }
    }
    return count;
}

static int by_cell_then_file_order(const void *left, const void *right) {
    const drv_road_segment *a = left, *b = right;
    return a->cell != b->cell ? (a->cell > b->cell) - (a->cell < b->cell)
                              : (a->order > b->order) - (a->order < b->order);
}

static drv_grid cover(const drv_road_segment *segments, int64_t count) {
    float left = INFINITY, bottom = INFINITY, right = -INFINITY, top = -INFINITY;
    for (int64_t i = 0; i < count; i++) {
        left = drv_smaller(left, segments[i].middle.x);
        right = drv_larger(right, segments[i].middle.x);
        bottom = drv_smaller(bottom, segments[i].middle.y);
        top = drv_larger(top, segments[i].middle.y);
    }
    if (count == 0) left = bottom = right = top = 0.0f;
    return drv_grid_cover(left, bottom, right, top, drv_cell_m, DRV_CELL_LIMIT);
}

drv_grid drv_segments_sort(drv_road_segment *segments, int64_t count) {
    const drv_grid grid = cover(segments, count);
    for (int64_t i = 0; i < count; i++)
        segments[i].cell = drv_grid_cell(&grid, segments[i].middle.x, segments[i].middle.y);
    qsort(segments, (size_t)count, sizeof *segments, by_cell_then_file_order);
    return grid;
}

void drv_segments_fill(drv_segments *out, const drv_road_segment *segments, int64_t count, const uint8_t *road_kind,
                       bool edges_only, int32_t cell_count, bool has_height) {
    int32_t filled = 0, cell = 0;
    out->cell_start[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        if (edges_only && road_kind[segments[i].road] != DRV_ROAD_EDGE) continue;
        while (cell < segments[i].cell) out->cell_start[++cell] = filled;
        out->middle_x_m[filled] = segments[i].middle.x;
        out->middle_y_m[filled] = segments[i].middle.y;
        out->along_x[filled] = segments[i].along.x;
        out->along_y[filled] = segments[i].along.y;
        out->half_length_m[filled] = segments[i].half_length_m;
        if (has_height) {
            out->middle_z_m[filled] = segments[i].middle_z_m;
            out->half_rise_m[filled] = segments[i].half_rise_m;
        }
        filled++;
    }
    while (cell < cell_count) out->cell_start[++cell] = filled;
    for (int32_t i = 0; i < DRV_SIMD_PAD; i++) out->middle_x_m[filled + i] = INFINITY; /* padding */
}
