#include "profile/profile.h"

#include "profile/schema.h"
#include "profile/statement.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int execute(sqlite3 *db, struct gn_error *err, const char *text)
{
    if (sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    return gn_fail(err, gn_sql_errno(db), "writing the profile failed: %s", sqlite3_errmsg(db));
}

int gn_profile_create(sqlite3 **db, const char *path, struct gn_error *err)
{
    if (sqlite3_open_v2(path, db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK) {
        int code = gn_fail(err, -ENOENT, "cannot create the profile %s: %s", path, sqlite3_errmsg(*db));
        sqlite3_close(*db);
        return code;
    }
    char pragmas[128];
    snprintf(pragmas, sizeof pragmas, "PRAGMA application_id=%d; PRAGMA user_version=%d;",
             GN_PROFILE_APPLICATION_ID, GN_PROFILE_VERSION);
    int code = execute(*db, err, pragmas);
    if (code == 0)
        code = execute(*db, err, gn_profile_schema);
    if (code != 0)
        sqlite3_close(*db);
    return code;
}

static int check_identity(sqlite3 *db, const char *path, struct gn_error *err)
{
    /* the first read is what finds out whether this is a database at all */
    sqlite3_int64 identity = gn_sql_value(db, -1, "PRAGMA application_id", "");
    if (identity != GN_PROFILE_APPLICATION_ID)
        return gn_fail(
            err, -EINVAL,
            "%s is not a gnomon profile (%s); expected the profile.db that `gnomon run` leaves in its folder",
            path, identity < 0 ? sqlite3_errmsg(db) : "another program's database");
    sqlite3_int64 version = gn_sql_value(db, -1, "PRAGMA user_version", "");
    if (version > GN_PROFILE_VERSION)
        return gn_fail(
            err, -EINVAL,
            "%s was written by a newer gnomon (format %lld, this one reads up to %d); read it with that one",
            path, (long long)version, GN_PROFILE_VERSION);
    if (version < 1 || gn_sql_value(db, -1, "SELECT count(*) FROM process", "") < 0)
        return gn_fail(err, -EINVAL, "%s is damaged: %s", path, sqlite3_errmsg(db));
    return 0;
}

int gn_profile_open(sqlite3 **db, const char *path, struct gn_error *err)
{
    if (access(path, R_OK) != 0)
        return gn_fail(err, -errno, "cannot read the profile %s: %s", path, strerror(errno));
    int code = 0;
    if (sqlite3_open_v2(path, db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        code = gn_fail(err, -EINVAL, "cannot open the profile %s: %s", path, sqlite3_errmsg(*db));
    if (code == 0)
        code = check_identity(*db, path, err);
    if (code != 0) {
        gn_profile_close(*db);
        *db = NULL;
    }
    return code;
}

void gn_profile_close(sqlite3 *db)
{
    gn_sql_forget(db);
    sqlite3_close_v2(db);
}

int gn_profile_set(sqlite3 *db, const char *key, const char *value, struct gn_error *err)
{
    return gn_sql(db, err, "INSERT OR REPLACE INTO run VALUES(?, ?)", "ss", key, value);
}

size_t gn_profile_get(sqlite3 *db, const char *key, char *value, size_t size)
{
    value[0] = '\0';
    sqlite3_stmt *query = gn_sql_query(db, NULL, "SELECT value FROM run WHERE key = ?", "s", key);
    if (query && sqlite3_step(query) == SQLITE_ROW && sqlite3_column_text(query, 0))
        snprintf(value, size, "%s", (const char *)sqlite3_column_text(query, 0));
    sqlite3_finalize(query);
    return strlen(value);
}

static int write_all(int file, const unsigned char *bytes, sqlite3_int64 count)
{
    while (count > 0) {
        size_t piece = count < 1 << 30 ? (size_t)count : 1 << 30;
        ssize_t written = write(file, bytes, piece);
        if (written < 0 && errno != EINTR)
            return -errno;
        if (written > 0) {
            bytes += written;
            count -= written;
        }
    }
    return 0;
}

/* A full disk may tell only when the data have to be there (NFS, quotas), some only when the file is closed.
 */
static int write_file(const char *path, const unsigned char *bytes, sqlite3_int64 count)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        return -errno;
    int code = write_all(file, bytes, count);
    if (code == 0 && fdatasync(file) != 0 &&
        errno != EINVAL) /* EINVAL: this kind of file cannot be synchronized */
        code = -errno;
    if (close(file) != 0 && code == 0)
        code = -errno;
    return code;
}

/* In one piece, where SQLite's own copying writes a journal, too, and waits for the disk five times. */
int gn_profile_save(sqlite3 *db, const char *path, struct gn_error *err)
{
    char temporary[4500];
    sqlite3_int64 count = 0;
    unsigned char *bytes = sqlite3_serialize(db, "main", &count, 0);
    if (!bytes)
        return gn_fail(err, -ENOMEM, "no memory for a copy of the profile %s", path);
    snprintf(temporary, sizeof temporary, "%s.%d.tmp", path, (int)getpid());
    int code = write_file(temporary, bytes, count);
    sqlite3_free(bytes);
    if (code == 0 && rename(temporary, path) != 0)
        code = -errno;
    if (code != 0) {
        unlink(temporary);
        return gn_fail(err, code, "cannot write %s: %s", path, strerror(-code));
    }
    return 0;
}
