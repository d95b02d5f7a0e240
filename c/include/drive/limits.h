/* Within which limits do scenes, configs and batches work? Python reads these numbers from here. */
#ifndef DRIVE_LIMITS_H
#define DRIVE_LIMITS_H

#ifndef DRV_BINDING
#include <stdint.h>
#endif

enum {
    /* Parts that can be called separately, worlds, and threads of a batch. */
    DRV_PART_LIMIT = 16,
    DRV_WORLD_LIMIT = 1 << 20,
    DRV_THREAD_LIMIT = 1024,
    /* Finished trials whose records a world may hold. */
    DRV_RECORD_LIMIT = 1000000,
    /* Largest absolute value of a weight, and of a reward of the caller: sums over a trial stay far within float32. */
    DRV_REWARD_LIMIT = 1000000,
    /* Steps by which the effect of an action may be late. */
    DRV_DELAY_LIMIT = 100,
    /* Slots of an agent for partners, for roads, and for traffic lights and signs. */
    DRV_SLOT_LIMIT = 4096,
    /* Float32 coordinates of this size are 4 mm apart. */
    DRV_COORDINATE_LIMIT_M = 50000,
    /* Faster than any road vehicle; logged speeds above it are noise. */
    DRV_SPEED_LIMIT_MPS = 200,
    /* Longest and widest object of a scene. */
    DRV_SIZE_LIMIT_M = 200,
    DRV_LANE_WIDTH_LIMIT_M = 100,
    /* Objects of a scene: their indices are uint16. */
    DRV_OBJECT_LIMIT = 65535,
    /* Frames of a log, and steps of a trial. */
    DRV_FRAME_LIMIT = 1000000,
    /* Roads, points, lane links and road segments of a scene. */
    DRV_POINT_LIMIT = 1 << 24,
    /* Traffic lights and signs of a scene. */
    DRV_TRAFFIC_CONTROL_LIMIT = 65535,
    /* Longest path of a rule-based vehicle. */
    DRV_PATH_LIMIT_M = 20000,
    /* Candidate goals of a scene, and slots of an agent for them. */
    DRV_CANDIDATE_LIMIT = 64,
    DRV_GOAL_SLOT_LIMIT = 16,
    DRV_ROUTE_SLOT_LIMIT = 64,
    /* Goals in the lists of all objects of a scene; the core adds the own goal of each object whose list repeats. */
    DRV_LISTED_GOAL_LIMIT = 65535,
    DRV_LISTED_AND_OWN_LIMIT = 2 * DRV_LISTED_GOAL_LIMIT,
    /* Longer road segments are split: the k nearest are selected by the middles of segments. */
    DRV_SEGMENT_LIMIT_M = 10,
    /* Roads that differ by more than this in height, at one place, lie above each other: more than a step between two
     * carriageways, less than the room under a bridge. */
    DRV_LEVEL_HEIGHT_M = 3,
    /* Height of the road under a vehicle: half the vehicle's height below its centre, which has the limit of
     * coordinates. */
    DRV_GROUND_LIMIT_M = 50100,
    /* Largest distance of an agent or a goal from the centre line of its lane. */
    DRV_LANE_REACH_M = 5,
    /* Largest distance of the ends of a route from the centre lines of its lanes: a bay is within it, the inside of a
     * large lot is not. */
    DRV_ROUTE_REACH_M = 15,
    /* Distance between the middles of two lanes side by side. */
    DRV_NEAREST_LANE_CM = 250,
    DRV_FARTHEST_LANE_CM = 500,
    /* How far along a lane the nearest point of the one beside it may be: farther away, it is an end of that lane,
     * which does not go on. */
    DRV_BESIDE_CM = 50,
    /* A vehicle counts as stopped at a stop sign while it is slower than this speed, within this distance before the
     * line. */
    DRV_STOP_CMPS = 20,
    DRV_STOP_ZONE_M = 3,
    /* Time for which collisions are forecast; the largest time to collision. Published with nuPlan's metric. */
    DRV_COLLISION_HORIZON_S = 3,
    /* Gap of an agent that no vehicle came near in a trial; the largest gap. */
    DRV_FARTHEST_GAP_M = 50,
    /* Distance between the axles of a vehicle, in percent of its length: the mean of common passenger cars. */
    DRV_WHEELBASE_PERCENT = 60,
    /* The width of a lane whose scene has none: that of common urban and rural lanes. */
    DRV_USUAL_LANE_CM = 350,
    /* Distance by which a lane seems farther away per unit of 1 - cos(heading error). A lane against the heading seems
     * 2 m farther, so an agent that drives well inside its own lane never has the opposite one. */
    DRV_LANE_TURN_COST_CM = 100,
    /* Who is at fault in a collision: a vehicle up to the first speed stands; it runs into one in front if the two
     * approach faster than the second; it changes lanes if it moves to a side faster than the third. */
    DRV_FAULT_STANDING_CMPS = 5,
    DRV_FAULT_CLOSING_CMPS = 50,
    DRV_FAULT_SIDEWAYS_CMPS = 30
};

/* Headings are wrapped to [-pi, pi), which would lose precision with far larger ones. */
#define DRV_HEADING_LIMIT_RAD 100.0
/* Curvature that an action can command; published with the invertible bicycle. */
#define DRV_CURVATURE_LIMIT_PER_M 0.3f
/* Displacement along one axis, and turn, that an action can command for 0.1 s; published with the delta model. */
#define DRV_DELTA_LIMIT_M 6.0f
#define DRV_TURN_LIMIT_RAD 3.14159265358979f
/* Jerk that an action can command, and that of full braking; published with the model of jerks. */
#define DRV_JERK_MPS3 4.0f
#define DRV_BRAKING_JERK_MPS3 15.0f
/* Pose and speed that an action can set. Powers of 2, so that neither a number nor its share of them is rounded; beyond
 * the limits of a map and of speeds. */
#define DRV_STATE_LIMIT_M 65536.0f
#define DRV_STATE_LIMIT_RAD 4.0f
#define DRV_STATE_LIMIT_MPS 256.0f
/* Duration of a phase of a traffic light. */
#define DRV_PHASE_LOWEST_S 0.01
#define DRV_PHASE_LIMIT_S 3600.0
/* Offset of a program, with the time before the first frame of a trial. */
#define DRV_OFFSET_LIMIT_S 10000000.0
#define DRV_SIZE_LOWEST_M 0.01
#define DRV_DT_LOWEST_S 1e-4
#define DRV_DT_HIGHEST_S 2.0

#endif
