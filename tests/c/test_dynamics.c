/* Does a car move as a kinematic bicycle, and do actions decode to its controls? */
#include "check.h"
#include "math/geometry.h"
#include "rng.h"
#include "step/actions.h"
#include "small_scene.h"
#include "step/dynamics.h"
#include "view/action_space.h"

static const double pi = 3.14159265358979323846;
static const drv_motion_limits forward_only = {0.0f, 40.0f, 4.0f, 0.6f};
static const drv_motion_limits both_ways = {-10.0f, 40.0f, 4.0f, 0.6f};

/* The two controls of a bicycle. */
typedef struct bicycle_control {
    float acceleration_mps2, steering_rad;
} bicycle_control;

/* One car of a block, with acceleration and yaw rate of the step. */
typedef struct moved_car {
    drv_motion motion;
    float acceleration_mps2, yaw_rate_radps;
} moved_car;

static void set_car(drv_motion_block *block, int32_t i, drv_motion car, bicycle_control control, float wheelbase_m) {
    block->x_m[i] = car.x_m;
    block->y_m[i] = car.y_m;
    block->heading_rad[i] = car.heading_rad;
    block->speed_mps[i] = car.speed_mps;
    block->control[0][i] = control.acceleration_mps2;
    block->control[1][i] = control.steering_rad;
    block->wheelbase_m[i] = wheelbase_m;
}

static moved_car car_of(const drv_motion_block *block, int32_t i) {
    return (moved_car){{block->x_m[i], block->y_m[i], block->heading_rad[i], block->speed_mps[i]},
                       block->acceleration_mps2[i], block->yaw_rate_radps[i]};
}

static moved_car move(drv_motion car, bicycle_control control, float wheelbase_m, drv_motion_limits limits,
                      float dt_s) {
    drv_motion_block block;
    drv_motion_block_clear(&block, 1.0f);
    set_car(&block, 0, car, control, wheelbase_m);
    drv_bicycle_advance(&block, limits, dt_s);
    return car_of(&block, 0);
}

static drv_motion advance(drv_motion car, bicycle_control control, float wheelbase_m, drv_motion_limits limits,
                          float dt_s) {
    return move(car, control, wheelbase_m, limits, dt_s).motion;
}

static drv_motion drive(drv_motion car, bicycle_control control, float wheelbase_m, drv_motion_limits limits,
                        float dt_s, int32_t steps) {
    for (int32_t i = 0; i < steps; i++) car = advance(car, control, wheelbase_m, limits, dt_s);
    return car;
}

