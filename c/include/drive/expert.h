/* Which actions replay a log? */
#ifndef DRIVE_EXPERT_H
#define DRIVE_EXPERT_H

#ifndef DRV_BINDING
#include <stdint.h>
#endif

#include "drive/config.h"
#include "drive/status.h"

/* Logged motion of vehicles, frame after frame. */
typedef struct drv_log {
    float dt_s; /* between two frames */
    int32_t frame_count;
    int32_t vehicle_count;
    const float *length_m; /* vehicle_count */
    const float *x_m;      /* frame_count x vehicle_count, as all below; read where valid */
    const float *y_m;
    const float *heading_rad;
    const float *vx_mps; /* the speed along the heading is used */
    const float *vy_mps;
    const uint8_t *valid;
} drv_log;

/* Bits that describe an expert action. */
enum {
    DRV_EXPERT_VALID = 1,   /* both frames are valid; else the control is 0, or in DRV_STATE its present pose */
    DRV_EXPERT_CLIPPED = 2, /* the limits do not allow the logged speed or turn, or in DRV_DELTA_LOCAL the pose */
    DRV_EXPERT_SLOW = 4     /* the vehicle is too slow to infer wheel angle or curvature from its turn: that is 0 */
};

/* Writes the actions that replay a log under the config's dynamics, limits and action type: frame_count - 1 actions of
 * each vehicle, frame after frame, as the actions of drv_arrays, and the bits of each. An action leads from the motion
 * that the actions before it have reached towards the speed and heading of the next frame, or in DRV_DELTA_LOCAL
 * towards its pose, so errors due to limits or bins are corrected by later actions. After a gap in the log the replay
 * starts again from the logged motion. */
drv_status drv_expert_actions(const drv_config *config, const drv_log *log, void *actions, uint8_t *bits,
                              char *message);

#endif
