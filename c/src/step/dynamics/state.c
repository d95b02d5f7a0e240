/* How does a vehicle move whose actions are its next state? DRV_STATE.
 *
 * Pose and speed at the end of the step, in the scene's frame. The limits of speed, acceleration and steering are not
 * applied. A vehicle that moves farther than the highest speed allows has jumped: see drv_dynamics_integrate. */
#include "step/dynamics.h"

void drv_state_advance(drv_motion_block *vehicles, drv_motion_limits limits, float dt_s) {
    (void)limits;
    const float map_m = (float)DRV_COORDINATE_LIMIT_M, speed_mps = (float)DRV_SPEED_LIMIT_MPS;
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
        const float before_rad = vehicles->heading_rad[i];
        const drv_motion after = {drv_clip(vehicles->control[0][i], -map_m, map_m),
                                  drv_clip(vehicles->control[1][i], -map_m, map_m),
                                  drv_wrap_angle(vehicles->control[2][i]),
                                  drv_clip(vehicles->control[3][i], -speed_mps, speed_mps)};
        drv_motion_store(vehicles, i, after, dt_s);
        vehicles->steering_rad[i] = 0.0f;
        vehicles->yaw_rate_radps[i] = drv_wrap_angle(after.heading_rad - before_rad) / dt_s;
    }
}

void drv_state_inverse(drv_motion_block *vehicles, const drv_motion_block *next, drv_motion_limits limits, float dt_s,
                       uint8_t *fit) {
    (void)limits;
    (void)dt_s;
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
        vehicles->control[0][i] = next->x_m[i];
        vehicles->control[1][i] = next->y_m[i];
        vehicles->control[2][i] = drv_wrap_angle(next->heading_rad[i]);
        vehicles->control[3][i] = next->speed_mps[i];
        fit[i] = DRV_INVERSE_EXACT;
    }
}
