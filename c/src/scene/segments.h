/* How do roads become the segments of the grid? */
#ifndef DRV_SEGMENTS_H
#define DRV_SEGMENTS_H

#include "drive.h"
#include "math/grid.h"

typedef struct drv_road_segment {
    drv_point middle, along; /* along: unit direction; zero for a single point */
    float half_length_m;
    float middle_z_m, half_rise_m; /* 0 without heights */
    int32_t road;
    int32_t cell;  /* set by drv_segments_sort */
    int32_t order; /* index before sorting, by which ties are sorted */
} drv_road_segment;

/* Writes the segments of all roads to `out`, in the order of the input, unless it is NULL; returns their number. */
int64_t drv_segments_split(const drv_scene_input *in, drv_road_segment *out);

/* Sorts the segments by the cells of a grid that covers them; returns the grid. */
drv_grid drv_segments_sort(drv_road_segment *segments, int64_t count);

/* Copies the sorted segments, or only those of road edges, to the arrays of `out`. */
void drv_segments_fill(drv_segments *out, const drv_road_segment *segments, int64_t count, const uint8_t *road_kind,
                       bool edges_only, int32_t cell_count, bool has_height);

#endif
