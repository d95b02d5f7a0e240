/* What does an observation config add to a scene? A layout, scaled records of the segments, and search bounds.
 *
 * Made once for each scene of a batch, in one block; immutable afterwards. */
#ifndef DRV_ENCODING_H
#define DRV_ENCODING_H

#include "platform/arena.h"
#include "scene/scene.h"
#include "view/layout.h"

typedef struct drv_encoding {
    const drv_layout *layout; /* the same for all scenes of a batch */
    float *record;              /* drv_scene_record_count x DRV_RECORD_FLOATS: slots, still in the scene's frame */
    float *candidate;           /* candidate_count x CANDIDATE_COUNT: the slot of each candidate goal, likewise */
    float *cell_kth_distance_m; /* one per grid cell, see drv_grid_measure_kth_distances; k is the number of slots */
} drv_encoding;

/* Creates one encoding per scene, in their order, in memory of the arena; NULL if out of memory. The encodings of a
 * scene that is listed repeatedly share their arrays. */
drv_encoding *drv_encodings_create(drv_scene *const *scenes, int32_t scene_count, const drv_config *config,
                                   drv_arena *arena);

/* Index of the record of a traffic light or sign while it shows a state of drv_light. */
static inline int32_t drv_control_record(const drv_scene *scene, int32_t control, int32_t state) {
    return scene->segments.count + control * DRV_LIGHT_STATES + state;
}

/* Speed of a vehicle at the start of a trial: that of the scene, clipped to the config's limits. */
static inline float drv_start_speed_mps(const drv_scene *scene, const drv_config *config, int32_t vehicle) {
    return drv_clip(scene->start_speed_mps[vehicle], config->min_speed_mps, config->max_speed_mps);
}

#endif