TEST(held_steering_drives_a_circle) {
    test_rng rng = {41};
    for (int32_t round = 0; round < 40; round++) {
        /* the circle, by trigonometry */
        const double wheelbase_m = rng_between(&rng, 1.5, 8.0), turn = round % 2 ? -1.0 : 1.0;
        const double steering_rad = turn * rng_between(&rng, 0.05, 0.6);
        /* The rear axle rolls about the point where the axles' normals meet; the middle is half a wheelbase ahead. */
        const double rear_m = wheelbase_m / tan(steering_rad), radius_m = hypot(rear_m, 0.5 * wheelbase_m);
        const int32_t lap = 400 + 40 * round;
        const double dt_s = 0.1, chord_m = 2.0 * radius_m * sin(pi / lap);
        /* The chords of a lap are as long as the distance of a step, so a step turns by a known share of a lap. */
        const double speed_mps = 2.0 * pi * radius_m / (lap * dt_s);
        const double heading_rad = rng_between(&rng, -3.0, 3.0), sideslip_rad = atan2(0.5 * wheelbase_m, rear_m);
        drv_motion car = {(float)rng_between(&rng, -50, 50), (float)rng_between(&rng, -50, 50), (float)heading_rad,
                          (float)speed_mps};
        const drv_motion start = car;
        /* The centre is to the left of the first chord's middle (to the right in a right turn). */
        double along_rad = heading_rad + (turn > 0 ? sideslip_rad : sideslip_rad - pi);
        const double apothem_m = turn * sqrt(radius_m * radius_m - 0.25 * chord_m * chord_m);
        const double centre_x = (double)car.x_m + 0.5 * chord_m * cos(along_rad) - apothem_m * sin(along_rad);
        const double centre_y = (double)car.y_m + 0.5 * chord_m * sin(along_rad) + apothem_m * cos(along_rad);
        /* one lap: on the circle in every step, and at the start after the last one */
        const bicycle_control control = {0.0f, (float)steering_rad};
        double turned_rad = 0.0;
        for (int32_t step = 0; step < lap; step++) {
            const drv_motion before = car;
            car = advance(car, control, (float)wheelbase_m, forward_only, (float)dt_s);
            const double away_m = hypot((double)car.x_m - centre_x, (double)car.y_m - centre_y);
            CHECK(fabs(away_m / radius_m - 1.0) < 2e-3, "step %d of %d: %g m from the centre, wanted %g", step, lap,
                  away_m, radius_m);
            turned_rad += (double)drv_wrap_angle(car.heading_rad - before.heading_rad);
        }
        const double home_m = hypot((double)(car.x_m - start.x_m), (double)(car.y_m - start.y_m));
        CHECK(home_m < 1e-3 * radius_m, "after a lap %g m from home; the radius is %g m", home_m, radius_m);
        CHECK_NEAR(turned_rad, turn * 2.0 * pi, 1e-3);
        CHECK(fabs((double)drv_wrap_angle(car.heading_rad - start.heading_rad)) < 1e-3,
              "heading %g after a lap, %g before", (double)car.heading_rad, (double)start.heading_rad);
    }
}

TEST(the_yaw_rate_is_the_turn_of_a_step) {
    test_rng rng = {42};
    for (int32_t i = 0; i < 2000; i++) {
        const double heading_rad = rng_between(&rng, -3.1, 3.1), speed_mps = rng_between(&rng, -5.0, 30.0);
        const drv_motion car = {0.0f, 0.0f, (float)heading_rad, (float)speed_mps};
        const float steering = (float)rng_between(&rng, -0.6, 0.6), wheelbase = (float)rng_between(&rng, 1.0, 8.0);
        const moved_car next = move(car, (bicycle_control){0.0f, steering}, wheelbase, both_ways, 0.1f);
        const double rate = (double)next.yaw_rate_radps;
        CHECK_NEAR(drv_wrap_angle(next.motion.heading_rad - car.heading_rad) / 0.1f, rate, 1e-5 + 1e-5 * fabs(rate));
    }
}

TEST(a_straight_line_is_exact) {
    drv_motion car = {3.0f, 0.0f, 0.0f, 8.0f};
    car = drive(car, (bicycle_control){0.0f, 0.0f}, 2.5f, forward_only, 0.125f, 1000);
    CHECK(car.x_m == 1003.0f && car.y_m == 0.0f && car.heading_rad == 0.0f && car.speed_mps == 8.0f,
          "(%.9g, %.9g), heading %g, %g m/s", (double)car.x_m, (double)car.y_m, (double)car.heading_rad,
          (double)car.speed_mps);
}

TEST(without_steering_no_heading_ever_drifts) {
    test_rng rng = {43};
    for (int32_t i = 0; i < 200; i++) {
        const double heading = rng_between(&rng, -3.14, 3.14), speed = rng_between(&rng, 0.0, 40.0);
        const drv_motion start = {0.0f, 0.0f, (float)heading, (float)speed};
        const drv_motion end = drive(start, (bicycle_control){0.0f, 0.0f}, 2.5f, forward_only, 0.1f, 100);
        CHECK(end.heading_rad == start.heading_rad, "%.9g became %.9g", (double)start.heading_rad,
              (double)end.heading_rad);
        CHECK_NEAR(end.x_m, 10.0 * speed * cos(heading), 2e-3);
        CHECK_NEAR(end.y_m, 10.0 * speed * sin(heading), 2e-3);
    }
}

