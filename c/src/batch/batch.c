/* How does a batch begin, and how is it called? Checks at the border; after it, phases cannot fail. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "view/cells.h"
#include "batch/ownership.h"
#include "drive.h"
#include "platform/error.h"
#include "step/kernels.h"
#include "view/layout.h"
#include "platform/memory.h"
#include "platform/pool.h"
#include "batch/report.h"
#include "platform/fp_env.h"
#include "math/vector.h"

enum { world_limit = 1 << 20, thread_limit = 1024, trial_limit = 10000, slot_limit = 4096 };

static const uint64_t block_limit_bytes = (uint64_t)1 << 40;

/* What one thread needs for itself; apart by two cache lines, so that threads do not share one. */
typedef struct worker {
    drv_scratch scratch;
    int64_t phase_ns[DRV_PHASE_COUNT];
    uint8_t apart[128];
} worker;

/* Worlds that are called together, and the call that is at them. */
typedef struct part {
    drv_batch *batch;
    int32_t number; /* of its claim, and of its queue of the pool */
    int32_t first_world, num_worlds;
    drv_fp_env callers_fp_env;
    /* World by world, from its first one on. */
    const uint8_t *chosen; /* worlds to reset, NULL all */
    const uint64_t *seeds; /* NULL: next episode */
    const int32_t *ages;   /* NULL: none */
    uint8_t *restart_out;
} part;

struct drv_batch {
    drv_config config;
    const drv_kernels *kernels;
    int32_t num_worlds, scene_count;
    drv_scene **scenes;
    drv_encoding *encodings; /* of each scene */
    drv_cells *cells;
    drv_sizes sizes;
    int32_t observation_size, observation_bytes, action_width;
    uint8_t *block;
    uint64_t world_bytes;
    drv_arrays arrays;
    drv_pool *pool;
    worker *workers;
    drv_actions actions; /* the core's own copy, of all agents */
    uint8_t *scratch_block;
    bool closed, times_phases;
    bool torn; /* the process forked in the middle of a call or a step */
    drv_ownership ownership;
    atomic_bool closing; /* lets no further call in, or whoever closes might wait for ever */
    part parts[1 + DRV_PART_LIMIT];
};

/* ---- config ---- */

typedef struct range_check {
    char *message;
    drv_status status;
} range_check;

static void in_range(range_check *check, const char *name, double found, double low, double high) {
    if (check->status == DRV_OK && !(found >= low && found <= high))
        check->status = drv_fail(check->message, DRV_ERROR_CONFIG, "%s is %.17g; it must be in %g to %g", name, found,
                                 low, high);
}

/* The name of an instruction set on offer, or `before` where that is not empty; "" where there is none. */
static const char *set_name(int32_t index, const char *before) {
    const char *name = drv_kernels_offered(index);
    return !name ? "" : before[0] ? before : name;
}

