/* Are the sections of a scene file where its table says, and undamaged? */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "scene/file_reader.h"

typedef struct section_name {
    char text[48];
} section_name;

/* The name of a section, or its code where this version has no name for it. */
static section_name name_of(uint32_t code, drv_file_part part) {
    section_name name;
    if (part < FILE_SECTION_COUNT) snprintf(name.text, sizeof name.text, "section %s", drv_file_kind_of(part).name);
    else snprintf(name.text, sizeof name.text, "section of code %lu", (unsigned long)code);
    return name;
}

/* Whether a file of this minor version has the section. */
static bool in_version(const drv_file_reader *in, drv_file_part part) {
    return drv_file_kind_of(part).since <= in->header.minor;
}

/* The first part from `from` on that the file's minor version has, or FILE_SECTION_COUNT. */
static drv_file_part next_part(const drv_file_reader *in, drv_file_part from) {
    drv_file_part part = from;
    while (part < FILE_SECTION_COUNT && !in_version(in, part)) part++;
    return part;
}

/* The part with this code, or FILE_SECTION_COUNT. Codes ascend in both lists, so the search starts at `from`. */
static drv_file_part part_of(const drv_file_reader *in, uint32_t code, drv_file_part from) {
    drv_file_part part = from;
    while (part < FILE_SECTION_COUNT && (uint32_t)drv_file_kind_of(part).code < code) part = next_part(in, part + 1);
    return part < FILE_SECTION_COUNT && (uint32_t)drv_file_kind_of(part).code == code ? part : FILE_SECTION_COUNT;
}

/* Sets the shape of the sections that the file's minor version lacks. */
static void shape_absent_sections(drv_file_reader *in) {
    for (drv_file_part part = 0; part < FILE_SECTION_COUNT; part++) {
        const drv_file_form form = drv_file_form_of(part);
        if (in_version(in, part)) continue;
        in->file->sections[part] = (drv_file_section){.rows = drv_file_extent(&in->header, in->file, form.rows),
                                                      .columns = drv_file_extent(&in->header, in->file, form.columns)};
    }
}

/* Stores the count that the section defines, if it does so. */
static drv_status read_own_count(const drv_file_reader *in, const drv_file_entry *entry, uint64_t at,
                                 drv_file_part part) {
#define X(extent, member, section, columns, highest)                                                              \
    if (part == (section)) {                                                                                      \
        if (entry->count > (uint64_t)(highest) * (columns))                                                       \
            return REFUSE(in, "table: count at byte %llu of section %s is %llu; it must be 0 to %d",              \
                          (unsigned long long)(at + offsetof(drv_file_entry, count)), drv_file_kind_of(part).name, \
                          (unsigned long long)entry->count, (int)(highest) * (columns));                          \
        in->file->member = (int32_t)(entry->count / (columns));                                                   \
    }
    FILE_OWN_COUNTS(X)
#undef X
    return DRV_OK;
}

static drv_status check_entry(const drv_file_reader *in, const drv_file_entry *entry, uint64_t at, drv_file_part part) {
    if (part == FILE_SECTION_COUNT) {
        if (in->header.minor > DRV_FILE_MINOR) return DRV_OK;
        return REFUSE(in, "table: code at byte %llu is %lu; version %d.%d has no such section", (unsigned long long)at,
                      (unsigned long)entry->code, DRV_FILE_MAJOR, in->header.minor);
    }
    const drv_file_kind kind = drv_file_kind_of(part);
    const drv_file_form form = drv_file_form_of(part);
    const uint32_t element_bytes = (uint32_t)(kind.type[1] - '0');
    const drv_status status = read_own_count(in, entry, at, part);
    if (status != DRV_OK) return status;
    const int64_t rows = drv_file_extent(&in->header, in->file, form.rows);
    const int64_t columns = drv_file_extent(&in->header, in->file, form.columns);
    const uint64_t count = (uint64_t)rows * (uint64_t)columns;
    if (entry->element_bytes != element_bytes)
        return REFUSE(in, "table: element_bytes at byte %llu of section %s is %lu; it must be %lu",
                      (unsigned long long)(at + offsetof(drv_file_entry, element_bytes)), kind.name,
                      (unsigned long)entry->element_bytes, (unsigned long)element_bytes);
    if (entry->count != count)
        return REFUSE(in, "table: count at byte %llu of section %s is %llu; by the file's counts it must be %llu",
                      (unsigned long long)(at + offsetof(drv_file_entry, count)), kind.name,
                      (unsigned long long)entry->count, (unsigned long long)count);
    in->file->sections[part] = (drv_file_section){entry->offset, rows, columns};
    return DRV_OK;
}