TEST(one_second_at_4_mps2_from_rest_gives_4_mps) {
    const int32_t steps_a_second[] = {1, 2, 5, 10, 20, 100, 1000};
    for (size_t i = 0; i < sizeof steps_a_second / sizeof *steps_a_second; i++) {
        const int32_t steps = steps_a_second[i];
        const double dt_s = 1.0 / steps;
        const drv_motion end = drive((drv_motion){0, 0, 0, 0}, (bicycle_control){4.0f, 0.0f}, 2.5f, forward_only,
                                     (float)dt_s, steps);
        CHECK_NEAR(end.speed_mps, 4.0, 1e-4);
        /* Each new speed holds for its whole step. */
        CHECK_NEAR(end.x_m, 4.0 * dt_s * dt_s * steps * (steps + 1) / 2, 1e-3);
    }
}

TEST(a_car_that_brakes_to_rest_stays_where_it_stands) {
    const float speeds[] = {0.0f, 0.05f, 0.39999f, 0.4f, 0.41f, 3.0f, 13.7f};
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++) {
        drv_motion car = {1.0f, 2.0f, 0.5f, speeds[i]};
        car = drive(car, (bicycle_control){-4.0f, 0.3f}, 2.5f, forward_only, 0.1f, 50);
        CHECK(car.speed_mps == 0.0f, "%g m/s from %g", (double)car.speed_mps, (double)speeds[i]);
        for (int32_t step = 0; step < 100; step++) {
            const drv_motion next = advance(car, (bicycle_control){-4.0f, step % 2 ? 0.3f : -0.3f}, 2.5f,
                                                        forward_only, 0.1f);
            CHECK(next.speed_mps == 0.0f && next.x_m == car.x_m && next.y_m == car.y_m &&
                  next.heading_rad == car.heading_rad, "it moved in step %d at rest", step);
            car = next;
        }
    }
}

TEST(a_car_without_throttle_keeps_its_speed) {
    const bicycle_control held = {0.0f, 0.2f};
    const drv_motion end = drive((drv_motion){0, 0, 0, 13.7f}, held, 2.5f, forward_only, 0.1f, 500);
    CHECK(end.speed_mps == 13.7f, "%g", (double)end.speed_mps);
}

TEST(a_step_that_would_pass_zero_speed_ends_there_and_the_next_one_reverses) {
    drv_motion car = {0, 0, 0, 0.3f};
    const bicycle_control brake = {-4.0f, 0.0f}, push = {4.0f, 0.0f};
    car = advance(car, brake, 2.5f, both_ways, 0.1f);
    CHECK(car.speed_mps == 0.0f && car.x_m == 0.0f, "%g m/s at %g", (double)car.speed_mps, (double)car.x_m);
    car = advance(car, brake, 2.5f, both_ways, 0.1f);
    CHECK_NEAR(car.speed_mps, -0.4, 1e-6);
    CHECK_NEAR(car.x_m, -0.04, 1e-6);
    car = advance(car, (bicycle_control){4.5f, 0.0f}, 2.5f, both_ways, 0.1f);
    CHECK(car.speed_mps == 0.0f, "%g m/s", (double)car.speed_mps);
    car = advance(car, push, 2.5f, both_ways, 0.1f);
    CHECK_NEAR(car.speed_mps, 0.4, 1e-6);
}

TEST(reversing_runs_a_turn_backwards) {
    /* Forward then back with the same steering: the circle is retraced, but for one step at its ends. */
    const bicycle_control held = {0.0f, 0.4f};
    drv_motion car = drive((drv_motion){0, 0, 0, 5.0f}, held, 2.5f, both_ways, 0.01f, 200);
    CHECK(hypot((double)car.x_m, (double)car.y_m) > 2.0, "it got no further than (%g, %g)", (double)car.x_m,
          (double)car.y_m);
    car.speed_mps = -5.0f;
    car = drive(car, held, 2.5f, both_ways, 0.01f, 200);
    CHECK(hypot((double)car.x_m, (double)car.y_m) < 0.1, "(%g, %g)", (double)car.x_m, (double)car.y_m);
    CHECK_NEAR(car.heading_rad, 0.0, 1e-4);
}

