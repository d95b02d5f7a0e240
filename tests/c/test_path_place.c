/* Is a place on a path always between two points of that path? */
#include "check.h"
#include "step/path_place.h"

enum { POINTS = 4 };

TEST(a_place_never_leaves_its_path) {
    /* two paths, of which the second one has other speeds; places far before the start are those of a vehicle that its
     * log left rolling backwards */
    static int32_t start[] = {0, POINTS, 2 * POINTS};
    static float speed_mps[] = {1.0f, 2.0f, 3.0f, 4.0f, 10.0f, 20.0f, 30.0f, 40.0f};
    const drv_paths paths = {.count = 2, .point_count = 2 * POINTS, .point_start = start, .speed_mps = speed_mps};
    static const struct expected {
        float pitches, speed_mps; /* of the second path */
    } expected[] = {{-1e30f, 10.0f}, {-7.0f, 10.0f},  {-1.0f, 10.0f}, {-0.25f, 10.0f}, {0.0f, 10.0f},
                    {0.5f, 15.0f},   {1.0f, 20.0f}, {2.75f, 37.5f}, {3.0f, 40.0f},  {3.5f, 40.0f}, {1000.0f, 40.0f}};
    for (int path = 0; path < 2; path++)
        for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
            const float found = drv_path_speed(&paths, path, expected[i].pitches * drv_path_pitch_m);
            const float wanted = path ? expected[i].speed_mps : 0.1f * expected[i].speed_mps;
            CHECK(fabsf(found - wanted) <= 1e-4f, "path %d at %g pitches: %g m/s, expected %g", path,
                  (double)expected[i].pitches, (double)found, (double)wanted);
        }
}
