/* How are agents driven by rule? Checks at the API boundary, and the memory of a driver; step/lane_driver.c drives. */
#include "step/lane_driver.h"

#include "batch/batch.h"
#include "math/simd_pad.h"
#include "platform/error.h"
#include "platform/fp_env.h"

/* ---- create ---- */

static bool is_coordinate(float value_m) {
    return value_m >= -DRV_COORDINATE_LIMIT_M && value_m <= DRV_COORDINATE_LIMIT_M;
}

/* Checks the polyline of a path, which is that of an agent. */
static drv_status check_path(const drv_lane_driver_setup *setup, int32_t agent, int32_t path, char *message) {
    const int32_t first = setup->point_start[path], points = setup->point_start[path + 1] - first;
    if (points < 2)
        return drv_fail(message, DRV_ERROR_SCENE, "a path of agent %d has %d points; it must have at least 2", agent,
                        points);
    for (int32_t i = first; i < first + points; i++) {
        if (!is_coordinate(setup->x_m[i]) || !is_coordinate(setup->y_m[i]))
            return drv_fail(message, DRV_ERROR_SCENE,
                            "point %d of a path of agent %d is (%.9g, %.9g) m; it must be in -%d to %d", i - first,
                            agent, (double)setup->x_m[i], (double)setup->y_m[i], DRV_COORDINATE_LIMIT_M,
                            DRV_COORDINATE_LIMIT_M);
        if (i > first && setup->x_m[i] == setup->x_m[i - 1] && setup->y_m[i] == setup->y_m[i - 1])
            return drv_fail(message, DRV_ERROR_SCENE,
                            "points %d and %d of a path of agent %d are one place; they must differ", i - first - 1,
                            i - first, agent);
        if (!(setup->speed_mps[i] > 0.0f && setup->speed_mps[i] <= DRV_SPEED_LIMIT_MPS))
            return drv_fail(message, DRV_ERROR_SCENE,
                            "speed_mps at point %d of a path of agent %d is %.9g; it must be above 0 and at most %d",
                            i - first, agent, (double)setup->speed_mps[i], DRV_SPEED_LIMIT_MPS);
    }
    return DRV_OK;
}

/* Checks the paths of an agent. */
static drv_status check_paths(const drv_lane_driver_setup *setup, int32_t agent, char *message) {
    const int32_t first = setup->path_start ? setup->path_start[agent] : agent;
    const int32_t end = setup->path_start ? setup->path_start[agent + 1] : agent + 1;
    if (end <= first)
        return drv_fail(message, DRV_ERROR_SCENE, "agent %d has %d paths; it must have at least 1", agent, end - first);
    drv_status status = DRV_OK;
    for (int32_t path = first; status == DRV_OK && path < end; path++) {
        status = check_path(setup, agent, path, message);
        if (status == DRV_OK && path + 1 < end && !(setup->change_from_m[path] <= setup->change_to_m[path]))
            status = drv_fail(message, DRV_ERROR_SCENE,
                              "change_to_m of path %d of agent %d is %.9g; it must be at least change_from_m, %.9g",
                              path - first, agent, (double)setup->change_to_m[path],
                              (double)setup->change_from_m[path]);
    }
    return status;
}

/* Lays the driver and its scratch memory out in a block, or measures it where `base` is NULL; returns its bytes. */
static uint64_t lay_out(drv_lane_driver *driver, uint8_t *base, int32_t agents, int32_t paths, int32_t vehicles) {
    drv_block block = {base, drv_round_up_to_line(sizeof *driver)};
    const int32_t points = agents * DRV_WINDOW_POINTS + DRV_SIMD_PAD;
    DRV_CARVE(&block, driver->window.point_start, agents + 1);
    DRV_CARVE(&block, driver->window.x_m, points);
    DRV_CARVE(&block, driver->window.y_m, points);
    DRV_CARVE(&block, driver->window.cos_heading, points);
    DRV_CARVE(&block, driver->window.sin_heading, points);
    DRV_CARVE(&block, driver->window.speed_mps, points);
    DRV_CARVE(&block, driver->driven, agents);
    DRV_CARVE(&block, driver->near, vehicles);
    DRV_CARVE(&block, driver->standing, vehicles);
    driver->pair_words = (agents + 63) / 64;
    DRV_CARVE(&block, driver->pairs, agents * driver->pair_words);
    DRV_CARVE(&block, driver->visited, agents);
    DRV_CARVE(&block, driver->path_start, agents + 1);
    DRV_CARVE(&block, driver->change_from_m, paths);
    DRV_CARVE(&block, driver->change_to_m, paths);
    DRV_CARVE(&block, driver->width_m, paths);
    DRV_CARVE(&block, driver->zone_start, paths + 1);
    return block.used;
}

/* Makes the paths of agents, their stop lines, and the zones in which they cross before their goals; false if out of
 * memory. */
