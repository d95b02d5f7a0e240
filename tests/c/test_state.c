/* Is the block of state cut into parts that do not overlap? */
#include "step/state.h"

#include <stdlib.h>

#include "check.h"
#include "platform/arena.h"

enum { FIELD_CAPACITY = 128 };

static int64_t bytes_of(const drv_state_field *field) { return (int64_t)field->count * (field->type[1] - '0'); }

/* Whether an array has elements: those of an option have none while it is off. */
static bool has_elements(const drv_sizes *sizes, const char *name) {
    /* records and options of the batch */
    if (strcmp(name, "record_coplayer") == 0) return sizes->record_capacity > 0 && sizes->coplayer_agents > 0;
    if (strncmp(name, "coplayer", 8) == 0) return sizes->coplayer_agents > 0;
    if (strncmp(name, "record_", 7) == 0 || strcmp(name, "records_lost") == 0) return sizes->record_capacity > 0;
    if (strcmp(name, "own_reward") == 0 || strcmp(name, "reward_is_due") == 0) return sizes->own_reward_agents > 0;
    if (strcmp(name, "reward_weight") == 0) return sizes->has_weights;
    if (strcmp(name, "valid_action_sum") == 0) return sizes->mask_agents > 0;
    if (strcmp(name, "goal_lane") == 0 || strcmp(name, "goal_along_m") == 0 || strcmp(name, "goal_turns") == 0)
        return sizes->next_goals > 0;
    if (strcmp(name, "goals_reached") == 0) return sizes->counted_goals > 0;
    if (strcmp(name, "respawns") == 0 || strcmp(name, "start_of") == 0) return sizes->respawn_agents > 0;
    /* dynamics, hidden parameters and disturbances */
    if (strcmp(name, "sideslip_rad") == 0) return sizes->slip_agents > 0;
    if (strcmp(name, "hidden") == 0) return sizes->has_hidden;
    if (strcmp(name, "commanded_steering_rad") == 0) return sizes->has_commanded;
    if (strcmp(name, "delayed_control") == 0) return sizes->delay_steps > 0;
    if (strcmp(name, "blind_steps") == 0 || strcmp(name, "braking_steps") == 0) return sizes->disturbed_agents > 0;
    /* traffic, routes, heights and controls */
    if (strcmp(name, "path_m") == 0 || strcmp(name, "arrival_step") == 0) return sizes->rule_based > 0;
    if (strncmp(name, "script_", 7) == 0) return sizes->scripts > 0;
    if (strncmp(name, "route", 5) == 0) return sizes->route_agents > 0;
    if (strcmp(name, "path_side") == 0 || strncmp(name, "path_offset", 11) == 0) return sizes->lane_changers > 0;
    if (strcmp(name, "z_m") == 0) return sizes->height_vehicles > 0;
    if (strcmp(name, "goal_z_m") == 0) return sizes->height_agents > 0;
    if (strcmp(name, "sign_steps") == 0) return sizes->controlled_vehicles > 0;
    if (strncmp(name, "light_", 6) == 0) return sizes->traffic_controls > 0;
    if (strstr(name, "red_light") || strstr(name, "stop_sign") || strcmp(name, "stopped_at_sign") == 0)
        return sizes->control_agents > 0;
    return true;
}

