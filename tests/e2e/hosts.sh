# hosts.sh — two emulated hosts that share a file system: network namespaces `left` and `right` with names of their own,
# joined by a veth pair. After lib.sh. Open MPI.
#
#     on_left NAME COMMAND    runs a shell command as if typed on the first host
#     $launch                 mpirun over both, two ranks on each
#     $right_env              what the second host's processes have in their environment; to be set before
: "${right_env:=GNOMON_HERE=right}"
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v ip >/dev/null && unshare -n true 2>/dev/null || skip "network namespaces cannot be made here"
left=gn$$a right=gn$$b
ip netns add $left 2>/dev/null || skip "network namespaces cannot be made here"
trap 'code=$?; ip netns del $left 2>/dev/null; ip netns del $right 2>/dev/null; cd /; rm -rf "$work"; exit $code' EXIT
ip netns add $right
ip link add gnleft netns $left type veth peer name gnright netns $right
for end in "$left gnleft 1" "$right gnright 2"; do
    set -- $end
    ip -n "$1" addr add "10.77.0.$3/24" dev "$2"
    ip -n "$1" link set "$2" up
    ip -n "$1" link set lo up
done

cat >"$work/rsh" <<END
#!/bin/bash
host=\$1
shift
[ "\$host" = 10.77.0.1 ] && name=left space=$left || name=right space=$right
exec ip netns exec \$space unshare -u bash -c "hostname \$name; [ \$name = left ] || export $right_env; \$*"
END
chmod +x "$work/rsh"
printf '10.77.0.1 slots=2\n10.77.0.2 slots=2\n' >"$work/hosts"
tcp="--mca btl tcp,self --mca oob_tcp_if_include 10.77.0.0/24 --mca btl_tcp_if_include 10.77.0.0/24"
launch="$MPIRUN --bind-to none --mca plm_rsh_agent $work/rsh $tcp --hostfile $work/hosts -n 4"

on_left() { # on_left NAME COMMAND: as if typed on the first host
    run "$1" ip netns exec $left unshare -u bash -c "hostname left; $2"
}
