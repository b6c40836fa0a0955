# lib.sh — what every end-to-end test begins with: `. "$(dirname "$0")/lib.sh"`.
#
# ctest says where things are: BUILD, SOURCE and FLAVOUR (openmpi, mpich), MPIRUN and MPICC of the flavour, PYTHON. Each
# test has a temporary directory of its own as working directory, removed at the end, and ends with 0 (passed),
# 77 (skipped) or anything else. A fact that does not hold is told by `fail`, which shows the run's output.
#
#     run_bare NAME PROGRAM...      as a user would without gnomon
#     run_gnomon NAME PROGRAM...    measured
#
# Both leave NAME.out, NAME.err and the exit status in $status. n is the number of ranks.

set -eu
: "${BUILD:?}" "${SOURCE:?}" "${FLAVOUR:=openmpi}" "${MPIRUN:=mpirun.$FLAVOUR}" "${MPICC:=mpicc.$FLAVOUR}"
: "${PYTHON:=python3}"
gnomon=$BUILD/bin/gnomon
examples=$BUILD/examples
here=$(cd "$(dirname "$0")" && pwd)
most=240 # seconds that a command may take: a sign that it hangs, on a busy machine, too
n=2 # MPICH spins while it waits: more ranks than cores take for ever
. "$SOURCE/scripts/mpi_env.sh"
# Ranks that wait let others run: who they wait for, where other programs have the cores, too.
export LC_ALL=C.UTF-8
export COLUMNS=1000 # of what is no terminal: sentences stay on one line
export OMPI_MCA_mpi_yield_when_idle=1
[ "$FLAVOUR" != mpich ] || export LD_PRELOAD=$BUILD/tests/libyielding.so # MPICH has nothing of the kind that works
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" # gnomon becomes the program, and leaves its memory to it

work=$(mktemp -d "${TMPDIR:-/tmp}/gnomon-test.XXXXXX")
mkdir "$work/cwd" "$work/tmp"
export TMPDIR=$work/tmp
cd "$work/cwd"
# What is still mounted below is somebody else's files: then nothing is removed.
trap 'code=$?; cd /; umount "$work/cwd" 2>/dev/null || :; grep -qF " $work/" /proc/self/mounts || rm -rf "$work" || :
    exit $code' EXIT

fail() {
    echo "FAILED: $*"
    for file in "$work"/*.err; do
        [ -s "$file" ] && { echo "---- ${file##*/}"; tail -40 "$file"; }
    done
    exit 1
}

skip() {
    echo "skipped: $*"
    exit 77
}

python3() {
    command "$PYTHON" "$@"
}

# Whether a program of the examples was built (languages may be missing).
have() {
    [ -x "$examples/$1.$FLAVOUR" ]
}

# Arguments with which an example says as much to a tool and computes little.
brief() {
    case $1 in
    heat) echo --nx 200 --ny 200 ;;
    pool) echo --steps 50000 ;;
    ring_f77 | halo_usempi | stencil_f08) echo --iterations 20 ;;
    esac
}

# run NAME WORD...: output to files in $work, exit status in $status.
run() {
    local name=$1
    shift
    status=0
    : >"$work/$name.err"
    timeout -k 5 "$most" "$@" >"$work/$name.out" 2>>"$work/$name.err" </dev/null || status=$?
    [ $status != 124 ] || fail "$name: took more than $most s: $*"
}

run_bare() {
    local name=$1
    shift
    run "$name" "$MPIRUN" -n "$n" "$@"
}

run_gnomon() {
    local name=$1
    shift
    run "$name" "$MPIRUN" -n "$n" "$gnomon" run "$@"
}

# Waits until the agent has written its report into NAME.err.
wait_for_report() {
    local name=$1
    for _ in $(seq 200); do
        grep -q -e '^next: ' -e 'could not be saved' -e 'no MPI was seen' -e 'nothing was measured' \
            "$work/$name.err" && return 0
        sleep 0.1
    done
    fail "$name: no report within 20 s"
}

# within_20_s COMMAND...: waits until it succeeds.
within_20_s() {
    for _ in $(seq 400); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.05
    done
    fail "not within 20 s: $*"
}

# is_dead PID: one that nobody has waited for yet is, too.
is_dead() {
    ! grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$1/status"
}

# The run folder that the report of NAME speaks of.
folder_of() {
    sed -n 's/^next: gnomon report \(.*\) --by .*/\1/p' "$work/$1.err" | tail -1
}

# report NAME OPTION...: the report of NAME's run.
report() {
    local name=$1
    shift
    "$gnomon" report "$(folder_of "$name")" "$@"
}

# json NAME EXPRESSION [OPTION...]: a Python expression over the JSON report r, evaluated; printed unless it is a
# truth value, which becomes the exit status.
json() {
    local name=$1 expression=$2
    shift 2
    report "$name" --format json "$@" >"$work/report.json"
    python3 - "$work/report.json" "$expression" <<'EOF'
import json, sys
r = json.load(open(sys.argv[1]))
value = eval("(" + sys.argv[2] + "\n)", {"r": r, "rows": r.get("activities"), "pairs": r.get("pairs"), "troubles": r.get("troubles")})
if isinstance(value, bool):
    sys.exit(0 if value else 1)
print(value)
EOF
}

# sql NAME QUERY: one value of the run's profile.
sql() {
    python3 -c 'import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]): print(*row)' "$(folder_of "$1")/profile.db" "$2"
}

# compile OUTPUT SOURCE OPTION...: a fixture of this folder, as a user would build it.
compile() {
    local output=$1 source=$2
    shift 2
    "$MPICC" -O2 -g -o "$output" "$here/$source" "$@" 2>"$work/compile.err" || fail "cannot compile $source"
}

# The line of a source that carries a mark.
line_of() {
    grep -n "$2" "$1" | head -1 | cut -d: -f1
}

# A mount namespace of the test's own, or skipped.
need_mounts() {
    [ -z "${IN_NAMESPACE-}" ] || return 0
    unshare -m --propagation private sh -c 'mount -t tmpfs none /mnt' 2>/dev/null || skip "may not mount"
    cd /
    rm -rf "$work"
    trap - EXIT
    TMPDIR='' IN_NAMESPACE=1 exec unshare -m --propagation private bash "$0" "$@"
}
