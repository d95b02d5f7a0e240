/* Are the numbers of a scene file within their ranges, and do they obey the rules of their sections? */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/file_reader.h"

/* ---- locations, for error sentences ---- */

typedef struct location {
    char text[160];
} location;

static location section_location(const drv_file_reader *in, drv_file_part part) {
    location where;
    snprintf(where.text, sizeof where.text, "section %s at byte %llu", drv_file_kind_of(part).name,
             (unsigned long long)in->file->sections[part].offset);
    return where;
}

static location element_location(const drv_file_reader *in, drv_file_part part, int64_t index, size_t element_bytes) {
    const drv_file_section section = in->file->sections[part];
    const unsigned long long at = section.offset + (uint64_t)index * element_bytes;
    char element[48];
    if (drv_file_form_of(part).columns != EXTENT_NONE)
        snprintf(element, sizeof element, "[%lld, %lld]", (long long)(index / section.columns),
                 (long long)(index % section.columns));
    else snprintf(element, sizeof element, "[%lld]", (long long)index);
    location where;
    snprintf(where.text, sizeof where.text, "section %s at byte %llu: element %s at byte %llu",
             drv_file_kind_of(part).name, (unsigned long long)section.offset, element, at);
    return where;
}

/* ---- access ---- */

static int64_t elements(const drv_file_reader *in, drv_file_part part) {
    return in->file->sections[part].rows * in->file->sections[part].columns;
}

static const float *floats(const drv_file_reader *in, drv_file_part part) {
    return (const float *)(const void *)(in->bytes + in->file->sections[part].offset);
}

static const int32_t *integers(const drv_file_reader *in, drv_file_part part) {
    return (const int32_t *)(const void *)(in->bytes + in->file->sections[part].offset);
}

static const uint8_t *octets(const drv_file_reader *in, drv_file_part part) {
    return in->bytes + in->file->sections[part].offset;
}

static bool is_valid(const uint8_t *valid, int64_t i) { return valid[i >> 3] >> (i & 7) & 1; }

static drv_status check_floats(const drv_file_reader *in, drv_file_part part, float low, float high) {
    const bool may_be_nan = drv_file_form_of(part).rule == RULE_OR_NAN;
    const float *values = floats(in, part);
    const int64_t count = elements(in, part);
    int outside = 0; /* no early exit, so that the compiler vectorises the loop */
    for (int64_t i = 0; i < count; i++) outside |= !(values[i] >= low) | !(values[i] <= high);
    for (int64_t i = 0; outside && i < count; i++)
        if (!(values[i] >= low && values[i] <= high) && !(may_be_nan && isnan(values[i])))
            return REFUSE(in, "%s is %.9g; it must be %g to %g%s", element_location(in, part, i, sizeof *values).text,
                          (double)values[i], (double)low, (double)high, may_be_nan ? ", or nan" : "");
    return DRV_OK;
}

static drv_status check_codes(const drv_file_reader *in, drv_file_part part, int low, int high) {
    const uint8_t *codes = octets(in, part);
    const int64_t count = elements(in, part);
    for (int64_t i = 0; i < count; i++)
        if (codes[i] < low || codes[i] > high)
            return REFUSE(in, "%s is %d; it must be %d to %d", element_location(in, part, i, sizeof *codes).text,
                          codes[i], low, high);
    return DRV_OK;
}

static int by_number(const void *left, const void *right) {
    int64_t a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return (a > b) - (a < b);
}