/* Checks that the section begins at the next multiple of the alignment from `end` on, is complete and undamaged, and
 * that only zeros precede it. Advances `end`. */
static drv_status check_bytes(const drv_file_reader *in, const drv_file_entry *entry, uint64_t at, drv_file_part part,
                              uint64_t *end) {
    /* offset and length */
    const uint64_t mask = DRV_FILE_ALIGNMENT_BYTES - 1;
    const uint64_t wanted = (*end + mask) & ~mask;
    const section_name name = name_of(entry->code, part);
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
        return REFUSE(in, "table: %s has %llu bytes from byte %llu on; the file has %llu", name.text,
                      (unsigned long long)entry->bytes, (unsigned long long)wanted, (unsigned long long)in->byte_count);
    /* the gap before it, then its checksum */
    for (uint64_t i = *end; i < wanted; i++)
        if (in->bytes[i] != 0)
            return REFUSE(in, "gap before %s: byte %llu is %d; it must be 0", name.text, (unsigned long long)i,
                          in->bytes[i]);
    const uint32_t crc = drv_checksum_of(&in->checksum, 0, in->bytes + wanted, entry->bytes);
    if (crc != entry->crc)
        return REFUSE(in, "%s at byte %llu: its %llu bytes have crc %08lx; the table has %08lx", name.text,
                      (unsigned long long)wanted, (unsigned long long)entry->bytes, (unsigned long)crc,
                      (unsigned long)entry->crc);
    *end = wanted + entry->bytes;
    return DRV_OK;
}

drv_status drv_file_check_table(drv_file_reader *in) {
    drv_file_field fields[DRV_FILE_ENTRY_BYTES];
    const int32_t field_count = drv_file_entry_fields(fields, DRV_FILE_ENTRY_BYTES);
    uint64_t end = DRV_FILE_HEADER_BYTES + (uint64_t)in->header.section_count * DRV_FILE_ENTRY_BYTES;
    drv_file_part next = next_part(in, 0); /* the section that must come next */
    uint32_t before = 0;
    for (uint32_t i = 0; i < in->header.section_count; i++) {
        /* the entry's own numbers */
        const uint64_t at = DRV_FILE_HEADER_BYTES + (uint64_t)i * DRV_FILE_ENTRY_BYTES;
        drv_file_entry entry;
        memcpy(&entry, in->bytes + at, sizeof entry);
        drv_status status = drv_file_check_fields(in, "table", fields, field_count, at);
        if (status != DRV_OK) return status;
        if (i > 0 && entry.code <= before)
            return REFUSE(in, "table: code at byte %llu is %lu after %lu; codes must ascend", (unsigned long long)at,
                          (unsigned long)entry.code, (unsigned long)before);
        before = entry.code;

        /* its section, which may be of a later minor version, and the bytes */
        const drv_file_part part = part_of(in, entry.code, next);
        if (next < FILE_SECTION_COUNT && entry.code > (uint32_t)drv_file_kind_of(next).code)
            return REFUSE(in, "table: code at byte %llu is %lu; section %s, code %ld, must come before it",
                          (unsigned long long)at, (unsigned long)entry.code, drv_file_kind_of(next).name,
                          (long)drv_file_kind_of(next).code);
        if ((status = check_entry(in, &entry, at, part)) != DRV_OK) return status;
        if ((status = check_bytes(in, &entry, at, part, &end)) != DRV_OK) return status;
        if (part == FILE_SECTION_COUNT) in->file->skipped_sections++;
        else next = next_part(in, part + 1);
    }

    /* every section was there, and nothing follows the last */
    if (next < FILE_SECTION_COUNT)
        return REFUSE(in, "table at byte %d: it has no section %s, code %ld", DRV_FILE_HEADER_BYTES,
                      drv_file_kind_of(next).name, (long)drv_file_kind_of(next).code);
    if (end != in->byte_count)
        return REFUSE(in, "the last section ends at byte %llu; the file has %llu", (unsigned long long)end,
                      (unsigned long long)in->byte_count);
    shape_absent_sections(in);
    return DRV_OK;
}
