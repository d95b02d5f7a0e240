/* Which lists of road segments are cached per sub-cell?
 *
 * The list of a sub-cell follows from scene and config alone. It is made when agents visit the sub-cell, and cached for
 * all worlds and threads until the capacity is used up. A hit or a miss changes no result. */
#ifndef DRV_CELLS_H
#define DRV_CELLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "scene/scene.h"

typedef struct drv_cell_list {
    int32_t count;
    int32_t reaches_beyond; /* whether a listed segment may be outside the view of an agent in the sub-cell */
    float likely_m;         /* distance from the sub-cell's middle to its k-th nearest segment */
    int32_t item[];
} drv_cell_list;

/* Values of an entry: below DRV_CELL_CLAIMED the number of visits; DRV_CELL_CLAIMED while a thread stores the list, or
 * for good if none is stored; from DRV_CELL_FIRST on the first unit of the list. */
enum { DRV_CELL_CLAIMED = 15, DRV_CELL_FIRST = 16, DRV_CELL_UNIT = 64 };

typedef struct drv_cells {
    uint64_t units; /* capacity, in units of DRV_CELL_UNIT bytes */
    _Atomic uint64_t used; /* units handed out; may exceed the capacity */
    int64_t *first_cell; /* of each scene, among the sub-cells of all scenes */
    _Atomic uint32_t *cell;
    uint8_t *lists;
} drv_cells;

/* Returns the grid of the sub-cells of a scene, half as wide as the cells of its grid. */
drv_grid drv_cells_grid(const drv_scene *scene);

/* Items of the longest list that is cached under a config: segments or blocks, of which map_942 needs some 28 per
 * sub-cell. */
int32_t drv_cells_items(const drv_config *config);

/* Bytes of a list of `items` items with the padding that a search overwrites. */
uint64_t drv_cell_list_bytes(int32_t items);

/* Creates the cache; NULL if out of memory. `items` is the capacity of the longest list. Beside `capacity_bytes` the
 * cache takes four bytes per sub-cell. */
drv_cells *drv_cells_create(drv_scene *const *scenes, int32_t scene_count, int32_t items, uint64_t capacity_bytes);
void drv_cells_free(drv_cells *cells);

/* Caches a copy of the list, unless another thread does or the capacity is used up, which it is from the first list on
 * that does not fit. NULL marks the sub-cell as one without a list. */
void drv_cells_store(drv_cells *cells, int64_t cell, const drv_cell_list *list);

/* Counts a visit to a sub-cell without a list. Returns true from visit `visit` on until a list is stored, when making
 * one pays off. Concurrent visits may count as one. */
static inline bool drv_cells_count_visit(drv_cells *cells, int64_t cell, uint32_t visit) {
    uint32_t found = atomic_load_explicit(&cells->cell[cell], memory_order_relaxed);
    if (found + 1 == visit) return true;
    if (found + 1 < DRV_CELL_CLAIMED)
        atomic_compare_exchange_strong_explicit(&cells->cell[cell], &found, found + 1, memory_order_relaxed,
                                                memory_order_relaxed);
    return false;
}

/* Returns the cached list of a sub-cell, or NULL. */
static inline const drv_cell_list *drv_cells_find(const drv_cells *cells, int64_t cell) {
    const uint32_t entry = atomic_load_explicit(&cells->cell[cell], memory_order_acquire);
    if (entry < DRV_CELL_FIRST) return NULL;
    return (const drv_cell_list *)(const void *)(cells->lists + (uint64_t)(entry - DRV_CELL_FIRST) * DRV_CELL_UNIT);
}

#endif
