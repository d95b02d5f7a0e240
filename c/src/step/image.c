/* What does an agent observe as an image? Boxes and discs, each filled in one layer.
 *
 * Positions in an image are in pixels, with whole numbers at the centres of pixels: (0, 0) is the one farthest ahead
 * and to the left. A pixel is filled if its centre is inside the shape. */
#include "step/image.h"

#include <math.h>
#include <string.h>

#include "math/bits.h"
#include "math/geometry.h"
#include "math/vector.h"
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
    uint8_t *pixels;
    int32_t layer[DRV_IMAGE_LAYER_COUNT]; /* the index of its first pixel; -1: the config does not have it */
    int32_t size;                         /* of its sides */
    float middle;                         /* row, and column, of the agent's centre */
    float pixels_per_m;
    float reach_m;           /* at least half of its diagonal */
    drv_point origin, ahead; /* the agent's pose in the scene's frame */
} image;

/* DRV_WIDTH positions or directions in an image. */
typedef struct pixel_vectors {
    drv_floats row, column;
} pixel_vectors;

/* DRV_WIDTH ranges of positions along rows or columns. */
typedef struct pixel_ranges {
    drv_floats low, high;
} pixel_ranges;

static pixel_vectors directions_in(const image *in, drv_floats x, drv_floats y) {
    return (pixel_vectors){-(x * in->ahead.x + y * in->ahead.y), -(y * in->ahead.x - x * in->ahead.y)};
}

static pixel_vectors positions_in(const image *in, drv_floats x_m, drv_floats y_m) {
    const pixel_vectors offset = directions_in(in, x_m - in->origin.x, y_m - in->origin.y);
    return (pixel_vectors){in->middle + offset.row * in->pixels_per_m, in->middle + offset.column * in->pixels_per_m};
}

/* ---- runs of pixels ---- */

/* The first rows or columns whose centres are in ranges, and their numbers; 0 or less for none. */
typedef struct spans {
    drv_ints first, count;
} spans;

static spans spans_of(pixel_ranges of, int32_t size) {
    const drv_floats end = drv_splat((float)size);
    const drv_floats low = drv_min(drv_max(of.low, drv_splat(0.0f)), end);
    const drv_floats high = drv_min(drv_max(of.high, drv_splat(-1.0f)), end - 1.0f);
    const drv_ints below = drv_truncate(low), first = below - (drv_from_ints(below) < low); /* rounded up */
    return (spans){first, (drv_truncate(high) + 1 - first) & drv_mask_le(low, high)};
}

/* Runs of pixels in one row each. The runs of many boxes are listed before any is filled: a mispredicted branch on the
 * length of a run costs little if the length was computed long before. */
enum { RUNS = 256 }; /* the list stays in the level-1 cache, and holds the rows of many segments */
typedef struct run_list {
    const image *in;
    uint8_t value;
    int32_t count;
    int32_t start[RUNS + DRV_WIDTH];  /* the index of the first pixel */
    int32_t length[RUNS + DRV_WIDTH]; /* 0 or less: none */
} run_list;

/* Makes a list empty; the pixels of its runs will be set to a value. */
static void begin_runs(run_list *runs, const image *in, uint8_t value) {
    runs->in = in;
    runs->value = value;
    runs->count = 0;
}

/* Fills the listed runs and empties the list. Most runs are of a line and have a few pixels: for these, four stores
 * that may coincide are faster than a call of memset. */
static void fill_runs(run_list *runs) {
    uint8_t unused; /* stands for the pixel of a run without pixels */
    for (int32_t i = 0; i < runs->count; i++) {
        const bool is_empty = runs->length[i] <= 0;
        const int32_t last = is_empty ? 0 : runs->length[i] - 1;
        uint8_t *pixel = is_empty ? &unused : runs->in->pixels + runs->start[i];
        if (last > 3) memset(pixel, runs->value, (size_t)last + 1);
        else pixel[0] = pixel[last / 2] = pixel[(last + 1) / 2] = pixel[last] = runs->value;
    }
    runs->count = 0;
}

