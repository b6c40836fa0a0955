#include "trace/event_file.h"
#include "trace/write_definitions.h"
#include "trace/writer.h"

#include <errno.h>
#include <stdlib.h>

static int recover_location(const char *folder, uint64_t file_id, struct gn_event_summary *summary,
                            struct gn_error *err)
{
    char *path = gn_event_file_path(folder, file_id);
    if (!path)
        return gn_fail(err, -ENOMEM, "no memory to recover a trace");
    int code = gn_event_file_repair(path, summary, err);
    if (code == -ENOENT || code == -ENODATA) /* killed before the first event, or nothing happened there */
        code = gn_event_file_empty(path, err);
    free(path);
    return code;
}

int gn_trace_recover(const char *folder, const struct gn_definitions *definitions, struct gn_error *err)
{
    return gn_trace_recover_mapped(folder, definitions, NULL, err);
}

int gn_trace_recover_mapped(const char *folder, const struct gn_definitions *definitions,
                            const struct gn_trace_local *const *locals, struct gn_error *err)
{
    struct gn_event_summary *summaries = calloc(definitions->location_count + 1, sizeof *summaries);
    if (!summaries)
        return gn_fail(err, -ENOMEM, "no memory to recover a trace");
    int code = 0;
    for (size_t i = 0; i < definitions->location_count && code == 0; i++)
        code = recover_location(folder, definitions->locations[i].file_id, &summaries[i], err);
    if (code == 0)
        code = gn_write_definitions(folder, definitions, summaries, locals, err);
    free(summaries);
    return code;
}
