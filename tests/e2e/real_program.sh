# Real programs: the same results with gnomon as without, but for times.
. "$(dirname "$0")/lib.sh"

mpi_of() { # which MPI an executable is linked to
    ldd "$(readlink -f "$1")" | grep -q libmpich && echo mpich || echo openmpi
}

case $1 in
hpcc)
    most=800
    command -v hpcc >/dev/null || skip "no hpcc"
    [ "$(mpi_of "$(command -v hpcc)")" = "$FLAVOUR" ] || skip "hpcc is of another MPI"
    cat >hpccinf.txt <<'EOF'
HPLinpack benchmark input file
Innovative Computing Laboratory, University of Tennessee
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
120          Ns
1            # of NBs
40           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
1            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
##### This line (no. 32) is ignored (it serves as a separator). ######
0                               Number of additional problem sizes for PTRANS
1200 10000 30000                values of N
0                               number of additional blocking sizes for PTRANS
40 9 8 13 13 20 16 32 64        values of NB
EOF
    # what is not a time or a rate: sizes, counts, residuals, verdicts
    results() {
        grep -E '^(CommWorldProcs|HPL_N|HPL_NB|HPL_eps|HPL_R|HPL_Anorm|HPL_Xnorm|PTRANS_n|PTRANS_residual|MPIRandomAccess_(N|Errors)|MPIFFT_(N|maxErr)|StarDGEMM_N|STREAM_VectorSize|Success)|PASSED|FAILED' hpccoutf.txt |
            grep -v -E 'GBs|Gflops|GUPs|time|Time|^WALL|^CPU'
    }
    run_bare bare hpcc
    expected=$status
    results >"$work/bare.results"
    rm -f hpccoutf.txt
    run_gnomon run hpcc
    results >"$work/run.results"
    grep -q Success= "$work/bare.results" || skip "hpcc does not run here"
    ;;
lmp)
    command -v lmp >/dev/null || skip "no LAMMPS"
    [ "$(mpi_of "$(command -v lmp)")" = "$FLAVOUR" ] || skip "LAMMPS is of another MPI"
    cat >in.lj <<'EOF'
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
fix 1 all nve
thermo 20
run 100
EOF
    export OMP_NUM_THREADS=1
    run_bare bare lmp -in in.lj -log none
    expected=$status
    run_gnomon run lmp -in in.lj -log none
    for name in bare run; do # the thermodynamic table and the sizes
        grep -E '^ +[0-9]+ +[-0-9.]+ |^(Nlocal|Nghost|Neighs|Total # of neighbors|Created)' "$work/$name.out" |
            grep -v -i -E 'cpu|time' >"$work/$name.results" || :
    done
    ;;
esac
[ "$expected" = 0 ] || skip "$1 does not run here"
[ "$status" = "$expected" ] || fail "exit status $status, without gnomon $expected"
[ "$(wc -l <"$work/bare.results")" -ge 5 ] || fail "nothing was compared"
diff "$work/bare.results" "$work/run.results" || fail "other results than without gnomon"
json run 'r["run"]["complete"] and r["cost"]["calls"] > 1000' || fail "not measured"
