# slurm_here.sh — a Slurm of the test's own on this machine: one controller, one node, in the test's folder. After lib.sh, as
# root. Ends with the test.
#
#     pmi           what `srun --mpi=` has to say for this flavour's programs; other_pmi: for the other's
#     wait_for_job JOB   until it has ended, whichever way
[ "$(id -u)" = 0 ] || skip "a Slurm of one's own needs root"
for daemon in munged slurmctld slurmd srun; do
    command -v $daemon >/dev/null || skip "no $daemon (packages slurmctld, slurmd, slurm-client, munge)"
done
[ "$FLAVOUR" = openmpi ] && pmi=pmix other_pmi=pmi2 || pmi=pmi2 other_pmi=pmix

slurm=$work/slurm
mkdir -p "$slurm/state" "$slurm/spool"
chmod 755 "$work" # munged wants every folder above its socket to be entered by all
export SLURM_CONF=$slurm/slurm.conf
node=$(hostname -s)
ports=($(python3 -c 'import socket
ports = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(port.getsockname()[1] for port in ports))'))
cat >"$SLURM_CONF" <<END
ClusterName=gnomon$$
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmdPort=${ports[1]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=3
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd.pid
SlurmctldLogFile=$slurm/slurmctld.log
SlurmdLogFile=$slurm/slurmd.log
NodeName=$node NodeAddr=127.0.0.1 CPUs=8
PartitionName=test Nodes=$node Default=YES OverSubscribe=FORCE:4
END
printf 'CgroupPlugin=cgroup/v1\n' >"$slurm/cgroup.conf"
printf 'PMIxCliTmpDirBase=%s\n' "$slurm/spool" >"$slurm/mpi.conf"
head -c 1024 /dev/urandom >"$slurm/munge.key"
chmod 400 "$slurm/munge.key"

daemons=
end_slurm() {
    [ -z "$daemons" ] || scancel --full -s KILL --state=PENDING,RUNNING,SUSPENDED 2>/dev/null || :
    for _ in $(seq 100); do # what runs in jobs ends with them
        [ -n "$(squeue -h 2>/dev/null)" ] || break
        sleep 0.1
    done
    [ -z "$daemons" ] || kill $daemons 2>/dev/null || :
    wait $daemons 2>/dev/null || :
    munged --stop --socket="$slurm/munge.socket" >/dev/null 2>&1 || :
    for environment in /proc/[0-9]*/environ; do # and nothing of this Slurm is left, whatever became of it
        pid=${environment#/proc/}
        ! { tr '\0' '\n' <"$environment"; } 2>/dev/null | grep -qxF "SLURM_CONF=$SLURM_CONF" || kill -KILL "${pid%/environ}" 2>/dev/null || :
    done
}
trap 'code=$?; end_slurm; cd /; grep -qF " $work/" /proc/self/mounts || rm -rf "$work" || :; exit $code' EXIT

munged --socket="$slurm/munge.socket" --key-file="$slurm/munge.key" --pid-file="$slurm/munged.pid" \
    --log-file="$slurm/munged.log" --seed-file="$slurm/munged.seed" 2>"$work/munged.err" || skip "munged does not start here"
slurmctld -D -c -f "$SLURM_CONF" >/dev/null 2>&1 &
daemons=$!
slurmd -D -c -N "$node" -f "$SLURM_CONF" >/dev/null 2>&1 &
daemons="$daemons $!"
for _ in $(seq 300); do
    [ "$(sinfo -h -o %t 2>/dev/null)" != idle ] || break
    kill -0 $daemons 2>/dev/null || skip "Slurm does not start here: $(tail -3 "$slurm/slurmctld.log" "$slurm/slurmd.log")"
    sleep 0.1
done
[ "$(sinfo -h -o %t 2>/dev/null)" = idle ] || skip "Slurm's node does not come up: $(tail -3 "$slurm"/*.log)"

wait_for_job() {
    for _ in $(seq 1200); do
        case $(squeue -h -j "$1" -o %T 2>/dev/null) in '' | COMPLETED | CANCELLED | FAILED | TIMEOUT) return 0 ;; esac
        sleep 0.1
    done
    fail "job $1 does not end: $(squeue)"
}
