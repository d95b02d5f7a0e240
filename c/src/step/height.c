/* At which height is each agent, and what is on another level? An agent follows the lane under it. */
#include "step/height.h"

#include "scene/lane_height.h"
#include "step/phases.h"

void drv_height_exclude(const drv_world *world, int32_t agent, const float *z_m, int32_t count, float *distance2) {
    const float own_z_m = world->z_m[agent];
    for (int32_t i = 0; i < count; i++)
        if (drv_differs_in_level(world, own_z_m, z_m[i])) distance2[i] = INFINITY;
}

void drv_height_follow(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    const drv_scene *scene = world->scene;
    if (!scene->has_height) return;
    for (int32_t agent = 0; agent < scene->num_agents; agent++)
        if (world->status[agent] == DRV_DRIVING)
            world->z_m[agent] =
                drv_lane_height(scene, (drv_point){world->x_m[agent], world->y_m[agent]}, world->z_m[agent]);
}
