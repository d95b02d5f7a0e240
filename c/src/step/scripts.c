/* Which scripted vehicles does an episode have, and where are they?
 *
 * They are log-replay vehicles with a clock of their own. The scene has to ensure that what they do until an agent
 * crosses a line does not depend on the option that was drawn, or observations reveal it. */
#include "step/scripts.h"

#include <stdbool.h>

#include "math/geometry.h"
#include "math/random.h"
#include "scene/stop_lines.h"
#include "step/log_pose.h"

/* Whether this episode draws the option of a script. */
static bool is_drawn(const drv_world *world, int32_t script) {
    const drv_scene *scene = world->scene;
    const uint32_t group = (uint32_t)scene->script_group[script], options = (uint32_t)scene->script_options[script];
    const uint64_t bits = drv_random_bits(*world->seed, *world->id, *world->episode, DRV_PURPOSE_SCRIPTS, group);
    return (int32_t)drv_random_below(bits, options) == scene->script_option[script];
}

/* Whether the centre of an agent crosses a line in this step. */
static bool has_crossed(const drv_world *world, int32_t agent, const float *line_m) {
    const drv_point from = {world->previous_x_m[agent], world->previous_y_m[agent]};
    const drv_point to = {world->x_m[agent], world->y_m[agent]};
    return drv_passes_line(drv_place_by_line(line_m, from), drv_place_by_line(line_m, to),
                           drv_squared_line_length(line_m));
}

static bool is_crossed(const drv_world *world, int32_t script) {
    const float *line_m = world->scene->script_line_m + 4 * (int64_t)script;
    for (int32_t agent = 0; agent < world->scene->num_agents; agent++)
        if (world->status[agent] == DRV_DRIVING && has_crossed(world, agent, line_m)) return true;
    return false;
}

void drv_scripts_begin(drv_world *world) {
    for (int32_t script = 0; script < world->sizes.scripts; script++) {
        world->script_frame[script] = script < world->scene->script_count && is_drawn(world, script) ? 0 : -1;
        world->script_crossed[script] = 0;
    }
    drv_scripts_place(world);
}

void drv_scripts_detect(drv_world *world) {
    for (int32_t script = 0; script < world->scene->script_count; script++)
        if (world->script_frame[script] == 0 && is_crossed(world, script)) world->script_crossed[script] = 1;
}

void drv_scripts_advance(drv_world *world) {
    for (int32_t script = 0; script < world->scene->script_count; script++)
        world->script_frame[script] += world->script_crossed[script];
}

void drv_scripts_place(drv_world *world) {
    const drv_scene *scene = world->scene;
    for (int32_t script = 0; script < scene->script_count; script++) {
        const int32_t vehicle = scene->script_vehicle[script], frame = world->script_frame[script];
        const int64_t entry = drv_log_entry(scene, vehicle, frame);
        world->present[vehicle] = entry >= 0;
        if (entry >= 0) drv_put_on_log(world, vehicle, entry);
    }
}
