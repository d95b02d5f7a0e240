/* Which controls keep agents on their paths and clear of each other? A function of the state of their world. */
#ifndef DRV_LANE_DRIVER_H
#define DRV_LANE_DRIVER_H

#include "platform/isa.h"
#include "step/corridor.h"
#include "step/following.h"
#include "step/state.h"

/* Quicker than rule-based vehicles: an agent has to reach its goal within the trial. */
static const drv_idm drv_agent_idm = {1.5f, 0.8f, 2.5f, 2.5f, 5.0f};
/* A gap with which an agent changes lanes, or begins to pass, has at least this share of its headway. */
static const float drv_gap_headway_share = 0.5f;

/* Directions that differ by less than 25 degrees are of one stream of traffic. */
static const float drv_stream_cos = 0.906f;

/* Points of a path that a driver considers ahead of an agent: 126 m, which covers its look-ahead of 120 m at 30 m/s. */
enum { DRV_WINDOW_POINTS = 64 };

_Static_assert((DRV_WINDOW_POINTS - 1) * DRV_PATH_PITCH_M < DRV_PATH_RUN_OUT_M, "a path is longer than a window");

/* The desired lane change of an agent, to its next path, and the vehicles ahead of it and behind it there. */
typedef struct drv_desired_change {
    bool exists, is_urgent;  /* the lane that it is on ends soon */
    bool is_changing;        /* it does */
    float end_gap_m;         /* what its front can drive before it stops for a gap; INFINITY: it need not change */
    float spare_m;           /* what it can drive beyond that at walking pace */
    int32_t ahead, behind;   /* vehicles; -1 none */
    float ahead_gap_m, ahead_mps, behind_gap_m, behind_mps;
    float left_gap_m, left_mps; /* of the vehicle ahead on the path that it still is on; INFINITY: none */
} drv_desired_change;

/* One agent in the step that is planned. */
typedef struct drv_driven {
    int32_t path;  /* that it follows */
    float path_m;  /* of the agent, along its path */
    float left_m;  /* by which it is to the left of it */
    float beside_m;   /* where it is to be, to the left of its path: on the oncoming lane while it overtakes, else 0 */
    float oncoming_m; /* the middle of that lane; 0 where it is on its path and stays there */
    drv_desired_change desired_change;
    float ahead_m; /* along its window from the first point */
    float top_mps; /* the speed of the path there */
    drv_corridor corridor;
    float middle_x_m, middle_y_m, half_x_m, half_y_m; /* the rectangle around the points of the corridor */
    drv_follower follower;
    float reach_m;    /* what its front can drive, for stop lines and for what stands ahead; INFINITY: no limit */
    float way_m;      /* the same, also for what stands ahead of the agents ahead */
    int32_t claimed;  /* points of the corridor up to there */
    int32_t claimed_head_on; /* the same up to the end of the zone that it is in, or near, which may be farther */
    float zone_gap_m; /* from its front to the start, or stop line, of the next zone; INFINITY: there is none */
    float zone_exit_m; /* what its front drives until its rear has left that zone */
    float inside_m;   /* what its front drives until it has left the zone that it is in; -1: it is in none */
    bool zone_yields; /* it is at a stop or yield sign there */
    float led_mps2;   /* its acceleration where no path crosses its own */
    int32_t leads;    /* the agent ahead that allows it the least acceleration; -1: none, or something else does */
    float lead_gap_m; /* to that agent */
    int32_t waits_for; /* the agent that allows it the least acceleration; -1: none */
    bool yields;      /* that one crosses its path, and is not ahead on it */
    bool is_released; /* it goes before all that stand, so that vehicles that wait for each other drive on */
} drv_driven;

struct drv_lane_driver {
    drv_scene *scene;
    drv_paths paths;           /* of the agents; in a block of their own */
    int32_t *path_start;       /* the paths of agent i are path_start[i] to path_start[i + 1] */
    float *change_from_m, *change_to_m; /* where each changes to the next one, along the path */
    float *width_m;            /* of the agent of each path */
    float *oncoming_m;         /* of each point of the paths, to the middle of the oncoming lane on the left; 0: there
                                  is none; NULL where agents do not overtake; in a block of its own */
    drv_zones zones;           /* where the paths cross before their goals; in a block of their own */
    int32_t *zone_start;       /* the zones of path i are zone_start[i] to zone_start[i + 1] */
    drv_stop_lines stop_lines; /* that the paths cross; in a block of their own */
    /* Scratch memory of a call. */
    drv_paths window;   /* DRV_WINDOW_POINTS of the path of each agent, moved to pass what stands there */
    drv_driven *driven; /* one per agent */
    int32_t *near, *standing; /* indices in on_map, and vehicles; as many as vehicles */
    uint64_t *pairs;   /* pair_words per agent; bit b of agent a < b: neither is ahead of the other on its path */
    int32_t pair_words;
    int32_t *visited;  /* one per agent */
};

/* Writes the controls of the agents of a world, which is in the driver's scene. */
DRV_STEP_API void drv_lane_driver_drive(const drv_world *world, drv_scratch *scratch, drv_lane_driver *driver,
                                        float *acceleration_mps2, float *steering_rad);

#endif