TEST(the_arrays_of_a_world_follow_one_another_inside_its_block) {
    /* every option off in some world, and on in another */
    const drv_sizes all[] = {
        {.agents = 1, .vehicles = 16, .contact_words = 1, .max_trials = 1, .terms = 4, .metrics = 13, .slip_agents = 1,
         .next_goals = 1, .counted_goals = 1,
         .lane_agents = 1, .comfort_agents = 1, .proximity_agents = 1, .detailed_agents = 1,
         .traffic_controls = 1, .control_agents = 1, .mask_agents = 1, .scripts = 1},
        {.agents = 3, .vehicles = 32, .contact_words = 1, .max_trials = 4, .record_capacity = 1, .terms = 4,
         .metrics = 13, .own_reward_agents = 3, .has_weights = 1, .has_hidden = 1, .rule_based = 5, .lane_changers = 5,
         .route_agents = 3, .coplayer_agents = 3, .counted_goals = 3, .respawn_agents = 3,
         .lane_agents = 3, .comfort_agents = 3, .proximity_agents = 3, .detailed_agents = 3},
        {.agents = 65, .vehicles = 80, .contact_words = 2, .max_trials = 7, .terms = 5, .metrics = 14, .has_hidden = 1,
         .has_commanded = 1, .delay_steps = 3, .disturbed_agents = 65, .height_vehicles = 80, .height_agents = 65,
         .lane_agents = 65, .comfort_agents = 65, .proximity_agents = 65, .detailed_agents = 65},
        {.agents = 200, .vehicles = 1008, .contact_words = 16, .max_trials = 100, .record_capacity = 5, .terms = 6,
         .metrics = 17, .rule_based = 300, .scripts = 50,
         .lane_agents = 200, .comfort_agents = 200, .proximity_agents = 200, .detailed_agents = 200,
         .traffic_controls = 40, .control_agents = 200, .controlled_vehicles = 300}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const int64_t world_bytes = (int64_t)drv_state_world_bytes(all[i]);
        CHECK(world_bytes % DRV_CACHE_LINE == 0, "%lld bytes a world", (long long)world_bytes);
        /* each array begins after the one before it, aligned for vectors; options that are off have no elements */
        drv_state_field field;
        int64_t end = 0;
        int32_t count = 0;
        for (; drv_state_describe(all[i], count, &field); count++) {
            CHECK((int64_t)field.offset >= end, "%s begins at %lld, before %lld", field.name, (long long)field.offset,
                  (long long)end);
            CHECK(field.offset % 32 == 0 && (int64_t)field.world_stride == world_bytes, "%s", field.name);
            CHECK((field.count > 0) == has_elements(&all[i], field.name), "%s: %d", field.name, field.count);
            CHECK(field.name[0] && field.phases[0], "%s", field.name);
            end = (int64_t)field.offset + bytes_of(&field);
        }
        /* no bytes between the last array and the end but padding to a vector, then to a line */
        CHECK(end <= world_bytes && world_bytes < end + 2 * DRV_CACHE_LINE, "they end at %lld of %lld", (long long)end,
              (long long)world_bytes);
        CHECK(count > 40 && count < FIELD_CAPACITY, "%d arrays", count);
    }
}

TEST(the_pointers_of_a_world_agree_with_its_described_fields) {
    const drv_sizes sizes = {.agents = 3, .vehicles = 32, .contact_words = 1, .max_trials = 4, .record_capacity = 2,
                             .terms = 4, .metrics = 13, .has_weights = 1, .has_hidden = 1, .has_commanded = 1,
                             .delay_steps = 2,
                             .lane_agents = 3, .comfort_agents = 3, .proximity_agents = 3, .detailed_agents = 3,
                             .rule_based = 2};
    uint8_t *block = calloc(1, (size_t)drv_state_world_bytes(sizes));
    drv_world world = {.sizes = sizes};
    drv_state_attach(&world, block);
    /* The last byte of each array may be written: the sanitizer detects writes beyond the block. */
    world.trials[sizes.agents * sizes.max_trials - 1] = 1;
    world.average[sizes.agents * sizes.max_trials * sizes.metrics - 1] = 1.0f;
    drv_state_field field;
    for (int32_t i = 0; drv_state_describe(sizes, i, &field); i++) {
        const void *found = NULL;
#define X(type, letter, member, count, unit, phase) \
        if (strcmp(field.name, #member) == 0) found = world.member;
        DRV_STATE(X)
#undef X
        CHECK(found == block + field.offset, "%s", field.name);
    }
    free(block);
}
