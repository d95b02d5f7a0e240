/* Which instruction set runs the step? One table of the step's entry points per instruction set that it was compiled
 * for. */
#ifndef DRV_KERNELS_H
#define DRV_KERNELS_H

#include "step/phases.h"

typedef struct drv_kernels {
    const char *isa;
    int32_t width; /* DRV_WIDTH */
    bool (*actions_in_range)(drv_actions actions, const drv_action_space *space, int64_t agents);
    drv_status (*check_actions)(const drv_world *world, int32_t world_number, char *message);
    int32_t (*next_scene)(const drv_world *world, uint64_t seed, int64_t episode);
    void (*open_episode)(drv_world *world, drv_scratch *scratch, int32_t age_steps);
    void (*rewind)(drv_world *world, drv_scratch *scratch);
    /* runs all phases of one step; adds their times to phase_ns where it is not NULL */
    void (*step_world)(drv_world *world, drv_scratch *scratch, int64_t *phase_ns);
    /* replaces the rewards of a step by the caller's, one per agent of the world */
    void (*reward_replace)(drv_world *world, const float *rewards, drv_scratch *scratch);
    /* runs the phases of a step that write observations */
    void (*observe_world)(drv_world *world, drv_scratch *scratch);
    void (*observe_agents)(const drv_world *world, const uint8_t *chosen, drv_scratch *scratch,
                           drv_observation_type type, void *out);
    void (*expert_write)(const drv_config *config, const drv_log *log, drv_actions actions, uint8_t *bits);
    int32_t (*goals_ahead)(const drv_world *world, int32_t agent, int32_t capacity, float *goal_m);
    void (*drive_agents)(const drv_world *world, drv_scratch *scratch, drv_lane_driver *driver,
                         float *acceleration_mps2, float *steering_rad);
} drv_kernels;

/* One table per instruction set of the build; every processor can run the first. */
extern const drv_kernels drv_kernels_baseline, drv_kernels_v3, drv_kernels_v4;

/* Returns the table of an instruction set by name, or of the fastest that this processor can run where the name is NULL
 * or "". Returns NULL where the name is unknown or the processor cannot run the set. */
const drv_kernels *drv_kernels_choose(const char *isa);

/* Returns the name of the `index`-th instruction set that this processor can run, slowest first; NULL past the last. */
const char *drv_kernels_offered(int32_t index);

#endif
