/* How does a vehicle move whose actions are displacements in its own frame? DRV_DELTA_LOCAL.
 *
 * Waymax's delta model: a displacement ahead and to the left, and a turn. The limits of speed, acceleration and
 * steering are not applied. The speed is the displacement along the new heading, over the time of the step. */
#include <math.h>
#include <stdbool.h>

#include "step/dynamics.h"

/* Displacements of actions are those of a step of 0.1 s. */
static inline float delta_scale(float dt_s) { return dt_s / 0.1f; }

/* A displacement in the frame of a heading, along it and to its left. */
static inline drv_point delta_in_frame(drv_point displacement, drv_point ahead) {
    return (drv_point){displacement.x * ahead.x + displacement.y * ahead.y,
                       displacement.y * ahead.x - displacement.x * ahead.y};
}

void drv_delta_local_advance(drv_motion_block *vehicles, drv_motion_limits limits, float dt_s) {
    (void)limits;
    const float scale = delta_scale(dt_s);
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
        const drv_motion before = drv_motion_at(vehicles, i);
        const float dx_m = vehicles->control[0][i] * scale, dy_m = vehicles->control[1][i] * scale;
        const float turn_rad = vehicles->control[2][i] * scale;
        const drv_point ahead = drv_direction(before.heading_rad), turned = drv_direction(turn_rad);
        const drv_motion after = {before.x_m + (ahead.x * dx_m - ahead.y * dy_m),
                                  before.y_m + (ahead.y * dx_m + ahead.x * dy_m),
                                  drv_wrap_angle(before.heading_rad + turn_rad),
                                  delta_in_frame((drv_point){dx_m, dy_m}, turned).x / dt_s};
        drv_motion_store(vehicles, i, after, dt_s);
        vehicles->steering_rad[i] = 0.0f;
        vehicles->yaw_rate_radps[i] = turn_rad / dt_s;
    }
}

void drv_delta_local_inverse(drv_motion_block *vehicles, const drv_motion_block *next, drv_motion_limits limits,
                             float dt_s, uint8_t *fit) {
    (void)limits;
    const float scale = delta_scale(dt_s);
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
        const drv_point displacement = {next->x_m[i] - vehicles->x_m[i], next->y_m[i] - vehicles->y_m[i]};
        const drv_point local = delta_in_frame(displacement, drv_direction(vehicles->heading_rad[i]));
        const float turn_rad = drv_wrap_angle(next->heading_rad[i] - vehicles->heading_rad[i]);
        vehicles->control[0][i] = local.x / scale;
        vehicles->control[1][i] = local.y / scale;
        vehicles->control[2][i] = turn_rad / scale;
        const bool clipped = (fabsf(vehicles->control[0][i]) > DRV_DELTA_LIMIT_M) |
                             (fabsf(vehicles->control[1][i]) > DRV_DELTA_LIMIT_M) |
                             (fabsf(vehicles->control[2][i]) > DRV_TURN_LIMIT_RAD);
        fit[i] = clipped ? DRV_INVERSE_CLIPPED : DRV_INVERSE_EXACT;
    }
}
