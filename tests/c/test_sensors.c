/* Which errors of sensors does the core refuse, since they would have no effect? */
#include "view/sensors.h"

#include "check.h"
#include "small_scene.h"
#include "view/layout.h"

TEST(errors_of_records_need_slots) {
    for (int32_t set = 0; set < 2; set++) {
        drv_config config = small_config();
        char message[DRV_MESSAGE_BYTES] = "";
        config.sensor_partner_dropout = set == 0 ? 0.5f : 0.0f;
        config.sensor_road_heading_noise_rad = set == 1 ? 0.1f : 0.0f;
        config.partners = config.roads = 3;
        CHECK(drv_sensors_check(&config, message) == DRV_OK, "%s", message);
        config.partners = set == 0 ? 0 : 3;
        config.roads = set == 1 ? 0 : 3;
        CHECK(drv_sensors_check(&config, message) == DRV_ERROR_CONFIG, "set %d", set);
        CHECK(strstr(message, set == 0 ? "partners have" : "roads have"), "%s", message);
    }
}

TEST(index_observations_have_no_noise_of_records) {
    drv_config config = small_config();
    char message[DRV_MESSAGE_BYTES] = "";
    config.partners = config.roads = 3;
    config.observation_type = DRV_INDEX;
    config.sensor_road_dropout = config.sensor_ego_speed_noise_mps = 0.5f;
    CHECK(drv_sensors_check(&config, message) == DRV_OK, "%s", message);
    config.sensor_partner_speed_noise_mps = 0.25f;
    CHECK(drv_sensors_check(&config, message) == DRV_ERROR_CONFIG, "accepted");
    CHECK(strstr(message, "partners is 0 m, 0 rad, 0.25 m/s"), "%s", message);
}

TEST(each_error_alone_is_an_error) {
    drv_config config = small_config();
    CHECK(!drv_sensors_have_errors(&config), "none is on");
    float *const each[] = {
        &config.sensor_partner_position_noise_m, &config.sensor_partner_heading_noise_rad,
        &config.sensor_partner_speed_noise_mps, &config.sensor_partner_dropout, &config.sensor_road_position_noise_m,
        &config.sensor_road_heading_noise_rad, &config.sensor_road_dropout, &config.sensor_ego_speed_noise_mps,
        &config.sensor_goal_position_noise_m};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        *each[i] = 0.5f;
        CHECK(drv_sensors_have_errors(&config), "error %zu", i);
        *each[i] = 0.0f;
    }
}
