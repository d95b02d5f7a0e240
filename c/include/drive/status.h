/* How does a call report that it failed? */
#ifndef DRIVE_STATUS_H
#define DRIVE_STATUS_H

#ifndef DRV_BINDING
#include <stdint.h>
#endif

enum {
    /* Bytes of a caller's message buffer; longer sentences are truncated. */
    DRV_MESSAGE_BYTES = 512
};

/* Returned by every call that can fail. The message of an error is one sentence in the caller's buffer. */
typedef enum drv_status {
    DRV_OK = 0,
    DRV_ERROR_CONFIG = 1,
    DRV_ERROR_SCENE = 2,
    DRV_ERROR_ACTION = 3,
    DRV_ERROR_CALL = 4,
    DRV_ERROR_MEMORY = 5
} drv_status;

#endif
