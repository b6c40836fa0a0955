#include "causality/arrival_spec.h"

#include "base/quantity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BUFFERED = 1 << 20, MOST_WORD = 128 };

static bool read_seed(const char *text, uint64_t *seed)
{
    char *end;
    errno = 0;
    *seed = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && errno == 0;
}

static bool read_ns(const char *text, uint64_t *ns)
{
    double value;
    if (gn_quantity(text, GN_QUANTITY_TIME_NS, &value) != 0 || value < 0)
        return false;
    *ns = value < 1e18 ? (uint64_t)(value + 0.5) : (uint64_t)1e18;
    return true;
}

/* TIME or TIME..TIME, in a text that may be changed. */
static bool read_latency(char *text, struct gn_arrival_settings *s)
{
    char *second = strstr(text, "..");
    if (second)
        *second = '\0';
    return read_ns(text, &s->latency_min_ns) && read_ns(second ? second + 2 : text, &s->latency_max_ns) &&
           s->latency_min_ns <= s->latency_max_ns;
}

/* The buffer's size, before bytes are turned into events. */
struct buffer {
    double size, record_bytes;
    bool in_bytes;
};

static bool read_buffer(char *text, struct buffer *buffer)
{
    size_t length = strlen(text);
    buffer->in_bytes = length > 0 && text[length - 1] == 'B';
    if (buffer->in_bytes)
        text[length - 1] = '\0';
    return gn_quantity(text, GN_QUANTITY_COUNT, &buffer->size) == 0 && buffer->size >= 1;
}

/* One WHAT=VALUE; what is expected instead when it is wrong, else NULL. */
static const char *read_setting(char *word, struct gn_arrival_settings *s, struct buffer *buffer)
{
    char *value = strchr(word, '=');
    if (value)
        *value++ = '\0';
    if (value && strcmp(word, "buffer") == 0)
        return read_buffer(value, buffer) ? NULL
                                          : "a number of events, or of bytes with B behind, at least 1";
    if (value && strcmp(word, "record") == 0)
        return gn_quantity(value, GN_QUANTITY_COUNT, &buffer->record_bytes) == 0 && buffer->record_bytes >= 1
                   ? NULL
                   : "a number of bytes, at least 1";
    if (value && strcmp(word, "flush") == 0)
        return read_ns(value, &s->flush_ns) ? NULL : "a time, such as 10ms,";
    if (value && strcmp(word, "latency") == 0)
        return read_latency(value, s) ? NULL : "a time or two, such as 1ms or 20us..1ms,";
    if (value && strcmp(word, "seed") == 0)
        return read_seed(value, &s->seed) ? NULL : "a number";
    return "one of buffer=, record=, flush=, latency=, seed=";
}

static int read_delayed(const char *text, struct gn_arrival_settings *s, struct gn_error *err)
{
    struct buffer buffer = {.size = 100, .record_bytes = 25, .in_bytes = true};
    *s = (struct gn_arrival_settings){.kind = GN_ARRIVAL_DELAYED, .seed = 1, .latency_max_ns = 1000000};
    while (*text) {
        char word[MOST_WORD];
        int length = (int)strcspn(text, ",");
        if (length >= MOST_WORD)
            return gn_fail(err, -EINVAL, "a part of \"%.40s…\" is too long", text);
        memcpy(word, text, (size_t)length);
        word[length] = '\0';
        const char *expected = read_setting(word, s, &buffer);
        if (expected)
            return gn_fail(err, -EINVAL, "delayed:%.*s: %s is expected", length, text, expected);
        text += length + (text[length] == ',');
    }
    double events = buffer.in_bytes ? buffer.size / buffer.record_bytes : buffer.size;
    s->buffer_events = events < 1 ? 1 : events > MOST_BUFFERED ? MOST_BUFFERED : (uint32_t)events;
    return 0;
}

int gn_arrival_parse(struct gn_arrival_settings *s, const char *text, struct gn_error *err)
{
    *s = (struct gn_arrival_settings){.kind = GN_ARRIVAL_RECORDED, .seed = 1};
    if (strcmp(text, "recorded") == 0)
        return 0;
    if (strcmp(text, "roundrobin") == 0) {
        s->kind = GN_ARRIVAL_ROUNDROBIN;
        return 0;
    }
    if (strcmp(text, "random") == 0 || (strncmp(text, "random:", 7) == 0 && read_seed(text + 7, &s->seed))) {
        s->kind = GN_ARRIVAL_RANDOM;
        return 0;
    }
    if (strcmp(text, "delayed") == 0 || strncmp(text, "delayed:", 8) == 0)
        return read_delayed(text[7] ? text + 8 : "", s, err);
    return gn_fail(err, -EINVAL, "%s: recorded, roundrobin, random:SEED or delayed:SPEC is expected", text);
}