/* Wider than DriveConfig's ranges: what the arithmetic bears. What makes sense to ask for is said there. */
static drv_status check_setup(const drv_batch_setup *setup, char *message) {
    const drv_config *config = &setup->config;
    range_check check = {message, DRV_OK};
    in_range(&check, "worlds", setup->num_worlds, 1, world_limit);
    in_range(&check, "scenes", setup->scene_count, 1, 1 << 24);
    in_range(&check, "threads", setup->thread_count, 1, thread_limit);
    const int32_t worlds = setup->num_worlds;
    in_range(&check, "parts", setup->part_count, 0, worlds < DRV_PART_LIMIT ? worlds : DRV_PART_LIMIT);
    in_range(&check, "agents_per_world", setup->agents_per_world, 1, DRV_VEHICLE_LIMIT);
    in_range(&check, "max_trials", config->max_trials, 1, trial_limit);
    in_range(&check, "action_type", config->action_type, DRV_DISCRETE, DRV_CONTINUOUS);
    in_range(&check, "dynamics", config->dynamics, DRV_BICYCLE, DRV_BICYCLE);
    in_range(&check, "max_acceleration_mps2", (double)config->max_acceleration_mps2, 1e-3, 100);
    in_range(&check, "max_steering_rad", (double)config->max_steering_rad, 1e-3, 1.5);
    in_range(&check, "max_speed_mps", (double)config->max_speed_mps, 1e-3, 200);
    in_range(&check, "min_speed_mps", (double)config->min_speed_mps, -200, 0);
    in_range(&check, "goal_radius_m", (double)config->goal_radius_m, 1e-3, 1000);
    in_range(&check, "goal_max_speed_mps", (double)config->goal_max_speed_mps, -1, 200);
    in_range(&check, "on_goal", config->on_goal, DRV_IGNORE, DRV_REMOVE);
    in_range(&check, "on_collision", config->on_collision, DRV_IGNORE, DRV_REMOVE);
    in_range(&check, "on_offroad", config->on_offroad, DRV_IGNORE, DRV_REMOVE);
    in_range(&check, "stopped_share_limit", (double)config->stopped_share_limit, 0, 1);
    in_range(&check, "partners", config->partners, 0, slot_limit);
    in_range(&check, "roads", config->roads, 0, slot_limit);
    in_range(&check, "road_selection", config->road_selection, DRV_ROADS_EXACT, DRV_ROADS_NEAR);
    in_range(&check, "road_memory_mib", config->road_memory_mib, 0, 1 << 24);
    in_range(&check, "observation_type", config->observation_type, DRV_FLOAT32, DRV_INDEX);
    in_range(&check, "view_radius_m", (double)config->view_radius_m, 1e-2, 10000);
    in_range(&check, "time_left", config->time_left, DRV_TIME_LEFT_OFF, DRV_TIME_LEFT_ACTOR);
    in_range(&check, "scene_order", config->scene_order, DRV_ORDER_RANDOM, DRV_ORDER_CYCLE);
    in_range(&check, "restart", config->restart, DRV_RESTART_AUTO, DRV_RESTART_CALLER);
    in_range(&check, "reward_goal", (double)config->reward_goal, -1e6, 1e6);
    in_range(&check, "reward_collision", (double)config->reward_collision, -1e6, 1e6);
    in_range(&check, "reward_offroad", (double)config->reward_offroad, -1e6, 1e6);
    in_range(&check, "reward_progress_per_m", (double)config->reward_progress_per_m, -1e6, 1e6);
    in_range(&check, "log_ema_alpha", (double)config->log_ema_alpha, 0, 1);
    if (check.status == DRV_OK && !drv_kernels_choose(setup->instruction_set))
        return drv_fail(message, DRV_ERROR_CONFIG, "the instruction set is %.40s; this processor offers %s%s%s%s%s",
                        setup->instruction_set, set_name(0, ""), set_name(1, ", "), set_name(1, ""), set_name(2, ", "),
                        set_name(2, ""));
    for (int32_t i = 0; check.status == DRV_OK && i < setup->num_worlds; i++)
        if (setup->world_ids[i] < 0)
            return drv_fail(message, DRV_ERROR_CONFIG, "world id %d is %lld; it must be 0 or above", i,
                            (long long)setup->world_ids[i]);
    for (int32_t i = 0; check.status == DRV_OK && i < setup->scene_count; i++) {
        const drv_scene *scene = setup->scenes[i];
        if (scene->num_agents > setup->agents_per_world)
            return drv_fail(message, DRV_ERROR_SCENE,
                            "scene %.80s has %d controlled vehicles; there are %d agents a world", scene->name,
                            scene->num_agents, setup->agents_per_world);
        if (config->observation_type == DRV_INDEX && scene->segments.count > DRV_INDEX_LIMIT)
            return drv_fail(message, DRV_ERROR_SCENE,
                            "scene %.80s has %d road segments; index observations can name at most %d", scene->name,
                            scene->segments.count, DRV_INDEX_LIMIT);
    }
    return check.status;
}

static int32_t round_up(int32_t value, int32_t to) { return (value + to - 1) / to * to; }

static drv_sizes sizes_of(const drv_batch_setup *setup) {
    int32_t vehicles = setup->agents_per_world;
    for (int32_t i = 0; i < setup->scene_count; i++)
        if (setup->scenes[i]->vehicle_count > vehicles) vehicles = setup->scenes[i]->vehicle_count;
    return (drv_sizes){setup->agents_per_world, round_up(vehicles, DRV_SIMD_PAD), (vehicles + 63) / 64,
                       setup->config.max_trials};
}

drv_status drv_batch_plan(const drv_batch_setup *setup, drv_batch_needs *out, char *message) {
    drv_status status = check_setup(setup, message);
    if (status != DRV_OK) return status;
    const drv_sizes sizes = sizes_of(setup);
    const int64_t agents = (int64_t)setup->num_worlds * sizes.agents;
    const int64_t averages = (int64_t)sizes.agents * sizes.max_trials * DRV_METRIC_COUNT;
    const double bytes = (double)setup->num_worlds * (double)drv_state_world_bytes(sizes);
    if (agents > INT32_MAX || averages > INT32_MAX / 8 || bytes > (double)block_limit_bytes)
        return drv_fail(message, DRV_ERROR_MEMORY,
                        "%d worlds of %d agents with max_trials %d need %.3g bytes of state and %lld agents; at most %.3g "
                        "bytes and %d agents are allowed",
                        setup->num_worlds, sizes.agents, sizes.max_trials, bytes, (long long)agents,
                        (double)block_limit_bytes, INT32_MAX);
    *out = (drv_batch_needs){
        .block_bytes = drv_state_world_bytes(sizes) * (uint64_t)setup->num_worlds,
        .num_agents = (int32_t)agents,
        .agents_per_world = sizes.agents,
        .vehicles_per_world = sizes.vehicles,
        .observation_size = drv_layout_size(&setup->config),
        .observation_bytes = drv_layout_bytes(&setup->config),
        .action_width = drv_action_space_of(&setup->config).width,
    };
    return DRV_OK;
}

/* ---- who gets in ---- */

