#include "cli/name_list.h"

#include "base/grow.h"
#include "cli/trace_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    enum gn_name_kind kind;
    char *name;
};
struct list {
    struct entry *entries;
    size_t count, capacity;
    bool is_cut; /* no memory for all */
};

static void add(void *self, enum gn_name_kind kind, const char *name)
{
    struct list *l = self;
    char *copy = strdup(name);
    if (!copy || !gn_grow(&l->entries, &l->capacity, l->count, sizeof *l->entries)) {
        free(copy);
        l->is_cut = true;
        return;
    }
    l->entries[l->count++] = (struct entry){kind, copy};
}

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind) : strcmp(x->name, y->name);
}

/* Calls of one place on several paths have one name. */
static void keep_one_each(struct list *l)
{
    size_t kept = 0;
    if (l->count)
        qsort(l->entries, l->count, sizeof *l->entries, by_name);
    for (size_t i = 0; i < l->count; i++) {
        if (kept && by_name(&l->entries[kept - 1], &l->entries[i]) == 0)
            free(l->entries[i].name);
        else
            l->entries[kept++] = l->entries[i];
    }
    l->count = kept;
}

static void fill(const void *self, size_t i, struct gn_cell *cells)
{
    static const char *const kinds[] = {[GN_NAME_REGION] = "region",
                                        [GN_NAME_CALL] = "call",
                                        [GN_NAME_COMPUTATION] = "computation",
                                        [GN_NAME_FUNCTION] = "function"};
    const struct list *l = self;
    gn_cell_text(&cells[0], kinds[l->entries[i].kind]);
    gn_cell_text(&cells[1], l->entries[i].name);
}

static struct gn_table table_of(const struct list *l)
{
    static const struct gn_column columns[] = {
        {.title = "what", .name = "kind"},
        {.title = "name", .name = "name", .least = 40, .is_middle = true},
    };
    return (struct gn_table){.columns = columns,
                             .column_count = sizeof columns / sizeof *columns,
                             .row_count = l->count,
                             .fill = fill,
                             .self = l,
                             .indent = 2};
}

static int print(const struct list *l, const char *trace, enum gn_format format, struct gn_error *err)
{
    const struct gn_table table = table_of(l);
    if (format == GN_FORMAT_CSV)
        return gn_print_csv(&table, err);
    if (format == GN_FORMAT_JSON)
        return gn_print_json(
            json_pack("{s:i, s:s, s:o?}", "version", 1, "trace", trace, "names", gn_table_json(&table)), err);
    for (size_t i = 0; i < l->count; i++) { /* to be copied: none is shortened */
        struct gn_cell cells[2] = {{0}};
        fill(l, i, cells);
        printf("%-12s %s\n", cells[0].text, cells[1].text);
    }
    return gn_print_end(err);
}

int gn_name_list_print(const struct gn_cli_history *opened, enum gn_format format, struct gn_error *err)
{
    struct list list = {NULL, 0, 0, false};
    int code = gn_trace_names_each(&opened->history, opened->path, add, &list, err);
    if (code == 0 && list.is_cut)
        code = gn_fail(err, -ENOMEM, "no memory for the trace's names");
    keep_one_each(&list);
    if (code == 0)
        code = print(&list, opened->path, format, err);
    for (size_t i = 0; i < list.count; i++)
        free(list.entries[i].name);
    free(list.entries);
    return code;
}
