/* Which actions replay a log? Checks at the API boundary; step/expert.c computes them. */
#include "batch/batch.h"
#include "platform/error.h"
#include "platform/fp_env.h"

/* One array of a log, of a number per vehicle and frame. */
typedef struct track {
    const char *name;
    const float *value;
    float limit;
} track;

static drv_status check_track(const drv_log *log, track tracked, char *message) {
    for (int64_t i = 0; i < (int64_t)log->frame_count * log->vehicle_count; i++)
        if (log->valid[i] && !(tracked.value[i] >= -tracked.limit && tracked.value[i] <= tracked.limit))
            return drv_fail(message, DRV_ERROR_SCENE, "%s of vehicle %d in frame %d is %.9g; it must be in -%g to %g",
                            tracked.name, (int32_t)(i % log->vehicle_count), (int32_t)(i / log->vehicle_count),
                            (double)tracked.value[i], (double)tracked.limit, (double)tracked.limit);
    return DRV_OK;
}

static drv_status check_log(const drv_log *log, char *message) {
    enum { frame_limit = DRV_FRAME_LIMIT + 1 }; /* a trial of n steps has n + 1 frames */
    const float shortest_m = (float)DRV_SIZE_LOWEST_M;
    const float shortest_s = (float)DRV_DT_LOWEST_S, longest_s = (float)DRV_DT_HIGHEST_S;
    const track tracks[] = {{"x_m", log->x_m, DRV_COORDINATE_LIMIT_M},
                            {"y_m", log->y_m, DRV_COORDINATE_LIMIT_M},
                            {"heading_rad", log->heading_rad, (float)DRV_HEADING_LIMIT_RAD},
                            {"vx_mps", log->vx_mps, DRV_SPEED_LIMIT_MPS},
                            {"vy_mps", log->vy_mps, DRV_SPEED_LIMIT_MPS}};

    /* the time step and the counts */
    if (!(log->dt_s >= shortest_s && log->dt_s <= longest_s))
        return drv_fail(message, DRV_ERROR_SCENE, "dt_s is %.9g; it must be in %g to %g", (double)log->dt_s,
                        DRV_DT_LOWEST_S, DRV_DT_HIGHEST_S);
    if (log->frame_count < 1 || log->frame_count > frame_limit || log->vehicle_count < 0 ||
        log->vehicle_count > DRV_VEHICLE_LIMIT)
        return drv_fail(message, DRV_ERROR_SCENE,
                        "a log has %d frames of %d vehicles; it must be 1 to %d frames of 0 to %d vehicles",
                        log->frame_count, log->vehicle_count, frame_limit, DRV_VEHICLE_LIMIT);

    /* the lengths, and the valid entries of the tracks */
    for (int32_t i = 0; i < log->vehicle_count; i++)
        if (!(log->length_m[i] >= shortest_m && log->length_m[i] <= DRV_SIZE_LIMIT_M))
            return drv_fail(message, DRV_ERROR_SCENE, "length_m of vehicle %d is %.9g; it must be in %g to %d", i,
                            (double)log->length_m[i], (double)shortest_m, DRV_SIZE_LIMIT_M);
    drv_status status = DRV_OK;
    for (size_t i = 0; status == DRV_OK && i < sizeof tracks / sizeof *tracks; i++)
        status = check_track(log, tracks[i], message);
    return status;
}

drv_status drv_expert_actions(const drv_config *config, const drv_log *log, void *actions, uint8_t *bits,
                              char *message) {
    drv_status status = drv_batch_check_config(config, message);
    if (status == DRV_OK) status = check_log(log, message);
    if (status != DRV_OK) return status;
    const bool continuous = config->action_type == DRV_CONTINUOUS;
    const drv_actions out = {continuous ? NULL : (int64_t *)actions, continuous ? (float *)actions : NULL};
    const drv_fp_env saved = drv_fp_env_begin();
    drv_kernels_choose(NULL)->expert_write(config, log, out, bits);
    drv_fp_env_end(saved);
    return DRV_OK;
}