TEST(speeds_stop_at_their_limits) {
    const drv_motion_limits limits = {-3.0f, 7.5f, 4.0f, 0.6f};
    drv_motion car = {0, 0, 0, 7.2f};
    car = advance(car, (bicycle_control){4.0f, 0.0f}, 2.5f, limits, 0.1f);
    CHECK(car.speed_mps == 7.5f, "%g", (double)car.speed_mps);
    car = drive(car, (bicycle_control){4.0f, 0.0f}, 2.5f, limits, 0.1f, 100);
    CHECK(car.speed_mps == 7.5f, "%g", (double)car.speed_mps);
    car = drive(car, (bicycle_control){-4.0f, 0.0f}, 2.5f, limits, 0.1f, 100);
    CHECK(car.speed_mps == -3.0f, "%g", (double)car.speed_mps);
}

TEST(a_heading_stays_wrapped) {
    drv_motion car = {0, 0, 3.0f, 20.0f};
    for (int32_t step = 0; step < 2000; step++) {
        car = advance(car, (bicycle_control){0.0f, step < 1000 ? 0.6f : -0.6f}, 1.0f, forward_only, 0.1f);
        CHECK(car.heading_rad >= -drv_pi && car.heading_rad < drv_pi, "%.9g", (double)car.heading_rad);
    }
}

TEST(left_and_right_turns_mirror_each_other) {
    test_rng rng = {44};
    for (int32_t i = 0; i < 500; i++) {
        const float steering = (float)rng_between(&rng, 0.0, 0.6), push = (float)rng_between(&rng, -4.0, 4.0);
        const drv_motion start = {0, 0, 0, (float)rng_between(&rng, 0.0, 20.0)};
        const drv_motion left = drive(start, (bicycle_control){push, steering}, 2.5f, forward_only, 0.1f, 10);
        const drv_motion right = drive(start, (bicycle_control){push, -steering}, 2.5f, forward_only, 0.1f, 10);
        CHECK(left.x_m == right.x_m && left.y_m == -right.y_m, "(%.9g, %.9g) against (%.9g, %.9g)", (double)left.x_m,
              (double)left.y_m, (double)right.x_m, (double)right.y_m);
    }
}

TEST(the_bins_are_evenly_spaced_and_the_middle_ones_are_zero) {
    drv_config config = {.max_acceleration_mps2 = 4.0f, .max_steering_rad = 0.6f, .action_type = DRV_DISCRETE};
    const drv_action_space table = drv_action_space_of(&config);
    config.action_type = DRV_MULTI_DISCRETE;
    const drv_action_space bins = drv_action_space_of(&config);
    CHECK(table.count == 7 * 13 && table.width == 1 && bins.width == 2, "%d actions", table.count);
    for (int64_t a = 0; a < 7; a++)
        for (int64_t s = 0; s < 13; s++) {
            int64_t index = 13 * a + s, pair[2] = {a, s};
            float control[2] = {0.0f}, same[2] = {0.0f};
            drv_actions_control((drv_actions){.bin = pair}, &bins, 0, control, 1);
            drv_actions_control((drv_actions){.bin = &index}, &table, 0, same, 1);
            CHECK_NEAR(control[0], -4.0 + 8.0 * (double)a / 6.0, 1e-6);
            CHECK_NEAR(control[1], -0.6 + 1.2 * (double)s / 12.0, 1e-7);
            CHECK(memcmp(control, same, sizeof same) == 0, "index %lld", (long long)index);
            CHECK((a != 3 || control[0] == 0.0f) && (s != 6 || control[1] == 0.0f), "the middle is not 0");
            CHECK((a % 6 != 0 || fabsf(control[0]) == 4.0f) && (s % 12 != 0 || fabsf(control[1]) == 0.6f),
                  "the outermost bins are not the limits");
        }
}

