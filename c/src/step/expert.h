/* Which actions replay a log? */
#ifndef DRV_EXPERT_H
#define DRV_EXPERT_H

#include "drive.h"
#include "platform/isa.h"
#include "step/state.h"

/* Does what drv_expert_actions documents, for arguments that passed its checks. */
DRV_STEP_API void drv_expert_write(const drv_config *config, const drv_log *log, drv_actions actions, uint8_t *bits);

#endif
