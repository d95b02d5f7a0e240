/* Which bytes crash the reader of scene files, or pass it and break a law of the core?
 *
 * libFuzzer's own changes nearly all end at a checksum. So most inputs are taken apart here, changed in one place that
 * matters, and put together again as a file whose checksums and offsets are good. */
#include "../c/rng.h"
#include "scene/checksum.h"
#include "play_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char message[DRV_MESSAGE_BYTES];
    play_file(data, size, message);
    return 0;
}

enum { PIECE_LIMIT = 44, PIECE_BYTES = 1024, FILE_BYTES = 16 * 1024 };

typedef struct piece {
    uint32_t code, element_bytes;
    size_t size;
    uint8_t bytes[PIECE_BYTES];
} piece;

/* A file taken apart. */
typedef struct pieces {
    drv_file_header header;
    int32_t count;
    piece piece[PIECE_LIMIT];
} pieces;

static int take_apart(const uint8_t *data, size_t size, pieces *out) {
    if (size < sizeof out->header) return 0;
    memcpy(&out->header, data, sizeof out->header);
    const uint64_t count = out->header.section_count;
    if (count > PIECE_LIMIT || size - sizeof out->header < count * sizeof(drv_file_entry)) return 0;
    out->count = (int32_t)count;
    for (int32_t i = 0; i < out->count; i++) {
        drv_file_entry entry;
        memcpy(&entry, data + sizeof out->header + (size_t)i * sizeof entry, sizeof entry);
        if (entry.offset > size || entry.bytes > size - entry.offset || entry.bytes > PIECE_BYTES) return 0;
        out->piece[i] = (piece){.code = entry.code, .element_bytes = entry.element_bytes, .size = (size_t)entry.bytes};
        memcpy(out->piece[i].bytes, data + entry.offset, (size_t)entry.bytes);
    }
    return 1;
}

/* Recomputes the two checksums of the header. */
static void mend_header(const drv_checksum *checksum, uint8_t *data, size_t entries) {
    const size_t table_crc_at = offsetof(drv_file_header, table_crc), crc_at = offsetof(drv_file_header, crc);
    uint32_t crc = drv_checksum_of(checksum, 0, data + sizeof(drv_file_header), entries * sizeof(drv_file_entry));
    memcpy(data + table_crc_at, &crc, sizeof crc);
    crc = drv_checksum_of(checksum, 0, data, crc_at);
    memcpy(data + crc_at, &crc, sizeof crc);
}

/* Returns the size, or 0 if it exceeds the capacity. */
static size_t put_together(pieces *in, uint8_t *data, size_t capacity) {
    uint8_t file[FILE_BYTES + PIECE_BYTES] = {0};
    drv_checksum checksum;
    drv_checksum_prepare(&checksum);
    in->header.section_count = (uint32_t)in->count;
    size_t end = sizeof in->header + (size_t)in->count * sizeof(drv_file_entry);
    for (int32_t i = 0; i < in->count; i++) {
        const piece *from = &in->piece[i];
        const size_t alignment = DRV_FILE_ALIGNMENT_BYTES, offset = (end + alignment - 1) / alignment * alignment;
        if (offset + from->size > FILE_BYTES || offset + from->size > capacity) return 0;
        memcpy(file + offset, from->bytes, from->size);
        const drv_file_entry entry = {
            .code = from->code, .element_bytes = from->element_bytes, .offset = offset, .bytes = from->size,
            .count = from->element_bytes ? from->size / from->element_bytes : 0,
            .crc = drv_checksum_of(&checksum, 0, from->bytes, from->size)};
        memcpy(file + sizeof in->header + (size_t)i * sizeof entry, &entry, sizeof entry);
        end = offset + from->size;
    }
    in->header.file_bytes = end;
    memcpy(file, &in->header, sizeof in->header);
    mend_header(&checksum, file, (size_t)in->count);
    memcpy(data, file, end);
    return end;
}

