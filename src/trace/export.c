#include "trace/export.h"

#include <errno.h>
#include <string.h>

static int cannot_write(struct gn_error *err)
{
    int code = errno ? errno : EIO;
    return gn_fail(err, -code, "cannot write the events: %s", strerror(code));
}

int gn_export_check(FILE *file, struct gn_error *err)
{
    return ferror(file) ? cannot_write(err) : 0;
}

int gn_export_close(FILE *file, struct gn_error *err)
{
    int code = fflush(file) == 0 ? gn_export_check(file, err) : cannot_write(err);
    if (file != stdout && fclose(file) != 0 && code == 0)
        code = cannot_write(err);
    return code;
}

void gn_export_site(const struct gn_definitions *d, uint32_t path, char *text, size_t size)
{
    const struct gn_path_def *p = path < d->path_count ? &d->paths[path] : NULL;
    text[0] = '\0';
    if (p && p->source_file)
        snprintf(text, size, p->line > 0 ? "%s:%u" : "%s", gn_string(d, p->source_file), p->line);
}