static void leave(part *own) {
    drv_fp_env_end(own->callers_fp_env);
    drv_ownership_release(&own->batch->ownership, own->number);
}

static void fail_closed(char *message) { drv_fail(message, DRV_ERROR_CALL, "this batch is closed; make a new one"); }

/* Why a claim failed that found these; a call that close overtook is told that. */
static void fail_owned(const part *own, uint64_t found, char *message) {
    const uint64_t rivals = found & drv_ownership_conflicts(&own->batch->ownership, own->number);
    int32_t in_flight = 0;
    if (atomic_load(&own->batch->closing))
        fail_closed(message);
    else if (!rivals)
        drv_fail(message, DRV_ERROR_CALL, "wait was called before step_async; call step_async first");
    else if (drv_ownership_call_bits(rivals))
        drv_fail(message, DRV_ERROR_CALL, "this batch is being used by another thread; one call at a time");
    else if (rivals & drv_ownership_flight_bit(own->number))
        drv_fail(message, DRV_ERROR_CALL, "a step is in flight; call wait first");
    else if (rivals & drv_ownership_flight_bit(DRV_OWNERSHIP_WHOLE))
        drv_fail(message, DRV_ERROR_CALL, "a step of the whole batch is in flight; call its wait first");
    else {
        while (!(rivals & drv_ownership_flight_bit(1 + in_flight))) in_flight++;
        drv_fail(message, DRV_ERROR_CALL, "a step of part %d is in flight; call its wait first", in_flight);
    }
}

/* The part of that index; NULL, and why, where no call may reach it. */
static part *part_of(drv_batch *batch, int32_t index, char *message) {
    if (!batch || atomic_load(&batch->closing))
        fail_closed(message);
    else if (batch->torn)
        drv_fail(message, DRV_ERROR_CALL,
                 "this process was forked in the middle of a call or a step of this batch, so this copy is half "
                 "written; make a new one, or fork between calls");
    else if (index < DRV_WHOLE_BATCH || index >= batch->ownership.part_count)
        drv_fail(message, DRV_ERROR_CALL, "part is %d; it must be %d to %d", index, DRV_WHOLE_BATCH,
                 batch->ownership.part_count - 1);
    else
        return &batch->parts[1 + index];
    return NULL;
}

/* One call at a time: a second thread is told so instead of tearing the state. */
static part *enter(drv_batch *batch, int32_t index, char *message) {
    part *own = part_of(batch, index, message);
    if (!own) return NULL;
    uint64_t found;
    if (!drv_ownership_acquire(&batch->ownership, own->number, &found)) {
        fail_owned(own, found, message);
        return NULL;
    }
    own->callers_fp_env = drv_fp_env_begin();
    if (!batch->closed) return own;
    leave(own); /* closed since it was looked for */
    fail_closed(message);
    return NULL;
}

/* ---- begin and end ---- */

/* Floats of one world's part of the vehicle table: nobody, then the vehicles. */
static int64_t table_size(const drv_batch *batch) { return (1 + (int64_t)batch->sizes.vehicles) * PARTNER_COUNT; }

/* The actions from a world's first agent on. */
static drv_actions actions_from(const drv_batch *batch, int32_t number) {
    const int64_t first = (int64_t)number * batch->sizes.agents * batch->action_width;
    const drv_actions all = batch->actions;
    return (drv_actions){all.bin ? all.bin + first : NULL, all.share ? all.share + first : NULL};
}

/* Everything of one world: its state, its scene, the caller's arrays from its first agent on. */
static drv_world world_of(const drv_batch *batch, int32_t number, void *world_block) {
    const int64_t agent = (int64_t)number * batch->sizes.agents;
    const drv_arrays *all = &batch->arrays;
    drv_world world = {.config = &batch->config,
                       .scenes = batch->scenes,
                       .scene_count = batch->scene_count,
                       .encodings = batch->encodings,
                       .cells = batch->cells,
                       .sizes = batch->sizes,
                       .actions = actions_from(batch, number),
                       .out = *all};
    world.out.discrete_actions = NULL; /* phases have the copy */
    world.out.continuous_actions = NULL;
    drv_state_attach(&world, world_block);
    world.scene = batch->scenes[*world.scene_index];
    world.encoding = &batch->encodings[*world.scene_index];
    if (!all->observations) return world;
    world.out.observations += agent * batch->observation_bytes;
    if (all->vehicle_table) world.out.vehicle_table += number * table_size(batch);
    world.out.rewards += agent;
    world.out.terminations += agent;
    world.out.truncations += agent;
    world.out.trial_ended += agent;
    world.out.truncation += agent;
    world.out.invalid_step += agent;
    world.out.first += agent;
    world.out.trial_index += agent;
    world.out.removed += agent;
    world.out.stopped += agent;
    world.out.waits += agent;
    world.out.outcome += agent;
    world.out.code += agent;
    world.out.scene_index += number;
    return world;
}

static uint8_t *block_of(const drv_batch *batch, int32_t number) {
    return batch->block + (uint64_t)number * batch->world_bytes;
}

