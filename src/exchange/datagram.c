/* exchange/datagram — what agents of a run say to each other. */
#include "exchange/datagram.h"

#include <endian.h>
#include <sodium.h>
#include <string.h>

enum {
    KIND = 4,
    FROM = 8,
    TO = 12,
    SESSION = 16,
    NUMBER = 24,
    HEARD = 32,
    ANSWERED = 40,
    MOMENT = 48,
    TAG = 56
};

_Static_assert(TAG + GN_DATAGRAM_TAG_BYTES == GN_DATAGRAM_BYTES, "the tag is last");

static const uint8_t magic[4] = {'G', 'n', 'X', '2'};

static void put32(uint8_t *at, uint32_t value)
{
    value = htole32(value);
    memcpy(at, &value, sizeof value);
}

static void put64(uint8_t *at, uint64_t value)
{
    value = htole64(value);
    memcpy(at, &value, sizeof value);
}

static uint32_t get32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return le32toh(value);
}

static uint64_t get64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return le64toh(value);
}

static void make_tag(uint8_t tag[GN_DATAGRAM_TAG_BYTES], const uint8_t *bytes, const uint8_t *key)
{
    crypto_generichash(tag, GN_DATAGRAM_TAG_BYTES, bytes, TAG, key, GN_DATAGRAM_KEY_BYTES);
}

void gn_datagram_seal(uint8_t bytes[GN_DATAGRAM_BYTES], const struct gn_datagram *d,
                      const uint8_t key[GN_DATAGRAM_KEY_BYTES])
{
    memcpy(bytes, magic, sizeof magic);
    memset(bytes + KIND, 0, FROM - KIND);
    bytes[KIND] = (uint8_t)d->kind;
    put32(bytes + FROM, d->from);
    put32(bytes + TO, d->to);
    put64(bytes + SESSION, d->session);
    put64(bytes + NUMBER, d->number);
    put64(bytes + HEARD, d->heard_ticks);
    put64(bytes + ANSWERED, d->answered_ticks);
    put64(bytes + MOMENT, d->moment_ns);
    make_tag(bytes + TAG, bytes, key);
}

static bool plausible(const uint8_t *bytes, size_t size)
{
    static const uint8_t zero[FROM - KIND - 1];
    return size == GN_DATAGRAM_BYTES && memcmp(bytes, magic, sizeof magic) == 0 &&
           bytes[KIND] >= GN_QUESTION && bytes[KIND] <= GN_FAREWELL &&
           memcmp(bytes + KIND + 1, zero, sizeof zero) == 0;
}

bool gn_datagram_open(struct gn_datagram *d, const uint8_t *bytes, size_t size,
                      const uint8_t key[GN_DATAGRAM_KEY_BYTES])
{
    uint8_t tag[GN_DATAGRAM_TAG_BYTES];
    if (!plausible(bytes, size))
        return false;
    make_tag(tag, bytes, key);
    if (sodium_memcmp(tag, bytes + TAG, sizeof tag) != 0)
        return false;
    *d = (struct gn_datagram){.kind = bytes[KIND],
                              .from = get32(bytes + FROM),
                              .to = get32(bytes + TO),
                              .session = get64(bytes + SESSION),
                              .number = get64(bytes + NUMBER),
                              .heard_ticks = get64(bytes + HEARD),
                              .answered_ticks = get64(bytes + ANSWERED),
                              .moment_ns = get64(bytes + MOMENT)};
    return true;
}

bool gn_number_is_new(struct gn_numbers *numbers, uint64_t number)
{
    if (number > numbers->highest) {
        uint64_t ahead = number - numbers->highest;
        numbers->seen = (ahead < 64 ? numbers->seen << ahead : 0) | 1;
        numbers->highest = number;
        return true;
    }
    uint64_t behind = numbers->highest - number;
    if (number == 0 || behind >= 64 || numbers->seen >> behind & 1)
        return false;
    numbers->seen |= (uint64_t)1 << behind;
    return true;
}
