/* gnomon report — where the time went. */
#include "cli/commands.h"
#include "cli/locate.h"
#include "cli/report_options.h"
#include "cli/report_parts.h"
#include "cli/report_trace.h"
#include "answer/report_worlds.h"
#include "profile/summary_tree.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* One world of the run, or all of a run that is one: world NULL. */
struct part {
    sqlite3 *db;
    const struct gn_report_asked *a;
    const char *profile;
    const struct gn_worlds *worlds;
    const struct gn_world *world;
};

static void print(const struct part *p, const struct gn_summary *summary, const struct gn_report_options *o)
{
    if (p->a->format == GN_FORMAT_CSV) {
        if (p->world && !p->a->options.world)
            fprintf(stderr, "gnomon report: world %d of %zu; --world N shows another\n", p->world->number,
                    p->worlds->count);
        gn_report_csv(summary, o, stdout);
        return;
    }
    if (p->world)
        gn_report_worlds(p->worlds, p->world, o, stdout);
    gn_report_text(summary, o, stdout);
}

static json_t *object_of(const struct part *p, const struct gn_summary *summary,
                         const struct gn_report_options *o)
{
    json_t *object = gn_report_object(summary, o);
    if (object && p->world)
        json_object_set_new(object, "world", gn_report_world_object(p->world));
    return object;
}

/* object: NULL, or where the JSON goes instead of being printed. */
static int report_part(const struct part *p, json_t **object, struct gn_error *err)
{
    struct gn_report_options o = p->a->options;
    struct gn_summary summary;
    static struct gn_report_looked looked;
    int code = p->world ? gn_world_select(p->db, p->world->id, err) : 0;
    const struct gn_cli_run run = gn_report_run(p->a, p->db, p->profile, p->world != NULL);
    looked = (struct gn_report_looked){.findings = {.text = NULL}};
    if (code == 0)
        code = gn_cli_summarise(&looked.explained, &run, o.by, &summary, err);
    if (code != 0)
        return code;
    if (p->world)
        gn_report_narrow(&summary, p->worlds, p->world);
    if (o.path && !gn_call_tree_narrow(summary.tree, o.path)) {
        gn_report_looked_clear(&looked);
        gn_summary_clear(&summary);
        return gn_fail(
            err, -ENOENT,
            "--path %s: there is no such function or loop in the tree; gnomon report --by tree --top 0 "
            "shows all of it",
            o.path);
    }
    gn_report_look(&looked, &run, &summary, &o);
    if (object)
        *object = object_of(p, &summary, &o);
    else
        print(p, &summary, &o);
    gn_report_looked_clear(&looked);
    gn_summary_clear(&summary);
    return 0;
}

/* All worlds, each with what a run that is one has at the top. */
static int report_worlds(struct part *p, struct gn_error *err)
{
    char why[640];
    int code = 0;
    json_t *array = json_array();
    for (size_t i = 0; i < p->worlds->count && code == 0; i++) {
        json_t *object = NULL;
        p->world = &p->worlds->items[i];
        code = report_part(p, &object, err);
        json_array_append_new(array, object);
    }
    gn_report_worlds_why(p->worlds, why, sizeof why);
    json_t *root = json_pack("{s:i, s:s, s:s, s:o}", "version", 2, "by", gn_by_names[p->a->options.by], "why",
                             why, "worlds", array);
    if (code == 0)
        gn_report_print_json(root, stdout);
    else
        json_decref(root);
    return code;
}

static int report(struct part *p, struct gn_error *err)
{
    json_t *object = NULL;
    const struct gn_world *world;
    int code = gn_worlds_asked(p->worlds, p->a->options.world, &world, err);
    if (code < 0)
        return code;
    if (p->a->options.by == GN_BY_TIME)
        return gn_report_parts(p->db, p->a, world, err);
    if (world && !p->a->options.world && p->a->format == GN_FORMAT_JSON)
        return report_worlds(p, err);
    p->world = world;
    code = report_part(p, p->a->format == GN_FORMAT_JSON ? &object : NULL, err);
    if (code == 0 && p->a->format == GN_FORMAT_JSON)
        gn_report_print_json(object, stdout);
    return code;
}

int gn_command_report(int argc, char **argv)
{
    struct gn_report_asked a;
    char folder[4096], profile[4200];
    struct gn_error err;
    struct gn_worlds worlds = {.items = NULL};
    struct part part = {.a = &a, .worlds = &worlds};
    gn_report_options(&a, argc, argv);
    int code = gn_locate_open(&part.db, a.run, &a.part, folder, sizeof folder, profile, sizeof profile, &err);
    if (code == 0)
        code = gn_worlds_read(part.db, &worlds, &err);
    if (code == 0) {
        gn_report_cut_profile(folder);
        a.options.folder = strncmp(folder, "./", 2) == 0 ? folder + 2 : folder;
        part.profile = strncmp(profile, "./", 2) == 0 ? profile + 2 : profile;
        a.options.terminal = gn_terminal_of(STDOUT_FILENO);
        code = report(&part, &err);
    }
    if (code != 0)
        fprintf(stderr, "gnomon report: %s\n", err.text);
    gn_worlds_clear(&worlds);
    gn_profile_close(part.db);
    if (code != 0)
        return 2;
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "gnomon report: cannot write the report: %s\n", strerror(errno));
        return 1;
    }
    return 0;
}
