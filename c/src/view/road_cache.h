/* Which lists of road segments are cached per sub-cell?
 *
 * A sub-cell is a cell of a grid twice as fine as the scene's: a square of 2.5 m, or larger on large maps. Its list is
 * a function of scene and config alone. It is made when agents visit the sub-cell, and cached for all worlds and
 * threads until the capacity is used up. Results are the same with a hit and with a miss. */
#ifndef DRV_ROAD_CACHE_H
#define DRV_ROAD_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "platform/arena.h"
#include "scene/scene.h"

/* The k nearest segments of a sub-cell, or the blocks that hold them (step/roads.c). */
typedef struct drv_road_list {
    int32_t count;
    int32_t reaches_beyond; /* whether a listed segment may be outside the view of an agent in the sub-cell */
    float kth_distance_m;   /* distance from the sub-cell's centre to its k-th nearest segment */
    int32_t item[];
} drv_road_list;

/* Values of an entry: below DRV_ROAD_LIST_CLAIMED, the number of visits; DRV_ROAD_LIST_CLAIMED while a thread stores a
 * list, and for good if it stored none; from DRV_ROAD_LIST_FIRST on, DRV_ROAD_LIST_FIRST plus the list's first unit. */
enum { DRV_ROAD_LIST_CLAIMED = 15, DRV_ROAD_LIST_FIRST = 16, DRV_ROAD_LIST_UNIT = 64 };

typedef struct drv_road_cache {
    uint64_t units;          /* capacity, in units of DRV_ROAD_LIST_UNIT bytes */
    _Atomic uint64_t used;   /* units handed out; may exceed the capacity */
    int64_t *first_sub_cell; /* of each scene, among the sub-cells of all scenes */
    _Atomic uint32_t *entry; /* of each sub-cell */
    uint8_t *lists;
} drv_road_cache;

/* Returns the grid of the sub-cells of a scene, half as wide as the cells of its grid. */
drv_grid drv_road_cache_grid(const drv_scene *scene);

/* Items of the longest list that is cached under a config: segments, or blocks of them. A dense PufferDrive map,
 * map_942, needs some 28 blocks per sub-cell. */
int32_t drv_road_cache_items(const drv_config *config);

/* Bytes of a list of `items` items, with the padding that a search overwrites. */
uint64_t drv_road_list_bytes(int32_t items);

/* Creates the cache in memory of the arena; NULL if out of memory. `items` is the capacity of the longest list. The
 * cache takes four bytes per sub-cell in addition to `capacity_bytes`. */
drv_road_cache *drv_road_cache_create(drv_scene *const *scenes, int32_t scene_count, int32_t items,
                                      uint64_t capacity_bytes, drv_arena *arena);

/* Caches a copy of the list, unless another thread does or the capacity is used up; after the first list that does not
 * fit, no list is stored. NULL marks a sub-cell for which no list will be cached. */
void drv_road_cache_store(drv_road_cache *cache, int64_t sub_cell, const drv_road_list *list);

/* Counts a visit to a sub-cell without a list. Returns true from visit number `visit` on, until drv_road_cache_store is
 * called for the sub-cell. Concurrent visits may count as one. */
static inline bool drv_road_cache_count_visit(drv_road_cache *cache, int64_t sub_cell, uint32_t visit) {
    uint32_t found = atomic_load_explicit(&cache->entry[sub_cell], memory_order_relaxed);
    if (found + 1 == visit) return true;
    if (found + 1 < DRV_ROAD_LIST_CLAIMED)
        atomic_compare_exchange_strong_explicit(&cache->entry[sub_cell], &found, found + 1, memory_order_relaxed,
                                                memory_order_relaxed);
    return false;
}

/* Returns the cached list of a sub-cell, or NULL. */
static inline const drv_road_list *drv_road_cache_find(const drv_road_cache *cache, int64_t sub_cell) {
    const uint32_t entry = atomic_load_explicit(&cache->entry[sub_cell], memory_order_acquire);
    if (entry < DRV_ROAD_LIST_FIRST) return NULL;
    const uint64_t unit = entry - DRV_ROAD_LIST_FIRST;
    return (const drv_road_list *)(const void *)(cache->lists + unit * DRV_ROAD_LIST_UNIT);
}

#endif
