/* Does MOBIL change lanes where the model says so? */
#include "check.h"
#include "step/mobil.h"

TEST(a_change_is_made_where_it_gains_enough_and_is_safe) {
    /* politeness, safe braking, threshold; accelerations before and after: own, new follower, old follower */
    static const struct published {
        drv_mobil driver;
        drv_mobil_effect own, new_follower, old_follower;
        bool changes;
    } published[] = {
        {{0.3f, 2.0f, 0.2f}, {-0.5f, 0.4f}, {0.2f, -0.5f}, {-0.6f, 0.1f}, true},
        {{0.3f, 2.0f, 0.2f}, {-0.5f, 0.4f}, {0.2f, -2.1f}, {-0.6f, 0.1f}, false}, /* not safe */
        {{1.0f, 2.0f, 0.2f}, {-0.5f, 0.4f}, {0.2f, -1.5f}, {-0.6f, 0.1f}, false}, /* costs others too much */
        {{0.0f, 2.0f, 0.2f}, {0.1f, 0.25f}, {0.0f, -0.5f}, {0.0f, 0.0f}, false},  /* gains too little */
    };
    for (int i = 0; i < 4; i++) {
        const struct published *of = &published[i];
        CHECK(drv_mobil_changes(of->driver, of->own, of->new_follower, of->old_follower, 0.0f) == of->changes,
              "case %d", i);
    }
}

TEST(a_preferred_lane_needs_less_gain_but_is_no_safer) {
    const drv_mobil driver = {0.3f, 2.0f, 0.2f};
    const drv_mobil_effect own = {0.0f, -0.05f}, safe = {0.0f, 0.0f}, unsafe = {0.0f, -2.1f};
    CHECK(!drv_mobil_changes(driver, own, safe, safe, 0.2f), "the bias is too strong");
    CHECK(drv_mobil_changes(driver, own, safe, safe, 0.3f), "the bias is too weak");
    CHECK(!drv_mobil_changes(driver, own, unsafe, safe, 9.0f), "the bias overrides safety");
}
