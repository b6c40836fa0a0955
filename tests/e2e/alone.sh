#!/bin/sh
# alone.sh COMMAND...: for ranks that are each a world of one. Processes of Open MPI that are alone start a daemon each, and
# those that share a session folder get in each other's way: now and then MPI_Init fails, with or without gnomon. So each
# gets a folder of its own.
export OMPI_MCA_orte_tmpdir_base="${TMPDIR:-/tmp}/${SLURM_PROCID:-${PMI_RANK:-0}}"
mkdir -p "$OMPI_MCA_orte_tmpdir_base"
exec "$@"
