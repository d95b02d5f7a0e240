/* What may be called from outside the core?
 *
 * Every public declaration is in one of these headers or expands from drive/lists.h; the Python binding is this header,
 * preprocessed with DRV_BINDING defined. Units are SI and stand in the names. Angles are radians counter-clockwise from
 * +x.
 *
 * Words: a *world* is a running copy of a *scene*; an *agent* is a controlled vehicle of a world, and the agents of all
 * worlds are numbered world by world. A *step* is one call, a *trial* an attempt from the scene's start state, an
 * *episode* `max_trials` trials of one scene. */
#ifndef DRIVE_H
#define DRIVE_H

#include "drive/status.h"
#include "drive/limits.h"
#include "drive/lists.h"
#include "drive/config.h"
#include "drive/action_space.h"
#include "drive/hidden.h"
#include "drive/expert.h"
#include "drive/observation.h"
#include "drive/arena.h"
#include "drive/scene.h"
#include "drive/scene_file.h"
#include "drive/batch.h"
#include "drive/lane_driver.h"

#endif
