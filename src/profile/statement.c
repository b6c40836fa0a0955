#include "profile/statement.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int gn_sql_errno(sqlite3 *db)
{
    switch (sqlite3_errcode(db)) {
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return -EROFS;
    case SQLITE_CANTOPEN:
        return -ENOENT;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_IOERR: {
        int system = sqlite3_system_errno(db);
        return system ? -system : -EIO;
    }
    default:
        return -EINVAL;
    }
}

static void bind(sqlite3_stmt *statement, const char *types, va_list arguments)
{
    for (int i = 1; *types; types++, i++) {
        if (*types == 'i') {
            sqlite3_bind_int64(statement, i, va_arg(arguments, int64_t));
        } else if (*types == 'd') {
            sqlite3_bind_double(statement, i, va_arg(arguments, double));
        } else if (*types == 's') {
            sqlite3_bind_text(statement, i, va_arg(arguments, const char *), -1, SQLITE_TRANSIENT);
        } else if (*types == 'b') {
            const void *blob = va_arg(arguments, const void *);
            sqlite3_bind_blob(statement, i, blob, va_arg(arguments, int), SQLITE_TRANSIENT);
        }
    }
}

/* Statements of gn_sql and gn_sql_value are kept prepared: a profile is thousands of the same few. Keyed by
 * the address of the text, which is a literal; another text at that address is noticed. A few places are
 * tried for each, so that no two of them take turns in throwing the other out. One thread only. */
enum { KEPT = 256, TRIES = 8 };
static struct kept {
    sqlite3 *db;
    const char *text;
    sqlite3_stmt *statement;
} kept[KEPT];

void gn_sql_forget(sqlite3 *db)
{
    for (int i = 0; i < KEPT; i++)
        if (kept[i].db == db) {
            sqlite3_finalize(kept[i].statement);
            kept[i] = (struct kept){NULL, NULL, NULL};
        }
}

static sqlite3_stmt *prepare(sqlite3 *db, struct gn_error *err, const char *text, const char *types,
                             va_list arguments)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, text, -1, &statement, NULL) != SQLITE_OK) {
        gn_fail(err, 0, "the profile does not accept a statement: %s (%.60s…)", sqlite3_errmsg(db), text);
        return NULL;
    }
    bind(statement, types, arguments);
    return statement;
}

/* The place of a statement: where it is, else a free one, else the first, whose statement is given up. */
static struct kept *find_kept(const sqlite3 *db, const char *text)
{
    const size_t home = (uintptr_t)text >> 3;
    struct kept *free_one = NULL;
    for (size_t i = 0; i < TRIES; i++) {
        struct kept *k = &kept[(home + i) % KEPT];
        if (k->db == db && k->text == text && strcmp(sqlite3_sql(k->statement), text) == 0)
            return k;
        if (!k->db && !free_one)
            free_one = k;
    }
    return free_one ? free_one : &kept[home % KEPT];
}

static sqlite3_stmt *prepare_kept(sqlite3 *db, struct gn_error *err, const char *text, const char *types,
                                  va_list arguments)
{
    struct kept *k = find_kept(db, text);
    if (k->db != db || k->text != text || strcmp(sqlite3_sql(k->statement), text) != 0) {
        sqlite3_finalize(k->statement);
        *k = (struct kept){db, text, prepare(db, err, text, "", arguments)};
        if (!k->statement) {
            *k = (struct kept){NULL, NULL, NULL};
            return NULL;
        }
    }
    bind(k->statement, types, arguments);
    return k->statement;
}

sqlite3_stmt *gn_sql_query(sqlite3 *db, struct gn_error *err, const char *text, const char *types, ...)
{
    va_list arguments;
    va_start(arguments, types);
    sqlite3_stmt *statement = prepare(db, err, text, types, arguments);
    va_end(arguments);
    return statement;
}

int gn_sql(sqlite3 *db, struct gn_error *err, const char *text, const char *types, ...)
{
    va_list arguments;
    va_start(arguments, types);
    sqlite3_stmt *statement = prepare_kept(db, err, text, types, arguments);
    va_end(arguments);
    if (!statement)
        return gn_sql_errno(db);
    int step;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW)
        ;
    int code = step == SQLITE_DONE ? 0 : gn_sql_errno(db);
    if (code != 0)
        gn_fail(err, code, "writing the profile failed: %s", sqlite3_errmsg(db));
    sqlite3_reset(statement);
    return code;
}

sqlite3_int64 gn_sql_value(sqlite3 *db, sqlite3_int64 fallback, const char *text, const char *types, ...)
{
    va_list arguments;
    va_start(arguments, types);
    sqlite3_stmt *statement = prepare_kept(db, NULL, text, types, arguments);
    va_end(arguments);
    if (!statement)
        return fallback;
    if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
        fallback = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return fallback;
}

bool gn_sql_has_column(sqlite3 *db, const char *table, const char *column)
{
    return gn_sql_value(db, 0, "SELECT count(*) FROM pragma_table_info(?, 'main') WHERE name = ?", "ss",
                        table, column) > 0;
}
