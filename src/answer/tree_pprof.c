/*
 * The call tree as pprof has profiles: strings by their index, a location and a function for each node of the
 * tree (what is the same function at two places has one name twice), and a sample for each row, its frames
 * innermost first.
 */
#include "answer/report_table.h"
#include "answer/tree_export.h"
#include "pprof.pb-c.h"
#include "profile/summary_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 4000 };
/* Of the table of strings; those of node i are two from NODES + 2 i on: its name, its file. */
enum { EMPTY, TIME, NANOSECONDS, ALL_RANKS, NODES };

struct writing {
    const struct gn_call_tree *tree;
    Perftools__Profiles__Profile profile;
    Perftools__Profiles__ValueType type;
    struct node {
        Perftools__Profiles__Location location;
        Perftools__Profiles__Line line, *lines[1];
        Perftools__Profiles__Function function;
        Perftools__Profiles__Sample sample;
        uint64_t *frames; /* of the sample */
        int64_t value;
    } * nodes;
};

static size_t depth_of(const struct gn_call_tree *t, uint32_t node)
{
    size_t depth = 0;
    for (; node; node = t->nodes[node].parent)
        depth++;
    return depth;
}

static bool make_room(struct writing *w)
{
    const size_t count = w->tree->count;
    Perftools__Profiles__Profile *p = &w->profile;
    w->nodes = calloc(count, sizeof *w->nodes);
    p->string_table = calloc(NODES + 2 * count, sizeof *p->string_table);
    p->sample = calloc(count, sizeof(Perftools__Profiles__Sample *));
    p->location = calloc(count, sizeof(Perftools__Profiles__Location *));
    p->function = calloc(count, sizeof(Perftools__Profiles__Function *));
    p->sample_type = calloc(1, sizeof(Perftools__Profiles__ValueType *));
    p->comment = calloc(1, sizeof *p->comment);
    return w->nodes && p->string_table && p->sample && p->location && p->function && p->sample_type &&
           p->comment;
}

static void clear(struct writing *w)
{
    Perftools__Profiles__Profile *p = &w->profile;
    for (size_t i = 0; p->string_table && i < p->n_string_table; i++)
        free(p->string_table[i]);
    for (size_t i = 0; w->nodes && i < w->tree->count; i++)
        free(w->nodes[i].frames);
    free(w->nodes);
    free(p->string_table);
    free(p->sample);
    free(p->location);
    free(p->function);
    free(p->sample_type);
    free(p->comment);
}

static bool add_text(Perftools__Profiles__Profile *p, const char *text)
{
    return (p->string_table[p->n_string_table++] = strdup(text)) != NULL;
}

static void add_function(struct writing *w, uint32_t i)
{
    Perftools__Profiles__Profile *p = &w->profile;
    struct node *node = &w->nodes[i];
    const struct gn_activity_row *row = w->tree->nodes[i].row;
    node->function = (Perftools__Profiles__Function)PERFTOOLS__PROFILES__FUNCTION__INIT;
    node->function.has_id = node->function.has_name = node->function.has_filename = true;
    node->function.id = i;
    node->function.name = NODES + 2 * (int64_t)i;
    node->function.filename = node->function.name + 1;
    node->line = (Perftools__Profiles__Line)PERFTOOLS__PROFILES__LINE__INIT;
    node->line.has_function_id = true;
    node->line.function_id = i;
    node->line.has_line = row && row->line > 0;
    node->line.line = row ? row->line : 0;
    node->lines[0] = &node->line;
    node->location = (Perftools__Profiles__Location)PERFTOOLS__PROFILES__LOCATION__INIT;
    node->location.has_id = true;
    node->location.id = i;
    node->location.n_line = 1;
    node->location.line = node->lines;
    p->function[p->n_function++] = &node->function;
    p->location[p->n_location++] = &node->location;
}

static bool add_sample(struct writing *w, uint32_t i)
{
    struct node *node = &w->nodes[i];
    const size_t depth = depth_of(w->tree, i);
    if (!w->tree->nodes[i].row || w->tree->nodes[i].total_ns <= 0)
        return true;
    node->frames = calloc(depth + 1, sizeof *node->frames);
    if (!node->frames)
        return false;
    node->value = w->tree->nodes[i].total_ns;
    node->sample = (Perftools__Profiles__Sample)PERFTOOLS__PROFILES__SAMPLE__INIT;
    for (uint32_t at = i; at; at = w->tree->nodes[at].parent)
        node->frames[node->sample.n_location_id++] = at;
    node->sample.location_id = node->frames;
    node->sample.n_value = 1;
    node->sample.value = &node->value;
    w->profile.sample[w->profile.n_sample++] = &node->sample;
    return true;
}

static bool fill(struct writing *w, const struct gn_summary *s)
{
    Perftools__Profiles__Profile *p = &w->profile;
    char name[NAME_BYTES];
    if (!add_text(p, "") || !add_text(p, "time") || !add_text(p, "nanoseconds") ||
        !add_text(p, "gnomon: time of all ranks and threads"))
        return false;
    w->type = (Perftools__Profiles__ValueType)PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
    w->type.has_type = w->type.has_unit = true;
    w->type.type = TIME;
    w->type.unit = NANOSECONDS;
    p->sample_type[p->n_sample_type++] = &w->type;
    p->comment[p->n_comment++] = ALL_RANKS;
    p->has_duration_nanos = true;
    p->duration_nanos = (int64_t)(s->measured_s * 1e9);
    for (uint32_t i = 0; i < w->tree->count; i++) {
        const struct gn_activity_row *row = w->tree->nodes[i].row;
        gn_tree_frame_name(&w->tree->nodes[i], name, sizeof name);
        if (!add_text(p, name) || !add_text(p, row && row->file ? row->file : ""))
            return false;
        if (i == 0) /* all of it is no frame, and 0 is no id */
            continue;
        add_function(w, i);
        if (!add_sample(w, i))
            return false;
    }
    return true;
}

int gn_tree_pprof(const struct gn_summary *s, FILE *out)
{
    struct writing w = {.tree = s->tree, .profile = PERFTOOLS__PROFILES__PROFILE__INIT};
    int code = make_room(&w) && fill(&w, s) ? 0 : -ENOMEM;
    const size_t bytes = code == 0 ? perftools__profiles__profile__get_packed_size(&w.profile) : 0;
    uint8_t *packed = code == 0 ? malloc(bytes + 1) : NULL;
    if (packed) { /* what cannot be written the caller sees in out */
        perftools__profiles__profile__pack(&w.profile, packed);
        fwrite(packed, 1, bytes, out);
    }
    free(packed);
    clear(&w);
    return code == 0 && !packed ? -ENOMEM : code;
}
