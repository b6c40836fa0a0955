#include "cli/clock_trace.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_anchor(const char *name)
{
    size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".otf2") == 0;
}

bool gn_clock_trace_named(const char *path)
{
    bool anchor = false, run = false;
    DIR *folder = opendir(path);
    if (!folder)
        return is_anchor(path);
    for (struct dirent *entry; (entry = readdir(folder));) {
        anchor = anchor || is_anchor(entry->d_name);
        run = run || strcmp(entry->d_name, "profile.db") == 0 || strcmp(entry->d_name, "parts") == 0;
    }
    closedir(folder);
    return anchor && !run;
}

/* Against whom a clock is compared is only known where the reference itself answers; otherwise it takes
 * several steps, and there is no one floor. */
static bool meets_reference(const struct gn_clocks *clocks, uint32_t i)
{
    return i > 0 && gn_clocks_messages(clocks, 0, i) > 0 && gn_clocks_messages(clocks, i, 0) > 0;
}

static struct gn_clock_row row_of(const struct gn_trace_clocks *c, uint32_t i)
{
    return (struct gn_clock_row){.domain = c->names[i],
                                 .host = c->names[i],
                                 .parent = meets_reference(c->clocks, i) ? c->names[0] : NULL,
                                 .def = *gn_clocks_def(c->clocks, i),
                                 .epoch_ticks = c->first_ticks,
                                 .counter = "trace"};
}

int gn_clock_trace_read(struct gn_clock_trace *read, const char *path, const struct gn_assumption *assumption,
                        struct gn_error *err)
{
    int code = gn_trace_clocks(&read->trace, path, assumption, err);
    if (code != 0)
        return code;
    read->rows = calloc(read->trace.count + 1, sizeof *read->rows);
    for (uint32_t i = 0; read->rows && i < read->trace.count; i++)
        read->rows[i] = row_of(&read->trace, i);
    if (read->rows)
        return 0;
    gn_trace_clocks_clear(&read->trace);
    return gn_fail(err, -ENOMEM, "no memory for the clocks of %s", path);
}

void gn_clock_trace_clear(struct gn_clock_trace *read)
{
    free(read->rows);
    gn_trace_clocks_clear(&read->trace);
}
