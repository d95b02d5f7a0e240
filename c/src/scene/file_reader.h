/* What do the checks of a scene file share? The file under check, and names of its parts for error sentences. */
#ifndef DRV_FILE_READER_H
#define DRV_FILE_READER_H

#include <stddef.h>

#include "platform/error.h"
#include "scene/checksum.h"
#include "scene/file_layout.h"

typedef struct drv_file_reader {
    const uint8_t *bytes;
    uint64_t byte_count;
    drv_file_header header;
    drv_file *file;
    drv_checksum checksum;
    char *message;
} drv_file_reader;

#define REFUSE(reader, ...) drv_fail((reader)->message, DRV_ERROR_SCENE, __VA_ARGS__)

/* Checks that each number of the header, or of an entry of the table, is within its range. `part` names it in the
 * sentence, `first` is where it begins. */
drv_status drv_file_check_fields(const drv_file_reader *in, const char *part, const drv_file_field *fields,
                                 int32_t count, uint64_t first);

/* Checks the table of sections: codes, sizes, offsets and checksums. Fills in->file->sections. */
drv_status drv_file_check_table(drv_file_reader *in);

/* Checks every number of every section but the metadata. */
drv_status drv_file_check_values(const drv_file_reader *in);

#endif
