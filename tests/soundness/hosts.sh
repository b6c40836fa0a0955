#!/bin/bash
# Real runs over emulated hosts: network namespaces, each with a simulated clock of its own, joined by a bridge or by a
# relay that is slower in one direction. What the run's profile says of the clocks is held against the truth.
#
#     BUILD=… SOURCE=… FLAVOUR=openmpi|mpich hosts.sh WANDER NETWORK HOSTS [COUNT [SECONDS]]
#
#     WANDER   constant, 0.1ppm, 1ppm, 5ppm, violated, step NETWORK  quiet, loaded, asymmetric
#     HOSTS    two, chain, tree                            COUNT    moments per host and way of checking
#
# Ends with 0, 1 (a bound was wrong, or the run failed) or 77 (cannot be done here).
set -eu
: "${BUILD:?}" "${SOURCE:?}" "${FLAVOUR:=openmpi}" "${MPIRUN:=mpirun.$FLAVOUR}" "${MPICC:=mpicc.$FLAVOUR}"
wander=$1 network=$2 hosts=$3 count=${4:-20000} seconds=${5:-2}
here=$SOURCE/tests/soundness
gnomon=$BUILD/bin/gnomon
tools=$BUILD/tests/soundness
. "$SOURCE/scripts/mpi_env.sh"

skip() {
    echo "skipped: $*"
    exit 77
}

[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v ip >/dev/null && unshare -n true 2>/dev/null || skip "network namespaces cannot be made here"
[ -x "$tools/check_run" ] || skip "check_run was not built"

case $hosts in two) number=2 branching=4 ;; chain) number=4 branching=1 ;; tree) number=4 branching=2 ;; *) exit 2 ;; esac
case $wander in
constant) kind=constant ppb=0 ;;
0.1ppm) kind=wanders ppb=100 ;;
1ppm | violated | step) kind=wanders ppb=1000 ;;
5ppm) kind=wanders ppb=5000 ;;
*) exit 2 ;;
esac

work=$(mktemp -d "${TMPDIR:-/tmp}/gnomon-hosts.XXXXXX")
prefix=gns$$
started=""
clean_up() {
    code=$?
    for pid in $started; do kill "$pid" 2>/dev/null || :; done
    for i in $(seq 0 $((number - 1))) net; do ip netns del "$prefix-$i" 2>/dev/null || :; done
    cd /
    rm -rf "$work" 2>/dev/null || :
    exit $code
}
trap clean_up EXIT

# ---- the network: a namespace in the middle with one end of each host's link ----

ip netns add "$prefix-net" 2>/dev/null || skip "network namespaces cannot be made here"
ends=""
for i in $(seq 0 $((number - 1))); do
    ip netns add "$prefix-$i"
    ip link add "h$i" netns "$prefix-$i" address "02:00:00:00:00:0$i" type veth peer name "e$i" netns "$prefix-net"
    ip -n "$prefix-$i" addr add "10.78.0.$((i + 1))/24" dev "h$i"
    ip -n "$prefix-$i" link set "h$i" up
    ip -n "$prefix-$i" link set lo up
    ip -n "$prefix-net" link set "e$i" up
    ends="$ends e$i"
done
if [ "$network" = asymmetric ]; then
    ip netns exec "$prefix-net" "$tools/relay" 2000 200 3 $ends &
    started="$started $!"
else
    ip -n "$prefix-net" link add bridge type bridge 2>/dev/null || skip "no bridge can be made here"
    ip -n "$prefix-net" link set bridge up
    for end in $ends; do ip -n "$prefix-net" link set "$end" master bridge; done
fi
if [ "$network" = loaded ]; then # every core is busy, and so is the network
    for _ in $(seq "$(nproc)"); do
        (while :; do :; done) &
        started="$started $!"
    done
    ip netns exec "$prefix-1" python3 -c '
import socket, time
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    for _ in range(200): out.sendto(bytes(1400), ("10.78.0.1", 9))
    time.sleep(0.002)' 2>/dev/null &
    started="$started $!"
fi

# ---- the clocks: half of the wander each, since that of two adds up ----

now=$("$tools/check_run" --now)
specs=()
for i in $(seq 0 $((number - 1))); do
    spec="origin=$now,offset=$((i * 7 + 3))s,rate=$(((i * 37 + 11) % 80 - 40))ppm"
    [ "$ppb" = 0 ] || spec="$spec,sine=$(python3 -c "print($ppb * 0.499 / 1000)")ppm/$((i + 1))s"
    [ "$wander" = violated ] && [ $i = $((number - 1)) ] && spec="$spec,ramp=10000ppm/s"
    [ "$wander" = step ] && [ $i = $((number - 1)) ] && spec="$spec,step=50ms@8s" # from now: SECONDS is more than that
    echo "$spec" >"$work/clock.host$i"
    specs+=("host$i=$spec")
    echo "10.78.0.$((i + 1)) slots=1" >>"$work/slots"
    echo "10.78.0.$((i + 1)):1" >>"$work/machines"
done

cat >"$work/rsh" <<END
#!/bin/bash
host=\$1
shift
i=\$((\${host##*.} - 1))
exec ip netns exec $prefix-\$i unshare -u bash -c "hostname host\$i; \$*"
END
cat >"$work/clocked" <<END
#!/bin/bash
export GNOMON_TEST_CLOCK=\$(cat "$work/clock.\$(hostname)")
host=\$(hostname); export UCX_NET_DEVICES=h\${host#host} # UCX would take a lo, too, which leads nowhere
exec "\$@"
END
chmod +x "$work/rsh" "$work/clocked"
"$MPICC" -O1 -o "$work/idle" "$here/idle.c"

if [ "$FLAVOUR" = openmpi ]; then
    launch="$MPIRUN --bind-to none --mca plm_rsh_agent $work/rsh --mca btl tcp,self --mca oob_tcp_if_include 10.78.0.0/24
        --mca btl_tcp_if_include 10.78.0.0/24 --hostfile $work/slots -n $number"
else
    launch="$MPIRUN -launcher rsh -launcher-exec $work/rsh -f $work/machines -n $number"
    export UCX_TLS=tcp,self
fi
measured="$work/clocked $gnomon run --clock-interval=100 --clock-branching=$branching $work/idle"

# Hydra's ranks do not always get out of MPI_Finalize between network namespaces, with or without gnomon: again, then.
for attempt in 1 2 3 4 5; do
    status=0
    mkdir "$work/$attempt" # agents of an attempt before may still be at work
    cd "$work/$attempt"
    timeout -k 5 $((seconds + 20)) ip netns exec "$prefix-0" unshare -u bash -c \
        "hostname host0; $(echo $launch) $measured $seconds" >out 2>err </dev/null || status=$?
    [ $status = 0 ] && break
    echo "attempt $attempt: exit status $status"
done
if [ $status != 0 ]; then
    tail -20 err
    [ "$FLAVOUR" = mpich ] && skip "Hydra does not get through network namespaces here"
    exit 1
fi
for _ in $(seq 100); do
    profile=$(ls gnomon-*/profile.db 2>/dev/null | head -1) || :
    [ -n "$profile" ] && [ ! -d "$(dirname "$profile")/parts" ] && break
    sleep 0.1
done
[ -n "$profile" ] || { echo "no profile"; tail -20 err; exit 1; }
echo "$wander/$network/$hosts/$FLAVOUR"
"$tools/check_run" "$profile" "$count" "$kind" "$ppb" "${specs[@]}"
