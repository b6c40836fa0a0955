/* cli/doctor_try — a check of `gnomon doctor` in a process of its own. */
#ifndef GNOMON_CLI_DOCTOR_TRY_H
#define GNOMON_CLI_DOCTOR_TRY_H

#include "cli/doctor.h"

/* Whatever becomes of it, there is a finding. Negative errno: no memory for one. */
int gn_doctor_try(const struct gn_check *check, struct gn_finding *finding);

#endif