/* Recomputes the checksums and the length of a file; other faults remain. */
static void mend_checksums(uint8_t *data, size_t size) {
    drv_file_header header;
    drv_checksum checksum;
    if (size < sizeof header) return;
    drv_checksum_prepare(&checksum);
    memcpy(&header, data, sizeof header);
    header.file_bytes = size;
    memcpy(data, &header, sizeof header);
    const uint64_t entry_limit = (size - sizeof header) / sizeof(drv_file_entry);
    const uint64_t count = header.section_count < entry_limit ? header.section_count : entry_limit;
    uint8_t *table = data + sizeof header;
    for (uint64_t i = 0; i < count; i++) {
        drv_file_entry entry;
        memcpy(&entry, table + i * sizeof entry, sizeof entry);
        if (entry.offset > size || entry.bytes > size - entry.offset) continue;
        entry.crc = drv_checksum_of(&checksum, 0, data + entry.offset, entry.bytes);
        memcpy(table + i * sizeof entry, &entry, sizeof entry);
    }
    mend_header(&checksum, data, (size_t)count);
}

/* ---- one change ---- */

static const float odd_floats[] = {0.0f, -0.0f, 1e-45f, 1e-38f, 0.01f, 1.0f, 3.1415927f, -3.1415927f, 3.142f, 200.0f,
                                   -200.0f, 200.1f, 2000.0f, 49999.0f, 50000.0f, -50000.0f, 50001.0f, 3.4e38f, NAN,
                                   INFINITY, -INFINITY};
static const int32_t odd_integers[] = {0, 1, 2, 3, 4, 7, 8, 63, 64, 255, 256, 65535, 65536, -1, -2, INT32_MAX,
                                       INT32_MIN};
static const double odd_doubles[] = {0.0, -0.0, 1e-4, 0.1, 0.099999, 2.0, 2.1, -1.0, 1e300, 1e-300, 1e9, NAN, INFINITY};

#define ONE_OF(rng, list) ((list)[rng_below((rng), (int32_t)(sizeof(list) / sizeof *(list)))])

static void change_element(piece *changed, test_rng *rng) {
    if (changed->size < 4) {
        if (changed->size > 0) changed->bytes[rng_below(rng, (int32_t)changed->size)] = (uint8_t)rng_below(rng, 9);
        return;
    }
    uint8_t *at = changed->bytes + 4 * rng_below(rng, (int32_t)(changed->size / 4));
    const float number = ONE_OF(rng, odd_floats), moved = (float)rng_between(rng, -300.0, 300.0);
    const int32_t whole = ONE_OF(rng, odd_integers), near = rng_below(rng, 12);
    const int what = rng_below(rng, 5);
    if (what == 0) memcpy(at, &number, 4);
    else if (what == 1) memcpy(at, &moved, 4);
    else if (what == 2) memcpy(at, &whole, 4);
    else if (what == 3) memcpy(at, &near, 4);
    else *at = (uint8_t)rng_bits(rng);
}

static void change_header(drv_file_header *header, test_rng *rng) {
    const int what = rng_below(rng, 8);
    if (what == 0) header->dt_s = ONE_OF(rng, odd_doubles);
    else if (what == 1) header->origin_x_m = ONE_OF(rng, odd_doubles);
    else if (what == 2) header->origin_y_m = ONE_OF(rng, odd_doubles);
    else if (what == 3) header->sdc = ONE_OF(rng, odd_integers);
    else if (what == 4) header->generated = (uint32_t)rng_below(rng, 3);
    else if (what == 5) header->minor = (uint16_t)rng_below(rng, DRV_FILE_MINOR + 1);
    else {
        uint8_t *count = (uint8_t *)&header->object_count + 4 * rng_below(rng, 7);
        const int32_t whole = ONE_OF(rng, odd_integers);
        memcpy(count, &whole, sizeof whole);
    }
}

