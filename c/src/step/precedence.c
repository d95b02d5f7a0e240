/* Which of two agents whose paths cross goes first? */
#include "step/precedence.h"

#include "math/bits.h"
#include "math/geometry.h"
#include "math/vector.h"
#include "step/path_crossing.h"
#include "step/rule_based.h"

/* Where two paths leave a smaller gap between the vehicles on them, one of the vehicles waits, whatever the directions
 * of the paths. */
static const float path_gap_m = 0.4f, any_cos = 2.0f;
/* Agents and paths whose directions differ by more than 135 degrees are head-on. */
static const float head_on_cos = -0.7f;
/* One agent is where paths cross only this long after the other one has left. */
static const float clearance_s = 0.5f;
/* The hardest braking for an agent ahead where paths join, if there is time. */
static const float zip_mps2 = 2.0f;
/* An agent is held where it accelerates by less than this: at rest, it is within 1.6 m of where it stops. */
static const float held_mps2 = 0.3f;

/* ---- where paths cross ---- */

/* Tests DRV_WIDTH points of a window from `first` on. Bit i: point `first` + i is within a distance of the rectangle
 * around an agent's corridor; only such points can be within that distance of a point of the corridor. */
static uint32_t bits_near(const drv_paths *window, int32_t first, const drv_driven *other, float distance_m) {
    const float reach_m = distance_m + drv_rounding_m;
    const drv_floats x = drv_load(window->x_m + first) - drv_splat(other->middle_x_m);
    const drv_floats y = drv_load(window->y_m + first) - drv_splat(other->middle_y_m);
    return drv_movemask(drv_mask_le(drv_abs(x), drv_splat(other->half_x_m + reach_m)) &
                        drv_mask_le(drv_abs(y), drv_splat(other->half_y_m + reach_m)));
}

/* The part of what an agent claims, from the first point to the last, that is too near to what another one claims; last
 * is -1 where none is. */
typedef struct crossed_part {
    int32_t first, last;
} crossed_part;

/* Extends these parts of two agents by a point of the first and those of `claimed` points of the second that are too
 * near to it. */
static void extend_crossing(const drv_paths *window, const drv_driven *own, int32_t point, const drv_driven *other,
                            int32_t claimed, float distance_m, crossed_part *own_part, crossed_part *other_part) {
    const int32_t own_first = own->corridor.first, other_first = other->corridor.first;
    for (int32_t k = 0; k < claimed; k += DRV_WIDTH) {
        const uint32_t bits = drv_crossing_bits(window, own_first + point, window, other_first + k,
                                                other_first + claimed - 1, distance_m, any_cos);
        if (!bits) continue;
        const int32_t low = k + drv_lowest_bit(bits), high = k + drv_highest_bit(bits);
        if (own_part->last < 0) own_part->first = point;
        own_part->last = point;
        if (low < other_part->first) other_part->first = low;
        if (high > other_part->last) other_part->last = high;
    }
}

/* Finds these parts. */
static void find_crossing(const drv_paths *window, const drv_driven *own, const drv_driven *other, float distance_m,
                          crossed_part *own_part, crossed_part *other_part) {
    *own_part = *other_part = (crossed_part){DRV_WINDOW_POINTS, -1};
    for (int32_t first = 0; first < own->claimed; first += DRV_WIDTH)
        for (uint32_t bits = bits_near(window, own->corridor.first + first, other, distance_m); bits;
             bits &= bits - 1) {
            const int32_t point = first + drv_lowest_bit(bits);
            if (point >= own->claimed) break; /* past the end of what it claims */
            extend_crossing(window, own, point, other, other->claimed, distance_m, own_part, other_part);
        }
}

/* The cosine of the angle between two paths, each at one of its points. */
static float turn_cos_at(const drv_paths *window, const drv_driven *own, int32_t point, const drv_driven *other,
                         int32_t other_point) {
    const int32_t a = own->corridor.first + point, b = other->corridor.first + other_point;
    return window->cos_heading[a] * window->cos_heading[b] + window->sin_heading[a] * window->sin_heading[b];
}

