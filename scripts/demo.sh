#!/bin/sh
# Measures the heat example with 4 ranks, one of which has more to do than the others, and shows the report.
#
#   scripts/demo.sh BUILD         uses Open MPI or MPICH, whichever is found first
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/release}
. scripts/mpi_env.sh

for flavour in openmpi mpich; do
    if [ -x "$build/examples/heat.$flavour" ] && command -v "mpirun.$flavour" >/dev/null; then
        break
    fi
    flavour=
done
if [ -z "${flavour:-}" ]; then
    echo "demo: no MPI to run with: neither mpirun.openmpi nor mpirun.mpich (make setup)" >&2
    exit 1
fi

gnomon=$PWD/$build/bin/gnomon
program=$PWD/$build/examples/heat.$flavour
mkdir -p build/demo
cd build/demo
rm -rf "gnomon-heat.$flavour"-*

echo "\$ mpirun.$flavour -n 4 gnomon run heat.$flavour --imbalance"
"mpirun.$flavour" -n 4 "$gnomon" run "$program" --imbalance

run=$(echo "gnomon-heat.$flavour"-*)
if [ ! -f "$run/profile.db" ]; then
    echo "demo: the run left no profile in build/demo" >&2
    exit 1
fi
printf '\nThe run is kept in build/demo/%s. To look further:\n' "$run"
echo "  $build/bin/gnomon report build/demo/$run --by callpath"
