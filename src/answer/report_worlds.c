#include "answer/report_worlds.h"

#include "answer/fit.h"
#include "answer/table.h"
#include "base/printable.h"
#include "answer/terminal.h"

#include <stdarg.h>
#include <string.h>

/* By enum gn_launcher: what it is called, whose it is, and its name in a report for programs. */
static const struct {
    const char *called, *flavour, *word;
} launchers[GN_LAUNCHERS] = {[GN_LAUNCHER_NONE] = {"no launcher that is known", "", NULL},
                             [GN_LAUNCHER_OPENMPI] = {"Open MPI's mpirun", "openmpi", "openmpi"},
                             [GN_LAUNCHER_HYDRA] = {"MPICH's mpiexec", "mpich", "hydra"},
                             [GN_LAUNCHER_SLURM] = {"Slurm's srun", "", "slurm"}};

static const char *remedy(const struct gn_world *w)
{
    const bool mpich = strcmp(w->flavour, "mpich") == 0;
    if (w->launcher == GN_LAUNCHER_SLURM)
        return mpich ? "srun --mpi=pmi2, or MPICH's own mpiexec (mpirun.mpich)"
                     : "srun --mpi=pmix, or Open MPI's own mpirun (mpirun.openmpi)";
    if (strcmp(w->flavour, launchers[w->launcher].flavour) == 0)
        return "the launcher of that very library";
    return mpich ? "MPICH's mpiexec (mpirun.mpich)" : "Open MPI's mpirun (mpirun.openmpi)";
}

/* ---- what happened ---- */

/* Processes that one launcher started together, each alone in its world. */
static size_t count_alone(const struct gn_worlds *worlds, const struct gn_world *like)
{
    size_t count = 0;
    for (size_t i = 0; i < worlds->count; i++)
        count += worlds->items[i].launched_rank >= 0 && strcmp(worlds->items[i].launch, like->launch) == 0;
    return count;
}

static const struct gn_world *first_alone(const struct gn_worlds *worlds)
{
    for (size_t i = 0; i < worlds->count; i++)
        if (worlds->items[i].launched_rank >= 0)
            return &worlds->items[i];
    return NULL;
}

static size_t count_spawned(const struct gn_worlds *worlds)
{
    size_t count = 0;
    for (size_t i = 0; i < worlds->count; i++)
        count += worlds->items[i].spawned_by > 0;
    return count;
}

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

void gn_report_worlds_why(const struct gn_worlds *worlds, char *text, size_t size)
{
    const struct gn_world *alone = first_alone(worlds);
    const size_t spawned = count_spawned(worlds);
    text[0] = '\0';
    if (alone) {
        const size_t count = count_alone(worlds, alone);
        char of[40] = "";
        if (count != (size_t)alone->launched)
            snprintf(of, sizeof of, " of %d", alone->launched);
        snprintf(
            text, size,
            "%zu%s program%s ran as %zu separate world%s of 1 rank: started by %s, but linked with %s, which "
            "took nothing from it; start them with %s",
            count, of, plural((size_t)alone->launched), count, plural(count),
            launchers[alone->launcher].called, alone->library[0] ? alone->library : "another MPI library",
            remedy(alone));
    } else if (spawned > 0) {
        snprintf(text, size, "%zu worlds: %zu of them spawned by MPI_Comm_spawn", worlds->count, spawned);
    } else if (worlds->count > 1) {
        snprintf(text, size, "%zu worlds: MPI programs that were started independently of each other",
                 worlds->count);
    }
}

/* ---- for people ---- */

static void fill_world(const void *self, size_t i, struct gn_cell *cells)
{
    const struct gn_world *w = &((const struct gn_worlds *)self)->items[i];
    char spawned[40] = "", started[64] = "";
    if (w->spawned_by)
        snprintf(spawned, sizeof spawned, ", spawned by world %d", w->spawned_by);
    if (w->launched_rank >= 0)
        snprintf(started, sizeof started, ", started as number %d of %d", w->launched_rank, w->launched);
    gn_cell_number(&cells[0], w->number);
    gn_cell_print(&cells[1], "%d of %d", w->measured, w->size);
    gn_cell_real(&cells[2], w->elapsed_s * 1e9);
    gn_cell_real(&cells[3], w->mpi_share);
    gn_cell_print(&cells[4], "%s%s%s%s", w->exe[0] ? gn_base_name(w->exe) : "?", spawned, started,
                  w->complete ? "" : ", PARTIAL");
}

void gn_report_worlds(const struct gn_worlds *worlds, const struct gn_world *shown,
                      const struct gn_report_options *o, FILE *out)
{
    enum { MANY = 10 };
    static const struct gn_column columns[] = {
        {.title = "world", .kind = GN_CELL_NUMBER},     {.title = "ranks", .flags = GN_COLUMN_RIGHT},
        {.title = "elapsed", .kind = GN_CELL_DURATION}, {.title = "in MPI", .kind = GN_CELL_SHARE},
        {.title = "program", .flags = GN_COLUMN_FOLD},
    };
    char why[640];
    const size_t listed = o->top && worlds->count > MANY ? MANY : worlds->count;
    const struct gn_table table = {.columns = columns,
                                   .column_count = sizeof columns / sizeof *columns,
                                   .row_count = listed,
                                   .left_out = worlds->count - listed,
                                   .fill = fill_world,
                                   .self = worlds};
    struct gn_page page;
    gn_page_open(&page, &o->terminal, out);
    gn_report_worlds_why(worlds, why, sizeof why);
    fprintf(page.out, "%sWORLDS%s: %s.\n", gn_shade(&o->terminal, GN_BOLD), gn_shade(&o->terminal, GN_PLAIN),
            why);
    gn_table_text(&table, &o->terminal, page.out);
    fprintf(page.out, "\nworld %d of %zu%s:\n", shown->number, worlds->count,
            o->world ? "" : " (the largest, or first of them; --world N shows another)");
    gn_page_close(&page);
}

/* ---- for programs ---- */

static json_t *number_or_null(bool known, int number)
{
    return known ? json_integer(number) : json_null();
}

json_t *gn_report_world_object(const struct gn_world *w)
{
    return json_pack("{s:i, s:i, s:i, s:s?, s:o, s:o, s:o}", "number", w->number, "size", w->size, "measured",
                     w->measured, "launcher", launchers[w->launcher].word, "launched",
                     number_or_null(w->launched > 0, w->launched), "launched_rank",
                     number_or_null(w->launched_rank >= 0, w->launched_rank), "spawned_by",
                     number_or_null(w->spawned_by > 0, w->spawned_by));
}

void gn_report_narrow(struct gn_summary *s, const struct gn_worlds *worlds, const struct gn_world *w)
{
    size_t traced = 0;
    for (size_t i = 0; i < worlds->count; i++)
        traced += worlds->items[i].traced;
    s->trace.apart = traced > 1;
    if (w->exe[0])
        snprintf(s->exe, sizeof s->exe, "%s", w->exe);
    s->trace.asked = s->trace.asked && w->traced;
    s->windows.count = 0; /* nobody says of which world they are */
}
