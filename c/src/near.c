/* Which lists of nearest segments are kept? */
#include "near.h"

#include <stdlib.h>
#include <string.h>

#include "vector.h"

uint64_t drv_near_list_bytes(int32_t slots) {
    const uint64_t bytes = sizeof(drv_near_list) + ((uint64_t)slots + DRV_LANES) * sizeof(int32_t);
    return (bytes + 63u) / 64u * 64u;
}

drv_grid drv_near_grid(const drv_scene *scene) {
    const drv_grid *grid = &scene->grid;
    return (drv_grid){grid->left_m, grid->bottom_m, 0.5f * grid->cell_m, 2 * grid->columns, 2 * grid->rows};
}

drv_near *drv_near_create(drv_scene *const *scenes, int32_t scene_count, int32_t slots, uint64_t room_bytes) {
    drv_near *near = calloc(1, sizeof *near);
    if (!near) return NULL;
    near->first_cell = calloc((size_t)scene_count, sizeof *near->first_cell);
    int64_t cells = 0;
    for (int32_t i = 0; near->first_cell && i < scene_count; i++) {
        const drv_grid grid = drv_near_grid(scenes[i]);
        near->first_cell[i] = cells;
        cells += (int64_t)grid.columns * grid.rows;
    }
    /* More lists than cells are never needed; of what is not used the system gives no memory. */
    near->list_bytes = drv_near_list_bytes(slots);
    near->room = room_bytes / near->list_bytes;
    if (near->room > (uint64_t)cells) near->room = (uint64_t)cells;
    near->cell = calloc((size_t)cells, sizeof *near->cell);
    near->lists = calloc(near->room > 0 ? (size_t)near->room : 1, (size_t)near->list_bytes);
    if (near->first_cell && near->cell && near->lists) return near;
    drv_near_free(near);
    return NULL;
}

void drv_near_free(drv_near *near) {
    if (!near) return;
    free(near->first_cell);
    free(near->cell);
    free(near->lists);
    free(near);
}

void drv_near_keep(drv_near *near, int64_t cell, const drv_near_list *list) {
    uint32_t found = DRV_NEAR_NONE;
    if (!atomic_compare_exchange_strong_explicit(&near->cell[cell], &found, DRV_NEAR_TAKEN, memory_order_relaxed,
                                                 memory_order_relaxed))
        return;
    const uint64_t number = atomic_fetch_add_explicit(&near->used, 1, memory_order_relaxed);
    if (number >= near->room || number > UINT32_MAX - DRV_NEAR_FIRST) return;
    memcpy(near->lists + number * near->list_bytes, list, sizeof *list + (size_t)list->count * sizeof *list->name);
    atomic_store_explicit(&near->cell[cell], (uint32_t)number + DRV_NEAR_FIRST, memory_order_release);
}
