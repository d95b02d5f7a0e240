/* Which lists of road segments are cached per sub-cell? */
#include "view/road_cache.h"

#include <string.h>

#include "math/simd_pad.h"

static uint64_t units_of(uint64_t bytes) { return (bytes + DRV_ROAD_LIST_UNIT - 1) / DRV_ROAD_LIST_UNIT; }

uint64_t drv_road_list_bytes(int32_t items) {
    return sizeof(drv_road_list) + ((uint64_t)items + DRV_SIMD_PAD) * sizeof(int32_t);
}

/* Items of a list beyond the number of slots. Where the k nearest need more blocks, searching the window is as fast. */
enum { blocks_beyond_slots = 32 };

int32_t drv_road_cache_items(const drv_config *config) { return config->roads + blocks_beyond_slots; }

drv_grid drv_road_cache_grid(const drv_scene *scene) {
    const drv_grid *grid = &scene->grid;
    return (drv_grid){grid->left_m, grid->bottom_m, 0.5f * grid->cell_m, 2 * grid->columns, 2 * grid->rows};
}

drv_road_cache *drv_road_cache_create(drv_scene *const *scenes, int32_t scene_count, int32_t items,
                                      uint64_t capacity_bytes, drv_arena *arena) {
    /* number the sub-cells of all scenes */
    drv_road_cache *cache = drv_arena_acquire(arena, sizeof *cache);
    int64_t *first_sub_cell = drv_arena_acquire(arena, (uint64_t)scene_count * sizeof *first_sub_cell);
    if (!cache || !first_sub_cell) return NULL;
    int64_t count = 0;
    for (int32_t i = 0; i < scene_count; i++) {
        const drv_grid grid = drv_road_cache_grid(scenes[i]);
        first_sub_cell[i] = count;
        count += (int64_t)grid.columns * grid.rows;
    }

    /* acquire entries and lists: at most one list per sub-cell. Most systems back memory with pages only once it
     * is written, so unused capacity costs nothing. */
    const uint64_t most_units = (uint64_t)count * units_of(drv_road_list_bytes(items));
    cache->units = capacity_bytes / DRV_ROAD_LIST_UNIT < most_units ? capacity_bytes / DRV_ROAD_LIST_UNIT : most_units;
    if (cache->units > UINT32_MAX - DRV_ROAD_LIST_FIRST) cache->units = UINT32_MAX - DRV_ROAD_LIST_FIRST;
    cache->first_sub_cell = first_sub_cell;
    cache->entry = drv_arena_acquire(arena, (uint64_t)count * sizeof *cache->entry);
    cache->lists = drv_arena_acquire(arena, cache->units * DRV_ROAD_LIST_UNIT);
    return cache->entry && cache->lists ? cache : NULL;
}

void drv_road_cache_store(drv_road_cache *cache, int64_t sub_cell, const drv_road_list *list) {
    uint32_t found = atomic_load_explicit(&cache->entry[sub_cell], memory_order_relaxed);
    if (found >= DRV_ROAD_LIST_CLAIMED ||
        !atomic_compare_exchange_strong_explicit(&cache->entry[sub_cell], &found, DRV_ROAD_LIST_CLAIMED,
                                                 memory_order_relaxed, memory_order_relaxed) ||
        !list)
        return;
    const uint64_t bytes = sizeof *list + (uint64_t)list->count * sizeof *list->item;
    const uint64_t unit = atomic_fetch_add_explicit(&cache->used, units_of(bytes), memory_order_relaxed);
    if (unit + units_of(bytes) > cache->units) return;
    memcpy(cache->lists + unit * DRV_ROAD_LIST_UNIT, list, bytes);
    atomic_store_explicit(&cache->entry[sub_cell], (uint32_t)unit + DRV_ROAD_LIST_FIRST, memory_order_release);
}
