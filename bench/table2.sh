#!/bin/bash
# Table 2 of Benavides et al. 2019 on two hosts of this machine: network namespaces joined by a veth pair.
#
#   bench/table2.sh BUILD_DIR [TRIALS [MESSAGES]]      needs root; two minutes
program=$1/bench/fast_sends
shift
[ -x "$program" ] || { echo "table2.sh: no $program: is it built? (make build)" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "table2.sh: skipped, network namespaces need root"; exit 77; }
left=gn$$a right=gn$$b
command -v ip >/dev/null && ip netns add $left 2>/dev/null || {
    echo "table2.sh: skipped, network namespaces cannot be made here"
    exit 77
}
trap 'code=$?; ip netns del $left; ip netns del $right; exit $code' EXIT
ip netns add $right
ip link add gn$$l netns $left type veth peer name gn$$r netns $right || exit 1
for end in "$left gn$$l 1" "$right gn$$r 2"; do
    set -- $end "$@"
    ip -n "$1" addr add "10.78.0.$3/24" dev "$2"
    ip -n "$1" link set "$2" up
    ip -n "$1" link set lo up
    shift 3
done
ip netns exec $left "$program" answer 7777 &
sleep 0.5
ip netns exec $right "$program" ask 10.78.0.1 7777 "$@"
status=$?
wait
exit $status
