/* Which call may reach which worlds? One call at a time per world: a second one returns an error instead of corrupting
 * the state. */
#include "batch/batch.h"
#include "platform/error.h"

static void fail_closed(char *message) { drv_fail(message, DRV_ERROR_CALL, "this batch is closed; make a new one"); }

/* Writes why a call could not acquire its worlds, from the ownership word that it found, or that the batch has been
 * closed meanwhile. */
static void fail_owned(const drv_part *part, uint64_t found, char *message) {
    const uint64_t rivals = found & drv_ownership_conflicts(&part->batch->ownership, part->number);
    int32_t in_flight = 0;
    if (atomic_load(&part->batch->closing))
        fail_closed(message);
    else if (!rivals)
        drv_fail(message, DRV_ERROR_CALL, "wait was called before step_async; call step_async first");
    else if (drv_ownership_call_bits(rivals))
        drv_fail(message, DRV_ERROR_CALL, "this batch is being used by another thread; one call at a time");
    else if (rivals & drv_ownership_flight_bit(part->number))
        drv_fail(message, DRV_ERROR_CALL, "a step is in flight; call wait first");
    else if (rivals & drv_ownership_flight_bit(DRV_OWNERSHIP_WHOLE))
        drv_fail(message, DRV_ERROR_CALL, "a step of the whole batch is in flight; call its wait first");
    else {
        while (!(rivals & drv_ownership_flight_bit(1 + in_flight))) in_flight++;
        drv_fail(message, DRV_ERROR_CALL, "a step of part %d is in flight; call its wait first", in_flight);
    }
}

/* Returns the part of that index; NULL and an error message where no call may enter it. */
static drv_part *part_of(drv_batch *batch, int32_t index, char *message) {
    if (!batch || atomic_load(&batch->closing))
        fail_closed(message);
    else if (batch->torn)
        drv_fail(message, DRV_ERROR_CALL,
                 "this process was forked in the middle of a call or a step of this batch, so this copy is half "
                 "written; make a new one, or fork between calls");
    else if (index < DRV_WHOLE_BATCH || index >= batch->ownership.part_count)
        drv_fail(message, DRV_ERROR_CALL, "part is %d; it must be %d to %d", index, DRV_WHOLE_BATCH,
                 batch->ownership.part_count - 1);
    else
        return &batch->parts[1 + index];
    return NULL;
}

drv_part *drv_batch_enter(drv_batch *batch, int32_t index, char *message) {
    drv_part *part = part_of(batch, index, message);
    if (!part) return NULL;
    uint64_t found;
    if (!drv_ownership_acquire(&batch->ownership, part->number, &found)) {
        fail_owned(part, found, message);
        return NULL;
    }
    part->callers_fp_env = drv_fp_env_begin();
    if (!batch->closed) return part;
    drv_batch_leave(part); /* closed after part_of checked it */
    fail_closed(message);
    return NULL;
}

void drv_batch_leave(drv_part *part) {
    drv_fp_env_end(part->callers_fp_env);
    drv_ownership_release(&part->batch->ownership, part->number);
}

void drv_batch_leave_in_flight(drv_part *part) {
    drv_fp_env_end(part->callers_fp_env);
    drv_ownership_to_flight(&part->batch->ownership, part->number);
}

drv_part *drv_batch_enter_flight(drv_batch *batch, int32_t index, char *message) {
    drv_part *part = part_of(batch, index, message);
    if (!part) return NULL;
    uint64_t found;
    if (!drv_ownership_from_flight(&batch->ownership, part->number, &found)) {
        fail_owned(part, found, message);
        return NULL;
    }
    part->callers_fp_env = drv_fp_env_begin();
    return part;
}
