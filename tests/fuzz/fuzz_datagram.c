/* exchange/datagram: any bytes, as they are and under a good tag. What opens is what seals to the same bytes.
 */
#include "fuzz.h"
#include "exchange/datagram.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t key[GN_DATAGRAM_KEY_BYTES] = {42};

static void check(const uint8_t *data, size_t size)
{
    uint8_t again[GN_DATAGRAM_BYTES];
    struct gn_datagram d;
    if (!gn_datagram_open(&d, data, size, key))
        return;
    gn_datagram_seal(again, &d, key);
    if (size != sizeof again || memcmp(again, data, size) != 0)
        abort();
}

/* Mutations do not find a tag: it is given, and the first bytes half of the time. */
static void check_with_tag(const uint8_t *data, size_t size)
{
    enum { TAGGED = GN_DATAGRAM_BYTES - GN_DATAGRAM_TAG_BYTES };
    static const uint8_t begin[5] = {'G', 'n', 'X', '1', GN_ANSWER};
    uint8_t bytes[GN_DATAGRAM_BYTES] = {0};
    memcpy(bytes, data, size < TAGGED ? size : TAGGED);
    if (size % 2)
        memcpy(bytes, begin, sizeof begin);
    if (size % 4 == 1)
        memset(bytes + 5, 0, 3);
    crypto_generichash(bytes + TAGGED, GN_DATAGRAM_TAG_BYTES, bytes, TAGGED, key, sizeof key);
    check(bytes, sizeof bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check(data, size);
    check_with_tag(data, size);
    return 0;
}
