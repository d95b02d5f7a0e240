/* Does the intelligent driver model have the published accelerations, and does it hit nothing? */
#include "check.h"
#include "step/idm.h"

static const float dt_s = 0.1f;

/* The parameters of nuPlan, of behavior-bench, and of Waymax, whose headway and gap are the longest. */
static const struct published {
    drv_idm driver;
    float desired_mps;
    double acceleration_mps2[7], equilibrium_gap_m, speed_after_10_s;
} published[] = {
    {{1.0f, 1.5f, 1.0f, 2.0f, 8.0f}, 10.0f,
     {1.0, 0.5904, 0.1679, -0.563643, -50.182114, 0.5879, 0.555556}, 16.918824, 8.609796},
    {{1.0f, 1.5f, 1.5f, 3.0f, 8.0f}, 15.0f,
     {1.5, 1.378637, 0.744887, 0.073344, -45.94721, 1.367974, 0.833333}, 13.560135, 12.914694},
    {{2.0f, 2.0f, 2.0f, 4.0f, 8.0f}, 30.0f,
     {2.0, 1.989886, 0.369886, -0.483789, -66.753594, 1.537237, -1.555556}, 18.045684, 19.288325},
};
enum { SETS = sizeof published / sizeof *published };

TEST(accelerations_are_the_published_ones) {
    const float speed_mps[] = {0, 8, 8, 8, 8, 8, 0}, gap_m[] = {INFINITY, INFINITY, 20, 20, 5, 20, 1.5f};
    const float closing_mps[] = {0, 0, 0, 3, 8, -6, 0};
    for (int set = 0; set < SETS; set++)
        for (int i = 0; i < 7; i++) {
            const struct published *of = &published[set];
            const double found = (double)drv_idm_unbounded_mps2(of->driver, speed_mps[i], of->desired_mps, gap_m[i],
                                                                closing_mps[i]);
            const double expected = of->acceleration_mps2[i];
            CHECK(fabs(found - expected) < 2e-6 * (1.0 + fabs(expected)), "set %d, case %d: %.9g", set, i, found);
        }
}

TEST(bounds_are_full_acceleration_and_hardest_braking) {
    const drv_idm driver = published[0].driver;
    CHECK(drv_idm_acceleration_mps2(driver, 8.0f, 10.0f, 5.0f, 8.0f) == -8.0f, "braking is not bounded");
    CHECK(drv_idm_acceleration_mps2(driver, 8.0f, 10.0f, -3.0f, 8.0f) == -8.0f, "an overlap has another bound");
    CHECK(drv_idm_acceleration_mps2(driver, 0.0f, 10.0f, INFINITY, 0.0f) == 1.0f, "a free road has another bound");
}

TEST(a_free_road_gives_the_published_speed_after_ten_seconds) {
    for (int set = 0; set < SETS; set++) {
        float speed_mps = 0.0f;
        for (int step = 0; step < 100; step++) {
            const float a = drv_idm_acceleration_mps2(published[set].driver, speed_mps, published[set].desired_mps,
                                                      INFINITY, 0.0f);
            speed_mps = drv_idm_next_speed_mps(speed_mps, a, dt_s);
            CHECK(speed_mps <= 1.001f * published[set].desired_mps, "set %d drives %g", set, (double)speed_mps);
        }
        CHECK(fabs((double)speed_mps - published[set].speed_after_10_s) < 1e-4, "set %d: %.9g", set,
              (double)speed_mps);
    }
}

/* A row of vehicles on one line, the first of which the test drives. */
enum { ROW = 10 };
typedef struct row {
    drv_idm driver;
    float desired_mps;
    float gap_m[ROW]; /* to the vehicle ahead, bumper to bumper */
    float speed_mps[ROW];
} row;

/* One step, in which all vehicles decide on the same state. */
static void move_row(row *cars, float first_mps) {
    float next_mps[ROW] = {first_mps};
    for (int i = 1; i < ROW; i++) {
        const float a = drv_idm_acceleration_mps2(cars->driver, cars->speed_mps[i], cars->desired_mps,
                                                  cars->gap_m[i], cars->speed_mps[i] - cars->speed_mps[i - 1]);
        next_mps[i] = drv_idm_next_speed_mps(cars->speed_mps[i], a, dt_s);
    }
    for (int i = 1; i < ROW; i++) cars->gap_m[i] += (next_mps[i - 1] - next_mps[i]) * dt_s;
    for (int i = 0; i < ROW; i++) cars->speed_mps[i] = next_mps[i];
}