/* Lists the pixels in ranges of columns of `count` rows, of which DRV_WIDTH are listed at most. */
static void list_runs(run_list *runs, int32_t layer, int32_t first_row, int32_t count, pixel_ranges columns) {
    const spans found = spans_of(columns, runs->in->size);
    const drv_ints start = drv_iota(first_row) * runs->in->size + found.first + layer;
    memcpy(runs->start + runs->count, &start, sizeof start);
    memcpy(runs->length + runs->count, &found.count, sizeof found.count);
    runs->count += count < DRV_WIDTH ? count : DRV_WIDTH;
    if (runs->count >= RUNS) fill_runs(runs);
}

/* ---- shapes ---- */

/* DRV_WIDTH boxes in an image; halves of their sizes. */
typedef struct box_block {
    pixel_vectors centre, ahead;
    pixel_vectors inverse; /* of the elements of `ahead` */
    drv_floats half_length, half_width, half_columns;
    spans rows; /* those of the image; none where all columns are outside of it */
} box_block;

/* A slope so near 0 makes no difference within an image. */
static const float lowest_slope = 1e-6f;

/* The inverses of slopes; 0 for those below the lowest. */
static drv_floats inverses_of(drv_floats slope) {
    return (drv_floats)((drv_ints)(1.0f / slope) & drv_mask_le(drv_splat(lowest_slope), drv_abs(slope)));
}

static box_block block_of(const image *in, pixel_vectors centre, pixel_vectors ahead, drv_floats half_length_m,
                          drv_floats half_width_m) {
    const drv_floats lowest = drv_splat(half_size_lowest);
    const drv_floats half_length = drv_max(half_length_m * in->pixels_per_m, lowest);
    const drv_floats half_width = drv_max(half_width_m * in->pixels_per_m, lowest);
    const drv_floats half_rows = half_length * drv_abs(ahead.row) + half_width * drv_abs(ahead.column);
    const drv_floats half_columns = half_length * drv_abs(ahead.column) + half_width * drv_abs(ahead.row);
    spans rows = spans_of((pixel_ranges){centre.row - half_rows, centre.row + half_rows}, in->size);
    rows.count &= drv_mask_le(drv_splat(0.0f), centre.column + half_columns);
    rows.count &= drv_mask_le(centre.column - half_columns, drv_splat((float)(in->size - 1)));
    const pixel_vectors inverse = {inverses_of(ahead.row), inverses_of(ahead.column)};
    return (box_block){centre, ahead, inverse, half_length, half_width, half_columns, rows};
}

/* The x of ranges for which |offset + slope * x| <= limit, by the inverse of the slope. */
static pixel_ranges restricted(pixel_ranges x, drv_floats offset, float inverse_slope, float limit) {
    if (inverse_slope == 0.0f) return x;
    const drv_floats a = (-limit - offset) * inverse_slope, b = (limit - offset) * inverse_slope;
    return (pixel_ranges){drv_max(x.low, drv_min(a, b)), drv_min(x.high, drv_max(a, b))};
}

/* Lists the pixels of box i of a block. */
static void list_box(run_list *runs, int32_t layer, const box_block *box, int32_t i) {
    const float ahead_row = box->ahead.row[i], ahead_column = box->ahead.column[i], centre_row = box->centre.row[i];
    const int32_t first = box->rows.first[i], count = box->rows.count[i];
    /* A pixel that is y rows and x columns from the centre is y * ahead_row + x * ahead_column ahead of it in the box,
     * and x * ahead_row - y * ahead_column to the side. */
    for (int32_t row = 0; row < count; row += DRV_WIDTH) {
        const drv_floats y = drv_from_ints(drv_iota(first + row)) - centre_row;
        pixel_ranges x = {drv_splat(-box->half_columns[i]), drv_splat(box->half_columns[i])};
        x = restricted(x, y * ahead_row, box->inverse.column[i], box->half_length[i]);
        x = restricted(x, -y * ahead_column, box->inverse.row[i], box->half_width[i]);
        const pixel_ranges columns = {box->centre.column[i] + x.low, box->centre.column[i] + x.high};
        list_runs(runs, layer, first + row, count - row, columns);
    }
}

