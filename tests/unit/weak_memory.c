#include "weak_memory.h"

#include "base/mix.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum { LOG = 64, PENDING = 8, SEEN = 1 << 23 };

struct view {
    uint8_t at[WM_PLACES];
};

struct value {
    uint64_t value;
    struct view view;
};

struct thread {
    struct view now, acquired,
        released; /* acquired: with the next acquire fence; released: at the last release fence */
    uint8_t ended, steps_left;
    uint8_t log_count, pending_count;
    struct {
        uint8_t place;
        uint64_t value;
    } pending[PENDING]; /* loads that gave what is still to come */
    uint64_t log[LOG];  /* what its accesses gave in this step */
    char self[WM_SELF]; /* at the step's beginning */
};

struct state {
    uint8_t counts[WM_PLACES];
    struct value values[WM_PLACES][WM_VALUES];
    struct thread threads[WM_THREADS];
};

enum action_kind { END_OF_STEP, END_OF_THREAD, LOAD, STORE, FENCE, AWAIT, JOIN, WRONG };

struct action {
    enum action_kind kind;
    memory_order order;
    uint32_t place;
    uint64_t value;
};

static const volatile void *places[WM_PLACES];
static uint32_t place_count;
static const struct wm_thread *codes;
static const struct wm_options *options;
static struct wm_result result;
static uint64_t *seen;

/* The thread that is being run, up to its next action. */
static struct state *running;
static uint32_t me, log_next;
static struct action next;
static jmp_buf out;

void wm_reset(void)
{
    place_count = 0;
}

void wm_place(const volatile void *place)
{
    places[place_count++] = place;
}

/* WM_PLACES: not in the model. */
static uint32_t find(const volatile void *place)
{
    for (uint32_t i = 0; i < place_count; i++)
        if (places[i] == place)
            return i;
    return WM_PLACES;
}

/* ---- inside of the code ---- */

/* What the action gave, if it has been taken before; else the code is left. */
static uint64_t act(struct action action)
{
    const struct thread *thread = &running->threads[me];
    if (log_next < thread->log_count)
        return thread->log[log_next++];
    next = action;
    longjmp(out, 1);
}

static bool is_dropped(enum wm_order of_thread_0)
{
    return options->dropped & (uint32_t)of_thread_0 << me;
}

uint64_t wm_load(const volatile void *place, size_t bytes, memory_order order)
{
    uint32_t at = find(place);
    if (at == WM_PLACES) {
        uint64_t value = 0;
        memcpy(&value, (const void *)place, bytes);
        return value;
    }
    if (is_dropped(WM_ACQUIRE_LOAD_0))
        order = memory_order_relaxed;
    return act((struct action){.kind = LOAD, .place = at, .order = order});
}

void wm_store(volatile void *place, uint64_t value, memory_order order)
{
    uint32_t at = find(place);
    if (at == WM_PLACES)
        return;
    if (is_dropped(WM_RELEASE_STORE_0))
        order = memory_order_relaxed;
    act((struct action){.kind = STORE, .place = at, .value = value, .order = order});
}

void wm_fence(memory_order order)
{
    bool dropped = is_dropped(order == memory_order_acquire ? WM_ACQUIRE_FENCE_0 : WM_RELEASE_FENCE_0);
    if (!dropped)
        act((struct action){.kind = FENCE, .order = order});
}

void wm_await(const volatile void *place, uint64_t value)
{
    act((struct action){.kind = AWAIT, .place = find(place), .value = value});
}

void wm_join(void)
{
    act((struct action){.kind = JOIN});
}

uint64_t wm_truth(const volatile void *place)
{
    uint32_t at = find(place);
    return running->values[at][running->counts[at] - 1].value;
}

void wm_wrong(const char *what)
{
    if (!result.wrong)
        result.wrong = what;
    next = (struct action){.kind = WRONG};
    longjmp(out, 1);
}

/* Runs the thread's step again up to where it has not been yet: next says what is there. */
static void run_to_next(struct state *state, uint32_t thread)
{
    running = state;
    me = thread;
    log_next = 0;
    memcpy(codes[me].self, state->threads[me].self, codes[me].bytes);
    if (setjmp(out) == 0)
        next = (struct action){.kind = codes[me].step(codes[me].self) ? END_OF_STEP : END_OF_THREAD};
}

/* ---- the model ---- */

