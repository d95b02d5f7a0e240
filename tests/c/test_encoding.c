/* Does an encoding hold the records of a scene for a config, and leave the scene unchanged? */
#include "view/encoding.h"

#include <stdlib.h>

#include "check.h"
#include "scene_fixture.h"
#include "small_scene.h"
#include "view/layout.h"

TEST(records_are_segments_in_the_scales_of_the_config) {
    small_scene small;
    make_small(&small);
    drv_scene *scene = scene_of(&small.input);
    for (int32_t round = 0; round < 2; round++) {
        drv_config config = small_config();
        config.max_speed_mps = round == 0 ? 40.0f : 10.0f;
        drv_arena *arena = drv_arena_create();
        drv_encoding *encoding = drv_encodings_create(&scene, 1, &config, arena);
        /* records of the encoding */
        int32_t lanes = 0, filled = 0;
        for (int32_t i = 0; i < scene->segments.count; i++) {
            const float *record = encoding->record + i * ROAD_COUNT;
            const uint8_t kind = small.road_kind[scene->segment_road[i]];
            CHECK(record[ROAD_X] == scene->segments.middle_x_m[i] && record[ROAD_Y] == scene->segments.middle_y_m[i],
                  "the record of segment %d is at another position", i);
            CHECK_NEAR(record[ROAD_KIND], kind / 8.0, 1e-7); /* 8: a code above all kinds */
            /* 5 m: half of the longest segment */
            CHECK_NEAR(record[ROAD_HALF_LENGTH], (double)scene->segments.half_length_m[i] / 5.0, 1e-6);
            filled += record[ROAD_KIND] > 0.0f;
            if (kind != DRV_ROAD_LANE) continue;
            lanes++;
            CHECK_NEAR(record[ROAD_WIDTH], 3.5 / 10.0, 1e-6); /* 10 m: wider than any lane */
            CHECK_NEAR(record[ROAD_SPEED_LIMIT], round == 0 ? 13.9 / 40.0 : 1.0, 1e-6);
        }
        /* 105 m of lane in pieces of at most 10 m */
        CHECK(lanes == 11 && filled == scene->segments.count, "%d of lanes, %d filled", lanes, filled);
        /* drv_scene_records: an empty slot, then the same */
        float *copied = malloc((size_t)(1 + scene->segments.count) * ROAD_COUNT * sizeof *copied);
        drv_scene_records(scene, &config, copied);
        for (int32_t i = 0; i < ROAD_COUNT; i++) CHECK(copied[i] == 0.0f, "the empty slot holds %g", (double)copied[i]);
        CHECK(memcmp(copied + ROAD_COUNT, encoding->record,
                     (size_t)scene->segments.count * ROAD_COUNT * sizeof *copied) == 0, "the copy differs");
        free(copied);
        drv_arena_free(arena);
    }
    drv_scene_release(scene);
}

TEST(a_control_has_a_record_for_each_state_of_a_light) {
    small_scene small;
    make_small(&small);
    drv_scene *scene = scene_of(&small.input);
    drv_config config = small_config();
    /* no records of controls without slots for them */
    CHECK(drv_scene_record_count(scene, &config) == scene->segments.count, "records without slots for them");
    config.traffic_controls = config.controls = 1;
    const int32_t count = drv_scene_record_count(scene, &config);
    CHECK(count == scene->segments.count + SMALL_CONTROLS * DRV_LIGHT_STATES, "%d records", count);
    /* records of the encoding */
    drv_arena *arena = drv_arena_create();
    drv_encoding *encoding = drv_encodings_create(&scene, 1, &config, arena);
    for (int32_t control = 0; control < SMALL_CONTROLS; control++)
        for (int32_t state = DRV_LIGHT_OFF; state <= DRV_LIGHT_GREEN; state++) {
            const float *record = encoding->record + drv_control_record(scene, control, state) * CONTROL_COUNT;
            CHECK(memcmp(record, small.control_line_m + 4 * control, 4 * sizeof *record) == 0, "another line");
            CHECK(record[CONTROL_RED] == (float)(state == DRV_LIGHT_RED), "red in state %d", state);
            CHECK(record[CONTROL_YELLOW] == (float)(state == DRV_LIGHT_YELLOW), "yellow in state %d", state);
            CHECK(record[CONTROL_GREEN] == (float)(state == DRV_LIGHT_GREEN), "green in state %d", state);
            /* 4: a code above all kinds */
            CHECK(record[CONTROL_KIND] == (float)small.control_kind[control] / 4.0f, "kind %d", control);
        }
    /* drv_scene_records: an empty slot, then the same */
    float *copied = malloc((size_t)(1 + count) * DRV_RECORD_FLOATS * sizeof *copied);
    drv_scene_records(scene, &config, copied);
    CHECK(memcmp(copied + DRV_RECORD_FLOATS, encoding->record,
                 (size_t)count * DRV_RECORD_FLOATS * sizeof *copied) == 0, "the copy differs");
    free(copied);
    drv_arena_free(arena);
    drv_scene_release(scene);
}

