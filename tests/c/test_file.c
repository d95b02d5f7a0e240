/* Does the reader of scene files keep its contract with C? tests/scenes/readers/test_drv_hostile.py has the errors of
 * damaged files. */
#include <stdlib.h>

#include "check.h"
#include "scene/checksum.h"
#include "scene/file_layout.h"

enum { CAPACITY_BYTES = 4096 };

/* The smallest file there is: no objects, one frame, no roads. Returns its length; `bytes` are zero. */
static uint64_t write_smallest(uint8_t *bytes) {
    /* the header, without what follows from the sections */
    drv_checksum checksum;
    drv_checksum_prepare(&checksum);
    drv_file_header header = {.major = DRV_FILE_MAJOR, .minor = DRV_FILE_MINOR,
                              .section_count = DRV_FILE_SECTIONS, .dt_s = 0.1, .frame_count = 1, .sdc = -1,
                              .metadata_bytes = 2};
    memcpy(&header.magic, drv_file_magic(), sizeof header.magic);
    /* the sections, and their table */
    const drv_file nothing = {.control_count = 0};
    drv_file_entry table[DRV_FILE_SECTIONS];
    uint64_t end = sizeof header + sizeof table;
    for (int32_t i = 0; i < DRV_FILE_SECTIONS; i++) {
        const drv_file_form form = drv_file_form_of((drv_file_part)i);
        const drv_file_kind kind = drv_file_kind_of((drv_file_part)i);
        const uint64_t count = (uint64_t)drv_file_extent(&header, &nothing, form.rows) *
                               (uint64_t)drv_file_extent(&header, &nothing, form.columns);
        const uint32_t element_bytes = (uint32_t)(kind.type[1] - '0');
        const uint64_t alignment = DRV_FILE_ALIGNMENT_BYTES;
        const uint64_t offset = (end + alignment - 1) / alignment * alignment, size = count * element_bytes;
        if (i == FILE_METADATA) memcpy(bytes + offset, "{}", 2);
        table[i] = (drv_file_entry){.code = (uint32_t)kind.code, .element_bytes = element_bytes, .offset = offset,
                                    .bytes = size, .count = count,
                                    .crc = drv_checksum_of(&checksum, 0, bytes + offset, size)};
        end = offset + size;
    }
    /* length and checksums, which complete the header */
    header.file_bytes = end;
    const uint8_t *head = (const uint8_t *)&header, *entries = (const uint8_t *)table;
    header.table_crc = drv_checksum_of(&checksum, 0, entries, sizeof table);
    header.crc = drv_checksum_of(&checksum, 0, head, offsetof(drv_file_header, crc));
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + sizeof header, table, sizeof table);
    return end;
}

TEST(the_smallest_file_is_read) {
    uint8_t *bytes = calloc(1, CAPACITY_BYTES);
    const uint64_t length = write_smallest(bytes);
    char message[DRV_MESSAGE_BYTES] = "";
    drv_file file;
    const drv_status status = drv_file_read(bytes, length, &file, message);
    CHECK(status == DRV_OK, "%d: %s", status, message);
    CHECK(file.object_count == 0 && file.frame_count == 1 && file.road_count == 0 && file.sdc == -1 &&
          file.skipped_sections == 0, "counts");
    CHECK(memcmp(bytes + file.sections[FILE_METADATA].offset, "{}", 2) == 0, "its metadata are elsewhere");
    CHECK(file.sections[FILE_ROAD_START].rows == 1 && file.sections[FILE_ROAD_START].columns == 1 &&
          file.sections[FILE_TRACK_X].rows == 1 && file.sections[FILE_TRACK_X].columns == 0, "shapes");
    free(bytes);
}

TEST(bytes_that_do_not_begin_at_a_multiple_of_eight_are_refused) {
    uint8_t *bytes = calloc(1, CAPACITY_BYTES + 8);
    const uint64_t length = write_smallest(bytes);
    char message[DRV_MESSAGE_BYTES];
    for (int shift = 1; shift < 8; shift++) {
        drv_file file;
        memmove(bytes + shift, bytes + shift - 1, length);
        CHECK(drv_file_read(bytes + shift, length, &file, message) == DRV_ERROR_CALL, "it was read at %d", shift);
        CHECK(strstr(message, "multiple of 8") != NULL, "%s", message);
    }
    free(bytes);
}

TEST(the_contents_of_a_refused_file_are_not_returned) {
    uint8_t *bytes = calloc(1, CAPACITY_BYTES);
    const uint64_t length = write_smallest(bytes);
    drv_file file, nothing;
    memset(&file, 0xff, sizeof file);
    memset(&nothing, 0, sizeof nothing);
    char message[DRV_MESSAGE_BYTES];
    CHECK(drv_file_read(bytes, length - 1, &file, message) == DRV_ERROR_SCENE, "it was accepted");
    CHECK(file.frame_count == 0 && file.dt_s == 0.0 && file.sections[FILE_SECTION_COUNT - 1].offset == 0,
          "it was returned");
    CHECK(drv_file_read(bytes, 0, &file, message) == DRV_ERROR_SCENE, "nothing was accepted");
    free(bytes);
}

TEST(a_list_is_truncated_to_the_capacity) {
    drv_file_field *fields = malloc(2 * sizeof *fields);
    CHECK(drv_file_header_fields(NULL, 0) == 20 && drv_file_header_fields(fields, 2) == 20, "fields of the header");
    CHECK(strcmp(fields[0].name, "magic") == 0 && strcmp(fields[1].name, "major") == 0, "%s", fields[1].name);
    CHECK(drv_file_entry_fields(fields, 1) == 7 && strcmp(fields[0].name, "code") == 0, "fields of an entry");
    free(fields);
    drv_file_kind *kinds = malloc(sizeof *kinds);
    CHECK(drv_file_kinds(kinds, 1) == DRV_FILE_SECTIONS && kinds[0].code == 1, "kinds");
    free(kinds);
}

TEST(codes_of_sections_ascend_and_ranges_are_not_empty) {
    for (int32_t i = 0; i < DRV_FILE_SECTIONS; i++) {
        const drv_file_kind kind = drv_file_kind_of((drv_file_part)i);
        CHECK(kind.low <= kind.high, "%s", kind.name);
        if (i > 0) CHECK(kind.code > drv_file_kind_of((drv_file_part)(i - 1)).code, "%s", kind.name);
    }
}
