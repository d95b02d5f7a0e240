/* What does an agent observe as an image? Boxes and discs, each filled in one layer.
 *
 * Positions in an image are in pixels, with whole numbers at the centres of pixels: (0, 0) is the one farthest ahead
 * and to the left. A pixel is filled if its centre is inside the shape. */
#include "step/image.h"

#include <math.h>
#include <string.h>

#include "math/geometry.h"
#include "step/goals.h"
#include "step/height.h"
#include "step/vehicle_box.h"
#include "view/image.h"

/* Shapes have at least this half size, in pixels: a square that is not smaller contains the centre of a pixel wherever
 * it lies and however it is turned. sqrt(1/2), rounded up. */
static const float half_size_lowest = 0.70711f;

/* What a pixel of each shape is set to, other than those of vehicles. */
enum { FILLED = 255, STOP = 255, PREPARE_TO_STOP = 170, GO = 85 };

/* The image of one agent. */
typedef struct image {
    uint8_t *layer[DRV_IMAGE_LAYER_COUNT]; /* NULL: the config does not have it */
    int32_t size;                          /* of its sides */
    float middle;                          /* row, and column, of the agent's centre */
    float pixels_per_m;
    drv_point origin, ahead; /* the agent's pose in the scene's frame */
} image;

typedef struct pixel_vector {
    float row, column;
} pixel_vector;

typedef struct pixel_range {
    float low, high;
} pixel_range;

static pixel_vector direction_in(const image *in, drv_point direction) {
    return (pixel_vector){-(direction.x * in->ahead.x + direction.y * in->ahead.y),
                          -(direction.y * in->ahead.x - direction.x * in->ahead.y)};
}

static pixel_vector position_in(const image *in, drv_point point) {
    const pixel_vector offset = direction_in(in, (drv_point){point.x - in->origin.x, point.y - in->origin.y});
    return (pixel_vector){in->middle + offset.row * in->pixels_per_m, in->middle + offset.column * in->pixels_per_m};
}

/* ---- shapes ---- */

/* Rows or columns from `first` up to, and without, `end`. */
typedef struct span {
    int32_t first, end;
} span;

/* Those of an image whose centres are in a range. */
static span span_of(pixel_range of, int32_t size) {
    const float low = drv_larger(of.low, 0.0f), high = drv_smaller(of.high, (float)(size - 1));
    if (low > high) return (span){0, 0};
    const int32_t below = (int32_t)low;
    return (span){below + ((float)below < low), (int32_t)high + 1};
}

/* Sets the pixels of a row whose centres are in a range. Most ranges are of a line and hold a few: for these, four
 * stores that may coincide are faster than a call of memset. */
static void fill_row(const image *in, uint8_t *layer, int32_t row, pixel_range columns, uint8_t value) {
    const span of = span_of(columns, in->size);
    const int32_t count = of.end - of.first;
    uint8_t *pixel = layer + row * in->size + of.first;
    if (count > 4) memset(pixel, value, (size_t)count);
    else if (count > 0) pixel[0] = pixel[(count - 1) / 2] = pixel[count / 2] = pixel[count - 1] = value;
}

/* The inverse of a slope; 0 for one so near 0 that it makes no difference within an image. */
static float inverse_of(float slope) { return fabsf(slope) < 1e-6f ? 0.0f : 1.0f / slope; }

/* The x of a range for which |offset + slope * x| <= limit, by the inverse of the slope. */
static pixel_range restricted(pixel_range x, float offset, float inverse_slope, float limit) {
    if (inverse_slope == 0.0f) return x;
    const float a = (-limit - offset) * inverse_slope, b = (limit - offset) * inverse_slope;
    return (pixel_range){drv_larger(x.low, drv_smaller(a, b)), drv_smaller(x.high, drv_larger(a, b))};
}

