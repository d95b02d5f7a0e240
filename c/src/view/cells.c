/* Which lists of road segments are cached per sub-cell? */
#include "view/cells.h"

#include <stdlib.h>
#include <string.h>

#include "math/vector.h"
#include "platform/memory.h"

static uint64_t units_of(uint64_t bytes) { return (bytes + DRV_CELL_UNIT - 1) / DRV_CELL_UNIT; }

uint64_t drv_cell_list_bytes(int32_t items) {
    return sizeof(drv_cell_list) + ((uint64_t)items + DRV_SIMD_PAD) * sizeof(int32_t);
}

/* Capacity of a list beyond the slots. Where the k nearest need more blocks, a search of the window is as fast. */
enum { blocks_beyond_slots = 32 };

int32_t drv_cells_items(const drv_config *config) { return config->roads + blocks_beyond_slots; }

drv_grid drv_cells_grid(const drv_scene *scene) {
    const drv_grid *grid = &scene->grid;
    return (drv_grid){grid->left_m, grid->bottom_m, 0.5f * grid->cell_m, 2 * grid->columns, 2 * grid->rows};
}

drv_cells *drv_cells_create(drv_scene *const *scenes, int32_t scene_count, int32_t items, uint64_t capacity_bytes) {
    drv_cells *cells = calloc(1, sizeof *cells);
    if (!cells) return NULL;
    cells->first_cell = calloc((size_t)scene_count, sizeof *cells->first_cell);
    int64_t count = 0;
    for (int32_t i = 0; cells->first_cell && i < scene_count; i++) {
        const drv_grid grid = drv_cells_grid(scenes[i]);
        cells->first_cell[i] = count;
        count += (int64_t)grid.columns * grid.rows;
    }
    /* At most one list per sub-cell. Most systems back memory with pages only when it is written. */
    const uint64_t most = (uint64_t)count * units_of(drv_cell_list_bytes(items));
    cells->units = capacity_bytes / DRV_CELL_UNIT < most ? capacity_bytes / DRV_CELL_UNIT : most;
    if (cells->units > UINT32_MAX - DRV_CELL_FIRST) cells->units = UINT32_MAX - DRV_CELL_FIRST;
    cells->cell = drv_memory_acquire((uint64_t)count * sizeof *cells->cell);
    cells->lists = drv_memory_acquire((cells->units > 0 ? cells->units : 1) * DRV_CELL_UNIT);
    if (cells->first_cell && cells->cell && cells->lists) return cells;
    drv_cells_free(cells);
    return NULL;
}

void drv_cells_free(drv_cells *cells) {
    if (!cells) return;
    free(cells->first_cell);
    drv_memory_release(cells->cell);
    drv_memory_release(cells->lists);
    free(cells);
}

void drv_cells_store(drv_cells *cells, int64_t cell, const drv_cell_list *list) {
    uint32_t found = atomic_load_explicit(&cells->cell[cell], memory_order_relaxed);
    if (found >= DRV_CELL_CLAIMED ||
        !atomic_compare_exchange_strong_explicit(&cells->cell[cell], &found, DRV_CELL_CLAIMED, memory_order_relaxed,
                                                 memory_order_relaxed) ||
        !list)
        return;
    const uint64_t bytes = sizeof *list + (uint64_t)list->count * sizeof *list->item;
    const uint64_t unit = atomic_fetch_add_explicit(&cells->used, units_of(bytes), memory_order_relaxed);
    if (unit + units_of(bytes) > cells->units) return;
    memcpy(cells->lists + unit * DRV_CELL_UNIT, list, bytes);
    atomic_store_explicit(&cells->cell[cell], (uint32_t)unit + DRV_CELL_FIRST, memory_order_release);
}
