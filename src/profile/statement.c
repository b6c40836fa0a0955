#include "profile/statement.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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
    sqlite3_stmt *statement = prepare(db, err, text, types, arguments);
    va_end(arguments);
    if (!statement)
        return gn_sql_errno(db);
    int step;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW)
        ;
    int code = step == SQLITE_DONE ? 0 : gn_sql_errno(db);
    if (code != 0)
        gn_fail(err, code, "writing the profile failed: %s", sqlite3_errmsg(db));
    sqlite3_finalize(statement);
    return code;
}

sqlite3_int64 gn_sql_value(sqlite3 *db, sqlite3_int64 fallback, const char *text, const char *types, ...)
{
    va_list arguments;
    va_start(arguments, types);
    sqlite3_stmt *statement = prepare(db, NULL, text, types, arguments);
    va_end(arguments);
    if (!statement)
        return fallback;
    if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
        fallback = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return fallback;
}