static drv_world world_at(const drv_batch *batch, int32_t number) {
    return world_of(batch, number, block_of(batch, number));
}

/* Cuts one thread's room into its parts, or only measures it where `base` is NULL. */
static uint64_t carve_scratch(const drv_batch *batch, uint8_t *base, drv_scratch *out) {
    int64_t items = batch->sizes.vehicles;
    for (int32_t i = 0; i < batch->scene_count; i++)
        if (batch->scenes[i]->segments.count > items) items = batch->scenes[i]->segments.count;
    const int32_t slots = batch->config.partners > batch->config.roads ? batch->config.partners : batch->config.roads;
    uint64_t used = 0;
#define CUT(member, bytes)                                   \
    out->member = base ? (void *)(base + used) : NULL;       \
    used += drv_round_up_to_line((uint64_t)(bytes))
    CUT(world, batch->world_bytes);
    CUT(distance2, (items + 2 * DRV_SIMD_PAD) * (int64_t)sizeof(float));
    CUT(room, (items + 2 * DRV_SIMD_PAD) * (int64_t)sizeof(float));
    CUT(name, (items + DRV_SIMD_PAD) * (int64_t)sizeof(int32_t));
    CUT(first, (items + DRV_SIMD_PAD) * (int64_t)sizeof(int32_t));
    CUT(vehicle_block, batch->sizes.vehicles * (int64_t)sizeof(int32_t));
    CUT(kept, (slots + DRV_SIMD_PAD) * (int64_t)sizeof(int32_t));
    CUT(vehicle_record, (int64_t)batch->sizes.vehicles * PARTNER_COUNT * (int64_t)sizeof(float));
    CUT(list, drv_cell_list_bytes(drv_cells_items(&batch->config)));
    CUT(observation, batch->observation_size * (int64_t)sizeof(float));
    CUT(on_map.vehicle, (batch->sizes.vehicles + DRV_SIMD_PAD) * (int64_t)sizeof(int32_t));
    CUT(on_map.place, batch->sizes.agents * (int64_t)sizeof(int32_t));
    CUT(on_map.x_m, (batch->sizes.vehicles + DRV_SIMD_PAD) * (int64_t)sizeof(float));
    CUT(on_map.y_m, (batch->sizes.vehicles + DRV_SIMD_PAD) * (int64_t)sizeof(float));
    CUT(chosen, batch->sizes.agents);
    CUT(cell, batch->sizes.agents * (int64_t)sizeof(int32_t));
#undef CUT
    return used;
}

static bool make_scratch(drv_batch *batch) {
    drv_scratch measured;
    const uint64_t bytes = carve_scratch(batch, NULL, &measured);
    const int32_t workers = drv_pool_workers(batch->pool);
    batch->workers = calloc((size_t)workers, sizeof *batch->workers);
    batch->scratch_block = drv_memory_acquire((uint64_t)workers * bytes);
    if (!batch->workers || !batch->scratch_block) return false;
    for (int32_t i = 0; i < workers; i++) {
        drv_scratch *scratch = &batch->workers[i].scratch;
        carve_scratch(batch, batch->scratch_block + (uint64_t)i * bytes, scratch);
        for (int32_t block = 0; block < batch->sizes.vehicles; block++)
            scratch->vehicle_block[block] = block * batch->kernels->width;
    }
    return true;
}

static bool make_actions(drv_batch *batch) {
    const size_t count = (size_t)batch->num_worlds * (size_t)batch->sizes.agents * (size_t)batch->action_width;
    if (batch->config.action_type == DRV_CONTINUOUS) batch->actions.share = calloc(count, sizeof(float));
    else batch->actions.bin = calloc(count, sizeof(int64_t));
    return batch->actions.share || batch->actions.bin;
}

/* Parts as equal as worlds are whole. */
static void cut_parts(drv_batch *batch) {
    batch->parts[0] = (part){.batch = batch, .num_worlds = batch->num_worlds};
    const int64_t worlds = batch->num_worlds, count = batch->ownership.part_count;
    for (int32_t i = 0; i < count; i++) {
        const int32_t first = (int32_t)(worlds * i / count), next = (int32_t)(worlds * (i + 1) / count);
        batch->parts[1 + i] = (part){.batch = batch, .number = 1 + i, .first_world = first,
                                     .num_worlds = next - first};
    }
}

