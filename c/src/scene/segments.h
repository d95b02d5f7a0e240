/* How do roads become the segments of the grid? */
#ifndef DRV_SEGMENTS_H
#define DRV_SEGMENTS_H

#include "drive.h"
#include "math/grid.h"

typedef struct drv_road_segment {
    drv_point middle, along;
    float half_length_m;
    int32_t road, cell, order;
} drv_road_segment;

/* Writes the segments of all roads to `out`, in file order, unless it is NULL; returns their number. */
int64_t drv_segments_split(const drv_scene_input *in, drv_road_segment *out);

/* Returns a grid that covers the segments, and sorts them by its cells. */
drv_grid drv_segments_sort(drv_road_segment *segments, int64_t count);

/* Copies the sorted segments, all or those of road edges alone, to their arrays. */
void drv_segments_fill(drv_segments *out, const drv_road_segment *segments, int64_t count, const uint8_t *road_kind,
                       bool edges_only, int32_t cell_count);

#endif
