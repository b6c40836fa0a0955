/*
 * How often a test tries something: all of it where nothing makes it slow, a share of that under the
 * sanitizers, which look at each step and not at how many there are. CMakeLists.txt says the share.
 */
#ifndef REPEATED_H
#define REPEATED_H

#ifndef TESTS_SHARE
#define TESTS_SHARE 1
#endif

#define REPEATED(times) ((times) / (TESTS_SHARE))

#endif
