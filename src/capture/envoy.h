/*
 * capture/envoy — one rank of each host carries what the hosts' agents tell each other when a run begins:
 * where each can be asked for the time, and the key that their datagrams carry. See docs/clock-meeting.md.
 *
 * Only for a job on several hosts; a job on one host sees no MPI call of this.
 */
#ifndef GNOMON_CAPTURE_ENVOY_H
#define GNOMON_CAPTURE_ENVOY_H

/*
 * After the real MPI_Init returned, in every rank: offers this one to the agent whose abstract socket name is
 * `agent` as its envoy; the agent takes the first that asks. Takes at most 2 seconds where hosts or ranks are
 * missing (6 where the run's folder cannot be written), milliseconds otherwise. Whatever fails, the run goes
 * on without a comparison of clocks, and the agent is told why.
 */
void gn_envoy_meet(const char *agent, int rank, int world);

#endif
