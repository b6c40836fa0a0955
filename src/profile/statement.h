/*
 * profile/statement — SQLite statements with less ceremony: prepare, bind by type letters, step, fail with a
 * message.
 *
 *     gn_sql(db, err, "INSERT INTO host(name) VALUES(?)", "s", name)
 *
 * Letters: i int64_t, d double, s text (NULL allowed), b blob as (pointer, int bytes).
 */
#ifndef GNOMON_PROFILE_STATEMENT_H
#define GNOMON_PROFILE_STATEMENT_H

#include "base/error.h"

#include <sqlite3.h>
#include <stdbool.h>

/* Runs a statement to its end. 0, or a negative errno value. */
int gn_sql(sqlite3 *db, struct gn_error *err, const char *text, const char *types, ...);

/* Runs a statement and returns the first column of its first row as an integer, or fallback. */
sqlite3_int64 gn_sql_value(sqlite3 *db, sqlite3_int64 fallback, const char *text, const char *types, ...);

/* Whether a table of the opened file, not a view that hides it, has a column: older formats have fewer. */
bool gn_sql_has_column(sqlite3 *db, const char *table, const char *column);

/* Prepares a query for stepping; NULL on failure. Caller finalizes. */
sqlite3_stmt *gn_sql_query(sqlite3 *db, struct gn_error *err, const char *text, const char *types, ...);

/* Gives up the statements kept for db; ahead of closing it, and of statements that change what they refer to.
 */
void gn_sql_forget(sqlite3 *db);

/* The errno that fits the last failure of db (ENOSPC, EROFS, EIO, EINVAL), negative. */
int gn_sql_errno(sqlite3 *db);

#endif
