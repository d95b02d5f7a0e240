/* Which bytes does the core produce of a recorded rollout, without Python? Replays the file on standard input and
 * writes every array and the whole state after every call to standard output; tests/determinism/recording.py hashes
 * them.
 *
 * `replay_recording [threads]`. The file holds the core's own structs as they are in memory, each followed by what its
 * pointers point to, so it replays wherever the structs have the same layout. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#endif

#include "drive.h"

enum { BLOCK_ALIGNMENT = 64, POINTER_LIMIT = 64 };

static _Noreturn void fail(const char *why) {
    fprintf(stderr, "replay_recording: %s\n", why);
    exit(1);
}

static void read_bytes(void *to, uint64_t bytes) {
    if (fread(to, 1, (size_t)bytes, stdin) != bytes) fail("the file ends early");
}

static uint64_t read_count(void) {
    uint64_t count;
    read_bytes(&count, sizeof count);
    return count;
}

static void *allocate(uint64_t bytes) {
    void *memory = calloc((size_t)(bytes / BLOCK_ALIGNMENT + 1), BLOCK_ALIGNMENT);
    if (!memory) fail("no memory");
    return memory;
}

/* The targets of a struct's pointers, to be freed together. */
typedef struct pointer_targets {
    void *targets[POINTER_LIMIT];
    uint64_t count;
} pointer_targets;

/* Reads a struct, then, for each pointer of it, its offset in the struct, the size of its target, and the target. */
static pointer_targets read_struct(void *to, uint64_t bytes) {
    if (read_count() != bytes) fail("a struct has another size than where the file was written");
    read_bytes(to, bytes);
    pointer_targets all = {{NULL}, read_count()};
    if (all.count > POINTER_LIMIT) fail("too many pointers");
    for (uint64_t i = 0; i < all.count; i++) {
        const uint64_t offset = read_count(), size = read_count();
        if (offset + sizeof(void *) > bytes) fail("a pointer is outside its struct");
        all.targets[i] = allocate(size);
        read_bytes(all.targets[i], size);
        memcpy((char *)to + offset, &all.targets[i], sizeof(void *));
    }
    return all;
}

static void free_targets(pointer_targets all) {
    for (uint64_t i = 0; i < all.count; i++) free(all.targets[i]);
}

static void check_ok(drv_status status, const char *message) {
    if (status != DRV_OK) fail(message);
}

static void write_bytes(const void *from, uint64_t bytes) {
    if (fwrite(from, 1, (size_t)bytes, stdout) != bytes) fail("cannot write");
}

/* The arrays of a batch: for each its offset in drv_arrays and its size in bytes; the actions are first. */
typedef struct bound {
    uint64_t count, bytes[POINTER_LIMIT];
    void *targets[POINTER_LIMIT];
    drv_arrays arrays;
} bound;

static bound read_arrays(void) {
    bound all;
    memset(&all, 0, sizeof all);
    all.count = read_count();
    if (all.count > POINTER_LIMIT) fail("too many arrays");
    for (uint64_t i = 0; i < all.count; i++) {
        const uint64_t offset = read_count();
        all.bytes[i] = read_count();
        all.targets[i] = allocate(all.bytes[i]);
        if (offset + sizeof(void *) > sizeof all.arrays) fail("an array is outside drv_arrays");
        memcpy((char *)&all.arrays + offset, &all.targets[i], sizeof(void *));
    }
    return all;
}

static void write_metric_value(drv_metric_value value) {
    const double pair[2] = {value.value, (double)value.n};
    write_bytes(pair, sizeof pair);
}

/* The report in the order of `Batch.metrics()`. */
static void write_report(drv_batch *batch, const drv_config *config, char *message) {
    const int32_t metrics = drv_metric_names(config, NULL, 0), trials = config->max_trials;
    drv_metric_value value;
    check_ok(drv_batch_trials(batch, DRV_OF_EGOS, &value, message), message);
    write_metric_value(value);
    for (int32_t metric = 0; metric < metrics; metric++) {
        check_ok(drv_batch_metric(batch, metric, -1, DRV_OF_EGOS, &value, message), message);
        write_metric_value(value);
    }
    for (int32_t trial = 0; trial < trials; trial++) {
        check_ok(drv_batch_metric(batch, DRV_METRIC_SCORE, trial, DRV_OF_EGOS, &value, message), message);
        write_metric_value(value);
    }
    for (int32_t trial = 1; trial < trials; trial++) {
        check_ok(drv_batch_adaptation(batch, trial, DRV_OF_EGOS, &value, message), message);
        write_metric_value(value);
    }
}

int main(int argc, char **argv) {
#if defined(_WIN32)
    /* Without this, Windows would convert line ends. */
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
#endif
    char message[DRV_MESSAGE_BYTES] = "";

    /* create the scenes */
    const uint64_t scene_count = read_count();
    drv_scene **scenes = allocate(scene_count * sizeof *scenes);
    drv_arena *arena = drv_arena_create();
    for (uint64_t i = 0; i < scene_count; i++) {
        drv_scene_input input;
        const pointer_targets parts = read_struct(&input, sizeof input);
        check_ok(drv_scene_create(&input, arena, &scenes[i], message), message);
        free_targets(parts);
    }
    drv_arena_free(arena);

    /* create the batch and bind its arrays */
    drv_batch_setup setup;
    const pointer_targets ids = read_struct(&setup, sizeof setup);
    setup.scenes = scenes;
    setup.instruction_set = NULL;
    setup.thread_count = argc > 1 ? atoi(argv[1]) : 1;
    drv_batch_needs needs;
    check_ok(drv_batch_plan(&setup, &needs, message), message);
    char *block_memory = allocate(needs.block_bytes + BLOCK_ALIGNMENT);
    char *block = block_memory + (BLOCK_ALIGNMENT - (uintptr_t)block_memory % BLOCK_ALIGNMENT);
    drv_batch *batch;
    check_ok(drv_batch_create(&setup, block, needs.block_bytes, &batch, message), message);
    const bound all = read_arrays();
    drv_batch_bind(batch, &all.arrays);
    const drv_config config = setup.config;
    const uint64_t float_bytes = config.observation_type == DRV_FLOAT16 ? sizeof(uint16_t) : sizeof(float);
    const uint64_t restart_bytes = (uint64_t)needs.num_agents * (uint64_t)needs.observation_size * float_bytes;
    void *restarts = allocate(restart_bytes);

    /* replay the calls, and write what each leaves */
    const uint64_t steps = read_count(), restarts_every = read_count();
    check_ok(drv_batch_reset(batch, DRV_WHOLE_BATCH, NULL, NULL, NULL, message), message);
    for (uint64_t step = 0; step <= steps; step++) {
        if (step > 0) read_bytes(all.targets[0], all.bytes[0]);
        if (step > 0) check_ok(drv_batch_step(batch, DRV_WHOLE_BATCH, NULL, message), message);
        for (uint64_t i = 1; i < all.count; i++) write_bytes(all.targets[i], all.bytes[i]);
        write_bytes(block, needs.block_bytes);
        if (step % restarts_every != 0) continue;
        check_ok(drv_batch_restart_observations(batch, DRV_WHOLE_BATCH, restarts, message), message);
        write_bytes(restarts, restart_bytes);
    }
    write_report(batch, &config, message);

    drv_batch_free(batch);
    for (uint64_t i = 0; i < scene_count; i++) drv_scene_release(scenes[i]);
    for (uint64_t i = 0; i < all.count; i++) free(all.targets[i]);
    free_targets(ids);
    free(scenes);
    free(block_memory);
    free(restarts);
    return fflush(stdout) == 0 ? 0 : 1;
}
