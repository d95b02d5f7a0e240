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
    int32_t reaches_beyond; /* whether an agent in the cell might not see all that is listed */
    float likely_m;         /* distance from the cell's middle to the last of the nearest */
    int32_t item[];
} drv_cell_list;

/* A cell first counts those who come, up to DRV_CELL_TAKEN: its list is being kept, or is not to be kept. From
 * DRV_CELL_FIRST on it is the list's first unit. */
enum { DRV_CELL_TAKEN = 15, DRV_CELL_FIRST = 16, DRV_CELL_UNIT = 64 };

typedef struct drv_cells {
    uint64_t units; /* of DRV_CELL_UNIT bytes, all there are */
    _Atomic uint64_t used;
    int64_t *first_cell; /* of each scene, among the small cells of all */
    _Atomic uint32_t *cell;
    uint8_t *lists;
} drv_cells;

/* The sub-cells of a scene: half as wide as the cells of its grid. */
drv_grid drv_cells_grid(const drv_scene *scene);

/* Items of the longest list that is kept under a config: the road slots, or blocks, of which map_942 has some 28 a
 * cell. */
int32_t drv_cells_items(const drv_config *config);

/* Bytes of a list of so many items, and of what a search writes behind them. */
uint64_t drv_cell_list_bytes(int32_t items);

/* NULL where there is no memory for it. `items`: of the longest list. Beside the room there are four bytes a small
 * cell. */
drv_cells *drv_cells_create(drv_scene *const *scenes, int32_t scene_count, int32_t items, uint64_t room_bytes);
void drv_cells_free(drv_cells *cells);

/* Keeps a copy of the list for all who come later, if there is room and nobody else does; NULL: there is none to keep.
 * Room ends with the first list that does not fit. */
void drv_cells_keep(drv_cells *cells, int64_t cell, const drv_cell_list *list);

/* Counts somebody who came to a cell without a list; whether it was the `visit`-th, so that a list is worth making.
 * Visits at the same time may count as one. */
static inline bool drv_cells_count(drv_cells *cells, int64_t cell, uint32_t visit) {
    uint32_t found = atomic_load_explicit(&cells->cell[cell], memory_order_relaxed);
    if (found + 1 == visit) return true;
    if (found + 1 < DRV_CELL_TAKEN)
        atomic_compare_exchange_strong_explicit(&cells->cell[cell], &found, found + 1, memory_order_relaxed,
                                                memory_order_relaxed);
    return false;
}

/* The list kept for a cell, or NULL. */
static inline const drv_cell_list *drv_cells_find(const drv_cells *cells, int64_t cell) {
    const uint32_t place = atomic_load_explicit(&cells->cell[cell], memory_order_acquire);
    if (place < DRV_CELL_FIRST) return NULL;
    return (const drv_cell_list *)(const void *)(cells->lists + (uint64_t)(place - DRV_CELL_FIRST) * DRV_CELL_UNIT);
}

#endif