static void join(struct view *view, const struct view *other)
{
    for (uint32_t i = 0; i < place_count; i++)
        if (other->at[i] > view->at[i])
            view->at[i] = other->at[i];
}

static bool is_pending(const struct thread *thread, uint32_t place)
{
    for (uint32_t i = 0; i < thread->pending_count; i++)
        if (thread->pending[i].place == place)
            return true;
    return false;
}

static void explore(const struct state *state);

static void go_on(struct state *state, uint32_t thread, uint64_t gave)
{
    struct thread *t = &state->threads[thread];
    if (t->log_count == LOG)
        abort();
    t->log[t->log_count++] = gave;
    explore(state);
}

static void read_value(struct thread *thread, const struct state *state, uint32_t place, uint32_t index,
                       bool acquire)
{
    const struct view *view = &state->values[place][index].view;
    if (index > thread->now.at[place])
        thread->now.at[place] = (uint8_t)index;
    join(&thread->acquired, view);
    if (acquire)
        join(&thread->now, view);
}

static void load_early(const struct state *state, uint32_t thread, const struct action *action)
{
    uint64_t values[4];
    uint32_t count = options->to_come(places[action->place], values);
    for (uint32_t i = 0; i < count && state->threads[thread].pending_count < PENDING; i++) {
        bool is_there = false;
        for (uint32_t k = 0; k < state->counts[action->place]; k++)
            is_there |= state->values[action->place][k].value == values[i];
        if (is_there)
            continue;
        struct state *child = malloc(sizeof *child);
        *child = *state;
        struct thread *t = &child->threads[thread];
        t->pending[t->pending_count].place = (uint8_t)action->place;
        t->pending[t->pending_count++].value = values[i];
        go_on(child, thread, values[i]);
        free(child);
    }
}

static bool load(const struct state *state, uint32_t thread, const struct action *action)
{
    bool acquire = action->order == memory_order_acquire;
    if (is_pending(&state->threads[thread], action->place))
        return false;
    struct state *child = malloc(sizeof *child);
    for (uint32_t i = state->threads[thread].now.at[action->place]; i < state->counts[action->place]; i++) {
        *child = *state;
        read_value(&child->threads[thread], child, action->place, i, acquire);
        go_on(child, thread, state->values[action->place][i].value);
    }
    free(child);
    if (options->early && !acquire)
        load_early(state, thread, action);
    return true;
}

/* Loads of the other thread that have given this value are good now. */
static void fulfil(struct state *state, uint32_t thread, uint32_t place)
{
    struct thread *other = &state->threads[1 - thread];
    uint32_t index = state->counts[place] - 1u, kept = 0;
    for (uint32_t i = 0; i < other->pending_count; i++)
        if (other->pending[i].place == place && other->pending[i].value == state->values[place][index].value)
            read_value(other, state, place, index, false);
        else
            other->pending[kept++] = other->pending[i];
    memset(&other->pending[kept], 0, (other->pending_count - kept) * sizeof other->pending[0]);
    other->pending_count = (uint8_t)kept;
}

static bool store(const struct state *state, uint32_t thread, const struct action *action)
{
    const struct thread *before = &state->threads[thread];
    bool release = action->order == memory_order_release;
    if (is_pending(before, action->place) || (release && before->pending_count))
        return false;
    struct state *child = malloc(sizeof *child);
    *child = *state;
    struct thread *t = &child->threads[thread];
    uint32_t index = child->counts[action->place]++;
    if (index == WM_VALUES)
        abort();
    t->now.at[action->place] = (uint8_t)index;
    struct value *value = &child->values[action->place][index];
    value->value = action->value;
    value->view = release ? t->now : t->released;
    value->view.at[action->place] = (uint8_t)index;
    fulfil(child, thread, action->place);
    go_on(child, thread, 0);
    free(child);
    return true;
}

static bool fence(const struct state *state, uint32_t thread, const struct action *action)
{
    if (action->order == memory_order_acquire && state->threads[thread].pending_count)
        return false;
    struct state *child = malloc(sizeof *child);
    *child = *state;
    struct thread *t = &child->threads[thread];
    if (action->order == memory_order_acquire)
        join(&t->now, &t->acquired);
    else
        t->released = t->now;
    go_on(child, thread, 0);
    free(child);
    return true;
}