drv_status drv_batch_create(const drv_batch_setup *setup, void *block, uint64_t block_bytes, drv_batch **out,
                            char *message) {
    drv_batch_needs needs;
    drv_status status = drv_batch_plan(setup, &needs, message);
    *out = NULL;
    if (status != DRV_OK) return status;
    if (block_bytes < needs.block_bytes || (uintptr_t)block % 64 != 0)
        return drv_fail(message, DRV_ERROR_MEMORY,
                        "the state block is %llu bytes at offset %u of a cache line; it must be at least %llu bytes at "
                        "offset 0", (unsigned long long)block_bytes, (unsigned)((uintptr_t)block % 64),
                        (unsigned long long)needs.block_bytes);
    drv_batch *batch = calloc(1, sizeof *batch);
    drv_scene **scenes = calloc((size_t)setup->scene_count, sizeof(drv_scene *));
    if (batch) {
        batch->config = setup->config;
        batch->kernels = drv_kernels_choose(setup->instruction_set);
        batch->num_worlds = setup->num_worlds;
        batch->scene_count = setup->scene_count;
        batch->ownership.part_count = setup->part_count;
        batch->scenes = scenes;
        batch->sizes = sizes_of(setup);
        batch->observation_size = needs.observation_size;
        batch->observation_bytes = needs.observation_bytes;
        batch->action_width = needs.action_width;
        batch->block = block;
        batch->world_bytes = drv_state_world_bytes(batch->sizes);
        batch->pool = drv_pool_create(setup->thread_count, 1 + setup->part_count);
        atomic_init(&batch->ownership.taken, 0);
        atomic_init(&batch->closing, false);
        cut_parts(batch);
        for (int32_t i = 0; scenes && i < setup->scene_count; i++) {
            scenes[i] = setup->scenes[i];
            drv_scene_retain(scenes[i]);
        }
    }
    if (batch && scenes) batch->encodings = drv_encodings_create(scenes, batch->scene_count, &batch->config);
    if (batch && scenes && batch->config.roads > 0)
        batch->cells = drv_cells_create(scenes, batch->scene_count, drv_cells_items(&batch->config),
                                        (uint64_t)batch->config.road_memory_mib << 20);
    if (!batch || !scenes || !batch->encodings || (batch->config.roads > 0 && !batch->cells) || !batch->pool || !make_scratch(batch) ||
        !make_actions(batch)) {
        if (batch) drv_batch_free(batch);
        else free(scenes);
        return drv_fail(message, DRV_ERROR_MEMORY,
                        "no memory for a batch of %d worlds and %d threads with road_memory_mib %d", setup->num_worlds,
                        setup->thread_count, setup->config.road_memory_mib);
    }
    memset(block, 0, (size_t)needs.block_bytes);
    for (int32_t number = 0; number < setup->num_worlds; number++) {
        drv_world world = world_at(batch, number);
        *world.id = setup->world_ids[number];
        *world.seed = setup->seed;
        *world.episode = -1;
    }
    drv_memory_close_slab(); /* its scenes were made for it, one after the other */
    *out = batch;
    return DRV_OK;
}

/* Ends all but the handle itself, which another thread may still hold. */
static void release(drv_batch *batch) {
    drv_pool_free(batch->pool);
    for (int32_t i = 0; batch->scenes && i < batch->scene_count; i++) drv_scene_release(batch->scenes[i]);
    drv_encodings_free(batch->encodings);
    drv_cells_free(batch->cells);
    free(batch->scenes);
    free(batch->workers);
    drv_memory_release(batch->scratch_block);
    free(batch->actions.bin);
    free(batch->actions.share);
    batch->closed = true;
}

/* Ends the steps that are in flight, so that whoever closes need not wait for their callers. */
static void end_flights(drv_batch *batch) {
    uint64_t found;
    for (part *own = batch->parts; own <= batch->parts + batch->ownership.part_count; own++) {
        if (!drv_ownership_from_flight(&batch->ownership, own->number, &found)) continue;
        own->callers_fp_env = drv_fp_env_begin();
        drv_pool_end(batch->pool, own->number);
        leave(own);
    }
}

void drv_batch_close(drv_batch *batch) {
    uint64_t found;
    atomic_store(&batch->closing, true);
    while (!drv_ownership_acquire(&batch->ownership, DRV_OWNERSHIP_WHOLE, &found)) {
        end_flights(batch);
        drv_pool_yield(); /* a call in progress in another thread ends first */
    }
    if (!batch->closed) release(batch);
    drv_ownership_release(&batch->ownership, DRV_OWNERSHIP_WHOLE);
}

void drv_batch_free(drv_batch *batch) {
    if (!batch) return;
    drv_batch_close(batch);
    free(batch);
}

void drv_batch_bind(drv_batch *batch, const drv_arrays *arrays) { batch->arrays = *arrays; }

void drv_batch_forked(drv_batch *batch) {
    /* Whoever was at it is gone, and what those threads were writing or giving back stays half done. */
    const bool at_it = atomic_exchange(&batch->ownership.taken, 0) != 0;
    batch->torn = batch->torn || at_it;
    if (at_it && atomic_load(&batch->closing)) batch->closed = true;
    if (!batch->closed) drv_pool_forked(batch->pool);
}

drv_worlds drv_batch_part(const drv_batch *batch, int32_t index) {
    if (index < DRV_WHOLE_BATCH || index >= batch->ownership.part_count) return (drv_worlds){0, 0};
    return (drv_worlds){batch->parts[1 + index].first_world, batch->parts[1 + index].num_worlds};
}

/* ---- calls ---- */

/* World `index` of a part. */
static drv_world world_in(const part *own, int32_t index) { return world_at(own->batch, own->first_world + index); }