TEST(every_model_describes_its_actions) {
    drv_config config = small_config();
    for (config.dynamics = 0; config.dynamics < DRV_DYNAMICS_COUNT; config.dynamics++) {
        const int32_t offered = drv_action_types_of(config.dynamics);
        CHECK(offered >> DRV_CONTINUOUS & 1, "model %d has no continuous actions", config.dynamics);
        CHECK((offered >> DRV_DISCRETE & 1) == (offered >> DRV_MULTI_DISCRETE & 1), "model %d", config.dynamics);
        const drv_action_space space = drv_action_space_of(&config);
        CHECK(space.dimensions >= 1 && space.dimensions <= DRV_ACTION_DIMENSIONS, "model %d", config.dynamics);
        CHECK((space.count > 0) == (offered >> DRV_DISCRETE & 1), "model %d has %d actions", config.dynamics,
              space.count);
        for (int32_t i = 0; i < space.dimensions; i++)
            CHECK(space.dimension[i].name && space.dimension[i].unit && space.dimension[i].low < 0.0f &&
                  space.dimension[i].high > 0.0f, "dimension %d of model %d", i, config.dynamics);
    }
}

TEST(a_control_is_written_as_the_action_that_stands_for_it) {
    drv_config config = small_config();
    for (config.dynamics = 0; config.dynamics < DRV_DYNAMICS_COUNT; config.dynamics++) {
        /* each discrete action */
        config.action_type = DRV_DISCRETE;
        drv_action_space space = drv_action_space_of(&config);
        for (int64_t index = 0; index < space.count; index++) {
            int64_t given = index, written = -1;
            float control[DRV_ACTION_DIMENSIONS] = {0.0f};
            drv_actions_control((drv_actions){.bin = &given}, &space, 0, control, 1);
            drv_actions_write((drv_actions){.bin = &written}, &space, 0, control, 1);
            CHECK(written == index, "action %lld of model %d became %lld", (long long)index, config.dynamics,
                  (long long)written);
        }
        /* a control beyond all limits becomes the outermost continuous action, and so do the limits */
        config.action_type = DRV_CONTINUOUS;
        space = drv_action_space_of(&config);
        float shares[DRV_ACTION_DIMENSIONS], far[DRV_ACTION_DIMENSIONS];
        float beyond[DRV_ACTION_DIMENSIONS] = {0.0f};
        for (int32_t i = 0; i < space.dimensions; i++) beyond[i] = i % 2 ? 1e6f : -1e6f;
        drv_actions_write((drv_actions){.share = far}, &space, 0, beyond, 1);
        for (int32_t i = 0; i < space.dimensions; i++) CHECK(far[i] == (i % 2 ? 1.0f : -1.0f), "share %d", i);
        float limits[DRV_ACTION_DIMENSIONS] = {0.0f};
        drv_actions_control((drv_actions){.share = far}, &space, 0, limits, 1);
        drv_actions_write((drv_actions){.share = shares}, &space, 0, limits, 1);
        CHECK(memcmp(shares, far, (size_t)space.dimensions * sizeof(float)) == 0, "model %d", config.dynamics);
    }
}

/* Random cars, the same for the same rng. */
static void draw_cars(test_rng *rng, drv_motion_block *block, double slowest_mps) {
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
        const double x_m = rng_between(rng, -50, 50), y_m = rng_between(rng, -50, 50);
        const drv_motion car = {(float)x_m, (float)y_m, (float)rng_between(rng, -3.14, 3.14),
                                (float)rng_between(rng, slowest_mps, 39)};
        const bicycle_control control = {(float)rng_between(rng, -4, 4), (float)rng_between(rng, -0.6, 0.6)};
        set_car(block, i, car, control, (float)rng_between(rng, 1, 6));
    }
}

