/* Which road segments does an agent observe?
 *
 * The k nearest to the agent, or, under DRV_ROADS_NEAR, to the centre of its sub-cell. The road cache holds a list per
 * sub-cell: in the first case the blocks that contain the k nearest segments of every point of the sub-cell, in the
 * second the segments themselves. */
#include "step/roads.h"

#include <math.h>
#include <string.h>

#include "math/k_nearest.h"
#include "step/height.h"

/* The search for the distance of the k-th nearest starts from an interval about its estimate that extends by this share
 * of error_m to either side. On map_942, a PufferDrive map, it contains the distance for nine agents in ten. */
static const float guess_share = 0.45f;

/* The number of the visit to a sub-cell at which its blocks are listed: a list costs about what it saves in as many
 * visits. */
enum { visit_that_lists = 8 };

/* Stands for the sub-cell of an agent outside the grid. */
enum { outside = -1 };

/* Cache lines of a list to prefetch; a list has some 28 blocks, and the hardware prefetcher loads the rest. */
enum { prefetched_lines = 2 };

/* ---- blocks: DRV_WIDTH consecutive segments, identified by the first ---- */

/* Writes the blocks of the window that holds all segments within `reach_m`; returns their number. Only the last block
 * may extend past the last segment, into padding at an infinite distance. */
static int32_t blocks_within(const drv_scene *scene, drv_point centre, float reach_m, int32_t *first) {
    const drv_window window = drv_grid_window(&scene->grid, centre.x, centre.y, reach_m);
    int32_t blocks = 0, covered = 0;
    for (int32_t y = window.first_row; y <= window.last_row; y++) {
        const int32_t *cells = scene->segments.cell_start + y * scene->grid.columns;
        const int32_t begin = cells[window.first_column], end = cells[window.last_column + 1];
        if (covered < begin) covered = begin;
        for (; covered < end; covered += DRV_WIDTH) first[blocks++] = covered;
    }
    return blocks;
}

/* Writes the fewest blocks that hold the given segments, which ascend; returns their number. `first` may alias
 * `segment`. */
static int32_t blocks_of(const int32_t *segment, int32_t count, int32_t *first) {
    int32_t blocks = 0, covered = -1;
    for (int32_t i = 0; i < count; i++) {
        if (segment[i] < covered) continue;
        covered = segment[i] + DRV_WIDTH;
        first[blocks++] = segment[i];
    }
    return blocks;
}

/* The segments of the blocks as candidates, with their squared distances to a point. */
static drv_candidates candidates_of(const drv_scene *scene, const int32_t *first, int32_t blocks, drv_point from,
                                    float *distance2) {
    const float *xs_m = scene->segments.middle_x_m, *ys_m = scene->segments.middle_y_m;
    const drv_floats x_m = drv_splat(from.x), y_m = drv_splat(from.y);
    for (int32_t block = 0; block < blocks; block++)
        drv_store(distance2 + block * DRV_WIDTH,
                  drv_squared_distances(xs_m + first[block], ys_m + first[block], x_m, y_m));
    return (drv_candidates){distance2, first, blocks};
}

/* Writes the k nearest within `limit_m` to `kept`, given blocks that hold them; returns their number. */
static int32_t nearest_in_blocks(const drv_world *world, const int32_t *first, int32_t blocks, drv_point from,
                                 drv_kth_distance kth, float limit_m, drv_scratch *scratch, int32_t *kept) {
    const float low_m = drv_larger(kth.estimate_m - guess_share * kth.error_m, 0.0f);
    const float high_m = kth.estimate_m + guess_share * kth.error_m, upper_m = drv_smaller(kth.upper_m, limit_m);
    const drv_bounds bounds = {low_m * low_m, high_m * high_m, upper_m * upper_m};
    const drv_candidates segments = candidates_of(world->scene, first, blocks, from, scratch->distance2);
    return drv_k_nearest(segments, world->config->roads, bounds, scratch->buffer, kept);
}

/* The same for any point, without a list: searches the window of the grid that holds them. */
static int32_t nearest_in_window(const drv_world *world, drv_point from, float limit_m, drv_scratch *scratch,
                                 int32_t *kept) {
    const drv_scene *scene = world->scene;
    const drv_kth_distance kth =
        drv_grid_kth_distance(&scene->grid, world->encoding->cell_kth_distance_m, limit_m, from.x, from.y);
    const int32_t blocks = blocks_within(scene, from, kth.upper_m, scratch->first);
    return nearest_in_blocks(world, scratch->first, blocks, from, kth, limit_m, scratch, kept);
}