drv_status drv_batch_copy_world(drv_batch *batch, int32_t world, void *out, char *message) {
    part *whole = enter(batch, DRV_WHOLE_BATCH, message);
    if (!whole) return DRV_ERROR_CALL;
    drv_status status = DRV_OK;
    if (world < 0 || world >= batch->num_worlds)
        status = drv_fail(message, DRV_ERROR_CALL, "world is %d; it must be 0 to %d", world, batch->num_worlds - 1);
    else
        memcpy(out, block_of(batch, world), (size_t)batch->world_bytes);
    leave(whole);
    return status;
}

drv_status drv_batch_copy(drv_batch *batch, void *block, const drv_arrays *arrays, char *message) {
    part *whole = enter(batch, DRV_WHOLE_BATCH, message);
    if (!whole) return DRV_ERROR_CALL;
    const drv_arrays *from = &batch->arrays;
    const size_t worlds = (size_t)batch->num_worlds, agents = worlds * (size_t)batch->sizes.agents;
    const size_t actions = agents * (size_t)batch->action_width;
    memcpy(block, batch->block, worlds * (size_t)batch->world_bytes);
#define COPY(name, count) \
    if (from->name) memcpy(arrays->name, from->name, (count) * sizeof *from->name)
    COPY(discrete_actions, actions);
    COPY(continuous_actions, actions);
    COPY(observations, agents * (size_t)batch->observation_bytes);
    COPY(vehicle_table, worlds * (size_t)table_size(batch));
    COPY(rewards, agents);
    COPY(terminations, agents);
    COPY(truncations, agents);
    COPY(trial_ended, agents);
    COPY(truncation, agents);
    COPY(invalid_step, agents);
    COPY(first, agents);
    COPY(trial_index, agents);
    COPY(removed, agents);
    COPY(stopped, agents);
    COPY(waits, agents);
    COPY(outcome, agents);
    COPY(code, agents);
    COPY(scene_index, worlds);
#undef COPY
    leave(whole);
    return DRV_OK;
}

static bool is_chosen(const part *own, int32_t index) { return !own->chosen || own->chosen[index]; }

static drv_status check_reset(const part *own, char *message) {
    const drv_batch *batch = own->batch;
    if (!batch->arrays.observations)
        return drv_fail(message, DRV_ERROR_CALL, "reset was called before arrays were bound");
    for (int32_t i = 0; i < own->num_worlds; i++) {
        const drv_world world = world_in(own, i);
        if (!is_chosen(own, i) && *world.episode < 0)
            return drv_fail(message, DRV_ERROR_CALL, "the first reset leaves out world %d; it must open every world",
                            i);
        if (!is_chosen(own, i) || !own->ages) continue;
        const uint64_t seed = own->seeds ? own->seeds[i] : *world.seed;
        const int64_t episode = own->seeds ? 0 : *world.episode + 1;
        const drv_scene *scene = batch->scenes[batch->kernels->next_scene(&world, seed, episode)];
        if (own->ages[i] < 0 || own->ages[i] >= scene->trial_steps)
            return drv_fail(message, DRV_ERROR_CALL, "initial_ages of world %d is %d; it must be 0 to %d", i,
                            own->ages[i], scene->trial_steps - 1);
    }
    return DRV_OK;
}

static void reset_world(void *context, int32_t index, int32_t worker_number) {
    const part *own = context;
    const drv_batch *batch = own->batch;
    if (!is_chosen(own, index)) return;
    drv_world world = world_in(own, index);
    drv_scratch *scratch = &batch->workers[worker_number].scratch;
    if (own->seeds) {
        *world.seed = own->seeds[index];
        *world.episode = 0;
    } else {
        ++*world.episode;
    }
    batch->kernels->open_episode(&world, scratch, own->ages ? own->ages[index] : 0);
    batch->kernels->observe_write(&world, scratch);
}

drv_status drv_batch_reset(drv_batch *batch, int32_t index, const uint64_t *seeds, const uint8_t *worlds,
                           const int32_t *ages, char *message) {
    part *own = enter(batch, index, message);
    if (!own) return DRV_ERROR_CALL;
    own->seeds = seeds;
    own->chosen = worlds;
    own->ages = ages;
    const drv_status status = check_reset(own, message);
    if (status == DRV_OK) drv_pool_run(batch->pool, own->number, reset_world, own, own->num_worlds);
    leave(own);
    return status;
}

static void step_world(void *context, int32_t index, int32_t worker_number) {
    const part *own = context;
    worker *stepper = &own->batch->workers[worker_number];
    drv_world world = world_in(own, index);
    own->batch->kernels->step_world(&world, &stepper->scratch, own->batch->times_phases ? stepper->phase_ns : NULL);
}

static bool was_reset(const part *own) {
    const uint8_t *episode = (const uint8_t *)world_in(own, 0).episode; /* the others' lie a world's bytes apart */
    for (int32_t i = 0; i < own->num_worlds; i++, episode += own->batch->world_bytes)
        if (*(const int64_t *)(const void *)episode < 0) return false;
    return true;
}

