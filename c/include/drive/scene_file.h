/* How is a scene file, `.drv`, read and described? */
#ifndef DRIVE_SCENE_FILE_H
#define DRIVE_SCENE_FILE_H

#ifndef DRV_BINDING
#include <stddef.h>
#include <stdint.h>
#endif

#include "drive/status.h"

/* The scene file format `.drv`; docs/scenes.md describes it. */
enum {
    DRV_FILE_MAJOR = 1, /* this core reads every minor version of it */
    DRV_FILE_MINOR = 3, /* the highest that Python writes; a file has the lowest that can hold its scene */
    DRV_FILE_MAGIC_BYTES = 8,
    DRV_FILE_HEADER_BYTES = 96,
    DRV_FILE_ENTRY_BYTES = 40,
    DRV_FILE_ALIGNMENT_BYTES = 64,
    DRV_FILE_SECTIONS = 49
};

/* A number of a file's header, or of an entry of its table of sections. */
typedef struct drv_file_field {
    const char *name;
    const char *type; /* numpy's letter and size */
    const char *unit;
    const char *meaning;
    double low; /* both ends are allowed */
    double high;
    int32_t offset;
} drv_file_field;

/* A kind of section: one array of a scene. */
typedef struct drv_file_kind {
    int32_t code;
    int32_t since; /* the minor version from which on files have it */
    const char *name; /* path of the array in a Scene */
    const char *type;
    const char *rows; /* their number, as an expression in counts */
    const char *columns; /* "": it has one dimension */
    const char *unit;
    const char *rule; /* what must be true in addition to the range, or "" */
    const char *meaning;
    double low; /* both ends are allowed; 0 and 0: no range */
    double high;
} drv_file_kind;

/* Where an array is in a file. */
typedef struct drv_file_section {
    uint64_t offset; /* 0 where the file's minor version lacks the section: the array is zeros, or NaN if it may be */
    int64_t rows;
    int64_t columns; /* 1 where it has one dimension */
} drv_file_section;

/* The contents of a file that passed all checks; sections are in the order of drv_file_kinds. */
typedef struct drv_file {
    int32_t minor;
    int32_t skipped_sections; /* of later minor versions */
    double origin_x_m;
    double origin_y_m;
    double dt_s;
    int32_t object_count;
    int32_t frame_count;
    int32_t road_count;
    int32_t point_count;
    int32_t link_count;
    int32_t predicted_count;
    int32_t interest_count;
    int32_t control_count; /* this and the next three are 0 before minor version 1 */
    int32_t controlled_count;
    int32_t phase_count;
    int32_t candidate_count;
    int32_t script_count; /* 0 before minor version 2 */
    int32_t listed_count; /* this and the next are 0 before minor version 3 */
    int32_t repeating_count;
    int32_t sdc;
    int32_t generated;
    drv_file_section sections[DRV_FILE_SECTIONS];
} drv_file;

/* Checks the bytes of a scene file: every count, offset and checksum, and every number but those of the metadata, which
 * is text that the core does not read. A refusal names section, byte and element. `bytes` begin at a multiple of 8. */
drv_status drv_file_read(const uint8_t *bytes, uint64_t byte_count, drv_file *out, char *message);
const uint8_t *drv_file_magic(void); /* DRV_FILE_MAGIC_BYTES bytes */
/* The three lists of the format. Each writes up to `capacity` entries and returns how many there are. */
int32_t drv_file_header_fields(drv_file_field *out, int32_t capacity);
int32_t drv_file_entry_fields(drv_file_field *out, int32_t capacity);
int32_t drv_file_kinds(drv_file_kind *out, int32_t capacity);

#endif
