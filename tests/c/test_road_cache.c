/* Does the road cache return the lists that were stored, and none beyond its capacity? Also with several threads. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "view/road_cache.h"
#include "check.h"

enum { COLUMNS = 6, ROWS = 4, CELLS = 4 * COLUMNS * ROWS, ITEMS = 20 };

/* Only the grid of a scene is read. */
static drv_scene *empty_scene(void) {
    drv_scene *scene = calloc(1, sizeof *scene);
    scene->grid = (drv_grid){-3.0f, 7.0f, 5.0f, COLUMNS, ROWS};
    return scene;
}

/* A list determined by its cell, as real ones are. */
static void make_list(drv_road_list *list, int64_t cell) {
    list->count = (int32_t)(cell % ITEMS);
    list->reaches_beyond = cell % 3 == 0;
    list->kth_distance_m = (float)cell;
    for (int32_t i = 0; i < list->count; i++) list->item[i] = (int32_t)(cell * 100) + i;
}

static void check_list(const drv_road_list *found, int64_t cell) {
    drv_road_list *wanted = malloc((size_t)drv_road_list_bytes(ITEMS));
    make_list(wanted, cell);
    CHECK(found->count == wanted->count && found->reaches_beyond == wanted->reaches_beyond, "cell %lld",
          (long long)cell);
    CHECK(found->kth_distance_m == wanted->kth_distance_m, "cell %lld", (long long)cell);
    CHECK(memcmp(found->item, wanted->item, (size_t)wanted->count * sizeof *wanted->item) == 0, "cell %lld",
          (long long)cell);
    free(wanted);
}

static uint64_t units(int64_t cell) {
    const uint64_t bytes = sizeof(drv_road_list) + (uint64_t)(cell % ITEMS) * sizeof(int32_t);
    return (bytes + DRV_ROAD_LIST_UNIT - 1) / DRV_ROAD_LIST_UNIT;
}

TEST(sub_cells_are_half_as_wide_and_every_scene_has_its_own) {
    drv_scene *scenes[2] = {empty_scene(), empty_scene()};
    const drv_grid grid = drv_road_cache_grid(scenes[0]);
    CHECK(grid.left_m == -3.0f && grid.bottom_m == 7.0f && grid.cell_m == 2.5f, "%g", (double)grid.cell_m);
    CHECK(grid.columns == 2 * COLUMNS && grid.rows == 2 * ROWS, "%d, %d", grid.columns, grid.rows);
    drv_arena *arena = drv_arena_create();
    drv_road_cache *cache = drv_road_cache_create(scenes, 2, ITEMS, 1 << 20, arena);
    CHECK(cache->first_sub_cell[0] == 0 && cache->first_sub_cell[1] == CELLS, "%lld",
          (long long)cache->first_sub_cell[1]);
    drv_arena_free(arena);
    free(scenes[0]);
    free(scenes[1]);
}

TEST(lists_are_found_up_to_the_capacity_and_none_beyond) {
    drv_scene *scene = empty_scene();
    drv_road_list *list = malloc((size_t)drv_road_list_bytes(ITEMS));
    for (uint64_t capacity = 0; capacity <= 40; capacity++) {
        drv_arena *arena = drv_arena_create();
        drv_road_cache *cache = drv_road_cache_create(&scene, 1, ITEMS, capacity * DRV_ROAD_LIST_UNIT, arena);
        uint64_t used = 0;
        for (int64_t cell = 0; cell < CELLS; cell++) {
            make_list(list, cell);
            drv_road_cache_store(cache, cell, list);
            used += units(cell);
            const drv_road_list *found = drv_road_cache_find(cache, cell);
            CHECK((found != NULL) == (used <= cache->units), "cell %lld with capacity %llu", (long long)cell,
                  (unsigned long long)capacity);
            if (found) check_list(found, cell);
        }
        drv_arena_free(arena);
    }
    free(list);
    free(scene);
}

TEST(the_first_list_stays_and_null_stays_too) {
    drv_scene *scene = empty_scene();
    drv_arena *arena = drv_arena_create();
    drv_road_cache *cache = drv_road_cache_create(&scene, 1, ITEMS, 1 << 20, arena);
    drv_road_list *list = malloc((size_t)drv_road_list_bytes(ITEMS));
    make_list(list, 5);
    drv_road_cache_store(cache, 5, list);
    make_list(list, 6);
    drv_road_cache_store(cache, 5, list);
    check_list(drv_road_cache_find(cache, 5), 5);
    drv_road_cache_store(cache, 7, NULL);
    drv_road_cache_store(cache, 7, list);
    CHECK(drv_road_cache_find(cache, 7) == NULL, "a list is found after NULL was stored");
    CHECK(!drv_road_cache_count_visit(cache, 7, 1) && !drv_road_cache_count_visit(cache, 5, 1),
          "a list is computed that the cache holds");
    free(list);
    drv_arena_free(arena);
    free(scene);
}

TEST(visits_count_up_to_the_one_that_makes_a_list) {
    drv_scene *scene = empty_scene();
    drv_arena *arena = drv_arena_create();
    drv_road_cache *cache = drv_road_cache_create(&scene, 1, ITEMS, 1 << 20, arena);
    for (int32_t visit = 1; visit < 8; visit++) CHECK(!drv_road_cache_count_visit(cache, 3, 8), "visit %d", visit);
    CHECK(drv_road_cache_count_visit(cache, 3, 8) && drv_road_cache_count_visit(cache, 3, 8),
          "true for every later visit until a list is stored");
    CHECK(drv_road_cache_count_visit(cache, 4, 1), "the first");
    CHECK(drv_road_cache_find(cache, 3) == NULL, "a count is no list");
    drv_arena_free(arena);
    free(scene);
}

static void *store_all(void *context) {
    drv_road_cache *cache = context;
    drv_road_list *list = malloc((size_t)drv_road_list_bytes(ITEMS));
    for (int32_t round = 0; round < 20; round++)
        for (int64_t cell = 0; cell < CELLS; cell++) {
            const drv_road_list *found = drv_road_cache_find(cache, cell);
            if (found) check_list(found, cell);
            else if (drv_road_cache_count_visit(cache, cell, 3)) {
                make_list(list, cell);
                drv_road_cache_store(cache, cell, list);
            }
        }
    free(list);
    return NULL;
}

TEST(threads_find_whole_lists_or_none) {
    drv_scene *scene = empty_scene();
    uint64_t wanted = 0;
    for (int64_t cell = 0; cell < CELLS; cell++) wanted += units(cell);
    for (uint64_t capacity = 8; capacity <= 1024; capacity *= 4) {
        drv_arena *arena = drv_arena_create();
        drv_road_cache *cache = drv_road_cache_create(&scene, 1, ITEMS, capacity * DRV_ROAD_LIST_UNIT, arena);
        pthread_t threads[4];
        for (int32_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, store_all, cache);
        for (int32_t i = 0; i < 4; i++) pthread_join(threads[i], NULL);
        int32_t kept = 0;
        for (int64_t cell = 0; cell < CELLS; cell++) kept += drv_road_cache_find(cache, cell) != NULL;
        CHECK(kept > 0 && (kept == CELLS) == (capacity >= wanted), "%d with capacity %llu of %llu", kept,
              (unsigned long long)capacity, (unsigned long long)wanted);
        drv_arena_free(arena);
    }
    free(scene);
}