/* The segments of an agent at `ego`, by a search of the window. */
static drv_selection choose_in_window(const drv_world *world, drv_point ego, drv_scratch *scratch) {
    const float view_m = world->config->view_radius_m;
    return (drv_selection){scratch->kept, nearest_in_window(world, ego, view_m, scratch, scratch->kept)};
}

/* The segments of an agent on its level, by a search of the whole view: no bound on the distance of the k-th nearest
 * holds for one level, and no cached list. Not inlined, so that other scenes do not pay for it. */
__attribute__((noinline)) static drv_selection choose_on_level(const drv_world *world, int32_t agent, drv_point ego,
                                                               drv_scratch *scratch) {
    const drv_scene *scene = world->scene;
    const float view_m = world->config->view_radius_m;
    const int32_t blocks = blocks_within(scene, ego, view_m + drv_rounding_m, scratch->first);
    const drv_candidates segments = candidates_of(scene, scratch->first, blocks, ego, scratch->distance2);
    for (int32_t block = 0; block < blocks; block++)
        drv_height_exclude(world, agent, scene->segments.middle_z_m + scratch->first[block], DRV_WIDTH,
                           scratch->distance2 + block * DRV_WIDTH);
    const drv_bounds bounds = {.high = view_m * view_m};
    const int32_t count = drv_k_nearest(segments, world->config->roads, bounds, scratch->buffer, scratch->kept);
    return (drv_selection){scratch->kept, count};
}

/* ---- sub-cells ---- */

typedef struct sub_cell {
    int64_t index; /* in world->road_cache */
    drv_point centre;
    float corner_m; /* distance of a corner from the centre */
} sub_cell;

static float squared_distance(drv_point from, drv_point to) {
    const float dx = to.x - from.x, dy = to.y - from.y;
    return dx * dx + dy * dy;
}

static drv_point middle_of(const drv_scene *scene, int32_t segment) {
    return (drv_point){scene->segments.middle_x_m[segment], scene->segments.middle_y_m[segment]};
}

/* Writes the k nearest to the sub-cell's centre, up to the farthest that any agent in it can see, to scratch->list,
 * with the distance of the k-th. */
static drv_road_list *nearest_to_centre(const drv_world *world, sub_cell cell, drv_scratch *scratch) {
    drv_road_list *list = scratch->list;
    const float limit_m = world->config->view_radius_m + cell.corner_m;
    /* cell_kth_distance_m is clipped to the view radius, and limit_m is larger by corner_m. The window is large enough
     * nevertheless: drv_grid_kth_distance widens it by the distance from the sub-cell's centre to the centre of its
     * grid cell, which is corner_m, too. */
    list->count = nearest_in_window(world, cell.centre, limit_m, scratch, list->item);
    list->kth_distance_m = list->count < world->config->roads ? limit_m : 0.0f;
    for (int32_t i = 0; i < list->count; i++) {
        const float distance2 = squared_distance(cell.centre, middle_of(world->scene, list->item[i]));
        list->kth_distance_m = drv_larger(list->kth_distance_m, sqrtf(distance2));
    }
    list->reaches_beyond = list->kth_distance_m + cell.corner_m + drv_rounding_m > world->config->view_radius_m;
    return list;
}

/* Writes the blocks that hold the k nearest segments of every point of the sub-cell to scratch->list; NULL where they
 * exceed the capacity of a cached list. By the triangle inequality all of those are within
 * kth_distance_m + 2 * corner_m of the centre. */
static const drv_road_list *blocks_around_cell(const drv_world *world, sub_cell cell, drv_scratch *scratch) {
    drv_road_list *list = nearest_to_centre(world, cell, scratch);
    const float reach_m = list->kth_distance_m + 2.0f * cell.corner_m + drv_rounding_m;
    const int32_t blocks = blocks_within(world->scene, cell.centre, reach_m, scratch->first);
    const drv_candidates segments =
        candidates_of(world->scene, scratch->first, blocks, cell.centre, scratch->distance2);
    const int32_t count = drv_all_within(segments, reach_m * reach_m, scratch->segment);
    list->count = blocks_of(scratch->segment, count, scratch->segment);
    if (list->count > drv_road_cache_items(world->config)) return NULL;
    memcpy(list->item, scratch->segment, (size_t)list->count * sizeof *list->item);
    return list;
}

