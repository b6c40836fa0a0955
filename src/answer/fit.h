/*
 * answer/fit — text that fits into so many columns: names are shortened, sentences folded.
 *
 * A column is a character of UTF-8 here; escape sequences for colours take none. Characters that a terminal
 * shows in two columns (of Chinese, say) count as one.
 */
#ifndef GNOMON_ANSWER_FIT_H
#define GNOMON_ANSWER_FIT_H

#include "answer/terminal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

int gn_columns_of(const char *text);

/* In so many columns, at least one: "…" (one column: "~" where there is no UTF-8) stands for what is left
 * out, at the end or in the middle. */
void gn_print_short(const char *text, int columns, bool is_middle, const struct gn_terminal *terminal,
                    FILE *out);

/* The same into text[size]. Returns text. */
char *gn_short_copy(char *text, size_t size, const char *raw, int columns,
                    const struct gn_terminal *terminal);

/* A line that is to be copied, or has been fitted already, begins with this: gn_fold leaves it as it is. */
#define GN_AS_IT_IS "\037"

/* All lines of text, those that are longer broken at spaces and continued two columns further in. A word that
 * is longer than a line (a path) stays whole. */
void gn_fold(const char *text, int width, FILE *out);

/* Pieces of text, each of at most so many columns, broken at spaces: the begin of the next piece, NULL after
 * the last one. *bytes: of this one. */
const char *gn_fold_piece(const char *text, int columns, size_t *bytes);

/* Text that begins at column `at`, from 0: it goes on there on lines of its own. terminal: words that are too
 * long are shortened; NULL: they stick out. */
void gn_print_folded(const char *text, int at, int width, const struct gn_terminal *terminal, FILE *out);

/*
 * What is printed to page.out comes out folded, and in the letters that the terminal has, when the page is
 * closed; as it is and at once where there is no memory.
 */
struct gn_page {
    FILE *out;  /* to print to */
    FILE *real; /* where it goes; NULL: out is that */
    char *text;
    size_t size;
    const struct gn_terminal *terminal;
};

void gn_page_open(struct gn_page *page, const struct gn_terminal *terminal, FILE *out);
void gn_page_close(struct gn_page *page);

#endif
