/* exchange/datagram — what agents say to each other, against what others say. */
#include "exchange/datagram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t key[GN_DATAGRAM_KEY_BYTES] = {7, 1, 200}, other_key[GN_DATAGRAM_KEY_BYTES] = {7, 1, 201};
static const struct gn_datagram example = {GN_READINGS, 3,    17,         0x1122334455667788,
                                           42,          1000, UINT64_MAX, 1234567890123};

static void what_is_sealed_is_opened(void **state)
{
    uint8_t bytes[GN_DATAGRAM_BYTES];
    struct gn_datagram d;
    (void)state;
    gn_datagram_seal(bytes, &example, key);
    assert_true(gn_datagram_open(&d, bytes, sizeof bytes, key));
    assert_int_equal(d.kind, example.kind);
    assert_true(d.from == example.from && d.to == example.to);
    assert_true(d.session == example.session && d.number == example.number);
    assert_true(d.heard_ticks == example.heard_ticks && d.answered_ticks == example.answered_ticks);
    assert_true(d.moment_ns == example.moment_ns);
}

/* docs/clock-exchanges.md: other programs may want to read them. */
static void layout_is_as_documented(void **state)
{
    uint8_t bytes[GN_DATAGRAM_BYTES];
    static const uint8_t begin[] = {'G', 'n', 'X', '2', 3,    0,    0,    0,    3,    0,    0,    0,
                                    17,  0,   0,   0,   0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
                                    42,  0,   0,   0,   0,    0,    0,    0,    0xe8, 0x03};
    (void)state;
    gn_datagram_seal(bytes, &example, key);
    assert_memory_equal(bytes, begin, sizeof begin);
}

static void one_bit_is_enough(void **state)
{
    uint8_t bytes[GN_DATAGRAM_BYTES];
    struct gn_datagram d;
    (void)state;
    gn_datagram_seal(bytes, &example, key);
    for (unsigned bit = 0; bit < sizeof bytes * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(gn_datagram_open(&d, bytes, sizeof bytes, key));
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void other_lengths_are_refused(void **state)
{
    uint8_t bytes[GN_DATAGRAM_BYTES + 1] = {0};
    struct gn_datagram d;
    (void)state;
    gn_datagram_seal(bytes, &example, key);
    for (size_t size = 0; size <= sizeof bytes; size++)
        assert_true(gn_datagram_open(&d, bytes, size, key) == (size == GN_DATAGRAM_BYTES));
}

static void other_keys_are_refused(void **state)
{
    uint8_t bytes[GN_DATAGRAM_BYTES];
    struct gn_datagram d;
    (void)state;
    gn_datagram_seal(bytes, &example, other_key);
    assert_false(gn_datagram_open(&d, bytes, sizeof bytes, key));
}

static void numbers_are_new_once(void **state)
{
    struct gn_numbers numbers = {0};
    (void)state;
    assert_false(gn_number_is_new(&numbers, 0));
    assert_true(gn_number_is_new(&numbers, 1));
    assert_false(gn_number_is_new(&numbers, 1));
    assert_true(gn_number_is_new(&numbers, 5));
    assert_true(gn_number_is_new(&numbers, 3));
    assert_false(gn_number_is_new(&numbers, 3));
    assert_false(gn_number_is_new(&numbers, 5));
    assert_false(gn_number_is_new(&numbers, 1));
}

static void numbers_too_old_to_know_are_not_new(void **state)
{
    struct gn_numbers numbers = {0};
    (void)state;
    assert_true(gn_number_is_new(&numbers, 100));
    assert_true(gn_number_is_new(&numbers, 37));
    assert_false(gn_number_is_new(&numbers, 36));
    assert_true(gn_number_is_new(&numbers, UINT64_MAX));
    assert_false(gn_number_is_new(&numbers, 100));
    assert_false(gn_number_is_new(&numbers, UINT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_sealed_is_opened),
        cmocka_unit_test(layout_is_as_documented),
        cmocka_unit_test(one_bit_is_enough),
        cmocka_unit_test(other_lengths_are_refused),
        cmocka_unit_test(other_keys_are_refused),
        cmocka_unit_test(numbers_are_new_once),
        cmocka_unit_test(numbers_too_old_to_know_are_not_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
