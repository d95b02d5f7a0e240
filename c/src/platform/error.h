/* How does a call report an error? It returns a status and writes one sentence to the caller's buffer. */
#ifndef DRV_ERROR_H
#define DRV_ERROR_H

#include "drive.h"

#if defined(__FAST_MATH__)
#error "drive-env must not be compiled with -ffast-math: results would differ between machines"
#endif

/* Writes the formatted sentence, truncated to DRV_MESSAGE_BYTES, and returns `status`. */
drv_status drv_fail(char *message, drv_status status, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

#endif
