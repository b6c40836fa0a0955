/* cli/live_answer — what the hosts of a run that goes on measure, as text and as JSON. */
#ifndef GNOMON_CLI_LIVE_ANSWER_H
#define GNOMON_CLI_LIVE_ANSWER_H

#include "agent/running_hosts.h"

#include <jansson.h>
#include <stdio.h>

void gn_live_text(const struct gn_running_hosts *hosts, const char *run, FILE *out);
/* A new reference; NULL: no memory. Its fields: docs/report-format.md. */
json_t *gn_live_json(const struct gn_running_hosts *hosts, const char *run);

#endif
