/* Where do the paths of the rule-based vehicles of a scene cross? */
#include "scene/crossings.h"

#include <math.h>
#include <stdlib.h>

#include "math/random.h"
#include "scene/paths.h"

/* ---- a hash table of points ---- */

/* The points of all paths by the cell of a square grid that contains them; a cell is as wide as the largest distance
 * at which points are compared. */
typedef struct table {
    int32_t *head, *after; /* the first point of a slot, and of each point the next one; -1: none */
    int32_t *owner;        /* the path of each point */
    uint64_t mask;
    float cell_m;
} table;

static uint64_t slot_of(const table *in, int32_t column, int32_t row) {
    return drv_mix((uint64_t)(uint32_t)column << 32 | (uint32_t)row) & in->mask;
}

static int32_t cell_of(const table *in, float at_m) { return (int32_t)floorf(at_m / in->cell_m); }

static void fill_table(table *to, const drv_paths *paths) {
    for (uint64_t slot = 0; slot <= to->mask; slot++) to->head[slot] = -1;
    for (int32_t path = 0; path < paths->count; path++)
        for (int32_t i = paths->point_start[path]; i < paths->point_start[path + 1]; i++) {
            const uint64_t slot = slot_of(to, cell_of(to, paths->x_m[i]), cell_of(to, paths->y_m[i]));
            to->owner[i] = path;
            to->after[i] = to->head[slot];
            to->head[slot] = i;
        }
}

/* ---- zones ---- */

/* Whether another path crosses the one of a point near it. */
static bool is_crossed(const drv_paths *paths, const float *width_m, const table *in, int32_t point) {
    const float x_m = paths->x_m[point], y_m = paths->y_m[point];
    const int32_t own = in->owner[point], column = cell_of(in, x_m), row = cell_of(in, y_m);
    for (int32_t cell = 0; cell < 9; cell++) {
        const uint64_t slot = slot_of(in, column + cell % 3 - 1, row + cell / 3 - 1);
        for (int32_t i = in->head[slot]; i >= 0; i = in->after[i]) {
            if (in->owner[i] == own) continue;
            const float dx = paths->x_m[i] - x_m, dy = paths->y_m[i] - y_m;
            const float limit_m = drv_crossing_distance_m(width_m[own], width_m[in->owner[i]]);
            const float turn_cos = paths->cos_heading[i] * paths->cos_heading[point] +
                                   paths->sin_heading[i] * paths->sin_heading[point];
            const bool is_apart = paths->z_m && fabsf(paths->z_m[i] - paths->z_m[point]) > (float)DRV_LEVEL_HEIGHT_M;
            if (dx * dx + dy * dy <= limit_m * limit_m && turn_cos < drv_crossing_cos && !is_apart) return true;
        }
    }
    return false;
}

/* Writes the next zone of a path at or after a point, from one pitch before its first crossed point to one pitch after
 * its last one; returns the point after it, or -1 where there is none. */
static int32_t next_zone(const drv_paths *paths, const uint8_t *crossed, int32_t path, int32_t point, float *enter_m,
                         float *leave_m) {
    const int32_t start = paths->point_start[path], end = paths->point_start[path + 1];
    while (point < end && !crossed[point]) point++;
    if (point == end) return -1;
    int32_t last = point;
    const int32_t merged = DRV_ZONE_GAP_M / DRV_PATH_PITCH_M + 2; /* with the pitches before and after */
    for (int32_t i = point; i < end && i <= last + merged; i++)
        if (crossed[i]) last = i;
    *enter_m = drv_larger(0.0f, (float)(point - start - 1) * drv_path_pitch_m);
    *leave_m = drv_smaller(drv_path_length_m(paths, path), (float)(last - start + 1) * drv_path_pitch_m);
    return last + 1;
}

