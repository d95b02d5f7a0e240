/* Do two calls ever own the same world? Every acquired mask is compared with a count per world. */
#include "batch/ownership.h"

#include "check.h"
#include "rng.h"

enum { PARTS = 5, TRIES = 20000, FREE = 0, IN_CALL = 1, IN_FLIGHT = 2 };

/* The mask of each part, 0 for the whole batch, and the owners of each world; world i belongs to part 1 + i. */
typedef struct ledger {
    int32_t state[1 + PARTS];
    int32_t holders[PARTS];
} ledger;

static void hold(ledger *book, int32_t number, int32_t change) {
    for (int32_t world = 0; world < PARTS; world++)
        if (number == 0 || number == 1 + world) book->holders[world] += change;
}

static int is_free(const ledger *book, int32_t number) {
    for (int32_t world = 0; world < PARTS; world++)
        if ((number == 0 || number == 1 + world) && book->holders[world] > 0) return 0;
    return 1;
}

TEST(a_world_has_one_owner_at_a_time) {
    drv_ownership ownership = {.part_count = PARTS};
    ledger book = {0};
    test_rng rng = {81};
    atomic_init(&ownership.taken, 0);
    int32_t taken = 0, refused = 0, taken_up = 0;
    for (int32_t i = 0; i < TRIES; i++) {
        const int32_t number = rng_below(&rng, 1 + PARTS);
        const int32_t state = book.state[number];
        uint64_t found;
        if (state == IN_CALL) {
            book.state[number] = rng_below(&rng, 2) ? FREE : IN_FLIGHT;
            if (book.state[number] == FREE) hold(&book, number, -1);
            if (book.state[number] == FREE) drv_ownership_release(&ownership, number);
            else drv_ownership_to_flight(&ownership, number);
            continue;
        }
        const int wanted = is_free(&book, number);
        CHECK(drv_ownership_acquire(&ownership, number, &found) == wanted, "part %d in state %d", number, state);
        if (wanted) hold(&book, number, 1);
        if (wanted) book.state[number] = IN_CALL;
        taken += wanted;
        refused += !wanted;
        if (wanted) continue;
        CHECK(drv_ownership_from_flight(&ownership, number, &found) == (state == IN_FLIGHT),
              "part %d in state %d", number, state);
        if (state == IN_FLIGHT) book.state[number] = IN_CALL;
        taken_up += state == IN_FLIGHT;
    }
    CHECK(taken > 1000 && refused > 1000 && taken_up > 1000, "%d taken, %d refused, %d taken up", taken, refused,
          taken_up);
}

TEST(a_failed_acquire_returns_the_bits_that_conflict) {
    drv_ownership ownership = {.part_count = PARTS};
    uint64_t found;
    atomic_init(&ownership.taken, 0);
    drv_ownership_acquire(&ownership, 2, &found);
    drv_ownership_to_flight(&ownership, 2);
    drv_ownership_acquire(&ownership, 4, &found);
    CHECK(!drv_ownership_acquire(&ownership, DRV_OWNERSHIP_WHOLE, &found), "the whole was taken");
    CHECK(found == (drv_ownership_flight_bit(2) | drv_ownership_call_bit(4)), "%llx", (unsigned long long)found);
    CHECK(!drv_ownership_from_flight(&ownership, 4, &found), "a call was taken up");
    CHECK(drv_ownership_acquire(&ownership, 5, &found), "%llx", (unsigned long long)found);
}
