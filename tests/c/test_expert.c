/* Does a vehicle have the same actions as in a log of this vehicle alone, and is an invalid log refused? */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "drive.h"
#include "rng.h"
#include "small_scene.h"

enum { VEHICLES = 19, FRAMES = 30 };

/* A log of vehicles in random motion, with gaps; every array has exactly its size. */
typedef struct random_log {
    float *length_m, *track[5];
    uint8_t *valid;
    drv_log log;
} random_log;

static void make_log(random_log *input, uint64_t seed, int32_t vehicles) {
    test_rng rng = {seed};
    const size_t count = (size_t)(FRAMES * vehicles);
    input->length_m = malloc((size_t)vehicles * sizeof(float));
    for (int32_t i = 0; i < 5; i++) input->track[i] = malloc(count * sizeof(float));
    input->valid = malloc(count);
    for (int32_t i = 0; i < vehicles; i++) {
        double heading_rad = rng_between(&rng, -3, 3), speed_mps = rng_between(&rng, -2, 20);
        input->length_m[i] = (float)rng_between(&rng, 1, 12);
        for (int32_t frame = 0; frame < FRAMES; frame++) {
            const int32_t at = frame * vehicles + i;
            heading_rad += rng_between(&rng, -0.2, 0.2);
            speed_mps += rng_between(&rng, -1, 1);
            const double track[5] = {rng_between(&rng, -50, 50), rng_between(&rng, -50, 50), heading_rad,
                                     speed_mps * cos(heading_rad), speed_mps * sin(heading_rad)};
            for (int32_t k = 0; k < 5; k++) input->track[k][at] = (float)track[k];
            input->valid[at] = rng_below(&rng, 8) != 0;
        }
    }
    input->log = (drv_log){.dt_s = 0.1f, .frame_count = FRAMES, .vehicle_count = vehicles,
                           .length_m = input->length_m, .x_m = input->track[0], .y_m = input->track[1],
                           .heading_rad = input->track[2], .vx_mps = input->track[3], .vy_mps = input->track[4],
                           .valid = input->valid};
}

static void free_log(random_log *input) {
    free(input->length_m);
    for (int32_t i = 0; i < 5; i++) free(input->track[i]);
    free(input->valid);
}

/* The part of a log of one vehicle. */
static void pick(const random_log *all, int32_t vehicle, random_log *alone) {
    make_log(alone, 1, 1);
    alone->length_m[0] = all->length_m[vehicle];
    for (int32_t frame = 0; frame < FRAMES; frame++) {
        const int32_t at = frame * all->log.vehicle_count + vehicle;
        for (int32_t k = 0; k < 5; k++) alone->track[k][frame] = all->track[k][at];
        alone->valid[frame] = all->valid[at];
    }
}

static void check_alone(drv_config config, size_t action_bytes) {
    char message[DRV_MESSAGE_BYTES];
    random_log all, alone;
    const size_t steps = FRAMES - 1;
    make_log(&all, 9, VEHICLES);
    uint8_t *actions = malloc(steps * VEHICLES * action_bytes), *bits = malloc(steps * VEHICLES);
    uint8_t *own = malloc(steps * action_bytes), *own_bits = malloc(steps);
    CHECK(drv_expert_actions(&config, &all.log, actions, bits, message) == DRV_OK, "%s", message);
    /* each vehicle in a log of its own */
    int32_t seen[8] = {0};
    for (int32_t vehicle = 0; vehicle < VEHICLES; vehicle++) {
        pick(&all, vehicle, &alone);
        CHECK(drv_expert_actions(&config, &alone.log, own, own_bits, message) == DRV_OK, "%s", message);
        for (size_t step = 0; step < steps; step++) {
            const size_t at = step * VEHICLES + (size_t)vehicle;
            CHECK(memcmp(actions + at * action_bytes, own + step * action_bytes, action_bytes) == 0,
                  "vehicle %d, step %zu", vehicle, step);
            CHECK(bits[at] == own_bits[step], "vehicle %d, step %zu", vehicle, step);
            CHECK((bits[at] & 1) == (alone.valid[step] && alone.valid[step + 1]), "vehicle %d, step %zu", vehicle,
                  step);
            seen[bits[at] & 7]++;
        }
        free_log(&alone);
    }
    /* the log has every case */
    CHECK(seen[0] > 0 && seen[DRV_EXPERT_VALID] > 0 && seen[DRV_EXPERT_VALID | DRV_EXPERT_CLIPPED] > 0 &&
              seen[DRV_EXPERT_VALID | DRV_EXPERT_SLOW] > 0, "the log lacks a case");
    CHECK(seen[DRV_EXPERT_CLIPPED] + seen[DRV_EXPERT_SLOW] == 0, "a bit without DRV_EXPERT_VALID");
    free(actions);
    free(bits);
    free(own);
    free(own_bits);
    free_log(&all);
}