/* Whether two agents drive towards each other, each in or near a zone that reaches beyond what it claims. */
static bool meets_beyond_claims(const drv_world *world, const drv_lane_driver *driver, int32_t agent, int32_t other) {
    const drv_driven *a = &driver->driven[agent], *b = &driver->driven[other];
    if (a->claimed_head_on <= a->claimed || b->claimed_head_on <= b->claimed) return false;
    const float a_cos = world->cos_heading[agent], a_sin = world->sin_heading[agent];
    const float b_cos = world->cos_heading[other], b_sin = world->sin_heading[other];
    const float dx = world->x_m[other] - world->x_m[agent], dy = world->y_m[other] - world->y_m[agent];
    const bool faces = dx * a_cos + dy * a_sin > 0.0f && dx * b_cos + dy * b_sin < 0.0f;
    const float claimed_m = (float)(a->claimed_head_on + b->claimed_head_on) * drv_path_pitch_m;
    return faces && a_cos * b_cos + a_sin * b_sin <= head_on_cos && dx * dx + dy * dy < claimed_m * claimed_m;
}

/* Finds these parts of two agents up to the end of the zone, and returns whether the paths are head-on there: the
 * agents would meet inside. */
static bool find_head_on(const drv_lane_driver *driver, const drv_driven *a, const drv_driven *b, float distance_m,
                         crossed_part *part, crossed_part *other_part) {
    *part = *other_part = (crossed_part){DRV_WINDOW_POINTS, -1};
    for (int32_t point = 0; point < a->claimed_head_on; point++)
        extend_crossing(&driver->window, a, point, b, b->claimed_head_on, distance_m, part, other_part);
    /* where one enters the part, the other one leaves it; on a ring, each enters it where the other one does */
    return part->last >= 0 &&
           turn_cos_at(&driver->window, a, part->first, b, other_part->last) < head_on_cos &&
           turn_cos_at(&driver->window, a, part->last, b, other_part->first) < head_on_cos;
}

/* ---- who goes first ---- */

/* Where an agent is relative to the crossed part of its path. */
enum { OUTSIDE, IN_ZONE, TOO_FAST, ON_PART };

/* How an agent passes the crossed part of its path, if nothing stops it there. */
typedef struct passage {
    float part_m; /* from its front to the part */
    float gap_m; /* from its front to where it waits */
    float arrive_s, leave_s;
    /* OUTSIDE: it can wait before the zone; IN_ZONE: it is inside, or too fast for that, but can wait before the part;
     * TOO_FAST: it cannot stop before the part; ON_PART: it goes on */
    int32_t place;
    int32_t priority; /* -1 at a sign, 0 if it stands, else 1 */
    bool goes_on; /* the other one stands, and it is too fast to stop */
    float exit_s; /* when it has left the zone, which orders agents IN_ZONE; else 0 */
    float turn_s; /* when it is where it waits, which orders all others */
} passage;

/* When an agent has left the crossing that it is in, or else the next one, if nothing stops it. */
static float exit_s(const drv_driven *own) {
    const float exit_m = own->inside_m >= 0.0f ? own->inside_m : own->zone_exit_m;
    const float speed_mps = drv_larger(0.0f, own->follower.speed_mps);
    return drv_idm_travel_time_s(own->follower.driver, speed_mps, own->top_mps, exit_m);
}

static passage passage_of(const drv_driven *own, crossed_part part) {
    /* where the part is */
    const drv_follower *follower = &own->follower;
    const float front_m = own->corridor.first_m - own->corridor.half_length_m;
    const float part_m = front_m + (float)(part.first - 1) * drv_path_pitch_m; /* it may begin before the point */
    const float leave_m = front_m + (float)part.last * drv_path_pitch_m + follower->length_m;
    const float speed_mps = drv_larger(0.0f, follower->speed_mps), top_mps = own->top_mps;
    const bool is_in_next = leave_m - follower->length_m >= own->zone_gap_m;
    const float gap_m = is_in_next ? drv_smaller(part_m, own->zone_gap_m) : part_m;

    /* when the agent is there */
    passage out = {.part_m = part_m,
                   .gap_m = gap_m,
                   .arrive_s = drv_idm_travel_time_s(follower->driver, speed_mps, top_mps, part_m),
                   .leave_s = drv_idm_travel_time_s(follower->driver, speed_mps, top_mps, leave_m),
                   .place = OUTSIDE,
                   .priority = is_in_next && own->zone_yields ? -1 : speed_mps > drv_rests_below_mps,
                   .turn_s = drv_idm_travel_time_s(follower->driver, speed_mps, top_mps, gap_m)};
    if (!drv_can_stop(follower, gap_m) || (!is_in_next && part_m <= own->inside_m)) out.place = IN_ZONE;
    if (!drv_can_stop(follower, part_m)) out.place = TOO_FAST;
    if (part_m <= 0.0f) out.place = ON_PART;
    if (out.place == IN_ZONE) out.exit_s = exit_s(own);
    return out;
}

