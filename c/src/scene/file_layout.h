/* What is the layout of a scene file, `.drv`?
 *
 * The three lists below are the only definition of the format: the reader iterates over them, and Python queries them
 * to write files and to generate the tables of docs/scenes.md. All numbers are little-endian. */
#ifndef DRV_FILE_LAYOUT_H
#define DRV_FILE_LAYOUT_H

#include "drive.h"

/* X(C type, name, numpy type, unit, lowest, highest, meaning). Fields are ordered so that the struct has no padding. */
#define FILE_HEADER(X)                                                                                                \
    X(uint64_t, magic, "S8", "", 0, 0, "89 44 52 56 0D 0A 1A 0A: binary, and damaged by any conversion of line ends") \
    X(uint16_t, major, "u2", "", 1, 1, "a reader refuses unknown major versions")                                     \
    X(uint16_t, minor, "u2", "", 0, 65535, "a file of a later minor version may have sections that a reader skips")   \
    X(uint32_t, section_count, "u4", "sections", FILE_FIRST_SECTIONS, 4096, "entries of the table after the header")  \
    X(uint64_t, file_bytes, "u8", "bytes", 0, FILE_EXACT, "length of the file")                                       \
    X(double, origin_x_m, "f8", "m", -FILE_FINITE, FILE_FINITE, "subtracted from the source's coordinates")           \
    X(double, origin_y_m, "f8", "m", -FILE_FINITE, FILE_FINITE, "subtracted from the source's coordinates")           \
    X(double, dt_s, "f8", "s", DRV_DT_LOWEST_S, DRV_DT_HIGHEST_S, "time between two frames")                          \
    X(uint32_t, object_count, "u4", "objects", 0, DRV_OBJECT_LIMIT, "everything that can move")                       \
    X(uint32_t, frame_count, "u4", "frames", 1, DRV_FRAME_LIMIT, "steps of the log; 1 where there is none")           \
    X(uint32_t, road_count, "u4", "roads", 0, DRV_POINT_LIMIT, "polylines of the map")                                \
    X(uint32_t, point_count, "u4", "points", 0, DRV_POINT_LIMIT, "points of all polylines")                           \
    X(uint32_t, link_count, "u4", "links", 0, DRV_POINT_LIMIT, "pairs of a lane and a successor")                     \
    X(uint32_t, predicted_count, "u4", "objects", 0, DRV_OBJECT_LIMIT, "tracks to predict, as the source names them") \
    X(uint32_t, interest_count, "u4", "objects", 0, DRV_OBJECT_LIMIT, "interacting objects, as the source names them")\
    X(int32_t, sdc, "i4", "", -1, DRV_OBJECT_LIMIT - 1, "index of the recording object; -1 unknown")                  \
    X(uint32_t, generated, "u4", "", 0, 1, "1 if a generator made the scene")                                         \
    X(uint32_t, metadata_bytes, "u4", "bytes", 2, 65536, "length of the metadata")                                    \
    X(uint32_t, table_crc, "u4", "", 0, 4294967295.0, "CRC-32 of the table of sections")                              \
    X(uint32_t, crc, "u4", "", 0, 4294967295.0, "CRC-32 of the header before this field")

/* One entry of the table of sections; columns as above. */
#define FILE_ENTRY(X)                                                                                                 \
    X(uint32_t, code, "u4", "", 0, 4294967295.0, "kind of section; codes ascend from entry to entry")                 \
    X(uint32_t, element_bytes, "u4", "bytes", 1, 4096, "size of one element")                                         \
    X(uint64_t, offset, "u8", "bytes", 0, FILE_EXACT, "where it begins: the next multiple of 64")                     \
    X(uint64_t, bytes, "u8", "bytes", 0, FILE_EXACT, "its length: count times element_bytes")                         \
    X(uint64_t, count, "u8", "elements", 0, FILE_EXACT, "how many elements")                                          \
    X(uint32_t, crc, "u4", "", 0, 4294967295.0, "CRC-32 of its bytes")                                                \
    X(uint32_t, zero, "u4", "", 0, 0, "0")

#define X(type, name, letter, unit, low, high, meaning) type name;
typedef struct drv_file_header { FILE_HEADER(X) } drv_file_header;
typedef struct drv_file_entry { FILE_ENTRY(X) } drv_file_entry;
#undef X

_Static_assert(sizeof(drv_file_header) == DRV_FILE_HEADER_BYTES, "the header has no padding");
_Static_assert(sizeof(drv_file_entry) == DRV_FILE_ENTRY_BYTES, "an entry has no padding");