static void fill_box(const image *in, uint8_t *layer, drv_box box, uint8_t value) {
    const pixel_vector centre = position_in(in, box.centre), ahead = direction_in(in, box.ahead);
    const float half_length = drv_larger(box.half_length_m * in->pixels_per_m, half_size_lowest);
    const float half_width = drv_larger(box.half_width_m * in->pixels_per_m, half_size_lowest);
    const float half_rows = half_length * fabsf(ahead.row) + half_width * fabsf(ahead.column);
    const float half_columns = half_length * fabsf(ahead.column) + half_width * fabsf(ahead.row);
    const pixel_range columns = {centre.column - half_columns, centre.column + half_columns};
    const span rows = span_of((pixel_range){centre.row - half_rows, centre.row + half_rows}, in->size);
    if (columns.high < 0.0f || columns.low > (float)(in->size - 1)) return;
    /* A pixel that is y rows and x columns from the centre is y * ahead.row + x * ahead.column ahead of it in the box,
     * and x * ahead.row - y * ahead.column to the side. */
    const float inverse_row = inverse_of(ahead.row), inverse_column = inverse_of(ahead.column);
    for (int32_t row = rows.first; row < rows.end; row++) {
        const float y = (float)row - centre.row;
        pixel_range x = {-half_columns, half_columns};
        x = restricted(x, y * ahead.row, inverse_column, half_length);
        x = restricted(x, -y * ahead.column, inverse_row, half_width);
        fill_row(in, layer, row, (pixel_range){centre.column + x.low, centre.column + x.high}, value);
    }
}

static void fill_disc(const image *in, uint8_t *layer, pixel_vector centre, float radius_m, uint8_t value) {
    const float radius = drv_larger(radius_m * in->pixels_per_m, half_size_lowest);
    const span rows = span_of((pixel_range){centre.row - radius, centre.row + radius}, in->size);
    for (int32_t row = rows.first; row < rows.end; row++) {
        const float y = (float)row - centre.row;
        const float half = sqrtf(drv_larger(radius * radius - y * y, 0.0f));
        fill_row(in, layer, row, (pixel_range){centre.column - half, centre.column + half}, value);
    }
}

/* ---- layers ---- */

/* The layer of the segments of a road; NULL if they are not drawn. */
static uint8_t *layer_of_road(const image *in, uint8_t road_kind) {
    switch (road_kind) {
    case DRV_ROAD_LANE: return in->layer[DRV_IMAGE_LANES];
    case DRV_ROAD_LINE: return in->layer[DRV_IMAGE_LINES];
    case DRV_ROAD_EDGE: return in->layer[DRV_IMAGE_EDGES];
    case DRV_ROAD_CROSSWALK: return in->layer[DRV_IMAGE_CROSSWALKS];
    default: return NULL;
    }
}

/* Draws the road segments of the agent's level. */
static void draw_roads(const drv_world *world, int32_t agent, const image *in) {
    const drv_scene *scene = world->scene;
    const drv_segments *segments = &scene->segments;
    /* half the diagonal of the image, with sqrt(1/2) rounded up, and half the longest segment */
    const float reach_m = 0.7072f * (float)in->size / in->pixels_per_m + 0.5f * drv_segment_limit_m + drv_rounding_m;
    const drv_window cells = drv_grid_window(&scene->grid, in->origin.x, in->origin.y, reach_m);
    for (int32_t row = cells.first_row; row <= cells.last_row; row++) {
        const int32_t *cell_start = segments->cell_start + row * scene->grid.columns;
        for (int32_t i = cell_start[cells.first_column]; i < cell_start[cells.last_column + 1]; i++) {
            uint8_t *layer = layer_of_road(in, scene->road_kind[scene->segment_road[i]]);
            if (!layer) continue;
            if (scene->has_height && drv_differs_in_level(world, segments->middle_z_m[i], world->z_m[agent])) continue;
            const bool is_point = segments->half_length_m[i] == 0.0f; /* without a direction */
            const drv_point along = {is_point ? 1.0f : segments->along_x[i], is_point ? 0.0f : segments->along_y[i]};
            const drv_point middle = {segments->middle_x_m[i], segments->middle_y_m[i]};
            fill_box(in, layer, (drv_box){middle, along, segments->half_length_m[i], 0.0f}, FILLED);
        }
    }
}

/* What the pixels of a traffic light or sign are set to; 0: it is not drawn. */
static uint8_t value_of_control(const drv_world *world, int32_t control) {
    switch (world->scene->control_kind[control]) {
    case DRV_STOP_SIGN: return STOP;
    case DRV_YIELD_SIGN: return PREPARE_TO_STOP;
    default: break;
    }
    switch (world->light_state[control]) {
    case DRV_LIGHT_RED: return STOP;
    case DRV_LIGHT_YELLOW: return PREPARE_TO_STOP;
    case DRV_LIGHT_GREEN: return GO;
    default: return 0;
    }
}