/* A loop that goes on looking sees a newer value in the end. */
static bool await(const struct state *state, uint32_t thread, const struct action *action)
{
    const struct thread *before = &state->threads[thread];
    uint32_t place = action->place, at = before->now.at[place];
    if (state->values[place][at].value == action->value)
        at++; /* else it knows of a newer one already */
    if (at == state->counts[place] || is_pending(before, place))
        return false;
    struct state *child = malloc(sizeof *child);
    *child = *state;
    child->threads[thread].now.at[place] = (uint8_t)at;
    go_on(child, thread, 0);
    free(child);
    return true;
}

static bool join_other(const struct state *state, uint32_t thread)
{
    if (!state->threads[1 - thread].ended || state->threads[thread].pending_count)
        return false;
    struct state *child = malloc(sizeof *child);
    *child = *state;
    for (uint32_t i = 0; i < place_count; i++)
        child->threads[thread].now.at[i] = (uint8_t)(state->counts[i] - 1u);
    go_on(child, thread, 0);
    free(child);
    return true;
}

static bool end_step(const struct state *state, uint32_t thread, bool last)
{
    if (state->threads[thread].pending_count)
        return false;
    struct state *child = malloc(sizeof *child);
    *child = *state;
    struct thread *t = &child->threads[thread];
    memcpy(t->self, codes[thread].self, codes[thread].bytes);
    memset(t->log, 0, sizeof t->log);
    t->log_count = 0;
    t->ended = last;
    explore(child);
    free(child);
    return true;
}

/* All that the thread can do next. False: nothing. */
static bool take(const struct state *state, uint32_t thread)
{
    struct action action;
    run_to_next((struct state *)state, thread);
    action = next;
    switch (action.kind) {
    case LOAD:
        return load(state, thread, &action);
    case STORE:
        return store(state, thread, &action);
    case FENCE:
        return fence(state, thread, &action);
    case AWAIT:
        return await(state, thread, &action);
    case JOIN:
        return join_other(state, thread);
    case END_OF_STEP:
    case END_OF_THREAD:
        return end_step(state, thread, action.kind == END_OF_THREAD);
    default:
        return true;
    }
}

static bool is_new(const struct state *state)
{
    const uint64_t *words = (const uint64_t *)state;
    uint64_t hash = 1;
    for (size_t i = 0; i < sizeof *state / sizeof *words; i++)
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u ^ hash >> 29;
    hash = gn_mix(hash) | 1;
    for (uint64_t place = hash >> 20 & (SEEN - 1);; place = (place + 1) & (SEEN - 1)) {
        if (seen[place] == hash)
            return false;
        if (seen[place] == 0) {
            seen[place] = hash;
            return true;
        }
    }
}

static void die(const struct state *state, uint32_t thread)
{
    struct state *child = malloc(sizeof *child);
    *child = *state;
    child->threads[thread].ended = true;
    child->threads[thread].pending_count = 0;
    explore(child);
    free(child);
}

static void explore(const struct state *state)
{
    bool moved = false, waiting = false, through = true;
    if (result.wrong || result.incomplete || !is_new(state))
        return;
    if (++result.states > SEEN / 2) {
        result.incomplete = true;
        return;
    }
    for (uint32_t thread = 0; thread < WM_THREADS; thread++) {
        if (state->threads[thread].ended)
            continue;
        through = false;
        moved |= take(state, thread);
        waiting |= state->threads[thread].pending_count > 0;
        if (codes[thread].may_die && !state->threads[thread].pending_count)
            die(state, thread);
    }
    result.ends += through;
    if (!moved && !waiting && !through && !result.wrong)
        result.wrong = "both wait for ever";
}

struct wm_result wm_explore(const struct wm_thread threads[WM_THREADS], const struct wm_options *wishes)
{
    struct state *first = calloc(1, sizeof *first);
    if (!seen)
        seen = malloc(SEEN * sizeof *seen);
    memset(seen, 0, SEEN * sizeof *seen);
    codes = threads;
    options = wishes;
    result = (struct wm_result){0};
    for (uint32_t i = 0; i < place_count; i++)
        first->counts[i] = 1;
    for (uint32_t thread = 0; thread < WM_THREADS; thread++)
        memcpy(first->threads[thread].self, threads[thread].self, threads[thread].bytes);
    explore(first);
    for (uint32_t thread = 0; thread < WM_THREADS; thread++) /* as it was, for the next one */
        memcpy(threads[thread].self, first->threads[thread].self, threads[thread].bytes);
    free(first);
    return result;
}