/* The number of elements of a section along one axis, in terms of the header's counts. */
typedef enum drv_extent {
    EXTENT_NONE, /* no such axis */
    EXTENT_PAIR,
    EXTENT_FOUR,
    EXTENT_OBJECTS,
    EXTENT_FRAMES,
    EXTENT_ROADS,
    EXTENT_STARTS,
    EXTENT_POINTS,
    EXTENT_LINKS,
    EXTENT_PREDICTED,
    EXTENT_INTEREST,
    EXTENT_VALID,
    EXTENT_METADATA,
    EXTENT_CONTROLS,
    EXTENT_CONTROL_STARTS,
    EXTENT_CONTROLLED,
    EXTENT_PHASES,
    EXTENT_CANDIDATES,
    EXTENT_SCRIPTS,
    EXTENT_LISTED,
    EXTENT_REPEATING
} drv_extent;

/* Condition on the values of a section beyond their range. */
typedef enum drv_rule {
    RULE_NONE,
    RULE_ONCE,
    RULE_TO_POINTS,
    RULE_TO_LINKS,
    RULE_LANE,
    RULE_OBJECT,
    RULE_BITS,
    RULE_TO_CONTROLLED,
    RULE_CONTROLLED,
    RULE_TO_PHASES,
    RULE_JUNCTION,
    RULE_SCRIPTED,
    RULE_SCRIPT,
    RULE_OR_NAN,
    RULE_LISTED,
    RULE_REPEATING
} drv_rule;

/* X(symbol, code, since, name, numpy type, rows, columns, unit, lowest, highest, rule, meaning). Ranges
 * include both ends; a range from 0 to 0 means none. The name is the path of the array in a Scene. A file of minor
 * version `since` or later has the section; in an earlier one its array is zeros or, with RULE_OR_NAN, NaN. */
