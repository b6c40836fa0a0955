/*
 * cli/doctor — what measuring needs of a machine, one check each: a row of the table in doctor_checks.c.
 *
 * A check tries what gnomon will do, rather than look at versions or settings that suggest that it will work.
 * Each runs in a process of its own, for a limited time: a kernel that answers a forbidden call by a signal,
 * a library that does not come back from being loaded, are findings like others.
 */
#ifndef GNOMON_CLI_DOCTOR_H
#define GNOMON_CLI_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

/* What a check found. In memory that the check's process shares with its parent: no pointers. */
struct gn_finding {
    bool fine;
    char detail[512];  /* what was found */
    char lost[256];    /* instead of the row's, where it depends on what was found */
    char mend[256];    /* likewise */
    char facts[16384]; /* detail in numbers, a JSON object; empty: there are none */
};

enum gn_need {
    GN_USEFUL,     /* measuring goes on without it */
    GN_NEEDED,     /* and does not */
    GN_ONE_OF_MPIS /* one of all rows with this is needed */
};

struct gn_check {
    const char *what;
    enum gn_need need;
    void (*test)(struct gn_finding *finding);
    const char *lost; /* without it */
    const char *mend; /* a command, or whom to ask for what */
};

/* All of them, in the order of the output. */
extern const struct gn_check gn_doctor_checks[];
extern const size_t gn_doctor_check_count;

/* Says what was found. */
void gn_found(struct gn_finding *finding, bool fine, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * What a command prints first on standard output: its first line into `line`, as much of the rest as fits
 * into `text` when that is not NULL. It has 10 seconds, and nothing to read. False: it cannot be run, was not
 * in time, or has printed nothing.
 */
bool gn_first_line(char *const *words, char *line, size_t line_size, char *text, size_t text_size);

/* Checks of the kernel, and of what an administrator allows: doctor_kernel.c */
void gn_doctor_memory(struct gn_finding *f);
void gn_doctor_watching(struct gn_finding *f);
void gn_doctor_sockets(struct gn_finding *f);
void gn_doctor_proc(struct gn_finding *f);
void gn_doctor_own_memory(struct gn_finding *f);
void gn_doctor_events(struct gn_finding *f);
void gn_doctor_network(struct gn_finding *f);
void gn_doctor_shm(struct gn_finding *f);
/* of limits: doctor_limits.c */
void gn_doctor_space(struct gn_finding *f);
void gn_doctor_files(struct gn_finding *f);
void gn_doctor_core_files(struct gn_finding *f);
/* of clocks: doctor_clock.c */
void gn_doctor_counter(struct gn_finding *f);
void gn_doctor_cores(struct gn_finding *f);
/* of files: doctor_files.c */
extern const char *gn_doctor_asked; /* the program that is asked about; NULL: none */
void gn_doctor_program(struct gn_finding *f);
void gn_doctor_capture(struct gn_finding *f);
void gn_doctor_place(struct gn_finding *f);
void gn_doctor_folder(struct gn_finding *f);
void gn_doctor_debug(struct gn_finding *f);
/* of MPIs and launchers: doctor_mpi.c */
void gn_doctor_openmpi(struct gn_finding *f);
void gn_doctor_mpich(struct gn_finding *f);
void gn_doctor_openmpi_calls(struct gn_finding *f);
void gn_doctor_mpich_calls(struct gn_finding *f);
void gn_doctor_slurm(struct gn_finding *f);
void gn_doctor_together(struct gn_finding *f);

#endif