/* A valid new element of a section; 0 where 0 is valid. */
static void fill_element(uint8_t *at, drv_file_part part, int64_t i, size_t element_bytes) {
    const float size_m = 2.0f, phase_s = 3.0f;
    memset(at, 0, element_bytes);
    if (part == FILE_OBJECT_ID) memcpy(at, &i, sizeof i);
    if (part == FILE_OBJECT_KIND || part == FILE_ROAD_KIND || part == FILE_CONTROL_KIND) *at = 1;
    if (part == FILE_OBJECT_LENGTH || part == FILE_OBJECT_WIDTH || part == FILE_OBJECT_HEIGHT) memcpy(at, &size_m, 4);
    if (part == FILE_PHASE_DURATION) memcpy(at, &phase_s, 4);
}

static piece *piece_of(pieces *in, drv_file_part part) {
    for (int32_t i = 0; i < in->count; i++)
        if (in->piece[i].code == (uint32_t)drv_file_kind_of(part).code) return &in->piece[i];
    return NULL;
}

/* The counts that the sections of the file define. */
static drv_file own_counts(pieces *in) {
    const piece *kinds = piece_of(in, FILE_CONTROL_KIND), *lanes = piece_of(in, FILE_CONTROL_LANE);
    const piece *phases = piece_of(in, FILE_PHASE_STATE), *goals = piece_of(in, FILE_CANDIDATE_GOAL);
    const piece *scripts = piece_of(in, FILE_SCRIPT_OBJECT), *listed = piece_of(in, FILE_LISTED_OBJECT);
    const piece *repeating = piece_of(in, FILE_REPEATING);
    return (drv_file){.control_count = kinds ? (int32_t)kinds->size : 0,
                      .controlled_count = lanes ? (int32_t)(lanes->size / 4) : 0,
                      .phase_count = phases ? (int32_t)phases->size : 0,
                      .candidate_count = goals ? (int32_t)(goals->size / 8) : 0,
                      .script_count = scripts ? (int32_t)(scripts->size / 4) : 0,
                      .listed_count = listed ? (int32_t)(listed->size / 4) : 0,
                      .repeating_count = repeating ? (int32_t)(repeating->size / 4) : 0};
}

/* Writes starts that divide `total` elements among the controls. */
static void share_among_controls(piece *start, int64_t controls, int64_t total) {
    for (int64_t i = 0; start && i <= controls; i++) {
        const int32_t first = controls ? (int32_t)(i * total / controls) : 0;
        memcpy(start->bytes + 4 * i, &first, sizeof first);
    }
}

/* Resizes every section to its counts, and divides points, links and lanes evenly. Returns whether all of them fit. */
static int follow_counts(pieces *in) {
    /* sizes */
    const drv_file own = own_counts(in);
    for (int32_t part = 0; part < FILE_SECTION_COUNT; part++) {
        piece *found = piece_of(in, (drv_file_part)part);
        const drv_file_form form = drv_file_form_of((drv_file_part)part);
        const int64_t count =
            drv_file_extent(&in->header, &own, form.rows) * drv_file_extent(&in->header, &own, form.columns);
        const size_t element_bytes = (size_t)(drv_file_kind_of((drv_file_part)part).type[1] - '0');
        if (!found && drv_file_kind_of((drv_file_part)part).since > in->header.minor) continue;
        if (!found || count > PIECE_BYTES || (size_t)count * element_bytes > PIECE_BYTES) return 0;
        for (int64_t i = (int64_t)(found->size / element_bytes); i < count; i++)
            fill_element(found->bytes + (size_t)i * element_bytes, (drv_file_part)part, i, element_bytes);
        found->size = (size_t)count * element_bytes;
    }
    /* starts of roads, links and controls */
    const int64_t roads = in->header.road_count, points = in->header.point_count, links = in->header.link_count;
    for (int64_t i = 0; i <= roads; i++) {
        const int32_t point = roads ? (int32_t)(i * points / roads) : 0, link = i == roads ? (int32_t)links : 0;
        memcpy(piece_of(in, FILE_ROAD_START)->bytes + 4 * i, &point, sizeof point);
        memcpy(piece_of(in, FILE_LINK_START)->bytes + 4 * i, &link, sizeof link);
    }
    share_among_controls(piece_of(in, FILE_CONTROL_START), own.control_count, own.controlled_count);
    share_among_controls(piece_of(in, FILE_PHASE_START), own.control_count, own.phase_count);
    /* no bits past the last entry */
    piece *valid = piece_of(in, FILE_TRACK_VALID);
    const uint64_t bits = (uint64_t)in->header.frame_count * in->header.object_count;
    if (bits % 8) valid->bytes[valid->size - 1] &= (uint8_t)((1u << bits % 8) - 1u);
    return 1;
}