/* Whether a box may have pixels in an image. Most vehicles of a scene have none, and placing a box takes longer. */
static bool may_have_pixels(const image *in, drv_box box) {
    const float x_m = box.centre.x - in->origin.x, y_m = box.centre.y - in->origin.y;
    const float lowest_m = 2.0f * half_size_lowest / in->pixels_per_m;
    const float reach_m = in->reach_m + box.half_length_m + box.half_width_m + lowest_m;
    return x_m * x_m + y_m * y_m <= reach_m * reach_m;
}

static void fill_box(const image *in, int32_t layer, drv_box box, uint8_t value) {
    if (!may_have_pixels(in, box)) return;
    run_list runs;
    begin_runs(&runs, in, value);
    const box_block block = block_of(in, positions_in(in, drv_splat(box.centre.x), drv_splat(box.centre.y)),
                                     directions_in(in, drv_splat(box.ahead.x), drv_splat(box.ahead.y)),
                                     drv_splat(box.half_length_m), drv_splat(box.half_width_m));
    list_box(&runs, layer, &block, 0);
    fill_runs(&runs);
}

static void fill_disc(const image *in, int32_t layer, float row, float column, float radius_m, uint8_t value) {
    const float radius = drv_larger(radius_m * in->pixels_per_m, half_size_lowest);
    const spans rows = spans_of((pixel_ranges){drv_splat(row - radius), drv_splat(row + radius)}, in->size);
    run_list runs;
    begin_runs(&runs, in, value);
    for (int32_t past = 0; past < rows.count[0]; past += DRV_WIDTH) {
        const int32_t first = rows.first[0] + past;
        drv_floats half;
        for (int32_t i = 0; i < DRV_WIDTH; i++) {
            const float y = (float)(first + i) - row;
            half[i] = sqrtf(drv_larger(radius * radius - y * y, 0.0f));
        }
        list_runs(&runs, layer, first, rows.count[0] - past, (pixel_ranges){column - half, column + half});
    }
    fill_runs(&runs);
}

/* ---- layers ---- */

/* The layer of the segments of a road; -1 if they are not drawn. */
static int32_t layer_of_road(const image *in, uint8_t road_kind) {
    switch (road_kind) {
    case DRV_ROAD_LANE: return in->layer[DRV_IMAGE_LANES];
    case DRV_ROAD_LINE: return in->layer[DRV_IMAGE_LINES];
    case DRV_ROAD_EDGE: return in->layer[DRV_IMAGE_EDGES];
    case DRV_ROAD_CROSSWALK: return in->layer[DRV_IMAGE_CROSSWALKS];
    default: return -1;
    }
}

/* The boxes of the segments from `first` on. */
static box_block block_of_segments(const image *in, const drv_segments *segments, int32_t first) {
    const drv_floats half_length_m = drv_load(segments->half_length_m + first);
    /* points have no direction; any will do */
    const drv_ints is_line = ~drv_mask_le(half_length_m, drv_splat(0.0f));
    const drv_floats along_x = drv_load(segments->along_x + first), along_y = drv_load(segments->along_y + first);
    const drv_floats x = (drv_floats)((is_line & (drv_ints)along_x) | (~is_line & (drv_ints)drv_splat(1.0f)));
    const drv_floats y = (drv_floats)(is_line & (drv_ints)along_y);
    return block_of(
        in, positions_in(in, drv_load(segments->middle_x_m + first), drv_load(segments->middle_y_m + first)),
        directions_in(in, x, y), half_length_m, drv_splat(0.0f));
}