/* Whether an agent is too fast to stop where it waits, while the other one stands: that one would start, and both would
 * be on their way. */
static bool passes_before_standing(const drv_driven *own, const passage *of_own, const drv_driven *other) {
    return other->follower.speed_mps < drv_rests_below_mps && own->follower.speed_mps >= drv_rests_below_mps &&
           !drv_can_stop(&own->follower, of_own->gap_m);
}

/* Whether the agent of the first passage goes before that of the second; `is_lower`: its index is lower. */
static bool goes_first(const passage *own, const passage *other, bool is_lower) {
    if (own->goes_on != other->goes_on) return own->goes_on;
    if (own->place != other->place) return own->place > other->place;
    if (own->priority * other->priority < 0) return own->priority > 0;
    /* The order of exits is the same for all pairs. Arrival at the part is not: four agents, each nearer to the path of
     * the next one than that one is to its path, would wait for each other in a circle. */
    if (own->place == IN_ZONE && own->exit_s != other->exit_s) return own->exit_s < other->exit_s;
    return own->turn_s < other->turn_s || (own->turn_s == other->turn_s && is_lower);
}

/* Whether an agent is released to go before another one, which stands and is not in its way. */
static bool passes_standing(const drv_driven *own, const drv_driven *other, const passage *of_other) {
    return own->is_released && other->follower.speed_mps < drv_rests_below_mps && of_other->place != ON_PART;
}

/* Lowers the acceleration of an agent to what another one, where the paths cross, allows. */
static void wait_for(drv_driven *own, float gap_m, int32_t other) {
    const float before_mps2 = own->follower.acceleration_mps2;
    drv_keep_gap(&own->follower, gap_m, 0.0f);
    if (!(own->follower.acceleration_mps2 < before_mps2)) return;
    own->waits_for = other;
    own->yields = true;
}

/* Makes an agent follow another one that is before it where their paths join, as in a zipper merge: their gap has to
 * be long enough by then. */
static void zip_behind(drv_driven *own, float joint_m, const drv_driven *other, float other_joint_m, int32_t index) {
    /* the gap there, if the other one were on the path of this one */
    const float gap_m = joint_m - other_joint_m - other->follower.length_m;
    const float lead_mps = drv_larger(0.0f, other->follower.speed_mps), speed_mps = own->follower.speed_mps;
    const float before_mps2 = own->follower.acceleration_mps2;
    drv_follower gap_follower = own->follower;
    drv_keep_gap(&gap_follower, gap_m, lead_mps);
    /* what it takes to fall behind in time */
    const float time_s = drv_larger(0.5f, joint_m / drv_larger(1.0f, speed_mps));
    const float missing_m = drv_larger(0.0f, own->follower.driver.min_gap_m - gap_m) +
                            drv_larger(0.0f, speed_mps - lead_mps) * time_s;
    const float hardest_mps2 = drv_larger(zip_mps2, 2.0f * missing_m / (time_s * time_s));
    const float gap_mps2 = drv_larger(gap_follower.acceleration_mps2, -hardest_mps2);
    if (!(gap_mps2 < before_mps2)) return;
    own->follower.acceleration_mps2 = gap_mps2;
    own->waits_for = index;
    own->yields = true;
}

/* Makes the second of two agents wait where their paths cross, unless the first has left by then, or is not there
 * before the second has left. */