static drv_status check_once(const drv_file_reader *in, drv_file_part part) {
    const int64_t count = elements(in, part);
    if (count < 2) return DRV_OK;
    int64_t *sorted = malloc((size_t)count * sizeof *sorted);
    if (!sorted)
        return drv_fail(in->message, DRV_ERROR_MEMORY, "%s: no memory to compare its %lld elements",
                        section_location(in, part).text, (long long)count);
    memcpy(sorted, octets(in, part), (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_number);
    drv_status status = DRV_OK;
    for (int64_t i = 1; status == DRV_OK && i < count; i++)
        if (sorted[i] == sorted[i - 1])
            status = REFUSE(in, "%s: %lld occurs more than once; each value must be unique",
                            section_location(in, part).text, (long long)sorted[i]);
    free(sorted);
    return status;
}

/* Starts ascend from 0 to `total`, each at least `fewest` above the previous one. */
static drv_status check_starts(const drv_file_reader *in, drv_file_part part, int32_t total, int32_t fewest) {
    const int32_t *start = integers(in, part);
    const int64_t last = elements(in, part) - 1;
    if (start[0] != 0)
        return REFUSE(in, "%s is %d; it must be 0", element_location(in, part, 0, sizeof *start).text, start[0]);
    for (int64_t i = 0; i < last; i++)
        if (start[i + 1] < (int64_t)start[i] + fewest)
            return REFUSE(in, "%s is %d after %d; it must be at least %d above it",
                          element_location(in, part, i + 1, sizeof *start).text, start[i + 1], start[i], fewest);
    if (start[last] != total)
        return REFUSE(in, "%s is %d; it must be %d", element_location(in, part, last, sizeof *start).text, start[last],
                      total);
    return DRV_OK;
}

static drv_status check_only_lanes_have_successors(const drv_file_reader *in) {
    const int32_t *start = integers(in, FILE_LINK_START);
    const uint8_t *kind = octets(in, FILE_ROAD_KIND);
    for (int64_t i = 0; i < in->file->road_count; i++)
        if (start[i + 1] > start[i] && kind[i] != DRV_ROAD_LANE)
            return REFUSE(in,
                          "%s is %d after %d, so road %lld of kind %d has successors; only lanes, kind %d, have them",
                          element_location(in, FILE_LINK_START, i + 1, sizeof *start).text, start[i + 1], start[i],
                          (long long)i, kind[i], DRV_ROAD_LANE);
    return DRV_OK;
}

/* Indices from `low`, which is 0 or -1 for none, to below `count`. */
static drv_status check_indices(const drv_file_reader *in, drv_file_part part, int32_t low, int32_t count) {
    const int32_t *index = integers(in, part);
    for (int64_t i = 0; i < elements(in, part); i++)
        if (index[i] < low || index[i] >= count)
            return REFUSE(in, "%s is %d; it must be %san index below %d",
                          element_location(in, part, i, sizeof *index).text, index[i], low < 0 ? "-1, or " : "", count);
    return DRV_OK;
}

static drv_status check_lanes(const drv_file_reader *in, drv_file_part part) {
    const int32_t *index = integers(in, part);
    const uint8_t *kind = octets(in, FILE_ROAD_KIND);
    const drv_status status = check_indices(in, part, 0, in->file->road_count);
    if (status != DRV_OK) return status;
    for (int64_t i = 0; i < elements(in, part); i++)
        if (kind[index[i]] != DRV_ROAD_LANE)
            return REFUSE(in, "%s is road %d of kind %d; it must be a lane, kind %d",
                          element_location(in, part, i, sizeof *index).text, index[i], kind[index[i]], DRV_ROAD_LANE);
    return DRV_OK;
}

static drv_status check_successors(const drv_file_reader *in, drv_file_part part) {
    const drv_status status = check_lanes(in, part);
    if (status != DRV_OK) return status;
    const int32_t *index = integers(in, part);
    const int32_t *start = integers(in, FILE_LINK_START);
    for (int32_t road = 0; road < in->file->road_count; road++)
        for (int32_t i = start[road]; i < start[road + 1]; i++)
            if (index[i] == road)
                return REFUSE(in, "%s is road %d, the lane itself; it must be another lane",
                              element_location(in, part, i, sizeof *index).text, road);
    return DRV_OK;
}

/* Indices of objects, each at least `step` above the one before. */
static drv_status check_objects(const drv_file_reader *in, drv_file_part part, int32_t step) {
    const drv_status status = check_indices(in, part, 0, in->file->object_count);
    const int32_t *object = integers(in, part);
    for (int64_t i = 1; status == DRV_OK && i < elements(in, part); i++)
        if (object[i] < object[i - 1] + step)
            return REFUSE(in, "%s is %d after %d; objects must %s", element_location(in, part, i, sizeof *object).text,
                          object[i], object[i - 1], step > 0 ? "ascend" : "not descend");
    return status;
}

/* A scene has either lists of goals or candidate goals. */
static drv_status check_listed(const drv_file_reader *in, drv_file_part part) {
    if (in->file->listed_count > 0 && in->file->candidate_count > 0)
        return REFUSE(in, "%s has %d goals and section candidate_goals_m %d; one of the two must have none",
                      section_location(in, part).text, in->file->listed_count, in->file->candidate_count);
    return check_objects(in, part, 0);
}

/* Objects whose goals repeat are among those that have a list. */
static drv_status check_repeating(const drv_file_reader *in, drv_file_part part) {
    const drv_status status = check_objects(in, part, 1);
    const int32_t *repeating = integers(in, part), *listed = integers(in, FILE_LISTED_OBJECT);
    int64_t at = 0;
    for (int64_t i = 0; status == DRV_OK && i < elements(in, part); i++) {
        while (at < in->file->listed_count && listed[at] < repeating[i]) at++;
        if (at == in->file->listed_count || listed[at] != repeating[i])
            return REFUSE(in, "%s is %d; it must be an object in goal_lists.object",
                          element_location(in, part, i, sizeof *repeating).text, repeating[i]);
    }
    return status;
}

static drv_status check_last_bits(const drv_file_reader *in, drv_file_part part) {
    const int64_t bits = (int64_t)in->file->frame_count * in->file->object_count, last = elements(in, part) - 1;
    const uint8_t *valid = octets(in, part);
    if (bits % 8 != 0 && valid[last] >> (bits % 8) != 0)
        return REFUSE(in, "%s is %d; bits from %d on must be 0", element_location(in, part, last, 1).text, valid[last],
                      (int)(bits % 8));
    return DRV_OK;
}

static drv_status check_rule(const drv_file_reader *in, drv_file_part part) {
    drv_status status;
    switch (drv_file_form_of(part).rule) {
    case RULE_NONE:
    case RULE_OR_NAN: return DRV_OK;
    case RULE_ONCE: return check_once(in, part);
    case RULE_TO_POINTS: return check_starts(in, part, in->file->point_count, 1);
    case RULE_TO_LINKS:
        status = check_starts(in, part, in->file->link_count, 0);
        return status == DRV_OK ? check_only_lanes_have_successors(in) : status;
    case RULE_LANE: return check_successors(in, part);
    case RULE_OBJECT: return check_indices(in, part, 0, in->file->object_count);
    case RULE_BITS: return check_last_bits(in, part);
    case RULE_TO_CONTROLLED: return check_starts(in, part, in->file->controlled_count, 0);
    case RULE_CONTROLLED: return check_lanes(in, part);
    case RULE_TO_PHASES: return check_starts(in, part, in->file->phase_count, 0);
    case RULE_JUNCTION: return check_indices(in, part, -1, in->file->control_count);
    case RULE_SCRIPTED: return check_objects(in, part, 1);
    case RULE_SCRIPT: return check_indices(in, part, 0, in->file->script_count);
    case RULE_LISTED: return check_listed(in, part);
    case RULE_REPEATING: return check_repeating(in, part);
    }
    return DRV_OK;
}

static drv_status check_sections(const drv_file_reader *in) {
    for (drv_file_part part = 0; part < FILE_SECTION_COUNT; part++) {
        const drv_file_kind kind = drv_file_kind_of(part);
        if (kind.since > in->header.minor) continue;
        drv_status status = DRV_OK;
        if (kind.type[0] == 'f') status = check_floats(in, part, (float)kind.low, (float)kind.high);
        else if (kind.high > kind.low) status = check_codes(in, part, (int)kind.low, (int)kind.high);
        if (status == DRV_OK) status = check_rule(in, part);
        if (status != DRV_OK) return status;
    }
    return DRV_OK;
}

/* Tracks are 0 where their object is off the map, and speeds are within the limit. */
static drv_status check_tracks(const drv_file_reader *in) {
    static const drv_file_part tracks[] = {FILE_TRACK_X, FILE_TRACK_Y, FILE_TRACK_HEADING, FILE_TRACK_VX,
                                           FILE_TRACK_VY, FILE_TRACK_Z};
    const uint8_t *valid = octets(in, FILE_TRACK_VALID);
    const int64_t count = elements(in, FILE_TRACK_X);
    for (size_t track = 0; track < sizeof tracks / sizeof *tracks; track++) {
        if (drv_file_kind_of(tracks[track]).since > in->header.minor) continue;
        const float *values = floats(in, tracks[track]);
        for (int64_t i = 0; i < count; i++)
            if (values[i] != 0.0f && !is_valid(valid, i))
                return REFUSE(in, "%s is %g where objects.valid is 0; it must be 0 there",
                              element_location(in, tracks[track], i, sizeof *values).text, (double)values[i]);
    }
    const float *vx_mps = floats(in, FILE_TRACK_VX), *vy_mps = floats(in, FILE_TRACK_VY);
    for (int64_t i = 0; i < count; i++) {
        const double vx = vx_mps[i], vy = vy_mps[i];
        const float speed_mps = (float)sqrt(vx * vx + vy * vy); /* as hypotf rounds it */
        if (speed_mps > (float)DRV_SPEED_LIMIT_MPS) /* the ranges of the sections limit each component only */
            return REFUSE(in, "%s is %.9g and objects.vy_mps %.9g, a speed of %.9g m/s; it must be at most %g",
                          element_location(in, FILE_TRACK_VX, i, sizeof *vx_mps).text, vx, vy, (double)speed_mps,
                          (double)DRV_SPEED_LIMIT_MPS);
    }
    return DRV_OK;
}

drv_status drv_file_check_values(const drv_file_reader *in) {
    const drv_status status = check_sections(in);
    return status == DRV_OK ? check_tracks(in) : status;
}
