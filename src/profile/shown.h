/* profile/shown — which place stands for a call path. */
#ifndef GNOMON_PROFILE_SHOWN_H
#define GNOMON_PROFILE_SHOWN_H

#include "image/source_line.h"

/* Behind WITH: table shown(callpath, site). The frame that stands for a call path: the innermost; when that
 * has no line, the line of Python that it was called from, if it was (an extension module's code says less).
 */
#define GN_SHOWN                                                                                             \
    "RECURSIVE up(callpath, parent, site) AS (SELECT c.id, c.parent, c.site FROM callpath c"                 \
    " JOIN site s ON s.id = c.site WHERE coalesce(s.line, 0) = 0 AND EXISTS"                                 \
    " (SELECT 1 FROM module WHERE build_id = '" GN_SOURCE_BUILD_ID "')"                                      \
    " UNION ALL SELECT up.callpath, c.parent, c.site FROM up JOIN site s ON s.id = up.site"                  \
    " JOIN module m ON m.id = s.module JOIN callpath c ON c.id = up.parent"                                  \
    " WHERE m.build_id <> '" GN_SOURCE_BUILD_ID "'),"                                                        \
    " shown AS (SELECT c.id AS callpath, coalesce(x.site, c.site) AS site FROM callpath c LEFT JOIN"         \
    " (SELECT up.callpath, up.site FROM up JOIN site s ON s.id = up.site JOIN module m ON m.id = s.module"   \
    " WHERE m.build_id = '" GN_SOURCE_BUILD_ID "') x ON x.callpath = c.id) "

#endif
