/*
 * Functions that call each other at random, compiled several times with different options (tree.c), so that
 * call paths of every kind of frame meet in one program. A shadow stack knows the truth.
 */
#ifndef TESTS_TREE_H
#define TESTS_TREE_H

#include <stdint.h>

enum { TREE_FUNCTIONS = 6, TREE_MAX_DEPTH = 40 };

typedef void tree_function(uint32_t depth);

extern tree_function *const tree_o2[TREE_FUNCTIONS];    /* -O2 -fomit-frame-pointer */
extern tree_function *const tree_o2_fp[TREE_FUNCTIONS]; /* -O2 -fno-omit-frame-pointer */
extern tree_function *const tree_o0[TREE_FUNCTIONS];    /* -O0 */

/* The shadow stack: which function is executing, at which of its call sites. */
void tree_push(int function);
void tree_at(int site);
void tree_pop(void);

uint32_t tree_random(uint32_t below); /* decides about the tree */
uint32_t tree_noise(uint32_t below);  /* decides about the frames' sizes: the same path at other places */
tree_function *tree_any(void);        /* one of all, at random */
void tree_checked_call(uint32_t node, uint32_t path);

#endif