#define FILE_SECTIONS(X)                                                                                              \
    X(FILE_METADATA, 1, 0, "metadata", "u1", EXTENT_METADATA, EXTENT_NONE,                                            \
      "", 0, 0, RULE_NONE, "JSON in UTF-8")                                                                           \
    X(FILE_OBJECT_ID, 16, 0, "objects.id", "i8", EXTENT_OBJECTS, EXTENT_NONE,                                         \
      "", 0, 0, RULE_ONCE, "as in the source")                                                                        \
    X(FILE_OBJECT_KIND, 17, 0, "objects.kind", "u1", EXTENT_OBJECTS, EXTENT_NONE,                                     \
      "code", DRV_OBJECT_VEHICLE, DRV_OBJECT_OTHER, RULE_NONE, "kind of object")                                      \
    X(FILE_OBJECT_LENGTH, 18, 0, "objects.length_m", "f4", EXTENT_OBJECTS, EXTENT_NONE,                               \
      "m", DRV_SIZE_LOWEST_M, DRV_SIZE_LIMIT_M, RULE_NONE, "true length")                                             \
    X(FILE_OBJECT_WIDTH, 19, 0, "objects.width_m", "f4", EXTENT_OBJECTS, EXTENT_NONE,                                 \
      "m", DRV_SIZE_LOWEST_M, DRV_SIZE_LIMIT_M, RULE_NONE, "true width")                                              \
    X(FILE_OBJECT_HEIGHT, 20, 0, "objects.height_m", "f4", EXTENT_OBJECTS, EXTENT_NONE,                               \
      "m", DRV_SIZE_LOWEST_M, DRV_SIZE_LIMIT_M, RULE_NONE, "true height")                                             \
    X(FILE_OBJECT_GOAL, 21, 0, "objects.goal_m", "f4", EXTENT_OBJECTS, EXTENT_PAIR,                                   \
      "m", -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M, RULE_NONE, "goal position, x then y")                     \
    X(FILE_OBJECT_EXPERT, 22, 0, "objects.marked_expert", "u1", EXTENT_OBJECTS, EXTENT_NONE,                          \
      "", 0, 1, RULE_NONE, "1 if the source marks it for log replay")                                                 \
    X(FILE_OBJECT_GOAL_Z, 23, 2, "objects.goal_z_m", "f4", EXTENT_OBJECTS, EXTENT_NONE,                               \
      "m", -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M, RULE_NONE, "height of the centre of the box at the goal") \
    X(FILE_OBJECT_GOAL_HEADING, 24, 3, "objects.goal_heading_rad", "f4", EXTENT_OBJECTS, EXTENT_NONE,                 \
      "rad", -FILE_PI, FILE_PI, RULE_OR_NAN, "heading at the goal, counter-clockwise from +x; nan: that of its lane") \
    X(FILE_TRACK_X, 32, 0, "objects.x_m", "f4", EXTENT_FRAMES, EXTENT_OBJECTS,                                        \
      "m", -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M, RULE_NONE, "centre; 0 where it is not valid")             \
    X(FILE_TRACK_Y, 33, 0, "objects.y_m", "f4", EXTENT_FRAMES, EXTENT_OBJECTS,                                        \
      "m", -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M, RULE_NONE, "centre; 0 where it is not valid")             \
    X(FILE_TRACK_HEADING, 34, 0, "objects.heading_rad", "f4", EXTENT_FRAMES, EXTENT_OBJECTS,                          \
      "rad", -FILE_PI, FILE_PI, RULE_NONE, "counter-clockwise from +x; 0 where it is not valid")                      \
    X(FILE_TRACK_VX, 35, 0, "objects.vx_mps", "f4", EXTENT_FRAMES, EXTENT_OBJECTS,                                    \
      "m/s", -DRV_SPEED_LIMIT_MPS, DRV_SPEED_LIMIT_MPS, RULE_NONE, "0 where it is not valid; a speed is at most 200") \
    X(FILE_TRACK_VY, 36, 0, "objects.vy_mps", "f4", EXTENT_FRAMES, EXTENT_OBJECTS,                                    \
      "m/s", -DRV_SPEED_LIMIT_MPS, DRV_SPEED_LIMIT_MPS, RULE_NONE, "0 where it is not valid; a speed is at most 200") \
    X(FILE_TRACK_VALID, 37, 0, "objects.valid", "u1", EXTENT_VALID, EXTENT_NONE,                                      \
      "", 0, 0, RULE_BITS, "object o at frame f is on the map: bit i % 8 of byte i / 8, i = f * objects + o")         \
    X(FILE_TRACK_Z, 38, 2, "objects.z_m", "f4", EXTENT_FRAMES, EXTENT_OBJECTS,                                        \
      "m", -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M, RULE_NONE,                                                \
      "height of the centre of the box; 0 where it is not valid")                                                     \
    X(FILE_ROAD_ID, 48, 0, "roads.id", "i8", EXTENT_ROADS, EXTENT_NONE,                                               \
      "", 0, 0, RULE_NONE, "as in the source, or imputed")                                                            \
    X(FILE_ROAD_KIND, 49, 0, "roads.kind", "u1", EXTENT_ROADS, EXTENT_NONE,                                           \
      "code", DRV_ROAD_LANE, DRV_ROAD_DRIVEWAY, RULE_NONE, "kind of road")                                            \
    X(FILE_ROAD_START, 50, 0, "roads.start", "i4", EXTENT_STARTS, EXTENT_NONE,                                        \
      "points", 0, 0, RULE_TO_POINTS, "polyline i is points start[i] to start[i + 1]")                                \
    X(FILE_POINT_X, 51, 0, "roads.x_m", "f4", EXTENT_POINTS, EXTENT_NONE,                                             \
      "m", -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M, RULE_NONE, "points of all polylines")                     \
    X(FILE_POINT_Y, 52, 0, "roads.y_m", "f4", EXTENT_POINTS, EXTENT_NONE,                                             \
      "m", -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M, RULE_NONE, "points of all polylines")                     \
    X(FILE_ROAD_WIDTH, 53, 0, "roads.width_m", "f4", EXTENT_ROADS, EXTENT_NONE,                                       \
      "m", 0, DRV_LANE_WIDTH_LIMIT_M, RULE_NONE, "lane width; 0 unknown")                                             \
    X(FILE_ROAD_LIMIT, 54, 0, "roads.speed_limit_mps", "f4", EXTENT_ROADS, EXTENT_NONE,                               \
      "m/s", 0, DRV_SPEED_LIMIT_MPS, RULE_NONE, "speed limit; 0 unknown")                                             \
    X(FILE_POINT_Z, 55, 2, "roads.z_m", "f4", EXTENT_POINTS, EXTENT_NONE,                                             \
      "m", -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M, RULE_NONE, "heights of these points")                     \
    X(FILE_LINK_START, 64, 0, "lanes.start", "i4", EXTENT_STARTS, EXTENT_NONE,                                        \
      "links", 0, 0, RULE_TO_LINKS, "successors of road i: successor[start[i]] to successor[start[i + 1]]")           \
    X(FILE_LINK_TO, 65, 0, "lanes.successor", "i4", EXTENT_LINKS, EXTENT_NONE,                                        \
      "", 0, 0, RULE_LANE, "road index")                                                                              \
    X(FILE_PREDICTED, 80, 0, "tracks_to_predict", "i4", EXTENT_PREDICTED, EXTENT_NONE,                                \
      "", 0, 0, RULE_OBJECT, "object index")                                                                          \
    X(FILE_INTEREST, 81, 0, "objects_of_interest", "i4", EXTENT_INTEREST, EXTENT_NONE,                                \
      "", 0, 0, RULE_OBJECT, "object index")                                                                          \
    X(FILE_CONTROL_KIND, 96, 1, "traffic_controls.kind", "u1", EXTENT_CONTROLS, EXTENT_NONE,                          \
      "code", DRV_TRAFFIC_LIGHT, DRV_YIELD_SIGN, RULE_NONE, "kind of traffic control")                                \
    X(FILE_CONTROL_LINE, 97, 1, "traffic_controls.line_m", "f4", EXTENT_CONTROLS, EXTENT_FOUR,                        \
      "m", -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M, RULE_NONE,                                                \
      "stop line: x, y of its left end, then of its right one, as approaching traffic sees it")                       \
    X(FILE_CONTROL_START, 98, 1, "traffic_controls.start", "i4", EXTENT_CONTROL_STARTS, EXTENT_NONE,                  \
      "lanes", 0, 0, RULE_TO_CONTROLLED, "lanes of control i: lane[start[i]] to lane[start[i + 1]]")                  \
    X(FILE_CONTROL_LANE, 99, 1, "traffic_controls.lane", "i4", EXTENT_CONTROLLED, EXTENT_NONE,                        \
      "", 0, 0, RULE_CONTROLLED, "road index of a lane that the control applies to")                                  \
    X(FILE_CONTROL_STATE, 100, 1, "traffic_controls.state", "u1", EXTENT_FRAMES, EXTENT_CONTROLS,                     \
      "code", DRV_LIGHT_OFF, DRV_LIGHT_GREEN, RULE_NONE, "logged state of a light; 0 for other controls")             \
    X(FILE_PHASE_START, 101, 1, "traffic_controls.phase_start", "i4", EXTENT_CONTROL_STARTS, EXTENT_NONE,             \
      "phases", 0, 0, RULE_TO_PHASES,                                                                                 \
      "program of control i: phases phase_start[i] to phase_start[i + 1], else the log")                              \
    X(FILE_PHASE_STATE, 102, 1, "traffic_controls.phase_state", "u1", EXTENT_PHASES, EXTENT_NONE,                     \
      "code", DRV_LIGHT_OFF, DRV_LIGHT_GREEN, RULE_NONE, "state of the light in the phase")                           \
    X(FILE_PHASE_DURATION, 103, 1, "traffic_controls.phase_s", "f4", EXTENT_PHASES, EXTENT_NONE,                      \
      "s", DRV_PHASE_LOWEST_S, DRV_PHASE_LIMIT_S, RULE_NONE, "its duration")                                          \
    X(FILE_CONTROL_OFFSET, 104, 1, "traffic_controls.offset_s", "f4", EXTENT_CONTROLS, EXTENT_NONE,                   \
      "s", 0, DRV_PHASE_LIMIT_S, RULE_NONE, "time since the first phase began, at frame 0")                           \
    X(FILE_CONTROL_JUNCTION, 105, 1, "traffic_controls.junction", "i4", EXTENT_CONTROLS, EXTENT_NONE,                 \
      "", 0, 0, RULE_JUNCTION, "controls of one junction share an offset drawn per episode; -1: none is drawn")      \
    X(FILE_CANDIDATE_GOAL, 112, 1, "candidate_goals_m", "f4", EXTENT_CANDIDATES, EXTENT_PAIR,                         \
      "m", -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M, RULE_NONE,                                                \
      "goals of which each episode draws that of an agent, x then y")                                                 \
    X(FILE_SCRIPT_OBJECT, 120, 2, "scripts.object", "i4", EXTENT_SCRIPTS, EXTENT_NONE,                                \
      "", 0, 0, RULE_SCRIPTED, "object whose log waits until an agent crosses the line of the script")                \
    X(FILE_SCRIPT_GROUP, 121, 2, "scripts.group", "i4", EXTENT_SCRIPTS, EXTENT_NONE,                                  \
      "", 0, 0, RULE_SCRIPT, "group of the script, of whose options each episode draws one")                          \
    X(FILE_SCRIPT_OPTION, 122, 2, "scripts.option", "i4", EXTENT_SCRIPTS, EXTENT_NONE,                                \
      "", 0, 0, RULE_SCRIPT, "option of the group with which the object exists")                                      \
    X(FILE_SCRIPT_LINE, 123, 2, "scripts.line_m", "f4", EXTENT_SCRIPTS, EXTENT_FOUR,                                  \
      "m", -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M, RULE_NONE,                                                \
      "x, y of the left end of the line, then of its right one, as an agent that crosses it sees it")                 \
    X(FILE_LISTED_OBJECT, 128, 3, "goal_lists.object", "i4", EXTENT_LISTED, EXTENT_NONE,                              \
      "", 0, 0, RULE_LISTED, "object that has the goal after its own one and those listed before")                    \
    X(FILE_LISTED_GOAL, 129, 3, "goal_lists.goal_m", "f4", EXTENT_LISTED, EXTENT_PAIR,                                \
      "m", -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M, RULE_NONE, "goal position, x then y")                     \
    X(FILE_LISTED_GOAL_Z, 130, 3, "goal_lists.goal_z_m", "f4", EXTENT_LISTED, EXTENT_NONE,                            \
      "m", -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M, RULE_NONE, "height of the centre of the box at the goal") \
    X(FILE_LISTED_HEADING, 131, 3, "goal_lists.goal_heading_rad", "f4", EXTENT_LISTED, EXTENT_NONE,                   \
      "rad", -FILE_PI, FILE_PI, RULE_OR_NAN, "heading at the goal, counter-clockwise from +x; nan: that of its lane") \
    X(FILE_REPEATING, 132, 3, "goal_lists.repeating", "i4", EXTENT_REPEATING, EXTENT_NONE,                            \
      "", 0, 0, RULE_REPEATING, "object whose own goal follows the last one of its list again")