static bool make_paths(drv_lane_driver *driver, const drv_lane_driver_setup *setup) {
    /* which are whose */
    const drv_scene *scene = setup->scene;
    const int32_t agents = scene->num_agents;
    for (int32_t agent = 0; agent <= agents; agent++)
        driver->path_start[agent] = setup->path_start ? setup->path_start[agent] : agent;
    for (int32_t agent = 0; agent < agents; agent++)
        for (int32_t path = driver->path_start[agent]; path < driver->path_start[agent + 1]; path++) {
            driver->width_m[path] = scene->width_m[agent];
            if (path + 1 == driver->path_start[agent + 1]) continue; /* no change follows */
            driver->change_from_m[path] = setup->change_from_m[path];
            driver->change_to_m[path] = setup->change_to_m[path];
        }

    /* the paths, and those that end at the goals */
    const drv_controls controls = drv_scene_controls(scene);
    const drv_lanes *lanes = setup->lane_scene ? &setup->lane_scene->lanes : &scene->lanes;
    drv_paths ending = {.count = 0};
    uint64_t bytes;
    const bool is_complete =
        drv_paths_along(setup, agents, true, &driver->paths) && drv_paths_along(setup, agents, false, &ending) &&
        drv_zones_create(&ending, driver->width_m, NULL, &driver->zones, &bytes) &&
        drv_stop_lines_create(&controls, lanes, &driver->paths, &driver->zones, NULL, &driver->stop_lines, &bytes);
    drv_memory_release(ending.point_start);
    if (!is_complete) return false;
    const bool has_others = scene->vehicle_count > agents && driver->paths.point_count > 0;
    if (setup->overtakes && has_others && lanes->point_start &&
        !drv_oncoming_create(lanes, &driver->paths, &driver->zones, &driver->oncoming_m))
        return false;

    /* the zones of each */
    int32_t zone = 0;
    for (int32_t path = 0; path <= driver->paths.count; path++) {
        while (zone < driver->zones.count && driver->zones.path[zone] < path) zone++;
        driver->zone_start[path] = zone;
    }
    return true;
}

static void release(drv_lane_driver *driver) {
    drv_memory_release(driver->paths.point_start); /* the starts of the blocks */
    drv_memory_release(driver->oncoming_m);
    drv_memory_release(driver->zones.next);
    drv_memory_release(driver->stop_lines.start);
    drv_memory_release(driver);
}

drv_status drv_lane_driver_create(const drv_lane_driver_setup *setup, drv_lane_driver **out, char *message) {
    /* check the numbers */
    drv_scene *scene = setup->scene;
    if (setup->overtakes != 0 && setup->overtakes != 1)
        return drv_fail(message, DRV_ERROR_CONFIG, "overtakes is %d; it must be 0 or 1", setup->overtakes);
    const int32_t agents = scene->num_agents, vehicles = scene->vehicle_count;
    for (int32_t agent = 0; agent < agents; agent++) {
        const drv_status status = check_paths(setup, agent, message);
        if (status != DRV_OK) return status;
    }

    /* allocate */
    const int32_t paths = setup->path_start ? setup->path_start[agents] : agents;
    drv_lane_driver measured = {.scene = NULL};
    drv_lane_driver *driver = drv_memory_acquire(NULL, lay_out(&measured, NULL, agents, paths, vehicles));
    if (!driver) return drv_fail(message, DRV_ERROR_MEMORY, "no memory for a driver of %d agents", agents);
    lay_out(driver, (uint8_t *)driver, agents, paths, vehicles);
    driver->window.count = agents;
    driver->window.z_m = NULL;
    driver->oncoming_m = NULL;
    for (int32_t agent = 0; agent <= agents; agent++) driver->window.point_start[agent] = agent * DRV_WINDOW_POINTS;

    /* make the paths */
    const drv_fp_env saved = drv_fp_env_begin();
    const bool has_paths = make_paths(driver, setup);
    drv_fp_env_end(saved);
    if (!has_paths) {
        release(driver);
        return drv_fail(message, DRV_ERROR_MEMORY, "no memory for the paths of %d agents", agents);
    }
    drv_scene_retain(scene);
    driver->scene = scene;
    *out = driver;
    return DRV_OK;
}

void drv_lane_driver_free(drv_lane_driver *driver) {
    if (!driver) return;
    drv_scene_release(driver->scene);
    release(driver);
}

/* ---- drive ---- */

static drv_status check_drivers(const drv_batch *batch, drv_worlds worlds, drv_lane_driver *const *drivers,
                                char *message) {
    if (worlds.first < 0 || worlds.count < 0 || worlds.count > batch->num_worlds - worlds.first)
        return drv_fail(message, DRV_ERROR_CALL, "worlds.first is %d and worlds.count %d; worlds must be in 0 to %d",
                        worlds.first, worlds.count, batch->num_worlds - 1);
    for (int32_t number = worlds.first; number < worlds.first + worlds.count; number++) {
        const int32_t scene = *drv_batch_world(batch, number).scene_index;
        if (!drivers[scene] || drivers[scene]->scene != batch->scenes[scene])
            return drv_fail(message, DRV_ERROR_CALL, "world %d is in scene %d, which has no driver; it must have one",
                            number, scene);
    }
    return DRV_OK;
}

drv_status drv_batch_drive(drv_batch *batch, drv_worlds worlds, drv_lane_driver *const *drivers,
                           float *acceleration_mps2, float *steering_rad, char *message) {
    drv_part *whole = drv_batch_enter(batch, DRV_WHOLE_BATCH, message);
    if (!whole) return DRV_ERROR_CALL;
    const drv_status status = check_drivers(batch, worlds, drivers, message);
    for (int32_t i = 0; status == DRV_OK && i < worlds.count; i++) {
        const drv_world world = drv_batch_world(batch, worlds.first + i);
        const int64_t first = (int64_t)i * batch->sizes.agents;
        batch->kernels->drive_agents(&world, &batch->workers[0].scratch, drivers[*world.scene_index],
                                     acceleration_mps2 + first, steering_rad + first);
    }
    drv_batch_leave(whole);
    return status;
}
