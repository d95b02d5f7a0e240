/* What does the core show of a recorded play, where no Python is at hand? Plays the file on standard input and writes
 * every array and the whole state after every call to standard output, for tests/determinism/play_file.py to hash.
 *
 * `play_file [threads]`. The file holds the core's own structs as they stand in memory, each with what its pointers
 * point to, so it plays wherever the structs have the same layout. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#endif

#include "drive.h"

enum { BLOCK_LINE = 64, POINTER_LIMIT = 64 };

static _Noreturn void give_up(const char *why) {
    fprintf(stderr, "play_file: %s\n", why);
    exit(1);
}

static void take(void *to, uint64_t bytes) {
    if (fread(to, 1, (size_t)bytes, stdin) != bytes) give_up("the file ends early");
}

static uint64_t take_count(void) {
    uint64_t count;
    take(&count, sizeof count);
    return count;
}

static void *room(uint64_t bytes) {
    void *place = calloc((size_t)(bytes / BLOCK_LINE + 1), BLOCK_LINE);
    if (!place) give_up("no memory");
    return place;
}

/* What a struct's pointers point to, to be freed together. */
typedef struct pointed {
    void *places[POINTER_LIMIT];
    uint64_t count;
} pointed;

/* Reads a struct, then, for each pointer of it, where it stands in the struct, how much it points to, and that. */
static pointed take_struct(void *to, uint64_t bytes) {
    if (take_count() != bytes) give_up("a struct has another size here than where the file was written");
    take(to, bytes);
    pointed all = {{NULL}, take_count()};
    if (all.count > POINTER_LIMIT) give_up("too many pointers");
    for (uint64_t i = 0; i < all.count; i++) {
        const uint64_t at = take_count(), size = take_count();
        if (at + sizeof(void *) > bytes) give_up("a pointer stands outside its struct");
        all.places[i] = room(size);
        take(all.places[i], size);
        memcpy((char *)to + at, &all.places[i], sizeof(void *));
    }
    return all;
}

static void free_pointed(pointed all) {
    for (uint64_t i = 0; i < all.count; i++) free(all.places[i]);
}

static void must(drv_status status, const char *message) {
    if (status != DRV_OK) give_up(message);
}

static void give(const void *from, uint64_t bytes) {
    if (fwrite(from, 1, (size_t)bytes, stdout) != bytes) give_up("cannot write");
}

/* The arrays a batch is bound to: of each its place in drv_arrays and its bytes; those of actions come first. */
typedef struct bound {
    uint64_t count, bytes[POINTER_LIMIT];
    void *places[POINTER_LIMIT];
    drv_arrays arrays;
} bound;

static bound take_arrays(void) {
    bound all;
    memset(&all, 0, sizeof all);
    all.count = take_count();
    if (all.count > POINTER_LIMIT) give_up("too many arrays");
    for (uint64_t i = 0; i < all.count; i++) {
        const uint64_t at = take_count();
        all.bytes[i] = take_count();
        all.places[i] = room(all.bytes[i]);
        if (at + sizeof(void *) > sizeof all.arrays) give_up("an array stands outside drv_arrays");
        memcpy((char *)&all.arrays + at, &all.places[i], sizeof(void *));
    }
    return all;
}

static void give_figure(drv_figure figure) {
    const double pair[2] = {figure.value, (double)figure.n};
    give(pair, sizeof pair);
}

/* The report in the order of `Batch.metrics()`. */
static void give_report(drv_batch *batch, int32_t trials, char *message) {
    drv_figure figure;
    must(drv_batch_trials(batch, &figure, message), message);
    give_figure(figure);
    for (int32_t metric = 0; metric < drv_metric_count(); metric++) {
        must(drv_batch_metric(batch, metric, -1, &figure, message), message);
        give_figure(figure);
    }
    for (int32_t trial = 0; trial < trials; trial++) {
        must(drv_batch_metric(batch, DRV_METRIC_SCORE, trial, &figure, message), message);
        give_figure(figure);
    }
    for (int32_t trial = 1; trial < trials; trial++) {
        must(drv_batch_adaptation(batch, trial, &figure, message), message);
        give_figure(figure);
    }
}

int main(int count, char **words) {
#if defined(_WIN32)
    /* Bytes, in which no line ends. */
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
#endif
    char message[DRV_MESSAGE_BYTES] = "";
    const uint64_t scene_count = take_count();
    drv_scene **scenes = room(scene_count * sizeof *scenes);
    drv_arena *arena = drv_arena_create();
    for (uint64_t i = 0; i < scene_count; i++) {
        drv_scene_input input;
        const pointed parts = take_struct(&input, sizeof input);
        must(drv_scene_create(&input, arena, &scenes[i], message), message);
        free_pointed(parts);
    }
    drv_arena_free(arena);
    drv_batch_setup setup;
    const pointed ids = take_struct(&setup, sizeof setup);
    setup.scenes = scenes;
    setup.instruction_set = NULL;
    setup.thread_count = count > 1 ? atoi(words[1]) : 1;
    drv_batch_needs needs;
    must(drv_batch_plan(&setup, &needs, message), message);
    char *block_room = room(needs.block_bytes + BLOCK_LINE);
    char *block = block_room + (BLOCK_LINE - (uintptr_t)block_room % BLOCK_LINE);
    drv_batch *batch;
    must(drv_batch_create(&setup, block, needs.block_bytes, &batch, message), message);
    const bound all = take_arrays();
    drv_batch_bind(batch, &all.arrays);
    const drv_config config = setup.config;
    const uint64_t float_bytes = config.observation_type == DRV_FLOAT16 ? sizeof(uint16_t) : sizeof(float);
    const uint64_t ahead_bytes = (uint64_t)needs.num_agents * (uint64_t)needs.observation_size * float_bytes;
    void *ahead = room(ahead_bytes);

    const uint64_t steps = take_count(), asked_every = take_count();
    must(drv_batch_reset(batch, DRV_WHOLE_BATCH, NULL, NULL, NULL, message), message);
    for (uint64_t step = 0; step <= steps; step++) {
        if (step > 0) take(all.places[0], all.bytes[0]);
        if (step > 0) must(drv_batch_step(batch, DRV_WHOLE_BATCH, NULL, message), message);
        for (uint64_t i = 1; i < all.count; i++) give(all.places[i], all.bytes[i]);
        give(block, needs.block_bytes);
        if (step % asked_every != 0) continue;
        must(drv_batch_restart_observations(batch, DRV_WHOLE_BATCH, ahead, message), message);
        give(ahead, ahead_bytes);
    }
    give_report(batch, config.max_trials, message);

    drv_batch_free(batch);
    for (uint64_t i = 0; i < scene_count; i++) drv_scene_release(scenes[i]);
    for (uint64_t i = 0; i < all.count; i++) free(all.places[i]);
    free_pointed(ids);
    free(scenes);
    free(block_room);
    free(ahead);
    return fflush(stdout) == 0 ? 0 : 1;
}