static drv_status check_worlds_go_on(const part *own, char *message) {
    const drv_batch *batch = own->batch;
    if (!batch->arrays.observations)
        return drv_fail(message, DRV_ERROR_CALL, "step was called before arrays were bound");
    if (!was_reset(own)) return drv_fail(message, DRV_ERROR_CALL, "step was called before reset; call reset first");
    for (int32_t i = 0; batch->config.restart == DRV_RESTART_CALLER && i < own->num_worlds; i++)
        if (*world_in(own, i).pending == DRV_OPENS_EPISODE)
            return drv_fail(message, DRV_ERROR_CALL,
                            "the episode of world %d is over and its restart is the caller's; reset it before the "
                            "next step", i);
    return DRV_OK;
}

static drv_status check_actions(const part *own, char *message) {
    const drv_batch *batch = own->batch;
    const drv_actions actions = actions_from(batch, own->first_world);
    const int64_t agents = (int64_t)own->num_worlds * batch->sizes.agents;
    if (batch->kernels->fit_actions(actions, batch->config.action_type, agents)) return DRV_OK;
    drv_status status = DRV_OK;
    for (int32_t i = 0; status == DRV_OK && i < own->num_worlds; i++) { /* agents that wait may have anything */
        const drv_world world = world_in(own, i);
        status = batch->kernels->check_actions(&world, i, message);
    }
    return status;
}

/* Takes the caller's actions, the bound ones where `actions` is NULL. Foreign ones that are good are kept in the bound
 * array. */
static drv_status take_actions(const part *own, const void *actions, char *message) {
    const drv_batch *batch = own->batch;
    const drv_actions taken = actions_from(batch, own->first_world);
    const size_t width = (size_t)batch->sizes.agents * (size_t)batch->action_width;
    const size_t first = (size_t)own->first_world * width, count = (size_t)own->num_worlds * width;
    const bool shares = batch->config.action_type == DRV_CONTINUOUS;
    void *bound = shares ? (void *)(batch->arrays.continuous_actions + first)
                         : (void *)(batch->arrays.discrete_actions + first);
    void *own_copy = shares ? (void *)taken.share : (void *)taken.bin;
    const size_t bytes = count * (shares ? sizeof(float) : sizeof(int64_t));
    memcpy(own_copy, actions ? actions : bound, bytes);
    const drv_status status = check_actions(own, message);
    if (status == DRV_OK && actions) memcpy(bound, own_copy, bytes);
    return status;
}

/* Enters a step: nothing has changed where it returns NULL. */
static part *enter_step(drv_batch *batch, int32_t index, const void *actions, drv_status *status, char *message) {
    part *own = enter(batch, index, message);
    *status = own ? check_worlds_go_on(own, message) : DRV_ERROR_CALL;
    if (*status == DRV_OK) *status = take_actions(own, actions, message);
    if (*status == DRV_OK) return own;
    if (own) leave(own);
    return NULL;
}

drv_status drv_batch_step(drv_batch *batch, int32_t index, const void *actions, char *message) {
    drv_status status;
    part *own = enter_step(batch, index, actions, &status, message);
    if (!own) return status;
    drv_pool_run(batch->pool, own->number, step_world, own, own->num_worlds);
    leave(own);
    return DRV_OK;
}

drv_status drv_batch_step_async(drv_batch *batch, int32_t index, const void *actions, char *message) {
    drv_status status;
    part *own = enter_step(batch, index, actions, &status, message);
    if (!own) return status;
    drv_pool_begin(batch->pool, own->number, step_world, own, own->num_worlds);
    drv_fp_env_end(own->callers_fp_env);
    drv_ownership_to_flight(&batch->ownership, own->number);
    return DRV_OK;
}

drv_status drv_batch_wait(drv_batch *batch, int32_t index, char *message) {
    part *own = part_of(batch, index, message);
    if (!own) return DRV_ERROR_CALL;
    uint64_t found;
    if (!drv_ownership_from_flight(&batch->ownership, own->number, &found)) {
        fail_owned(own, found, message);
        return DRV_ERROR_CALL;
    }
    own->callers_fp_env = drv_fp_env_begin();
    drv_pool_end(batch->pool, own->number);
    leave(own);
    return DRV_OK;
}