TEST(search_bounds_follow_the_slots_and_the_view_radius) {
    small_scene small;
    make_small(&small);
    drv_scene *scene = scene_of(&small.input);
    const int32_t cells = scene->grid.columns * scene->grid.rows;
    drv_config config = small_config();
    drv_arena *arena = drv_arena_create();
    config.roads = 1;
    drv_encoding *few = drv_encodings_create(&scene, 1, &config, arena);
    config.roads = 12;
    drv_encoding *many = drv_encodings_create(&scene, 1, &config, arena);
    config.view_radius_m = 7.0f;
    drv_encoding *near = drv_encodings_create(&scene, 1, &config, arena);
    for (int32_t cell = 0; cell < cells; cell++) {
        CHECK(few->cell_kth_distance_m[cell] < many->cell_kth_distance_m[cell], "cell %d", cell);
        CHECK(near->cell_kth_distance_m[cell] <= 7.0f, "cell %d: %g", cell, (double)near->cell_kth_distance_m[cell]);
    }
    drv_arena_free(arena);
    drv_scene_release(scene);
}

TEST(a_scene_that_is_listed_twice_is_encoded_once) {
    small_scene small;
    make_small(&small);
    drv_scene *one = scene_of(&small.input);
    small.road_width_m[0] = 5.0f;
    drv_scene *other = scene_of(&small.input);
    drv_scene *scenes[] = {other, one, other, one, one};
    const drv_config config = small_config();
    drv_arena *arena = drv_arena_create();
    drv_encoding *encodings = drv_encodings_create(scenes, 5, &config, arena);
    for (int32_t i = 0; i < 5; i++) {
        drv_encoding *alone = drv_encodings_create(&scenes[i], 1, &config, arena);
        CHECK(memcmp(alone->record, encodings[i].record,
                     (size_t)one->segments.count * ROAD_COUNT * sizeof(float)) == 0, "scene %d", i);
        CHECK(encodings[i].record == encodings[scenes[i] == one ? 1 : 0].record, "scene %d is encoded again", i);
    }
    CHECK(encodings[0].record != encodings[1].record, "two scenes share an encoding");
    drv_arena_free(arena);
    drv_scene_release(one);
    drv_scene_release(other);
}

TEST(start_speeds_are_clipped_to_the_limits_of_the_config) {
    small_scene small;
    make_small(&small);
    drv_config config = small_config();
    small.vx_mps[0] = 55.0f;
    small.vx_mps[1] = -5.0f;
    drv_scene *scene = scene_of(&small.input);
    CHECK(drv_start_speed_mps(scene, &config, 0) == 40.0f && drv_start_speed_mps(scene, &config, 1) == 0.0f,
          "0 to 40 m/s");
    CHECK(drv_scene_clipped_start_speeds(scene, &config) == 2, "%d", drv_scene_clipped_start_speeds(scene, &config));
    config.min_speed_mps = -10.0f;
    CHECK(drv_start_speed_mps(scene, &config, 1) == -5.0f, "-10 m/s and above");
    CHECK(drv_scene_clipped_start_speeds(scene, &config) == 1, "%d", drv_scene_clipped_start_speeds(scene, &config));
    drv_scene_release(scene);
}
