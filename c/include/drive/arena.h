/* Where are scenes in memory? Side by side in an arena, for those that are made together. */
#ifndef DRIVE_ARENA_H
#define DRIVE_ARENA_H

/* Memory for scenes, in few large pages. One thread at a time makes scenes in an arena. */
typedef struct drv_arena drv_arena;

drv_arena *drv_arena_create(void); /* NULL if out of memory */
/* Scenes outlive their arena: its memory is freed as they are released. */
void drv_arena_free(drv_arena *arena);

#endif
