/* Is this a valid scene file?
 *
 * Every byte is checked: header, table and each section by a checksum, the offsets of the sections by their sizes, and
 * the padding between them, which is zero. Then every number is checked against its range and the rule of its section.
 * This file checks the header, file_table.c the table, file_fields.c the ranges of both, file_values.c the numbers of
 * the sections. */
#include <stdbool.h>
#include <string.h>

#include "platform/fp_env.h"
#include "scene/file_reader.h"

static bool host_is_little_endian(void) {
    const uint16_t one = 1;
    uint8_t first = 0;
    memcpy(&first, &one, 1);
    return first == 1;
}

/* Size, magic, version and checksums, before any other number is read. */
static drv_status check_integrity(drv_file_reader *in) {
    /* what the header's fields depend on */
    if (!host_is_little_endian())
        return REFUSE(in, "the file is little-endian and this machine is not; it must be read on one that is");
    if (in->byte_count < DRV_FILE_HEADER_BYTES)
        return REFUSE(in, "header at byte 0: it has %d bytes; the file has %llu", DRV_FILE_HEADER_BYTES,
                      (unsigned long long)in->byte_count);
    if (memcmp(in->bytes, drv_file_magic(), DRV_FILE_MAGIC_BYTES) != 0)
        return REFUSE(in, "header: magic at byte 0 begins with %02x %02x %02x %02x; it must be 89 44 52 56 0d 0a 1a 0a",
                      in->bytes[0], in->bytes[1], in->bytes[2], in->bytes[3]);

    /* version, and sizes that the checksums cover */
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
        return REFUSE(in, "header: section_count at byte %d is %lu; behind the header there are bytes for %llu entries",
                      (int)offsetof(drv_file_header, section_count), (unsigned long)header->section_count,
                      (unsigned long long)((in->byte_count - DRV_FILE_HEADER_BYTES) / DRV_FILE_ENTRY_BYTES));

    /* checksums */
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

static drv_status check_header(drv_file_reader *in) {
    drv_file_field fields[DRV_FILE_HEADER_BYTES];
    const int32_t count = drv_file_header_fields(fields, DRV_FILE_HEADER_BYTES);
    const drv_status status = drv_file_check_fields(in, "header", fields, count, 0);
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

/* Not inlined, so that the compiler moves no computation out of the core's floating-point environment. */
__attribute__((noinline)) static drv_status read_file(const uint8_t *bytes, uint64_t byte_count, drv_file *out,
                                                      char *message) {
    drv_file_reader in = {.bytes = bytes, .byte_count = byte_count, .file = out, .message = message};
    *out = (drv_file){0};
    if ((uintptr_t)bytes % 8 != 0)
        return drv_fail(message, DRV_ERROR_CALL,
                        "the file begins %d bytes after a multiple of 8 in memory; it must begin at one",
                        (int)((uintptr_t)bytes % 8));
    drv_checksum_prepare(&in.checksum);
    drv_status status = check_integrity(&in);
    if (status == DRV_OK) status = check_header(&in);
    if (status == DRV_OK) status = drv_file_check_table(&in);
    if (status == DRV_OK) status = drv_file_check_values(&in);
    if (status != DRV_OK) *out = (drv_file){0};
    return status;
}

drv_status drv_file_read(const uint8_t *bytes, uint64_t byte_count, drv_file *out, char *message) {
    const drv_fp_env saved = drv_fp_env_begin();
    const drv_status status = read_file(bytes, byte_count, out, message);
    drv_fp_env_end(saved);
    return status;
}
