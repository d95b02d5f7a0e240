/* What is the layout of a scene file? The lists of file_layout.h as tables. */
#include "scene/file_layout.h"

static const uint8_t magic[DRV_FILE_MAGIC_BYTES] = {0x89, 'D', 'R', 'V', '\r', '\n', 0x1a, '\n'};

#define X(type, name, letter, unit, low, high, meaning) \
    {#name, letter, unit, meaning, low, high, (int32_t)offsetof(drv_file_header, name)},
static const drv_file_field header_fields[] = {FILE_HEADER(X)};
#undef X

#define X(type, name, letter, unit, low, high, meaning) \
    {#name, letter, unit, meaning, low, high, (int32_t)offsetof(drv_file_entry, name)},
static const drv_file_field entry_fields[] = {FILE_ENTRY(X)};
#undef X

static const char *const extent_names[] = {
    [EXTENT_NONE] = "",
    [EXTENT_PAIR] = "2",
    [EXTENT_FOUR] = "4",
    [EXTENT_OBJECTS] = "object_count",
    [EXTENT_FRAMES] = "frame_count",
    [EXTENT_ROADS] = "road_count",
    [EXTENT_STARTS] = "road_count + 1",
    [EXTENT_POINTS] = "point_count",
    [EXTENT_LINKS] = "link_count",
    [EXTENT_PREDICTED] = "predicted_count",
    [EXTENT_INTEREST] = "interest_count",
    [EXTENT_VALID] = "frame_count x object_count / 8, rounded up",
    [EXTENT_METADATA] = "metadata_bytes",
    [EXTENT_CONTROLS] = "control_count",
    [EXTENT_CONTROL_STARTS] = "control_count + 1",
    [EXTENT_CONTROLLED] = "controlled_count",
    [EXTENT_PHASES] = "phase_count",
    [EXTENT_CANDIDATES] = "candidate_count",
    [EXTENT_SCRIPTS] = "script_count",
    [EXTENT_LISTED] = "listed_count",
    [EXTENT_REPEATING] = "repeating_count",
};

static const char *const rule_texts[] = {
    [RULE_NONE] = "",
    [RULE_ONCE] = "each once",
    [RULE_TO_POINTS] = "strictly ascending from 0 to point_count",
    [RULE_TO_LINKS] = "from 0 to link_count, never descending, ascending at lanes only",
    [RULE_LANE] = "index of another lane",
    [RULE_OBJECT] = "index of an object",
    [RULE_BITS] = "bits after the last are 0",
    [RULE_TO_CONTROLLED] = "from 0 to controlled_count, never descending",
    [RULE_CONTROLLED] = "index of a lane",
    [RULE_TO_PHASES] = "from 0 to phase_count, never descending",
    [RULE_JUNCTION] = "-1, or an index below control_count",
    [RULE_SCRIPTED] = "indices of objects, strictly ascending",
    [RULE_SCRIPT] = "below script_count",
    [RULE_OR_NAN] = "or nan",
    [RULE_LISTED] = "indices of objects, never descending; none with candidate goals",
    [RULE_REPEATING] = "indices of objects in goal_lists.object, strictly ascending",
};

#define X(symbol, code, since, name, type, rows, columns, unit, low, high, rule, meaning) {rows, columns, rule},
static const drv_file_form forms[] = {FILE_SECTIONS(X)};
#undef X

/* drv_file_kind_of fills in rows, columns and rule. */
#define X(symbol, code, since, name, type, rows, columns, unit, low, high, rule, meaning) \
    {code, since, name, type, "", "", unit, "", meaning, low, high},
static const drv_file_kind kinds[] = {FILE_SECTIONS(X)};
#undef X

drv_file_kind drv_file_kind_of(drv_file_part part) {
    drv_file_kind kind = kinds[part];
    kind.rows = extent_names[forms[part].rows];
    kind.columns = extent_names[forms[part].columns];
    kind.rule = rule_texts[forms[part].rule];
    return kind;
}

drv_file_form drv_file_form_of(drv_file_part part) { return forms[part]; }

int64_t drv_file_extent(const drv_file_header *header, const drv_file *file, drv_extent extent) {
    switch (extent) {
    case EXTENT_NONE: return 1;
    case EXTENT_PAIR: return 2;
    case EXTENT_FOUR: return 4;
    case EXTENT_OBJECTS: return header->object_count;
    case EXTENT_FRAMES: return header->frame_count;
    case EXTENT_ROADS: return header->road_count;
    case EXTENT_STARTS: return (int64_t)header->road_count + 1;
    case EXTENT_POINTS: return header->point_count;
    case EXTENT_LINKS: return header->link_count;
    case EXTENT_PREDICTED: return header->predicted_count;
    case EXTENT_INTEREST: return header->interest_count;
    case EXTENT_VALID: return ((int64_t)header->frame_count * header->object_count + 7) / 8;
    case EXTENT_METADATA: return header->metadata_bytes;
    case EXTENT_CONTROLS: return file->control_count;
    case EXTENT_CONTROL_STARTS: return (int64_t)file->control_count + 1;
    case EXTENT_CONTROLLED: return file->controlled_count;
    case EXTENT_PHASES: return file->phase_count;
    case EXTENT_CANDIDATES: return file->candidate_count;
    case EXTENT_SCRIPTS: return file->script_count;
    case EXTENT_LISTED: return file->listed_count;
    case EXTENT_REPEATING: return file->repeating_count;
    }
    return 1;
}

const uint8_t *drv_file_magic(void) { return magic; }

static int32_t copy_fields(const drv_file_field *fields, size_t count, drv_file_field *out, int32_t capacity) {
    for (size_t i = 0; i < count && (int32_t)i < capacity; i++) out[i] = fields[i];
    return (int32_t)count;
}

int32_t drv_file_header_fields(drv_file_field *out, int32_t capacity) {
    return copy_fields(header_fields, sizeof header_fields / sizeof *header_fields, out, capacity);
}

int32_t drv_file_entry_fields(drv_file_field *out, int32_t capacity) {
    return copy_fields(entry_fields, sizeof entry_fields / sizeof *entry_fields, out, capacity);
}

int32_t drv_file_kinds(drv_file_kind *out, int32_t capacity) {
    for (int32_t part = 0; part < DRV_FILE_SECTIONS && part < capacity; part++)
        out[part] = drv_file_kind_of((drv_file_part)part);
    return DRV_FILE_SECTIONS;
}
