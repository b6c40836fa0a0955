/*
 * base/printable — names out of traces and runs, which may be any bytes, as text for a terminal or for JSON;
 * and the places in sources that they belong to.
 *
 * A name with an escape sequence in it could otherwise change what a terminal shows, or what it does.
 */
#ifndef GNOMON_BASE_PRINTABLE_H
#define GNOMON_BASE_PRINTABLE_H

#include <stddef.h>

/* In place: control characters (C0, DEL, C1, line and paragraph separators, changes of writing direction)
 * become '?', so does each byte that is no UTF-8; a character that was cut off at the end goes. Returns text.
 */
char *gn_printable(char *text);

/* The same of a copy in text[size], cut to fit. Returns text; size ≥ 1. */
char *gn_printable_copy(char *text, size_t size, const char *raw);

/* What stands behind the last slash; NULL: "". */
const char *gn_base_name(const char *path);

/* "app.c:85", without its folders; "app.c" where line is 0 or less, "" without a file. Printable. Returns
 * text.
 */
char *gn_place_text(char *text, size_t size, const char *file, long line);

#endif