TEST(vehicles_of_a_log_do_not_affect_each_other) {
    drv_config config = small_config();
    config.action_type = DRV_CONTINUOUS;
    check_alone(config, 2 * sizeof(float));
    config.action_type = DRV_MULTI_DISCRETE;
    config.min_speed_mps = -5.0f;
    check_alone(config, 2 * sizeof(int64_t));
    config.action_type = DRV_DISCRETE;
    check_alone(config, sizeof(int64_t));
}

TEST(what_is_not_valid_is_not_read) {
    char message[DRV_MESSAGE_BYTES];
    const drv_config config = small_config();
    random_log input;
    int64_t actions[2][(FRAMES - 1) * VEHICLES];
    uint8_t bits[2][(FRAMES - 1) * VEHICLES];
    make_log(&input, 11, VEHICLES);
    for (int32_t round = 0; round < 2; round++) {
        CHECK(drv_expert_actions(&config, &input.log, actions[round], bits[round], message) == DRV_OK, "%s", message);
        for (int32_t i = 0; i < FRAMES * VEHICLES; i++)
            for (int32_t k = 0; k < 5 && !input.valid[i]; k++) input.track[k][i] = NAN;
    }
    CHECK(memcmp(actions[0], actions[1], sizeof actions[0]) == 0 && memcmp(bits[0], bits[1], sizeof bits[0]) == 0,
          "numbers of invalid frames were used");
    free_log(&input);
}

TEST(a_log_out_of_range_is_refused) {
    char message[DRV_MESSAGE_BYTES];
    drv_config config = small_config();
    random_log input;
    int64_t actions[(FRAMES - 1) * VEHICLES];
    uint8_t bits[(FRAMES - 1) * VEHICLES];
    /* numbers */
    const float wrong[] = {NAN, INFINITY, -INFINITY, 1e9f};
    for (int32_t i = 0; i < 4; i++)
        for (int32_t k = 0; k < 7; k++) {
            make_log(&input, 12, VEHICLES);
            memset(input.valid, 1, FRAMES * VEHICLES);
            float *const at[7] = {&input.track[0][5], &input.track[1][5], &input.track[2][5], &input.track[3][5],
                                  &input.track[4][5], &input.length_m[5], &input.log.dt_s};
            *at[k] = wrong[i];
            CHECK(drv_expert_actions(&config, &input.log, actions, bits, message) == DRV_ERROR_SCENE, "number %d", k);
            free_log(&input);
        }
    /* counts, and the config */
    make_log(&input, 13, VEHICLES);
    const drv_log log = input.log;
    const struct {
        int32_t frames, vehicles;
    } counts[] = {{0, VEHICLES}, {-1, VEHICLES}, {1000002, VEHICLES}, {FRAMES, -1}, {FRAMES, 65536}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        input.log = log;
        input.log.frame_count = counts[i].frames;
        input.log.vehicle_count = counts[i].vehicles;
        CHECK(drv_expert_actions(&config, &input.log, actions, bits, message) == DRV_ERROR_SCENE, "count %zu", i);
    }
    config.dynamics = DRV_DYNAMICS_COUNT;
    CHECK(drv_expert_actions(&config, &log, actions, bits, message) == DRV_ERROR_CONFIG, "there is no such model");
    free_log(&input);
}
