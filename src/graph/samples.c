/* graph/samples — what a location's samples say, in the graph's own rows. */
#include "graph/process_inside.h"
#include "graph/sampled.h"

static uint32_t put_site(const struct gn_graph_adding *a, uint32_t place)
{
    const struct gn_sampled *s = a->facts->sampled;
    if (place >= s->place_count || s->places[place].module >= s->module_count)
        return GN_GRAPH_NONE;
    const struct gn_sampled_module *module = &s->modules[s->places[place].module];
    struct gn_graph_site row = {.offset = (int64_t)s->places[place].offset,
                                .line = GN_GRAPH_UNKNOWN,
                                .symbol_offset = GN_GRAPH_UNKNOWN,
                                .loop_line = GN_GRAPH_UNKNOWN};
    if (module->is_source) {
        row.module = gn_adding_source(a, module->path);
        row.resolved = 1;
        row.function = gn_graph_text(a->graph, s->places[place].name);
        row.file = gn_graph_text(a->graph, module->path);
        row.line = (int64_t)s->places[place].line;
    } else {
        row.module = gn_adding_module(a, module->path, module->build_id, module->build_id_bytes);
    }
    return gn_graph_put(a->graph, GN_GRAPH_SITE, &row);
}

/* False: the snapshot is older than that node. */
static bool put_sample(struct gn_graph_adding *a, uint32_t location, const uint32_t *activities,
                       uint32_t nodes, size_t number)
{
    const struct gn_sampled_count *c = &a->facts->sampled->counts[number];
    const bool inside = c->to == GN_SAMPLED_NONE;
    if (c->from >= nodes || (!inside && c->to >= nodes))
        return false;
    const struct gn_graph_sample row = {.location = location,
                                        .from_activity = activities[c->from],
                                        .to_activity = inside ? GN_GRAPH_NONE : activities[c->to],
                                        .site = put_site(a, c->site),
                                        .called = put_site(a, c->called),
                                        .other_threads = c->other_threads,
                                        .how = c->how,
                                        .count = (int64_t)c->count,
                                        .time_ns = (int64_t)c->time_ns,
                                        .series = gn_adding_sample_series(a, number)};
    gn_graph_put(a->graph, GN_GRAPH_SAMPLE, &row);
    return true;
}

void gn_adding_samples(struct gn_graph_adding *a, uint32_t index, uint32_t location,
                       const uint32_t *activities, uint32_t nodes)
{
    const struct gn_sampled *s = a->facts->sampled;
    for (size_t i = 0; s && i < s->count; i++)
        if (s->counts[i].location == index && !put_sample(a, location, activities, nodes, i) &&
            s->counts[i].how == GN_SAMPLED_RUNNING)
            a->unattributed += (int64_t)s->counts[i].count;
}