/* Lists the road segments from `first` up to, and without, `end` that are of the agent's level. */
static void list_segments(const drv_world *world, int32_t agent, int32_t first, int32_t end, run_list *runs) {
    const drv_scene *scene = world->scene;
    for (int32_t block = first; block < end; block += DRV_WIDTH) {
        const box_block boxes = block_of_segments(runs->in, &scene->segments, block);
        uint32_t visible = drv_movemask(boxes.rows.count > 0);
        if (end - block < DRV_WIDTH) visible &= ((uint32_t)1 << (end - block)) - 1;
        for (; visible; visible &= visible - 1) {
            const int32_t i = drv_lowest_bit(visible), segment = block + i;
            const int32_t layer = layer_of_road(runs->in, scene->road_kind[scene->segment_road[segment]]);
            if (layer < 0) continue;
            if (scene->has_height &&
                drv_differs_in_level(world, scene->segments.middle_z_m[segment], world->z_m[agent]))
                continue;
            list_box(runs, layer, &boxes, i);
        }
    }
}

/* Draws the road segments of the agent's level. */
static void draw_roads(const drv_world *world, int32_t agent, const image *in) {
    const drv_scene *scene = world->scene;
    const float reach_m = in->reach_m + 0.5f * drv_segment_limit_m;
    const drv_window cells = drv_grid_window(&scene->grid, in->origin.x, in->origin.y, reach_m);
    run_list runs;
    begin_runs(&runs, in, FILLED);
    for (int32_t row = cells.first_row; row <= cells.last_row; row++) {
        const int32_t *cell_start = scene->segments.cell_start + row * scene->grid.columns;
        list_segments(world, agent, cell_start[cells.first_column], cell_start[cells.last_column + 1], &runs);
    }
    fill_runs(&runs);
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
    const int32_t layer = in->layer[DRV_IMAGE_CONTROLS];
    if (layer < 0) return;
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
    const int32_t partners = is_blind ? -1 : in->layer[DRV_IMAGE_PARTNERS], self = in->layer[DRV_IMAGE_SELF];
    for (int32_t i = 0; partners >= 0 && i < on_map->count; i++) {
        const int32_t vehicle = on_map->vehicle[i];
        if (vehicle != agent && !drv_is_apart(world, vehicle, agent))
            fill_box(in, partners, drv_vehicle_box(world, vehicle), value_of_speed(world, vehicle));
    }
    if (self >= 0) fill_box(in, self, drv_vehicle_box(world, agent), value_of_speed(world, agent));
}

/* Draws the agent's goal, if it is observed: one outside of the image at the border, in the direction of the goal. */
static void draw_goal(const drv_world *world, int32_t agent, const image *in) {
    if (in->layer[DRV_IMAGE_GOAL] < 0 || !drv_goals_is_observed(world, agent)) return;
    const pixel_vectors goals =
        positions_in(in, drv_splat(world->goal_x_m[agent]), drv_splat(world->goal_y_m[agent]));
    float row = goals.row[0], column = goals.column[0];
    const float rows = row - in->middle, columns = column - in->middle;
    const float farther = drv_larger(fabsf(rows), fabsf(columns));
    if (farther > in->middle) {
        row = in->middle + rows * (in->middle / farther);
        column = in->middle + columns * (in->middle / farther);
    }
    fill_disc(in, in->layer[DRV_IMAGE_GOAL], row, column, world->config->goal_radius_m, FILLED);
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
    image in = {.pixels = pixels_of(world, agent),
                .size = config->image_size,
                .middle = 0.5f * (float)(config->image_size - 1),
                .pixels_per_m = 1.0f / config->image_metres_per_pixel,
                /* sqrt(1/2), rounded up */
                .reach_m = 0.7072f * (float)config->image_size * config->image_metres_per_pixel + drv_rounding_m,
                .origin = {world->x_m[agent], world->y_m[agent]},
                .ahead = {world->cos_heading[agent], world->sin_heading[agent]}};
    int32_t next = 0;
    for (int32_t i = 0; i < DRV_IMAGE_LAYER_COUNT; i++) {
        in.layer[i] = drv_image_has(config, i) ? next : -1;
        next += drv_image_has(config, i) ? in.size * in.size : 0;
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