static row row_at(int set, float speed_mps, float gap_m) {
    row cars = {published[set].driver, published[set].desired_mps, {0}, {0}};
    for (int i = 0; i < ROW; i++) {
        cars.speed_mps[i] = speed_mps;
        cars.gap_m[i] = gap_m;
    }
    return cars;
}

TEST(the_gap_converges_to_the_equilibrium) {
    for (int set = 0; set < SETS; set++) {
        row cars = row_at(set, 8.0f, 30.0f);
        for (int step = 0; step < 6000; step++) move_row(&cars, 8.0f);
        for (int i = 1; i < ROW; i++)
            CHECK(fabs((double)cars.gap_m[i] - published[set].equilibrium_gap_m) < 0.01, "set %d: %g", set,
                  (double)cars.gap_m[i]);
    }
}

TEST(a_row_behind_a_braking_vehicle_does_not_collide) {
    for (int set = 0; set < SETS; set++) {
        row cars = row_at(set, 8.0f, (float)published[set].equilibrium_gap_m);
        for (int step = 0; step < 600; step++) {
            move_row(&cars, drv_idm_next_speed_mps(cars.speed_mps[0], -3.0f, dt_s));
            for (int i = 1; i < ROW; i++) CHECK(cars.gap_m[i] > 0.0f, "set %d: vehicle %d collides", set, i);
        }
    }
}

/* The gap at which a vehicle comes to rest behind a wall. */
static double rest_gap_m(int set, float speed_mps, float gap_m) {
    row cars = row_at(set, 0.0f, INFINITY);
    cars.speed_mps[1] = speed_mps;
    cars.gap_m[1] = gap_m;
    for (int step = 0; step < 300; step++) move_row(&cars, 0.0f);
    return (double)cars.gap_m[1];
}

TEST(a_vehicle_rests_at_its_least_gap_from_a_wall) {
    for (int set = 0; set < SETS; set++) {
        const double found = rest_gap_m(set, 8.0f, 50.0f), least = (double)published[set].driver.min_gap_m;
        CHECK(fabs(found - least) < 1e-3, "set %d rests at %.9g", set, found);
    }
}

/* The least gap between two vehicles in 30 s: one of speed `lead_mps` with a wall `wall_m` ahead, and one behind it. */
static double least_gap_m(int set, float speed_mps, float gap_m, float lead_mps, float wall_m) {
    row cars = row_at(set, 0.0f, INFINITY);
    cars.gap_m[1] = wall_m;
    cars.speed_mps[1] = lead_mps;
    cars.gap_m[2] = gap_m;
    cars.speed_mps[2] = speed_mps;
    double least_m = INFINITY;
    for (int step = 0; step < 300; step++) {
        move_row(&cars, 0.0f);
        least_m = fmin(least_m, (double)cars.gap_m[2]);
    }
    return least_m;
}

TEST(no_vehicle_of_the_model_is_hit_from_where_hardest_braking_stops) {
    for (int set = 0; set < SETS; set++)
        for (float speed_mps = 1.0f; speed_mps <= published[set].desired_mps; speed_mps += 0.5f)
            for (float lead_mps = 0.0f; lead_mps < speed_mps; lead_mps += 0.5f) {
                const float least_m = published[set].driver.min_gap_m, gap_m = speed_mps * speed_mps / 16.0f + least_m;
                const float wall_m = lead_mps * lead_mps / 16.0f + least_m;
                CHECK(least_gap_m(set, speed_mps, gap_m, lead_mps, INFINITY) > 0.0, "set %d at %g m/s hits %g", set,
                      (double)speed_mps, (double)lead_mps);
                CHECK(least_gap_m(set, speed_mps, gap_m, lead_mps, wall_m) > 0.0, "set %d at %g m/s hits %g, braking",
                      set, (double)speed_mps, (double)lead_mps);
            }
}

TEST(no_wall_is_hit_from_where_hardest_braking_stops) {
    for (int set = 0; set < SETS; set++)
        for (float speed_mps = 1.0f; speed_mps <= published[set].desired_mps; speed_mps += 0.25f) {
            const float gap_m = speed_mps * speed_mps / 16.0f + published[set].driver.min_gap_m;
            const double found = rest_gap_m(set, speed_mps, gap_m);
            CHECK(found > 0.0, "set %d at %g m/s hits the wall: %g", set, (double)speed_mps, found);
        }
}