/* Sets the circle of a zone: about the middle between the extremes of its points. */
static void bound(drv_zones *zones, int32_t zone, const drv_paths *paths) {
    const int32_t start = paths->point_start[zones->path[zone]];
    const int32_t first = start + (int32_t)(zones->enter_m[zone] / drv_path_pitch_m);
    const int32_t last = start + (int32_t)(zones->leave_m[zone] / drv_path_pitch_m);
    float low_x = INFINITY, low_y = INFINITY, high_x = -INFINITY, high_y = -INFINITY;
    for (int32_t i = first; i <= last; i++) {
        low_x = drv_smaller(low_x, paths->x_m[i]);
        low_y = drv_smaller(low_y, paths->y_m[i]);
        high_x = drv_larger(high_x, paths->x_m[i]);
        high_y = drv_larger(high_y, paths->y_m[i]);
    }
    const float dx = 0.5f * (high_x - low_x), dy = 0.5f * (high_y - low_y);
    zones->x_m[zone] = low_x + dx;
    zones->y_m[zone] = low_y + dy;
    zones->radius_m[zone] = sqrtf(dx * dx + dy * dy);
}

/* Fills the arrays, or counts the zones where they are NULL. */
static void fill_zones(drv_zones *zones, const drv_paths *paths, const uint8_t *crossed) {
    zones->count = 0;
    for (int32_t path = 0; path < paths->count; path++) {
        float enter_m, leave_m;
        int32_t from = paths->point_start[path];
        for (int32_t to; (to = next_zone(paths, crossed, path, from, &enter_m, &leave_m)) >= 0;) {
            if (zones->next) {
                const int32_t last = paths->point_start[path] + (int32_t)(leave_m / drv_path_pitch_m);
                for (int32_t i = from; i <= last; i++)
                    if (zones->next[i] < 0) zones->next[i] = zones->count;
                zones->path[zones->count] = path;
                zones->enter_m[zones->count] = enter_m;
                zones->leave_m[zones->count] = leave_m;
                bound(zones, zones->count, paths);
            }
            zones->count++;
            from = to;
        }
    }
}

/* ---- memory ---- */

/* Lays the arrays out in a block, or measures it where `base` is NULL; returns its bytes. */
static uint64_t lay_out(drv_zones *zones, int32_t points, uint8_t *base) {
    drv_block block = {base, 0};
    DRV_CARVE(&block, zones->next, points);
    DRV_CARVE(&block, zones->enter_m, zones->count);
    DRV_CARVE(&block, zones->leave_m, zones->count);
    DRV_CARVE(&block, zones->path, zones->count);
    DRV_CARVE(&block, zones->x_m, zones->count);
    DRV_CARVE(&block, zones->y_m, zones->count);
    DRV_CARVE(&block, zones->radius_m, zones->count);
    return block.used;
}

bool drv_zones_create(const drv_paths *paths, const float *width_m, drv_arena *arena, drv_zones *out,
                      uint64_t *bytes) {
    *out = (drv_zones){.count = 0};
    *bytes = 0;
    if (paths->point_count == 0) return true;

    /* find the points that are crossed */
    const int32_t points = paths->point_count;
    table in = {.mask = 1023};
    while (in.mask < (uint64_t)points) in.mask = 2 * in.mask + 1;
    for (int32_t i = 0; i < paths->count; i++)
        in.cell_m = drv_larger(in.cell_m, drv_crossing_distance_m(width_m[i], width_m[i]));
    in.head = malloc((in.mask + 1) * sizeof *in.head);
    in.after = malloc((size_t)points * sizeof *in.after);
    in.owner = malloc((size_t)points * sizeof *in.owner);
    uint8_t *crossed = calloc((size_t)points, 1), *block = NULL;
    if (in.head && in.after && in.owner && crossed) {
        fill_table(&in, paths);
        for (int32_t i = 0; i < points; i++) crossed[i] = is_crossed(paths, width_m, &in, i);

        /* count the zones, then fill their arrays */
        fill_zones(out, paths, crossed);
        *bytes = lay_out(out, points, NULL);
        block = drv_memory_acquire(arena, *bytes);
    }
    if (block) {
        lay_out(out, points, block);
        for (int32_t i = 0; i < points; i++) out->next[i] = -1;
        fill_zones(out, paths, crossed);
    }
    free(in.head);
    free(in.after);
    free(in.owner);
    free(crossed);
    return block != NULL;
}
