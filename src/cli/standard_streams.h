/*
 * cli/standard_streams — a program may be started with standard input, output or error closed (`>&-`). The
 * first files that it opens then get these numbers, and what it prints would go into them: into an archive,
 * where it is a message.
 */
#ifndef GNOMON_CLI_STANDARD_STREAMS_H
#define GNOMON_CLI_STANDARD_STREAMS_H

/* Gives the numbers of closed streams to something that can be neither read nor written to: printing fails,
 * as it should. Before anything is opened. */
void gn_standard_streams(void);

#endif
