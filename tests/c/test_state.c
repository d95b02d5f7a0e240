/* Is the block of state cut into parts that do not overlap? */
#include "step/state.h"

#include <stdlib.h>

#include "check.h"

enum { FIELD_CAPACITY = 128 };

static int64_t bytes_of(const drv_state_field *field) { return (int64_t)field->count * (field->type[1] - '0'); }

TEST(the_arrays_of_a_world_follow_one_another_inside_its_block) {
    const drv_sizes all[] = {{1, 16, 1, 1, 0, 4, 13, 1, 1, 1}, {3, 32, 1, 4, 1, 4, 13, 3, 3, 3},
                             {65, 80, 2, 7, 0, 5, 14, 65, 65, 65}, {200, 1008, 16, 100, 5, 6, 17, 200, 200, 200}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const int64_t world_bytes = (int64_t)drv_state_world_bytes(all[i]);
        CHECK(world_bytes % 64 == 0, "%lld bytes a world", (long long)world_bytes);
        drv_state_field field;
        int64_t end = 0;
        int32_t count = 0;
        for (; drv_state_describe(all[i], count, &field); count++) {
            CHECK((int64_t)field.offset >= end, "%s begins at %lld, before %lld", field.name, (long long)field.offset,
                  (long long)end);
            CHECK(field.offset % 32 == 0 && (int64_t)field.world_stride == world_bytes, "%s", field.name);
            const int no_records = all[i].record_capacity == 0 && strncmp(field.name, "record", 6) == 0;
            CHECK(field.count > 0 || no_records, "%s: %d", field.name, field.count);
            CHECK(field.name[0] && field.phases[0], "%s", field.name);
            end = (int64_t)field.offset + bytes_of(&field);
        }
        CHECK(end <= world_bytes && world_bytes < end + 128, "they end at %lld of %lld", (long long)end,
              (long long)world_bytes);
        CHECK(count > 40 && count < FIELD_CAPACITY, "%d arrays", count);
    }
}

TEST(the_pointers_of_a_world_agree_with_its_described_fields) {
    const drv_sizes sizes = {3, 32, 1, 4, 2, 4, 13, 3, 3, 3};
    uint8_t *block = calloc(1, (size_t)drv_state_world_bytes(sizes));
    drv_world world = {.sizes = sizes};
    drv_state_attach(&world, block);
    /* The last byte of each array may be written: the sanitizer detects writes beyond the block. */
    world.trials[sizes.agents * sizes.max_trials - 1] = 1;
    world.average[sizes.agents * sizes.max_trials * sizes.metrics - 1] = 1.0f;
    drv_state_field field;
    for (int32_t i = 0; drv_state_describe(sizes, i, &field); i++) {
        const void *found = NULL;
#define X(type, letter, member, count, unit, phase) \
        if (strcmp(field.name, #member) == 0) found = world.member;
        DRV_STATE(X)
#undef X
        CHECK(found == block + field.offset, "%s", field.name);
    }
    free(block);
}
