/*
 * capture/fatal — the MPI error of which the program does not come back, as the library itself learns of it.
 *
 * An error handler of ours in the place of the fatal one would be seen by the program, and would have to end
 * it in the library's stead. So nothing is replaced: the libraries raise errors through a function of their
 * own that they export (Open MPI's ompi_errhandler_invoke, MPICH's MPIR_Err_return_comm and _win), and there
 * is one of that name in front of it, which notes the error, goes on to the real one, and forgets the note if
 * that returns. What stays is the error that ended the process. A library that does not call it in this way
 * is noted nothing of: then it is known that the process ended inside of its call.
 */
#ifndef GNOMON_CAPTURE_FATAL_H
#define GNOMON_CAPTURE_FATAL_H

/* While MPI_Init may still take the loader's lock. */
void gn_fatal_open(void);

/* MPI_Abort is called with this code. */
void gn_fatal_abort(int code);

/* The exit handlers run on this thread: if it is inside of a call, that call, or a callback of it, ends the
 * process. */
void gn_fatal_exit(void);

#endif