static int change_count(pieces *in, test_rng *rng) {
    drv_file_header *header = &in->header;
    uint32_t *const counts[] = {&header->object_count, &header->frame_count, &header->road_count,
                                &header->point_count, &header->link_count, &header->predicted_count,
                                &header->interest_count};
    *ONE_OF(rng, counts) = (uint32_t)rng_below(rng, 12);
    if (header->point_count < header->road_count) header->point_count = header->road_count;
    if (header->sdc >= (int32_t)header->object_count) header->sdc = -1;
    return follow_counts(in);
}

static void add_section(pieces *in, test_rng *rng) {
    if (in->count == PIECE_LIMIT) return;
    int32_t place = rng_below(rng, in->count + 1);
    memmove(&in->piece[place + 1], &in->piece[place], (size_t)(in->count - place) * sizeof *in->piece);
    const uint32_t before = place > 0 ? in->piece[place - 1].code : 0;
    in->piece[place] = (piece){.code = before + 1 + (uint32_t)rng_below(rng, 3), .element_bytes = 4,
                               .size = 4u * (size_t)rng_below(rng, 20)};
    in->count++;
    in->header.minor = 1;
}

static void drop_section(pieces *in, test_rng *rng) {
    if (in->count == 0) return;
    const int32_t place = rng_below(rng, in->count);
    memmove(&in->piece[place], &in->piece[place + 1], (size_t)(in->count - 1 - place) * sizeof *in->piece);
    in->count--;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
    test_rng rng = {(uint64_t)seed * 2654435761u + 1u}; /* never 0; a hash of Knuth's, so that near seeds differ */
    static pieces apart; /* too large for a stack that the sanitizers fill too */
    /* libFuzzer's own changes, with good checksums or without */
    const int what = rng_below(&rng, 16);
    if (what == 0) return LLVMFuzzerMutate(data, size, max_size);
    if (what == 1 || !take_apart(data, size, &apart)) {
        size = LLVMFuzzerMutate(data, size, max_size);
        mend_checksums(data, size);
        return size;
    }
    /* a change in one place of a file that is good otherwise */
    piece *one = apart.count > 0 ? &apart.piece[rng_below(&rng, apart.count)] : NULL;
    int good = 1;
    if (what == 2) change_header(&apart.header, &rng);
    else if (what == 3) add_section(&apart, &rng);
    else if (what == 4) drop_section(&apart, &rng);
    else if (what <= 7) good = change_count(&apart, &rng);
    else if (!one) good = 0;
    else if (what == 8) one->size = LLVMFuzzerMutate(one->bytes, one->size, PIECE_BYTES);
    else if (what <= 10 && one->size > 0) LLVMFuzzerMutate(one->bytes, one->size, one->size);
    else
        for (int changes = 1 + rng_below(&rng, 3); changes > 0; changes--)
            change_element(&apart.piece[rng_below(&rng, apart.count)], &rng);
    const size_t made = good ? put_together(&apart, data, max_size) : 0;
    return made ? made : size;
}