static drv_selection choose_exact(const drv_world *world, drv_point ego, sub_cell cell, drv_scratch *scratch) {
    const drv_road_list *list = drv_road_cache_find(world->road_cache, cell.index);
    if (!list && drv_road_cache_count_visit(world->road_cache, cell.index, visit_that_lists)) {
        list = blocks_around_cell(world, cell, scratch);
        drv_road_cache_store(world->road_cache, cell.index, list);
    }
    if (!list) return choose_in_window(world, ego, scratch);
    const float error_m = sqrtf(squared_distance(ego, cell.centre)) + drv_rounding_m;
    const drv_kth_distance kth = {list->kth_distance_m, error_m, list->kth_distance_m + error_m};
    const int32_t count = nearest_in_blocks(world, list->item, list->count, ego, kth, world->config->view_radius_m,
                                            scratch, scratch->kept);
    return (drv_selection){scratch->kept, count};
}

static drv_selection choose_near(const drv_world *world, drv_point ego, sub_cell cell, drv_scratch *scratch) {
    const drv_road_list *list = drv_road_cache_find(world->road_cache, cell.index);
    if (!list) {
        list = nearest_to_centre(world, cell, scratch);
        drv_road_cache_store(world->road_cache, cell.index, list);
    }
    if (!list->reaches_beyond) return (drv_selection){list->item, list->count};
    const float view2 = world->config->view_radius_m * world->config->view_radius_m;
    int32_t count = 0;
    for (int32_t i = 0; i < list->count; i++) {
        scratch->kept[count] = list->item[i];
        count += squared_distance(ego, middle_of(world->scene, list->item[i])) <= view2;
    }
    return (drv_selection){scratch->kept, count};
}

/* ---- agents ---- */

/* Index in world->road_cache of a sub-cell of the current scene. */
static int64_t index_of(const drv_world *world, int32_t cell) {
    return world->road_cache->first_sub_cell[*world->scene_index] + cell;
}

/* All sub-cells are located first, and an agent's list is prefetched while the agent before it is observed: with many
 * scenes, neither the entries nor the lists are in the processor's caches. */
void drv_roads_locate(const drv_world *world, drv_scratch *scratch) {
    if (world->config->roads == 0) return;
    const drv_grid grid = drv_road_cache_grid(world->scene);
    const _Atomic uint32_t *entries = world->road_cache->entry + index_of(world, 0);
    for (int32_t agent = 0; agent < world->scene->num_agents; agent++) {
        const float x_m = world->x_m[agent], y_m = world->y_m[agent];
        scratch->sub_cell[agent] = drv_grid_covers(&grid, x_m, y_m) ? drv_grid_cell(&grid, x_m, y_m) : outside;
        if (scratch->sub_cell[agent] != outside) __builtin_prefetch((const void *)(entries + scratch->sub_cell[agent]));
    }
}

void drv_roads_prefetch(const drv_world *world, int32_t agent, const drv_scratch *scratch) {
    if (world->config->roads == 0 || agent >= world->scene->num_agents || scratch->sub_cell[agent] == outside) return;
    const char *list = (const char *)drv_road_cache_find(world->road_cache, index_of(world, scratch->sub_cell[agent]));
    if (!list) return;
    for (int32_t line = 0; line < prefetched_lines; line++) __builtin_prefetch(list + line * DRV_ROAD_LIST_UNIT);
}

drv_selection drv_roads_choose(const drv_world *world, int32_t agent, drv_scratch *scratch) {
    const drv_point ego = {world->x_m[agent], world->y_m[agent]};
    if (world->config->roads == 0) return (drv_selection){scratch->kept, 0};
    if (world->scene->has_height) return choose_on_level(world, agent, ego, scratch);
    if (scratch->sub_cell[agent] == outside) return choose_in_window(world, ego, scratch);
    const drv_grid grid = drv_road_cache_grid(world->scene);
    const sub_cell cell = {index_of(world, scratch->sub_cell[agent]), drv_grid_centre(&grid, scratch->sub_cell[agent]),
                           0.7072f * grid.cell_m}; /* sqrt(1/2), rounded up */
    return world->config->road_selection == DRV_ROADS_NEAR ? choose_near(world, ego, cell, scratch)
                                                           : choose_exact(world, ego, cell, scratch);
}
