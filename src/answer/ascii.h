/* answer/ascii — text for terminals that have no UTF-8: the signs that answers use have forms of plain
 * letters, what else there is becomes '?'. */
#ifndef GNOMON_ANSWER_ASCII_H
#define GNOMON_ANSWER_ASCII_H

/* In place: no form is longer than its sign. Returns text. */
char *gn_ascii(char *text);

#endif