static void settle_pair(const drv_world *world, drv_lane_driver *driver, int32_t agent, int32_t other) {
    /* when each is where the paths cross */
    drv_driven *a = &driver->driven[agent], *b = &driver->driven[other];
    const float *width_m = world->scene->width_m;
    crossed_part a_part, b_part;
    const float apart_m = 0.5f * (width_m[agent] + width_m[other]) + path_gap_m;
    const float distance_m = drv_larger(drv_min_crossing_distance_m, apart_m);
    if (!(meets_beyond_claims(world, driver, agent, other) && find_head_on(driver, a, b, distance_m, &a_part, &b_part)))
        find_crossing(&driver->window, a, b, distance_m, &a_part, &b_part);
    if (a_part.last < 0) return;
    passage of_a = passage_of(a, a_part), of_b = passage_of(b, b_part);
    of_a.goes_on = passes_before_standing(a, &of_a, b);
    of_b.goes_on = passes_before_standing(b, &of_b, a);

    /* the second one waits */
    const bool a_is_first = passes_standing(a, b, &of_b) ||
                            (goes_first(&of_a, &of_b, agent < other) && !passes_standing(b, a, &of_a));
    const passage *first = a_is_first ? &of_a : &of_b, *second = a_is_first ? &of_b : &of_a;
    /* about the same direction: there they join, or one leads to where the other one is */
    const bool is_joint = turn_cos_at(&driver->window, a, a_part.first, b, b_part.first) > drv_stream_cos;
    if (of_a.priority * of_b.priority >= 0 && is_joint) {
        if (of_a.part_m <= of_b.part_m) zip_behind(b, of_b.part_m, a, of_a.part_m, agent);
        else zip_behind(a, of_a.part_m, b, of_b.part_m, other);
        return;
    }
    if (second->arrive_s >= first->leave_s + clearance_s || second->leave_s + clearance_s <= first->arrive_s) return;
    wait_for(a_is_first ? b : a, second->gap_m, a_is_first ? agent : other);
}

/* ---- deadlocks ---- */

static bool is_held(const drv_driven *own) {
    return own->follower.speed_mps < drv_rests_below_mps && own->follower.acceleration_mps2 < held_mps2;
}

/* Settles the pairs of an agent anew. */
static void settle_again(const drv_world *world, drv_lane_driver *driver, int32_t agent) {
    drv_driven *own = &driver->driven[agent];
    own->follower.acceleration_mps2 = own->led_mps2;
    own->waits_for = own->leads;
    own->yields = false;
    for (int32_t other = 0; other < world->scene->num_agents; other++) {
        const int32_t low = agent < other ? agent : other, high = agent < other ? other : agent;
        const uint64_t word = driver->pairs[low * driver->pair_words + high / 64];
        if (low != high && word >> (high % 64) & 1) settle_pair(world, driver, low, high);
    }
}

/* Returns the agent to be released of the cycle that one is in: that of lowest index among those that yield. Returns -1
 * if there is none, or if another agent of the cycle is not held. */
static int32_t released_of(const drv_lane_driver *driver, int32_t agent) {
    int32_t lowest = -1, moving = -1;
    int32_t at = agent;
    do {
        const drv_driven *own = &driver->driven[at];
        if (own->yields && !own->is_released && (lowest < 0 || at < lowest)) lowest = at;
        if (!is_held(own)) {
            if (moving >= 0) return -1;
            moving = at;
        }
        at = own->waits_for;
    } while (at != agent);
    return moving >= 0 && moving != lowest ? -1 : lowest;
}

/* Releases one agent of a cycle of agents that wait for each other (a deadlock); false if there is none. */
static bool break_cycle(const drv_world *world, drv_lane_driver *driver) {
    const int32_t agents = world->scene->num_agents;
    for (int32_t agent = 0; agent < agents; agent++) driver->visited[agent] = -1;
    for (int32_t agent = 0; agent < agents; agent++) {
        if (world->status[agent] != DRV_DRIVING) continue;
        const drv_driven *own = &driver->driven[agent];
        if (!own->yields || own->is_released || !is_held(own)) continue;
        int32_t at = agent;
        while (at >= 0 && driver->visited[at] < 0) {
            driver->visited[at] = agent;
            at = driver->driven[at].waits_for;
        }
        if (at < 0 || driver->visited[at] != agent) continue;
        const int32_t released = released_of(driver, at);
        if (released < 0) continue;
        driver->driven[released].is_released = true;
        settle_again(world, driver, released);
        return true;
    }
    return false;
}

/* ---- all ---- */

void drv_precedence_settle(const drv_world *world, drv_lane_driver *driver) {
    /* the pairs */
    const int32_t agents = world->scene->num_agents;
    for (int32_t agent = 0; agent < agents; agent++)
        for (int32_t word = agent / 64; word < driver->pair_words; word++)
            for (uint64_t bits = driver->pairs[agent * driver->pair_words + word]; bits; bits &= bits - 1)
                settle_pair(world, driver, agent, 64 * word + drv_lowest_bit(bits));

    /* those that wait for each other */
    while (break_cycle(world, driver)) {}
}