/* Plays the world's next inner restart in a copy, and looks. */
static void look_ahead(void *context, int32_t index, int32_t worker_number) {
    const part *own = context;
    const drv_batch *batch = own->batch;
    drv_scratch *scratch = &batch->workers[worker_number].scratch;
    const drv_world world = world_in(own, index);
    const bool halves = batch->config.observation_type == DRV_FLOAT16;
    const int64_t world_bytes =
        (int64_t)batch->sizes.agents * batch->observation_size * (int64_t)(halves ? sizeof(uint16_t) : sizeof(float));
    uint8_t *out = own->restart_out + index * world_bytes;
    memset(out, 0, (size_t)world_bytes);
    if (*world.trial + 1 == batch->config.max_trials) return;
    const int32_t number = own->first_world + index;
    memcpy(scratch->world, block_of(batch, number), (size_t)batch->world_bytes);
    drv_world copy = world_of(batch, number, scratch->world);
    batch->kernels->rewind(&copy, scratch);
    for (int32_t agent = 0; agent < world.scene->num_agents; agent++)
        scratch->chosen[agent] = world.status[agent] != DRV_DRIVING || *world.pending == DRV_OPENS_TRIAL;
    batch->kernels->observe_agents(&copy, scratch->chosen, scratch, halves ? DRV_FLOAT16 : DRV_FLOAT32, out);
}

drv_status drv_batch_restart_observations(drv_batch *batch, int32_t index, void *out, char *message) {
    part *own = enter(batch, index, message);
    if (!own) return DRV_ERROR_CALL;
    drv_status status = DRV_OK;
    if (!was_reset(own)) {
        status = drv_fail(message, DRV_ERROR_CALL, "restart_observations was called before reset; call reset first");
    } else {
        own->restart_out = out;
        drv_pool_run(batch->pool, own->number, look_ahead, own, own->num_worlds);
    }
    leave(own);
    return status;
}

/* ---- reports ---- */

static drv_figure figure_of(drv_mean mean) {
    return (drv_figure){mean.n > 0 ? mean.sum / (double)mean.n : (double)NAN, mean.n};
}

static drv_status check_trial(const drv_batch *batch, int32_t trial, int32_t least, char *message) {
    if (trial >= least && trial < batch->config.max_trials) return DRV_OK;
    return drv_fail(message, DRV_ERROR_CALL, "trial is %d; it must be %d to %d", trial, least,
                    batch->config.max_trials - 1);
}

drv_status drv_batch_metric(drv_batch *batch, int32_t metric, int32_t trial, drv_figure *out, char *message) {
    part *whole = enter(batch, DRV_WHOLE_BATCH, message);
    if (!whole) return DRV_ERROR_CALL;
    drv_status status = check_trial(batch, trial, -1, message);
    if (status == DRV_OK && (metric < 0 || metric >= DRV_METRIC_COUNT))
        status = drv_fail(message, DRV_ERROR_CALL, "metric is %d; it must be 0 to %d", metric, DRV_METRIC_COUNT - 1);
    drv_mean mean = {0.0, 0};
    for (int32_t number = 0; status == DRV_OK && number < batch->num_worlds; number++) {
        const drv_world world = world_at(batch, number);
        drv_report_metric(&world, metric, trial, &mean);
    }
    *out = figure_of(mean);
    leave(whole);
    return status;
}

drv_status drv_batch_adaptation(drv_batch *batch, int32_t trial, drv_figure *out, char *message) {
    part *whole = enter(batch, DRV_WHOLE_BATCH, message);
    if (!whole) return DRV_ERROR_CALL;
    drv_status status = check_trial(batch, trial, 1, message);
    drv_mean mean = {0.0, 0};
    for (int32_t number = 0; status == DRV_OK && number < batch->num_worlds; number++) {
        const drv_world world = world_at(batch, number);
        drv_report_adaptation(&world, trial, &mean);
    }
    *out = figure_of(mean);
    leave(whole);
    return status;
}

drv_status drv_batch_trials(drv_batch *batch, drv_figure *out, char *message) {
    part *whole = enter(batch, DRV_WHOLE_BATCH, message);
    if (!whole) return DRV_ERROR_CALL;
    int64_t sum = 0;
    for (int32_t number = 0; number < batch->num_worlds; number++) {
        const drv_world world = world_at(batch, number);
        sum += drv_report_trials(&world);
    }
    *out = (drv_figure){(double)sum, sum};
    leave(whole);
    return DRV_OK;
}

drv_status drv_batch_time_phases(drv_batch *batch, int32_t on, int64_t *phase_ns, char *message) {
    part *whole = enter(batch, DRV_WHOLE_BATCH, message);
    if (!whole) return DRV_ERROR_CALL;
    const int32_t workers = drv_pool_workers(batch->pool);
    for (int32_t phase = 0; phase < DRV_PHASE_COUNT; phase++) {
        phase_ns[phase] = 0;
        for (int32_t i = 0; i < workers; i++) phase_ns[phase] += batch->workers[i].phase_ns[phase];
    }
    for (int32_t i = 0; i < workers; i++)
        memset(batch->workers[i].phase_ns, 0, sizeof batch->workers[i].phase_ns);
    batch->times_phases = on != 0;
    leave(whole);
    return DRV_OK;
}

const char *drv_batch_instruction_set(const drv_batch *batch) { return batch->kernels->isa; }

int32_t drv_batch_state_fields(const drv_batch *batch, drv_state_field *out, int32_t capacity) {
    int32_t count = 0;
    drv_state_field field;
    while (drv_state_describe(batch->sizes, count, &field)) {
        if (count < capacity) out[count] = field;
        count++;
    }
    return count;
}
