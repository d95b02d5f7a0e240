/* Where in the state block is each array of a world? */
#include "step/state.h"

#include "platform/arena.h"

/* The element counts that DRV_STATE names. */
#define DRV_AGENTS sizes.agents
#define DRV_VEHICLES sizes.vehicles
#define DRV_RULE_BASED sizes.rule_based
#define DRV_SCRIPTS sizes.scripts
#define DRV_CONTACT_WORDS (sizes.agents * sizes.contact_words)
#define DRV_REWARDS (sizes.agents * sizes.terms)
#define DRV_TRIALS (sizes.agents * sizes.max_trials)
#define DRV_HAS_RECORDS (sizes.record_capacity > 0)
#define DRV_RECORDED_TRIALS sizes.record_capacity
#define DRV_RECORDS ((int64_t)sizes.record_capacity * sizes.agents)
#define DRV_LIGHTS sizes.traffic_controls
#define DRV_CONTROL_AGENTS sizes.control_agents
#define DRV_LANE_CHANGERS sizes.lane_changers
#define DRV_CONTROLLED_VEHICLES sizes.controlled_vehicles
#define DRV_LANE_AGENTS sizes.lane_agents
#define DRV_COMFORT_AGENTS sizes.comfort_agents
#define DRV_ROUTE_AGENTS sizes.route_agents
#define DRV_PROXIMITY_AGENTS sizes.proximity_agents
#define DRV_DETAILED_AGENTS sizes.detailed_agents
#define DRV_COPLAYER_AGENTS sizes.coplayer_agents
#define DRV_COPLAYER_TRIALS (sizes.coplayer_agents * sizes.max_trials)
#define DRV_COPLAYER_AVERAGES ((int64_t)sizes.coplayer_agents * sizes.max_trials * sizes.metrics)
#define DRV_COPLAYER_RECORDS ((int64_t)sizes.record_capacity * sizes.coplayer_agents)
#define DRV_HEIGHT_VEHICLES sizes.height_vehicles
#define DRV_HEIGHT_AGENTS sizes.height_agents
#define DRV_MASK_AGENTS sizes.mask_agents
#define DRV_OWN_REWARDS sizes.own_reward_agents
#define DRV_HAS_OWN_REWARD (sizes.own_reward_agents > 0)
#define DRV_DRAWN_WEIGHTS (sizes.agents * sizes.has_weights * DRV_TERM_COUNT)
#define DRV_RECORD_VALUES ((int64_t)sizes.record_capacity * sizes.agents * sizes.metrics)
#define DRV_NEXT_GOALS sizes.next_goals
#define DRV_COUNTED_GOALS sizes.counted_goals
#define DRV_RESPAWN_AGENTS sizes.respawn_agents
#define DRV_SLIP_AGENTS sizes.slip_agents
#define DRV_COMMANDED_AGENTS (sizes.agents * sizes.has_commanded)
#define DRV_HIDDEN_VALUES (sizes.agents * sizes.has_hidden * DRV_HIDDEN_COUNT)
#define DRV_DISTURBED_AGENTS sizes.disturbed_agents
#define DRV_DELAYED_CONTROLS drv_delayed_controls(sizes)
#define DRV_AVERAGES ((int64_t)sizes.agents * sizes.max_trials * sizes.metrics)

/* Arrays are aligned to 32 bytes, so that vector loads from their start cross no cache line. */
static uint64_t padded(uint64_t bytes) { return (bytes + 31u) / 32u * 32u; }

uint64_t drv_state_world_bytes(drv_sizes sizes) {
    uint64_t bytes = 0;
#define X(type, letter, name, count, unit, phase) bytes += padded((uint64_t)(count) * sizeof(type));
    DRV_STATE(X)
#undef X
    return drv_round_up_to_line(bytes);
}

void drv_state_attach(drv_world *world, void *world_block) {
    const drv_sizes sizes = world->sizes;
    uint8_t *next = world_block;
#define X(type, letter, name, count, unit, phase) \
    world->name = (type *)(void *)next;           \
    next += padded((uint64_t)(count) * sizeof(type));
    DRV_STATE(X)
#undef X
    /* where nothing changes a command, the wheels are at the commanded angle */
    if (!sizes.has_commanded) world->commanded_steering_rad = world->steering_rad;
}

_Bool drv_state_describe(drv_sizes sizes, int32_t index, drv_state_field *out) {
    uint64_t offset = 0;
    int32_t current = 0;
#define X(type, letter, name, count, unit, phase)                                             \
    if (current++ == index) {                                                                 \
        *out = (drv_state_field){#name, letter, unit, phase, offset,                          \
                                 drv_state_world_bytes(sizes), (int32_t)(count)};             \
        return 1;                                                                             \
    }                                                                                         \
    offset += padded((uint64_t)(count) * sizeof(type));
    DRV_STATE(X)
#undef X
    return 0;
}
