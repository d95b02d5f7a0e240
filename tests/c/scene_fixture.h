/* How does a C test create a scene from an input that is valid? */
#ifndef SCENE_FIXTURE_H
#define SCENE_FIXTURE_H

#include "check.h"
#include "drive.h"

/* A scene in the memory of an arena, or in memory of its own where `arena` is NULL. */
static inline drv_scene *scene_in(drv_arena *arena, const drv_scene_input *input) {
    char message[DRV_MESSAGE_BYTES] = "";
    drv_scene *scene = NULL;
    const drv_status status = drv_scene_create(input, arena, &scene, message);
    CHECK(status == DRV_OK && scene, "status %d: %s", status, message);
    return scene;
}

static inline drv_scene *scene_of(const drv_scene_input *input) { return scene_in(NULL, input); }

#endif
