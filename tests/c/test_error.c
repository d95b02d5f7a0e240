/* Is an error message truncated to the caller's buffer? */
#include "platform/error.h"

#include <stdlib.h>

#include "check.h"

TEST(a_message_is_truncated_to_the_buffer_and_terminated) {
    char *message = malloc(DRV_MESSAGE_BYTES), *text = malloc(10000);
    memset(text, 'a', 9999);
    text[9999] = '\0';
    CHECK(drv_fail(message, DRV_ERROR_CALL, "%s", text) == DRV_ERROR_CALL, "another status");
    CHECK(strlen(message) == DRV_MESSAGE_BYTES - 1, "%d characters", (int)strlen(message));
    CHECK(drv_fail(message, DRV_ERROR_ACTION, "agent %d is %g", 3, 0.5) == DRV_ERROR_ACTION, "another status");
    CHECK(strcmp(message, "agent 3 is 0.5") == 0, "%s", message);
    free(message);
    free(text);
}
