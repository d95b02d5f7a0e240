/* Where in memory are scenes? Those created together are side by side in an arena. */
#ifndef DRIVE_ARENA_H
#define DRIVE_ARENA_H

/* Memory for scenes, in few large pages. One thread at a time may create scenes in an arena. */
typedef struct drv_arena drv_arena;

drv_arena *drv_arena_create(void); /* NULL if out of memory */
/* Scenes may outlive their arena: a slab of it is freed once the last scene in it is released. */
void drv_arena_free(drv_arena *arena);

#endif