/* Draws the stop lines of traffic lights and signs of the agent's level. */
static void draw_controls(const drv_world *world, int32_t agent, const image *in) {
    const drv_scene *scene = world->scene;
    uint8_t *layer = in->layer[DRV_IMAGE_CONTROLS];
    if (!layer) return;
    for (int32_t control = 0; control < scene->control_count; control++) {
        const uint8_t value = value_of_control(world, control);
        if (value == 0) continue;
        if (scene->has_height && drv_differs_in_level(world, scene->control_z_m[control], world->z_m[agent])) continue;
        const float *end = scene->control_line_m + 4 * control; /* x, y of the left one, then of the right one */
        const float dx = end[2] - end[0], dy = end[3] - end[1], length_m = sqrtf(dx * dx + dy * dy);
        const drv_point middle = {0.5f * (end[0] + end[2]), 0.5f * (end[1] + end[3])};
        const drv_point along = length_m > 0.0f ? (drv_point){dx / length_m, dy / length_m} : (drv_point){1.0f, 0.0f};
        fill_box(in, layer, (drv_box){middle, along, 0.5f * length_m, 0.0f}, value);
    }
}

/* What the pixels of a vehicle are set to: 128 at rest, 255 at the highest speed, 1 at the same speed in reverse. */
static uint8_t value_of_speed(const drv_world *world, int32_t vehicle) {
    const float share = drv_clip(world->speed_mps[vehicle] * world->encoding->layout->vehicle.speed, -1.0f, 1.0f);
    return (uint8_t)(128.5f + 127.0f * share);
}

/* Draws the agent and, unless it is blind, all other vehicles of its level. */
static void draw_vehicles(const drv_world *world, int32_t agent, const drv_on_map *on_map, const image *in) {
    const bool is_blind = world->sizes.disturbed_agents > 0 && world->blind_steps[agent] > 0;
    uint8_t *partners = is_blind ? NULL : in->layer[DRV_IMAGE_PARTNERS], *self = in->layer[DRV_IMAGE_SELF];
    for (int32_t i = 0; partners && i < on_map->count; i++) {
        const int32_t vehicle = on_map->vehicle[i];
        if (vehicle != agent && !drv_is_apart(world, vehicle, agent))
            fill_box(in, partners, drv_vehicle_box(world, vehicle), value_of_speed(world, vehicle));
    }
    if (self) fill_box(in, self, drv_vehicle_box(world, agent), value_of_speed(world, agent));
}

/* Draws the agent's goal, if it is observed: one outside of the image at the border, in the direction of the goal. */
static void draw_goal(const drv_world *world, int32_t agent, const image *in) {
    if (!in->layer[DRV_IMAGE_GOAL] || !drv_goals_is_observed(world, agent)) return;
    pixel_vector goal = position_in(in, (drv_point){world->goal_x_m[agent], world->goal_y_m[agent]});
    const float rows = goal.row - in->middle, columns = goal.column - in->middle;
    const float farther = drv_larger(fabsf(rows), fabsf(columns));
    if (farther > in->middle) {
        goal.row = in->middle + rows * (in->middle / farther);
        goal.column = in->middle + columns * (in->middle / farther);
    }
    fill_disc(in, in->layer[DRV_IMAGE_GOAL], goal, world->config->goal_radius_m, FILLED);
}

/* ---- images ---- */

static uint8_t *pixels_of(const drv_world *world, int32_t agent) {
    return world->out.images + (int64_t)agent * drv_image_bytes(world->config);
}

void drv_image_clear(const drv_world *world, int32_t agent) {
    memset(pixels_of(world, agent), 0, (size_t)drv_image_bytes(world->config));
}

/* The image of an agent, without shapes yet. */
static image empty_image(const drv_world *world, int32_t agent) {
    const drv_config *config = world->config;
    image in = {.size = config->image_size,
                .middle = 0.5f * (float)(config->image_size - 1),
                .pixels_per_m = 1.0f / config->image_metres_per_pixel,
                .origin = {world->x_m[agent], world->y_m[agent]},
                .ahead = {world->cos_heading[agent], world->sin_heading[agent]}};
    uint8_t *next = pixels_of(world, agent);
    for (int32_t i = 0; i < DRV_IMAGE_LAYER_COUNT; i++) {
        if (!drv_image_has(config, i)) continue;
        in.layer[i] = next;
        next += in.size * in.size;
    }
    drv_image_clear(world, agent);
    return in;
}

void drv_images_write(const drv_world *world, const uint8_t *chosen, const drv_scratch *scratch) {
    for (int32_t agent = 0; agent < world->scene->num_agents; agent++) {
        if (!chosen[agent]) continue;
        const image in = empty_image(world, agent);
        draw_roads(world, agent, &in);
        draw_controls(world, agent, &in);
        draw_vehicles(world, agent, &scratch->on_map, &in);
        draw_goal(world, agent, &in);
    }
}