/* The largest finite float64; 2^53, up to which float64, in which ranges are checked, holds every whole number; pi
 * rounded to float32, which is larger than pi. */
#define FILE_FINITE 1.7976931348623157e308
#define FILE_EXACT 9007199254740992.0
#define FILE_PI 3.1415927410125732

#define X(symbol, code, since, name, type, rows, columns, unit, low, high, rule, meaning) symbol,
typedef enum drv_file_part { FILE_SECTIONS(X) FILE_SECTION_COUNT } drv_file_part;
#undef X

/* The number of sections of minor version 0. */
#define X(symbol, code, since, name, type, rows, columns, unit, low, high, rule, meaning) +((since) == 0)
enum { FILE_FIRST_SECTIONS = FILE_SECTIONS(X) };
#undef X

/* The counts that the header lacks: the number of rows of a section is the count.
 *
 * X(extent, member of drv_file, symbol of the section, its columns, highest) */
#define FILE_OWN_COUNTS(X)                                                             \
    X(EXTENT_CONTROLS, control_count, FILE_CONTROL_KIND, 1, DRV_TRAFFIC_CONTROL_LIMIT) \
    X(EXTENT_CONTROLLED, controlled_count, FILE_CONTROL_LANE, 1, DRV_POINT_LIMIT)      \
    X(EXTENT_PHASES, phase_count, FILE_PHASE_STATE, 1, DRV_POINT_LIMIT)                \
    X(EXTENT_CANDIDATES, candidate_count, FILE_CANDIDATE_GOAL, 2, DRV_CANDIDATE_LIMIT) \
    X(EXTENT_SCRIPTS, script_count, FILE_SCRIPT_OBJECT, 1, DRV_OBJECT_LIMIT)           \
    X(EXTENT_LISTED, listed_count, FILE_LISTED_OBJECT, 1, DRV_LISTED_GOAL_LIMIT)       \
    X(EXTENT_REPEATING, repeating_count, FILE_REPEATING, 1, DRV_OBJECT_LIMIT)

/* Shape of a section, and the condition on its values beyond their range. */
typedef struct drv_file_form {
    drv_extent rows, columns;
    drv_rule rule;
} drv_file_form;

drv_file_kind drv_file_kind_of(drv_file_part part);
drv_file_form drv_file_form_of(drv_file_part part);
/* Returns that number, by the header or, for counts that it lacks, by the sections read so far; 1 for EXTENT_NONE. */
int64_t drv_file_extent(const drv_file_header *header, const drv_file *file, drv_extent extent);

_Static_assert((int)FILE_SECTION_COUNT == DRV_FILE_SECTIONS, "the public header has the number of sections");

#endif
