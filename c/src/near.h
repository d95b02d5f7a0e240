/* Which lists of nearest segments are kept?
 *
 * Under DRV_ROADS_NEAR a row sees what is nearest to the middle of the small cell it is in. Such a list follows from the
 * scene alone, so it is made when a row first asks for it and kept for all worlds and threads while there is room;
 * without room it is made anew each time. Who finds which list kept changes no result. */
#ifndef DRV_NEAR_H
#define DRV_NEAR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "scene.h"

typedef struct drv_near_list {
    int32_t count;
    int32_t reaches_beyond; /* whether a row in the cell might not see all of them within its view */
    int32_t name[];
} drv_near_list;

enum { DRV_NEAR_NONE = 0, DRV_NEAR_TAKEN = 1, DRV_NEAR_FIRST = 2 };

typedef struct drv_near {
    uint64_t list_bytes, room; /* `room` lists */
    _Atomic uint64_t used;
    int64_t *first_cell; /* of each scene, among the small cells of all */
    /* DRV_NEAR_NONE: nobody asked; DRV_NEAR_TAKEN: being kept, or there was no room; else DRV_NEAR_FIRST and the list's
     * number. */
    _Atomic uint32_t *cell;
    uint8_t *lists;
} drv_near;

/* Bytes of a list with room for `slots` names and for what a search writes behind them. */
uint64_t drv_near_list_bytes(int32_t slots);

/* The small cells of a scene: half as wide as those of its grid. */
drv_grid drv_near_grid(const drv_scene *scene);

/* NULL where there is no memory for it. */
drv_near *drv_near_create(drv_scene *const *scenes, int32_t scene_count, int32_t slots, uint64_t room_bytes);
void drv_near_free(drv_near *near);

/* Keeps a copy of the list for all who ask later, if there is room and nobody else does. */
void drv_near_keep(drv_near *near, int64_t cell, const drv_near_list *list);

/* The list kept for a cell, or NULL. */
static inline const drv_near_list *drv_near_find(const drv_near *near, int64_t cell) {
    const uint32_t number = atomic_load_explicit(&near->cell[cell], memory_order_acquire);
    if (number < DRV_NEAR_FIRST) return NULL;
    return (const drv_near_list *)(const void *)(near->lists + (number - DRV_NEAR_FIRST) * near->list_bytes);
}

#endif