TEST(a_block_moves_its_cars_as_each_moves_alone) {
    test_rng rng = {45};
    for (int32_t round = 0; round < 200; round++) {
        drv_motion_block before, after;
        drv_motion_block_clear(&before, 1.0f);
        draw_cars(&rng, &before, -9.0);
        after = before;
        drv_bicycle_advance(&after, both_ways, 0.1f);
        for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
            const drv_motion car = car_of(&before, i).motion, found = car_of(&after, i).motion;
            const bicycle_control control = {before.control[0][i], before.control[1][i]};
            const moved_car alone = move(car, control, before.wheelbase_m[i], both_ways, 0.1f);
            CHECK(memcmp(&found, &alone.motion, sizeof found) == 0, "car %d", i);
            CHECK_NEAR(after.acceleration_mps2[i], (alone.motion.speed_mps - car.speed_mps) / 0.1f, 1e-4);
            CHECK_NEAR(after.cos_heading[i], cos((double)found.heading_rad), 1e-6);
        }
    }
}

TEST(the_inverse_finds_the_controls_of_a_step) {
    test_rng rng = {46};
    int32_t exact = 0;
    for (int32_t round = 0; round < 2000; round++) {
        /* a step, and its inverse */
        drv_motion_block before, after;
        drv_motion_block_clear(&before, 1.0f);
        draw_cars(&rng, &before, round % 2 ? 1.0 : -9.0);
        after = before;
        const drv_motion_limits wide = {-10.0f, 50.0f, 5.0f, 0.61f};
        drv_bicycle_advance(&after, wide, 0.1f);
        drv_motion_block found = before;
        uint8_t fit[DRV_MOTION_BLOCK];
        for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) found.control[0][i] = found.control[1][i] = NAN;
        drv_bicycle_inverse(&found, &after, wide, 0.1f, fit);
        for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
            const double speed_mps = fabs((double)after.speed_mps[i]);
            /* The acceleration by which the speed changed: less than the requested one if the step ended at rest. */
            CHECK_NEAR(found.control[0][i], after.acceleration_mps2[i], 1e-4);
            CHECK((fit[i] == DRV_INVERSE_SLOW) == (speed_mps < (double)drv_turn_observable_mps), "%g m/s has fit %d",
                  speed_mps, fit[i]);
            if (fit[i] != DRV_INVERSE_EXACT) {
                CHECK(found.control[1][i] == 0.0f, "%g", (double)found.control[1][i]);
                continue;
            }
            /* Half the spacing of floats near pi, in each of three headings, turned into a wheel angle. */
            const double rounding = 4e-7 * (double)before.wheelbase_m[i] / (speed_mps * 0.1) + 1e-6;
            CHECK_NEAR(found.control[1][i], before.control[1][i], rounding);
            exact++;
        }
    }
    CHECK(exact > 14000, "only %d were fast enough", exact);
}

TEST(a_turn_beyond_any_wheel_angle_is_clipped) {
    const drv_motion_limits any_angle = {-10.0f, 40.0f, 4.0f, 1.6f};
    /* At a wheel angle of 90 degrees the centre turns by twice its path over the wheelbase, which is the most. */
    const float speeds[] = {3.0f, -3.0f}, most_rad = 2.0f * 0.3f / 2.5f;
    for (int32_t i = 0; i < 2; i++)
        for (int32_t side = -1; side <= 1; side += 2)
            for (int32_t beyond = 0; beyond < 2; beyond++) {
                drv_motion_block car, next;
                uint8_t fit[DRV_MOTION_BLOCK];
                drv_motion_block_clear(&car, 1.0f);
                drv_motion_block_clear(&next, 1.0f);
                set_car(&car, 0, (drv_motion){0, 0, 3.0f, speeds[i]}, (bicycle_control){0, 0}, 2.5f);
                next.speed_mps[0] = speeds[i];
                next.heading_rad[0] = drv_wrap_angle(3.0f + (float)side * (beyond ? 1.01f : 0.99f) * most_rad);
                drv_bicycle_inverse(&car, &next, beyond ? both_ways : any_angle, 0.1f, fit);
                const float outward = (float)side * (speeds[i] > 0 ? 1.0f : -1.0f);
                CHECK(fit[0] == (beyond ? DRV_INVERSE_CLIPPED : DRV_INVERSE_EXACT), "fit %d", fit[0]);
                CHECK(outward * car.control[1][0] > 1.2f && outward * car.control[1][0] < 1.571f, "%g",
                      (double)car.control[1][0]);
            }
}
