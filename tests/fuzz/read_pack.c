/* Which status does the reader return for each of many files?
 *
 * For tests that damage files in Python and read them under the sanitizers. On stdin, of each file its length
 * (uint32, little-endian) and its bytes; on stdout one line a file, the status and the sentence. */
#include "play_file.h"

static uint32_t length_of(const uint8_t *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

int main(void) {
    uint8_t head[4];
    char message[DRV_MESSAGE_BYTES];
    while (fread(head, 1, sizeof head, stdin) == sizeof head) {
        const uint32_t length = length_of(head);
        uint8_t *bytes = play_array(length, 1);
        if (fread(bytes, 1, length, stdin) != length) return 2;
        printf("%d %s\n", play_file(bytes, length, message), message);
        free(bytes);
    }
    return 0;
}
