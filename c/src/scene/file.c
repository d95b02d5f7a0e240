/* Is this a sound scene file?
 *
 * Every byte of it is decided: header, table and each section by a checksum, the places of the sections by their sizes,
 * and what lies between them is zero. Then every number is looked at before anyone uses it. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/checksum.h"
#include "platform/error.h"
#include "scene/file_layout.h"
#include "platform/fp_env.h"

typedef struct reader {
    const uint8_t *bytes;
    uint64_t byte_count;
    drv_file_header header;
    drv_file *file;
    drv_checksum checksum;
    char *message;
} reader;

#define REFUSE(reader, ...) drv_fail((reader)->message, DRV_ERROR_SCENE, __VA_ARGS__)

/* ---- places, for sentences ---- */

typedef struct location {
    char text[160];
} location;

static location section_location(const reader *in, drv_file_part part) {
    location where;
    snprintf(where.text, sizeof where.text, "section %s at byte %llu", drv_file_kind_of(part).name,
             (unsigned long long)in->file->sections[part].offset);
    return where;
}

static location element_location(const reader *in, drv_file_part part, int64_t index, size_t element_bytes) {
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

/* A section by its name, or by its code where this version has no name for it. */
static location section_name(uint32_t code, drv_file_part part) {
    location where;
    if (part < FILE_SECTION_COUNT) snprintf(where.text, sizeof where.text, "section %s", drv_file_kind_of(part).name);
    else snprintf(where.text, sizeof where.text, "section of code %lu", (unsigned long)code);
    return where;
}

/* ---- header ---- */

/* A number of one of the types of the lists: u2, u4, u8, i4 or f8. */
static double field_value(const uint8_t *at, const char *type) {
    uint64_t whole = 0;
    memcpy(&whole, at, (size_t)(type[1] - '0')); /* the low bytes come first */
    double value;
    memcpy(&value, &whole, sizeof value);
    switch (type[0]) {
    case 'f': return value;
    case 'i': return (double)(int32_t)(uint32_t)whole;
    default: return (double)whole;
    }
}

/* Each number within its range; `what` and `first` say whose numbers they are and where they begin. */
static drv_status check_fields(const reader *in, const char *what, const drv_file_field *fields, int32_t count,
                               uint64_t first) {
    for (int32_t i = 0; i < count; i++) {
        const uint64_t at = first + (uint64_t)fields[i].offset;
        if (fields[i].type[0] == 'S') continue;
        const double value = field_value(in->bytes + at, fields[i].type);
        if (value >= fields[i].low && value <= fields[i].high) continue;
        char range[64] = "finite";
        if (fields[i].high < FILE_FINITE)
            snprintf(range, sizeof range, "%.16g to %.16g", fields[i].low, fields[i].high);
        return REFUSE(in, "%s: %s at byte %llu is %.17g; it must be %s", what, fields[i].name, (unsigned long long)at,
                      value, range);
    }
    return DRV_OK;
}

static bool host_is_little_endian(void) {
    const uint16_t one = 1;
    uint8_t first = 0;
    memcpy(&first, &one, 1);
    return first == 1;
}

/* What must hold before any number is believed. */
static drv_status check_frame(reader *in) {
    if (!host_is_little_endian())
        return REFUSE(in, "the file is little-endian and this machine is not; it must be read on one that is");
    if (in->byte_count < DRV_FILE_HEADER_BYTES)
        return REFUSE(in, "header at byte 0: it takes %d bytes; the file has %llu", DRV_FILE_HEADER_BYTES,
                      (unsigned long long)in->byte_count);
    if (memcmp(in->bytes, drv_file_magic(), DRV_FILE_MAGIC_BYTES) != 0)
        return REFUSE(in, "header: magic at byte 0 begins with %02x %02x %02x %02x; it must be 89 44 52 56 0d 0a 1a 0a",
                      in->bytes[0], in->bytes[1], in->bytes[2], in->bytes[3]);
    memcpy(&in->header, in->bytes, sizeof in->header);
    const drv_file_header *header = &in->header;
    if (header->major != DRV_FILE_MAJOR)
        return REFUSE(in, "header: major at byte %d is %d; this version of drive-env reads %d",
                      (int)offsetof(drv_file_header, major), header->major, DRV_FILE_MAJOR);
    if (header->file_bytes != in->byte_count)
        return REFUSE(in, "header: file_bytes at byte %d is %llu; the file has %llu",
                      (int)offsetof(drv_file_header, file_bytes), (unsigned long long)header->file_bytes,
                      (unsigned long long)in->byte_count);
    const uint64_t table_bytes = (uint64_t)header->section_count * DRV_FILE_ENTRY_BYTES;
    if (table_bytes > in->byte_count - DRV_FILE_HEADER_BYTES)
        return REFUSE(in, "header: section_count at byte %d is %lu; the file has room for %llu entries",
                      (int)offsetof(drv_file_header, section_count), (unsigned long)header->section_count,
                      (unsigned long long)((in->byte_count - DRV_FILE_HEADER_BYTES) / DRV_FILE_ENTRY_BYTES));
    const size_t crc_at = offsetof(drv_file_header, crc);
    const uint32_t crc = drv_checksum_of(&in->checksum, 0, in->bytes, crc_at);
    if (crc != header->crc)
        return REFUSE(in, "header: crc at byte %d is %08lx; the header has %08lx", (int)crc_at,
                      (unsigned long)header->crc, (unsigned long)crc);
    const uint32_t table_crc = drv_checksum_of(&in->checksum, 0, in->bytes + DRV_FILE_HEADER_BYTES, table_bytes);
    if (table_crc != header->table_crc)
        return REFUSE(in, "header: table_crc at byte %d is %08lx; the table has %08lx",
                      (int)offsetof(drv_file_header, table_crc), (unsigned long)header->table_crc,
                      (unsigned long)table_crc);
    return DRV_OK;
}

static drv_status check_header(reader *in) {
    drv_file_field fields[DRV_FILE_HEADER_BYTES];
    const int32_t count = drv_file_header_fields(fields, DRV_FILE_HEADER_BYTES);
    const drv_status status = check_fields(in, "header", fields, count, 0);
    if (status != DRV_OK) return status;
    const drv_file_header *header = &in->header;
    if (header->sdc >= (int32_t)header->object_count)
        return REFUSE(in, "header: sdc at byte %d is %ld; there are %lu objects", (int)offsetof(drv_file_header, sdc),
                      (long)header->sdc, (unsigned long)header->object_count);
    *in->file = (drv_file){.minor = header->minor,
                           .origin_x_m = header->origin_x_m,
                           .origin_y_m = header->origin_y_m,
                           .dt_s = header->dt_s,
                           .object_count = (int32_t)header->object_count,
                           .frame_count = (int32_t)header->frame_count,
                           .road_count = (int32_t)header->road_count,
                           .point_count = (int32_t)header->point_count,
                           .link_count = (int32_t)header->link_count,
                           .predicted_count = (int32_t)header->predicted_count,
                           .interest_count = (int32_t)header->interest_count,
                           .sdc = header->sdc,
                           .generated = (int32_t)header->generated};
    return DRV_OK;
}

/* ---- table of sections ---- */

/* The part with this code, or FILE_SECTION_COUNT. Both lists rise, so the search goes on from `from`. */
static drv_file_part part_of(uint32_t code, drv_file_part from) {
    drv_file_part part = from;
    while (part < FILE_SECTION_COUNT && (uint32_t)drv_file_kind_of(part).code < code) part++;
    return part < FILE_SECTION_COUNT && (uint32_t)drv_file_kind_of(part).code == code ? part : FILE_SECTION_COUNT;
}

static drv_status check_entry(const reader *in, const drv_file_entry *entry, uint64_t at, drv_file_part part) {
    if (part == FILE_SECTION_COUNT) {
        if (in->header.minor > DRV_FILE_MINOR) return DRV_OK;
        return REFUSE(in, "table: code at byte %llu is %lu; version %d.%d has no such section", (unsigned long long)at,
                      (unsigned long)entry->code, DRV_FILE_MAJOR, in->header.minor);
    }
    const drv_file_kind kind = drv_file_kind_of(part);
    const drv_file_form form = drv_file_form_of(part);
    const uint32_t element_bytes = (uint32_t)(kind.type[1] - '0');
    const int64_t rows = drv_file_extent(&in->header, form.rows), columns = drv_file_extent(&in->header, form.columns);
    const uint64_t count = (uint64_t)rows * (uint64_t)columns;
    if (entry->element_bytes != element_bytes)
        return REFUSE(in, "table: element_bytes at byte %llu of section %s is %lu; it must be %lu",
                      (unsigned long long)(at + offsetof(drv_file_entry, element_bytes)), kind.name,
                      (unsigned long)entry->element_bytes, (unsigned long)element_bytes);
    if (entry->count != count)
        return REFUSE(in, "table: count at byte %llu of section %s is %llu; by the header's counts it must be %llu",
                      (unsigned long long)(at + offsetof(drv_file_entry, count)), kind.name,
                      (unsigned long long)entry->count, (unsigned long long)count);
    in->file->sections[part] = (drv_file_section){entry->offset, rows, columns};
    return DRV_OK;
}

/* The section lies where it must, is whole, and nothing but zeros lies before it. */
static drv_status check_bytes(const reader *in, const drv_file_entry *entry, uint64_t at, drv_file_part part,
                              uint64_t *end) {
    const uint64_t mask = DRV_FILE_ALIGNMENT_BYTES - 1;
    const uint64_t wanted = (*end + mask) & ~mask;
    const location name = section_name(entry->code, part);
    if (entry->offset != wanted)
        return REFUSE(in, "table: offset at byte %llu of %s is %llu; it must be %llu",
                      (unsigned long long)(at + offsetof(drv_file_entry, offset)), name.text,
                      (unsigned long long)entry->offset, (unsigned long long)wanted);
    if (entry->count > UINT64_MAX / entry->element_bytes || entry->bytes != entry->count * entry->element_bytes)
        return REFUSE(in, "table: bytes at byte %llu of %s is %llu; it must be %llu elements of %lu bytes",
                      (unsigned long long)(at + offsetof(drv_file_entry, bytes)), name.text,
                      (unsigned long long)entry->bytes, (unsigned long long)entry->count,
                      (unsigned long)entry->element_bytes);
    if (wanted > in->byte_count || entry->bytes > in->byte_count - wanted)
        return REFUSE(in, "table: %s takes %llu bytes from byte %llu; the file has %llu", name.text,
                      (unsigned long long)entry->bytes, (unsigned long long)wanted, (unsigned long long)in->byte_count);
    for (uint64_t i = *end; i < wanted; i++)
        if (in->bytes[i] != 0)
            return REFUSE(in, "gap before %s: byte %llu is %d; it must be 0", name.text, (unsigned long long)i,
                          in->bytes[i]);
    const uint32_t crc = drv_checksum_of(&in->checksum, 0, in->bytes + wanted, entry->bytes);
    if (crc != entry->crc)
        return REFUSE(in, "%s at byte %llu: its %llu bytes have crc %08lx; the table says %08lx", name.text,
                      (unsigned long long)wanted, (unsigned long long)entry->bytes, (unsigned long)crc,
                      (unsigned long)entry->crc);
    *end = wanted + entry->bytes;
    return DRV_OK;
}

static drv_status check_table(reader *in) {
    drv_file_field fields[DRV_FILE_ENTRY_BYTES];
    const int32_t field_count = drv_file_entry_fields(fields, DRV_FILE_ENTRY_BYTES);
    uint64_t end = DRV_FILE_HEADER_BYTES + (uint64_t)in->header.section_count * DRV_FILE_ENTRY_BYTES;
    drv_file_part next = 0;
    uint32_t before = 0;
    for (uint32_t i = 0; i < in->header.section_count; i++) {
        const uint64_t at = DRV_FILE_HEADER_BYTES + (uint64_t)i * DRV_FILE_ENTRY_BYTES;
        drv_file_entry entry;
        memcpy(&entry, in->bytes + at, sizeof entry);
        drv_status status = check_fields(in, "table", fields, field_count, at);
        if (status != DRV_OK) return status;
        if (i > 0 && entry.code <= before)
            return REFUSE(in, "table: code at byte %llu is %lu after %lu; codes must rise", (unsigned long long)at,
                          (unsigned long)entry.code, (unsigned long)before);
        before = entry.code;
        const drv_file_part part = part_of(entry.code, next);
        if (next < FILE_SECTION_COUNT && entry.code > (uint32_t)drv_file_kind_of(next).code)
            return REFUSE(in, "table: code at byte %llu is %lu; section %s, code %ld, must come before it",
                          (unsigned long long)at, (unsigned long)entry.code, drv_file_kind_of(next).name,
                          (long)drv_file_kind_of(next).code);
        if ((status = check_entry(in, &entry, at, part)) != DRV_OK) return status;
        if ((status = check_bytes(in, &entry, at, part, &end)) != DRV_OK) return status;
        if (part == FILE_SECTION_COUNT) in->file->skipped_sections++;
        else next = part + 1;
    }
    if (next < FILE_SECTION_COUNT)
        return REFUSE(in, "table at byte %d: it has no section %s, code %ld", DRV_FILE_HEADER_BYTES,
                      drv_file_kind_of(next).name, (long)drv_file_kind_of(next).code);
    if (end != in->byte_count)
        return REFUSE(in, "the last section ends at byte %llu; the file has %llu", (unsigned long long)end,
                      (unsigned long long)in->byte_count);
    return DRV_OK;
}

/* ---- numbers ---- */

static int64_t elements(const reader *in, drv_file_part part) {
    return in->file->sections[part].rows * in->file->sections[part].columns;
}

static const float *floats(const reader *in, drv_file_part part) {
    return (const float *)(const void *)(in->bytes + in->file->sections[part].offset);
}

static const int32_t *integers(const reader *in, drv_file_part part) {
    return (const int32_t *)(const void *)(in->bytes + in->file->sections[part].offset);
}

static const uint8_t *octets(const reader *in, drv_file_part part) {
    return in->bytes + in->file->sections[part].offset;
}

static bool is_valid(const uint8_t *valid, int64_t i) { return valid[i >> 3] >> (i & 7) & 1; }

static drv_status check_floats(const reader *in, drv_file_part part, float low, float high) {
    const float *values = floats(in, part);
    const int64_t count = elements(in, part);
    int outside = 0; /* no early end: the loop takes several values at a time */
    for (int64_t i = 0; i < count; i++) outside |= !(values[i] >= low) | !(values[i] <= high);
    for (int64_t i = 0; outside && i < count; i++)
        if (!(values[i] >= low && values[i] <= high))
            return REFUSE(in, "%s is %.9g; it must be %g to %g", element_location(in, part, i, sizeof *values).text,
                          (double)values[i], (double)low, (double)high);
    return DRV_OK;
}

static drv_status check_codes(const reader *in, drv_file_part part, int low, int high) {
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

static drv_status check_once(const reader *in, drv_file_part part) {
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
            status = REFUSE(in, "%s: %lld stands in it more than once; each must stand once",
                            section_location(in, part).text, (long long)sorted[i]);
    free(sorted);
    return status;
}

/* Runs from 0 to `total`, each at least `fewest` above the one before. */
static drv_status check_starts(const reader *in, drv_file_part part, int32_t total, int32_t fewest) {
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

static drv_status check_only_lanes_lead(const reader *in) {
    const int32_t *start = integers(in, FILE_LINK_START);
    const uint8_t *kind = octets(in, FILE_ROAD_KIND);
    for (int64_t i = 0; i < in->file->road_count; i++)
        if (start[i + 1] > start[i] && kind[i] != DRV_ROAD_LANE)
            return REFUSE(in, "%s is %d after %d, so road %lld of kind %d leads on; only lanes, kind %d, may",
                          element_location(in, FILE_LINK_START, i + 1, sizeof *start).text, start[i + 1], start[i],
                          (long long)i, kind[i], DRV_ROAD_LANE);
    return DRV_OK;
}

static drv_status check_indices(const reader *in, drv_file_part part, int32_t count) {
    const int32_t *index = integers(in, part);
    for (int64_t i = 0; i < elements(in, part); i++)
        if (index[i] < 0 || index[i] >= count)
            return REFUSE(in, "%s is %d; it must be an index below %d",
                          element_location(in, part, i, sizeof *index).text, index[i], count);
    return DRV_OK;
}

static drv_status check_lanes(const reader *in, drv_file_part part) {
    const int32_t *index = integers(in, part);
    const uint8_t *kind = octets(in, FILE_ROAD_KIND);
    const drv_status status = check_indices(in, part, in->file->road_count);
    if (status != DRV_OK) return status;
    for (int64_t i = 0; i < elements(in, part); i++)
        if (kind[index[i]] != DRV_ROAD_LANE)
            return REFUSE(in, "%s is road %d of kind %d; it must be a lane, kind %d",
                          element_location(in, part, i, sizeof *index).text, index[i], kind[index[i]], DRV_ROAD_LANE);
    return DRV_OK;
}

static drv_status check_last_bits(const reader *in, drv_file_part part) {
    const int64_t bits = (int64_t)in->file->frame_count * in->file->object_count, last = elements(in, part) - 1;
    const uint8_t *valid = octets(in, part);
    if (bits % 8 != 0 && valid[last] >> (bits % 8) != 0)
        return REFUSE(in, "%s is %d; bits from %d on must be 0", element_location(in, part, last, 1).text, valid[last],
                      (int)(bits % 8));
    return DRV_OK;
}

static drv_status check_rule(const reader *in, drv_file_part part) {
    drv_status status;
    switch (drv_file_form_of(part).rule) {
    case RULE_NONE: return DRV_OK;
    case RULE_ONCE: return check_once(in, part);
    case RULE_TO_POINTS: return check_starts(in, part, in->file->point_count, 1);
    case RULE_TO_LINKS:
        status = check_starts(in, part, in->file->link_count, 0);
        return status == DRV_OK ? check_only_lanes_lead(in) : status;
    case RULE_LANE: return check_lanes(in, part);
    case RULE_OBJECT: return check_indices(in, part, in->file->object_count);
    case RULE_BITS: return check_last_bits(in, part);
    }
    return DRV_OK;
}

static drv_status check_sections(const reader *in) {
    for (drv_file_part part = 0; part < FILE_SECTION_COUNT; part++) {
        const drv_file_kind kind = drv_file_kind_of(part);
        drv_status status = DRV_OK;
        if (kind.type[0] == 'f') status = check_floats(in, part, (float)kind.low, (float)kind.high);
        else if (kind.high > kind.low) status = check_codes(in, part, (int)kind.low, (int)kind.high);
        if (status == DRV_OK) status = check_rule(in, part);
        if (status != DRV_OK) return status;
    }
    return DRV_OK;
}

/* A track says nothing where its object is not on the map. */
static drv_status check_tracks(const reader *in) {
    static const drv_file_part tracks[] = {FILE_TRACK_X, FILE_TRACK_Y, FILE_TRACK_HEADING, FILE_TRACK_VX,
                                           FILE_TRACK_VY};
    const uint8_t *valid = octets(in, FILE_TRACK_VALID);
    const int64_t count = elements(in, FILE_TRACK_X);
    for (size_t track = 0; track < sizeof tracks / sizeof *tracks; track++) {
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
        if (speed_mps > (float)DRV_SPEED_LIMIT_MPS) /* the range of each section checks the components alone */
            return REFUSE(in, "%s is %.9g, with %.9g across a speed of %.9g m/s; it must be at most %g",
                          element_location(in, FILE_TRACK_VX, i, sizeof *vx_mps).text, vx, vy, (double)speed_mps,
                          (double)DRV_SPEED_LIMIT_MPS);
    }
    return DRV_OK;
}

/* ---- call ---- */

/* Not inlined: no computation may move out from between the two ends of the rounding mode. */
__attribute__((noinline)) static drv_status read_file(const uint8_t *bytes, uint64_t byte_count, drv_file *out,
                                                      char *message) {
    reader in = {.bytes = bytes, .byte_count = byte_count, .file = out, .message = message};
    *out = (drv_file){0};
    if ((uintptr_t)bytes % 8 != 0)
        return drv_fail(message, DRV_ERROR_CALL, "the file begins %d bytes behind a multiple of 8 in memory",
                        (int)((uintptr_t)bytes % 8));
    drv_checksum_prepare(&in.checksum);
    drv_status status = check_frame(&in);
    if (status == DRV_OK) status = check_header(&in);
    if (status == DRV_OK) status = check_table(&in);
    if (status == DRV_OK) status = check_sections(&in);
    if (status == DRV_OK) status = check_tracks(&in);
    if (status != DRV_OK) *out = (drv_file){0};
    return status;
}

drv_status drv_file_read(const uint8_t *bytes, uint64_t byte_count, drv_file *out, char *message) {
    const drv_fp_env callers = drv_fp_env_begin();
    const drv_status status = read_file(bytes, byte_count, out, message);
    drv_fp_env_end(callers);
    return status;
}
