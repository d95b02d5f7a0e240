/* How does a call report an error? */
#include "platform/error.h"

#include <stdarg.h>
#include <stdio.h>

drv_status drv_fail(char *message, drv_status status, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(message, DRV_MESSAGE_BYTES, format, values);
    va_end(values);
    return status;
}
