/* Do the features partition the observation vector? */
#include "view/layout.h"

#include <stdlib.h>

#include "check.h"
#include "small_scene.h"

enum { FEATURE_CAPACITY = 128 };

TEST(every_float_of_an_agent_belongs_to_exactly_one_feature) {
    const int32_t slots[] = {0, 1, 5, 255};
    for (int32_t p = 0; p < 4; p++)
        for (int32_t r = 0; r < 4; r++) {
            /* a config with every set, and with features of options in some rounds */
            drv_config config = small_config();
            config.partners = slots[p];
            config.roads = slots[r];
            config.reveal_hidden = (p + r) % 2;
            config.candidates = p + r;
            config.goals = 2 * p;
            config.controls = 2 * r + p;
            config.route = 3 * r + p;
            config.range_reward_goal_low = config.range_reward_time_per_s_low = (float)-(p % 2);
            /* the features that each float belongs to */
            drv_feature features[FEATURE_CAPACITY];
            const int32_t count = drv_observation_layout(&config, features, FEATURE_CAPACITY);
            CHECK(count > 0 && count <= FEATURE_CAPACITY, "%d features", count);
            const int32_t size = drv_layout_size(&config);
            uint8_t *owners = calloc((size_t)size, 1);
            for (int32_t f = 0; f < count; f++)
                for (int32_t slot = 0; slot < features[f].slots; slot++) {
                    const int32_t index = features[f].offset + slot * features[f].stride;
                    CHECK(index >= 0 && index < size, "%s stands at %d of %d", features[f].name, index, size);
                    if (index >= 0 && index < size) owners[index]++;
                }
            for (int32_t i = 0; i < size; i++) CHECK(owners[i] == 1, "float %d has %d owners", i, owners[i]);
            free(owners);
        }
}

TEST(features_have_different_names_units_and_a_meaning) {
    const drv_config config = small_config();
    drv_feature features[FEATURE_CAPACITY];
    const int32_t count = drv_observation_layout(&config, features, FEATURE_CAPACITY);
    for (int32_t f = 0; f < count; f++) {
        for (int32_t g = 0; g < f; g++)
            CHECK(strcmp(features[f].name, features[g].name) != 0, "two features are called %s", features[f].name);
        CHECK(features[f].unit[0] && features[f].meaning[0], "%s", features[f].name);
        CHECK(features[f].scale > 0.0f && (features[f].low == 0.0f || features[f].low == -1.0f), "%s: %g from %g",
              features[f].name, (double)features[f].scale, (double)features[f].low);
    }
}

TEST(the_table_is_written_up_to_the_capacity) {
    const drv_config config = small_config();
    const int32_t count = drv_observation_layout(&config, NULL, 0);
    drv_feature *features = calloc(3, sizeof *features);
    CHECK(drv_observation_layout(&config, features, 3) == count, "the count depends on the capacity");
    CHECK(features[2].name != NULL, "the third is missing");
    free(features);
}

static const drv_feature *named(const drv_feature *features, int32_t count, const char *name) {
    for (int32_t f = 0; f < count; f++)
        if (strcmp(features[f].name, name) == 0) return &features[f];
    CHECK(0, "no feature %s", name);
    return features;
}

TEST(the_largest_value_is_observed_as_1) {
    drv_config config = small_config();
    config.max_trials = 5;
    config.min_speed_mps = -50.0f;
    config.reward_goal = 3.0f;
    config.reward_collision = -4.0f;
    config.reward_offroad = -1.0f;
    drv_feature features[FEATURE_CAPACITY];
    const int32_t count = drv_observation_layout(&config, features, FEATURE_CAPACITY);
    CHECK_NEAR(named(features, count, "ego/speed")->scale * 50.0f, 1.0, 1e-6);
    CHECK_NEAR(named(features, count, "partners/speed")->scale * 50.0f, 1.0, 1e-6);
    CHECK_NEAR(named(features, count, "trial/reward")->scale * 5.0f, 1.0, 1e-6);
    CHECK_NEAR(named(features, count, "trial/index")->scale * 5.0f, 1.0, 1e-6);
    CHECK_NEAR(named(features, count, "partners/x")->scale * config.view_radius_m, 1.0, 1e-6);
    CHECK_NEAR(named(features, count, "roads/half_length")->scale * 5.0f, 1.0, 1e-6);
    CHECK_NEAR(named(features, count, "ego/steering")->scale * config.max_steering_rad, 1.0, 1e-6);
    /* The kind of a filled slot is above 0, that of an empty one 0. */
    CHECK(named(features, count, "partners/kind")->scale * (float)DRV_OBJECT_OTHER <= 1.0f, "kinds beyond 1");
    CHECK(named(features, count, "roads/kind")->scale * (float)DRV_ROAD_DRIVEWAY <= 1.0f, "kinds beyond 1");
    CHECK(named(features, count, "goals/number")->scale * (float)(DRV_GOAL_SLOT_LIMIT - 1) <= 1.0f, "numbers beyond 1");
    CHECK(named(features, count, "controls/kind")->scale * (float)DRV_YIELD_SIGN <= 1.0f, "kinds beyond 1");
}

TEST(sets_follow_the_head_and_each_other_without_a_gap) {
    drv_config config = small_config();
    config.partners = 5;
    config.roads = 9;
    config.reveal_hidden = 1;
    config.candidates = 3;
    config.goals = 2;
    config.controls = 7;
    config.route = 4;
    drv_observation_set sets[DRV_SET_COUNT];
    const int32_t count = drv_observation_sets(&config, sets, DRV_SET_COUNT);
    CHECK(count == DRV_SET_COUNT && drv_observation_sets(&config, NULL, 0) == count, "%d sets", count);
    const int32_t heads = drv_index_observation(&config).head_count;
    int32_t offset = heads, next_byte = heads * 4;
    for (int32_t i = 0; i < count; i++) {
        CHECK(sets[i].offset == offset && sets[i].index_offset_bytes == next_byte, "%s stands at %d", sets[i].name,
              sets[i].offset);
        offset += sets[i].slots * sets[i].record_floats;
        next_byte += sets[i].slots * 2;
    }
    CHECK(offset == drv_layout_size(&config), "the sets end at %d", offset);
    CHECK(next_byte <= drv_index_observation(&config).observation_bytes, "indices end at byte %d", next_byte);
}
