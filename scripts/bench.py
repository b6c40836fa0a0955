#!/usr/bin/env python3
"""What measuring costs, against the same program run without it.

    bench.py BUILD_DIR [--quick] [--real] [--only calls|paths|parts|neighbours|sampling|real|size|trace|order|files|sync|processes|scaling|clock|fits|frames|whatif] [--rounds N] [--json FILE]

Everything is compared in pairs: what is compared runs in turn, round after round, differences and ratios are
taken within a round, and their median is quoted with the smallest and the largest. bench/README.md says how to
read the tables. Times are never asserted: the exit status is 0 whatever they are.
"""
import argparse
import glob
import json
import os
import platform
import re
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

AIM_NS = 60  # added per MPI call, at the median, with call paths
SECTIONS = ["calls", "paths", "parts", "neighbours", "sampling", "real", "size", "trace", "order", "files", "sync", "processes", "scaling", "clock", "fits", "frames", "whatif"]
# Beyond two readings of the clock, by what the name of a pattern of bench/paths begins with; ns per call.
PATH_AIMS_NS = {"1 path": 30, "2 paths": 50, "3 ": 50, "4 paths": 50, "16 paths": 90, "64 paths": 90, "64 function": 90,
                "alloca": 90, "random VLA": 90, "recursion": 90, "40 frames": 250, "first time": 2000, "full table": 100,
                "C++, 1 path": 30, "C++, 64": 90, "Fortran 2008, 1 path": 30, "Fortran 2008, 64": 90}
PATH_BUILDS = {"paths": "-O2", "paths_fp": "-O2 -fno-omit-frame-pointer", "paths_o0": "-O0"}
NEIGHBOURS_RANKS = 8
NEIGHBOURS_AIM = 0.015  # processor time added, of a program that makes a call every 20 us of it
OWN_COST_AIM = 0.2      # own cost as reported against what pairing says
TRACE_AIM = {"seconds": 0.197, "bytes": 51e6}  # for a million events
FLAVOURS = ["openmpi", "mpich"]
VARIANTS = ["bare", "empty", "clock", "gnomon", "trace"]
TITLES = {"empty": "empty wrapper", "clock": "two clock reads", "gnomon": "gnomon", "trace": "gnomon --trace"}
# Events of a call in a trace: enter and leave, and what it communicates.
EVENTS_PER_CALL = {"iprobe, 12 frames": 2, "sendrecv 8 B": 4, "ping-pong 8 B": 3, "isend/irecv/waitall": 10 / 3,
                   "allreduce 8 B": 4}
EVENT_AIM_NS = 40  # added per event by --trace
FILE_AIM = 1.3     # gnomon order over the OTF2 library's reading
SYNC_AIM = 1.5     # gnomon sync over the OTF2 library's reading and writing
PATIENCE_S = 900
SCALING_AIM = 1.5  # simulated time per event with 1024 ranks over that with 64
SCALING_RANKS = [64, 128, 256, 512, 1024]
SCALING_ITERATIONS = 100
# os, or, ois: what a message costs its sender and its receiver beside the network. async-small-thresh,
# send-is-detached-thresh: no batch waits for its receiver. test: a look whether something has come. Factors of 1: the
# platform says what the network does; SMPI's own ones are those of Gigabit Ethernet. coll-selector: as MPICH does
# collectives; SMPI's own ones are linear in the number of ranks.
SMPI_OPTIONS = ["smpi/simulate-computation:no", "smpi/coll-selector:mpich", "smpi/display-timing:no", "smpi/os:0:5e-7:0", "smpi/or:0:5e-7:0",
                "smpi/ois:0:5e-7:0", "smpi/async-small-thresh:1048576", "smpi/send-is-detached-thresh:1048576",
                "smpi/test:1e-7", "smpi/grow-injected-times:no", "smpi/bw-factor:0:1", "smpi/lat-factor:0:1",
                "contexts/stack-size:512"]

LAMMPS_INPUT = """# Lennard-Jones melt, 32,000 atoms
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 20 0 20 0 20
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
thermo 100
run 1500
"""

HPCC_INPUT = """HPLinpack benchmark input file
written by gnomon's scripts/bench.py
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
1500         Ns
1            # of NBs
80           NBs
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
0            Number of additional problem sizes for PTRANS
1200         values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
"""

# Two atoms of silicon, with whatever pseudopotential the package brings.
QE_INPUT = """&control
  calculation = 'scf', prefix = 'silicon', pseudo_dir = '{folder}', outdir = '.'
/
&system
  ibrav = 2, celldm(1) = 10.2, nat = 2, ntyp = 1, ecutwfc = 18.0
/
&electrons
/
ATOMIC_SPECIES
 Si 28.086 {file}
ATOMIC_POSITIONS alat
 Si 0.00 0.00 0.00
 Si 0.25 0.25 0.25
K_POINTS automatic
 4 4 4 1 1 1
"""

OPENFOAM_EXAMPLE = "/usr/share/doc/openfoam-examples/examples/incompressible/icoFoam/cavity/cavity"
OPENFOAM_PARTS = """FoamFile {{ version 2.0; format ascii; class dictionary; object decomposeParDict; }}
numberOfSubdomains {ranks};
method simple;
simpleCoeffs {{ n ({ranks} 1 1); delta 0.001; }}
"""

# Real programs, on two ranks of Open MPI where nothing else is said: Debian's are built for it. The first does nothing
# between MPI_Init and MPI_Finalize: what a run costs once. prepare: a function below that fills the folder.
PROGRAMS = [
    {"name": "(nothing)", "command": ["calls.openmpi", "iterations", "1"], "inputs": {}, "rounds": 5, "aim": ""},
    {"name": "lammps", "command": ["lmp", "-in", "in.lj"], "inputs": {"in.lj": LAMMPS_INPUT}, "rounds": 5,
     "aim": "under 1 %"},
    {"name": "hpcc", "command": ["hpcc"], "inputs": {"hpccinf.txt": HPCC_INPUT}, "rounds": 3,
     "aim": "at most +50 %"},
    {"name": "icoFoam 120x120, 2 ranks", "command": ["icoFoam", "-parallel"], "inputs": {}, "rounds": 3, "ranks": 2,
     "prepare": "cavity", "aim": "CPU at most +1.5 %"},
    {"name": "icoFoam 120x120, 4 ranks", "command": ["icoFoam", "-parallel"], "inputs": {}, "rounds": 3, "ranks": 4,
     "prepare": "cavity", "aim": "CPU at most +1.5 %"},
    {"name": "pw.x, silicon", "command": ["pw.x", "-in", "silicon.in"], "inputs": {}, "rounds": 3, "prepare": "silicon",
     "aim": "CPU at most +1.5 %"},
]


class Failed(Exception):
    """A run did not do what it should; the section says so and the next one goes on."""


# ---- running ----

def environment():
    """As scripts/mpi_env.sh: more ranks than cores, containers, root; and one thread per rank."""
    wanted = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
              "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMP_NUM_THREADS": "1",
              "OPENBLAS_NUM_THREADS": "1", "WM_PROJECT_DIR": "/usr/share/openfoam"}
    if os.getuid() == 0:
        wanted |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return wanted | os.environ


class Runner:
    def __init__(self, build, folder):
        self.build = os.path.abspath(build)
        self.folder = folder
        self.runs = 0
        self.flavours = [f for f in FLAVOURS
                         if os.path.exists(self.path("bench", f"calls.{f}")) and shutil.which(f"mpirun.{f}")]

    def path(self, *words):
        return os.path.join(self.build, *words)

    def prefix(self, variant, flavour):
        """What stands between mpirun and the program."""
        if variant == "gnomon":
            return [self.path("bin", "gnomon"), "run", "--quiet"]
        if variant == "unsampled":
            return [self.path("bin", "gnomon"), "run", "--quiet", "--sample=off"]
        if variant == "trace":  # what writing an event costs: room enough that none waits for the agent
            return [self.path("bin", "gnomon"), "run", "--quiet", "--trace=256M", "--trace-full=block"]
        if variant == "traced":  # as users run it, and whole
            return [self.path("bin", "gnomon"), "run", "--quiet", "--trace", "--trace-full=block"]
        if variant == "bare":
            return ["env"]
        return ["env", "LD_PRELOAD=" + self.path("bench", f"{variant}.{flavour}.so")]

    def run(self, variant, flavour, ranks, command, inputs=None, prepared=None):
        """Runs in a folder of its own, a copy of `prepared` where there is one; ranks then give way while they wait, for these
        wait often, and cores may be fewer. Returns (output, wall seconds, the folder)."""
        self.runs += 1
        where = os.path.join(self.folder, str(self.runs))
        os.mkdir(where)
        if prepared:
            shutil.copytree(prepared, where, dirs_exist_ok=True)
        for name, text in (inputs or {}).items():
            with open(os.path.join(where, name), "w") as file:
                file.write(text)
        words = [f"mpirun.{flavour}", "-n", str(ranks)] + self.prefix(variant, flavour) + command
        environ = environment() | ({"OMPI_MCA_mpi_yield_when_idle": "1"}
                                   if prepared or ranks > os.cpu_count() else {})
        begin = time.perf_counter()
        try:
            done = subprocess.run(words, cwd=where, env=environ, stdin=subprocess.DEVNULL, text=True,
                                  capture_output=True, timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Failed(f"{' '.join(words)}: not done after {PATIENCE_S} s") from None
        seconds = time.perf_counter() - begin
        if done.returncode != 0:
            last = "\n".join((done.stderr or done.stdout).strip().splitlines()[-3:])
            raise Failed(f"{' '.join(words)}: exit status {done.returncode}: {last}")
        if variant in ["gnomon", "unsampled", "trace", "traced"]:
            self.profile(where)  # its agent is at work until then and would disturb the next run
        return done.stdout, seconds, where

    def profile(self, where):
        for _ in range(300):
            found = glob.glob(os.path.join(where, "gnomon-*", "profile.db"))
            if found:
                return found[0]
            time.sleep(0.1)
        raise Failed(f"gnomon left no profile.db in {where}")

    def report(self, where):
        done = subprocess.run([self.path("bin", "gnomon"), "report", "--format", "json", self.profile(where)],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"gnomon report: {done.stderr.strip()}")
        return json.loads(done.stdout)


# ---- numbers and tables ----

def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def shown(s, form="{:.1f}", sign=""):
    form = form.replace("{:", "{:" + sign)
    return f"{form.format(s['median'])} ({form.format(s['min'])} … {form.format(s['max'])})"


def table(rows, heads):
    widths = [max(len(str(row[i])) for row in rows + [heads]) for i in range(len(heads))]
    for row in [heads] + rows:
        print("  " + "  ".join(str(cell).ljust(width) if i == 0 else str(cell).rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths))))


def title(text):
    print(f"\n== {text} ==\n", flush=True)


# ---- nanoseconds per call ----

LINE = re.compile(r"(pattern|added|part) (.+?):?(?: calls (\d+))? iterations \d+ batches (\d+) "
                  r"min (-?[\d.]+) q1 (-?[\d.]+) median (-?[\d.]+) q3 (-?[\d.]+)")


def read_lines(output):
    """{what: {name: {calls, batches, min, q1, median, q3}}} of what bench/calls.c and bench/parts.c print."""
    found = {"pattern": {}, "added": {}, "part": {}}
    for line in output.splitlines():
        match = LINE.fullmatch(line)
        if match:
            numbers = dict(zip(["min", "q1", "median", "q3"], map(float, match.groups()[4:])))
            found[match[1]][match[2]] = {"calls": int(match[3] or 1), "batches": int(match[4])} | numbers
    if not any(found.values()):
        raise Failed("a bench program printed no measurements")
    return found


def compare(rounds, name):
    """What each variant adds to one pattern, and gnomon's ratios; pairs are of the same round."""
    ns = {v: [r[v]["pattern"][name]["median"] for r in rounds] for v in VARIANTS}
    inside = {v: [r[v]["added"][name]["median"] for r in rounds] for v in VARIANTS}
    between = {v: [b - a for a, b in zip(ns["bare"], ns[v])] for v in VARIANTS}
    quartiles = {v: {q: statistics.median(r[v]["pattern"][name][q] for r in rounds) for q in ["q1", "q3"]}
                 for v in VARIANTS}
    return {"pattern": name, "calls": rounds[0]["bare"]["pattern"][name]["calls"], "bare_ns": spread(ns["bare"]),
            "added_ns": {v: spread(inside[v]) for v in VARIANTS},
            "added_between_processes_ns": {v: spread(between[v]) for v in VARIANTS[1:]},
            "gnomon_to": {v: spread([g / b for g, b in zip(ns["gnomon"], ns[v])]) for v in ["bare", "empty"]},
            "batch_quartiles_ns": quartiles, "rounds_ns": ns, "rounds_added_ns": inside}


def compare_all(rounds, place):
    """Every pattern of the rounds that have it: it is missing where every batch of a run was disturbed."""
    results = []
    for name in {name: None for r in rounds for v in VARIANTS for name in r[v]["pattern"]}:
        complete = [r for r in rounds if all(name in r[v]["pattern"] for v in VARIANTS)]
        if complete:
            results.append(compare(complete, name) | {"place": place, "rounds": len(complete)})
        if len(complete) < len(rounds):
            print(f"  {name}: only {len(complete)} of {len(rounds)} rounds, too much else goes on in this machine")
    return results


def print_comparison(results):
    rows = [[r["pattern"], r["calls"], shown(r["bare_ns"])]
            + [shown(r["added_ns"][v], sign="+") for v in VARIANTS]
            + [f"{r['added_between_processes_ns']['gnomon']['median']:+.1f}"]
            + [f"{r['gnomon_to'][v]['median']:.2f}" for v in ["bare", "empty"]] for r in results]
    table(rows, ["pattern", "calls", "bare, ns", "control"] + ["+ " + TITLES[v] for v in VARIANTS[1:]]
          + ["between", "/bare", "/empty"])


def print_aim(results):
    added = [r["added_ns"]["gnomon"]["median"] for r in results]
    if not added:
        return
    print(f"\n  gnomon adds {statistics.median(added):.0f} ns per call at the median of the patterns, "
          f"{min(added):.0f} to {max(added):.0f} ns; aim: at most {AIM_NS} ns, call paths on")


def print_events(results):
    """What an event of a trace adds to the plain profile."""
    per_event = [(r["pattern"], statistics.median([t - g for t, g in zip(r["rounds_added_ns"]["trace"],
                                                                        r["rounds_added_ns"]["gnomon"])])
                  / EVENTS_PER_CALL[r["pattern"]]) for r in results if r["pattern"] in EVENTS_PER_CALL]
    if per_event:
        print("  --trace adds " + ", ".join(f"{ns:.0f} ns ({name})" for name, ns in per_event)
              + f" per event; aim: at most {EVENT_AIM_NS} ns")


def bench_calls(runner, options):
    title("Nanoseconds per MPI call")
    print(f"  {options.rounds} rounds of bare program, empty PMPI wrapper, two clock reads, gnomon, gnomon --trace, in turn.\n"
          "  +        ns added per call: batches through MPI_X less batches through PMPI_X of the same process;\n"
          "           median (min … max) of the rounds. control: the same difference with no tool at all\n"
          "  between  ns that gnomon's process takes per call more than the bare one's of the same round, median\n"
          "  /bare    gnomon's time per call over the bare program's, /empty: over the empty wrapper's, medians\n"
          "  calls    per iteration and rank; figures are per call", flush=True)
    all_results = {}
    for flavour in runner.flavours:
        everything = []
        for place, ranks in [("MPI_COMM_SELF, one rank", 1), ("two ranks", 2)]:
            command = [runner.path("bench", f"calls.{flavour}"), "batches", str(options.batches)]
            rounds = [{v: read_lines(runner.run(v, flavour, ranks, command)[0]) for v in VARIANTS}
                      for _ in range(options.rounds)]
            print(f"\n  {flavour}, {place}")
            results = compare_all(rounds, place)
            print_comparison(results)
            sys.stdout.flush()
            everything += results
        print_aim(everything)
        print_events(everything)
        all_results[flavour] = everything
    if not runner.flavours:
        print("  skipped: no mpirun.openmpi or mpirun.mpich, or the build has no bench/")
    return all_results


# ---- nanoseconds per call, by its path ----

def path_aim(name):
    return next((aim for begin, aim in PATH_AIMS_NS.items() if name.startswith(begin)), None)


def run_paths(runner, variant, flavour, commands):
    """What all commands print, together; the clock's cost is the smallest of them."""
    found = [read_lines(runner.run(variant, flavour, 1, command)[0]) for command in commands]
    clocks = [f["part"]["two clock readings"]["median"] for f in found if f["part"]]
    return {"added": {name: line["median"] for f in found for name, line in f["added"].items()},
            "pattern": {name: line["median"] for f in found for name, line in f["pattern"].items()},
            "clocks": min(clocks, default=None)}


def path_result(rounds, clocks_ns, name):
    complete = [r for r in rounds if all(name in r[v]["added"] for v in r)]
    if not complete:
        return None
    added = {v: spread([r[v]["added"][name] for r in complete]) for v in complete[0]}
    return {"pattern": name, "rounds": len(complete), "added_ns": added, "aim_ns": path_aim(name),
            "bare_ns": spread([r["bare"]["pattern"][name] for r in complete]),
            "beyond_clocks_ns": added["gnomon"]["median"] - clocks_ns}


def path_row(r):
    aim = r["aim_ns"]
    verdict = "" if aim is None else "met" if r["beyond_clocks_ns"] <= aim else f"{r['beyond_clocks_ns'] / aim:.1f} times"
    return [r["pattern"], shown(r["bare_ns"], "{:.0f}"), shown(r["added_ns"]["bare"], sign="+"),
            shown(r["added_ns"]["gnomon"], sign="+"), f"{r['beyond_clocks_ns']:.0f}", "" if aim is None else f"≤ {aim}", verdict]


def path_table(runner, options, flavour, commands, caption):
    rounds = [{v: run_paths(runner, v, flavour, commands) for v in ["bare", "gnomon"]} for _ in range(options.path_rounds)]
    clocks = [r[v]["clocks"] for r in rounds for v in r if r[v]["clocks"] is not None]
    clocks_ns = statistics.median(clocks) if clocks else 0.0
    names = {name: None for r in rounds for v in r for name in r[v]["added"]}
    results = [r for r in (path_result(rounds, clocks_ns, name) for name in names) if r]
    print(f"\n  {caption}; two clock reads {f'{clocks_ns:.1f} ns' if clocks else 'not measured'}")
    table([path_row(r) for r in results], ["pattern", "bare, ns", "control", "+ gnomon", "beyond clocks", "aim", ""])
    sys.stdout.flush()
    return {"clocks_ns": clocks_ns, "patterns": results}


def python_with_mpi4py():
    for python in ["/usr/bin/python3", sys.executable]:
        if subprocess.run([python, "-c", "import mpi4py"], capture_output=True).returncode == 0:
            return python
    return None


def bench_paths(runner, options):
    title("Nanoseconds per MPI call, by its call path")
    print(f"  MPI_Iprobe on MPI_COMM_SELF, one rank, 12 frames deep where nothing else is said; {options.path_rounds} rounds. Columns as\n"
          "  above. beyond clocks: what gnomon adds less two readings of the clock, measured in the same processes; aims are\n"
          "  for that.", flush=True)
    results = {}
    for flavour in runner.flavours:
        for program, build in PATH_BUILDS.items():
            path = runner.path("bench", f"{program}.{flavour}")
            batches = str(options.batches // 2)
            commands = [[path, mode, batches] for mode in ["batches", "first", "full"]]
            results[f"{flavour} {build}"] = path_table(runner, options, flavour, commands, f"{flavour}, {build}")
    python = python_with_mpi4py()
    if python and "openmpi" in runner.flavours:
        command = [python, os.path.join(os.path.dirname(__file__), "..", "bench", "paths.py"), str(options.batches)]
        results["mpi4py"] = path_table(runner, options, "openmpi", [[*command]], "openmpi, Python; against MPI_Pcontrol(0)")
    else:
        print("\n  mpi4py: skipped, not installed")
    return results


# ---- where our time goes ----

def bench_parts(runner, options):
    title("Where our time goes")
    parts = {}
    for name in ["parts", "numbers"]:
        done = subprocess.run([runner.path("bench", name), str(options.batches)], capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"bench/{name}: {done.stderr.strip()}")
        parts |= {("number: " if name == "numbers" else "") + part: p
                  for part, p in read_lines(done.stdout)["part"].items()}
    print("  Steps of the capture core, each alone in a loop, without MPI; nanoseconds, quartiles of "
          f"{options.batches} batches.\n  A call overlaps them: its cost is not their sum.\n")
    table([[name] + [f"{p[q]:.1f}" for q in ["median", "q1", "q3", "min"]] for name, p in parts.items()],
          ["part", "median", "q1", "q3", "min"])
    return parts


# ---- a program with many paths ----

FACTS = re.compile(r"(\w+) (-?[\d.]+(?:e[+-]?\d+)?)")


def run_neighbours(runner, variant, flavour, ranks, *arguments):
    """What bench/neighbours prints, and processor time of everything that mpirun waited for; with gnomon the report's cost, too."""
    before = children_s()
    command = [runner.path("bench", f"neighbours.{flavour}"), *map(str, arguments)]
    output, _, where = runner.run(variant, flavour, ranks, command)
    facts = {name: float(value) for name, value in FACTS.findall(output)} | {"children_s": children_s() - before}
    return facts | ({"cost": runner.report(where)["cost"]} if variant == "gnomon" else {})


def own_cost_rows(runner, flavour, rounds):
    """One rank: nobody waits for anybody, and pairs of blocks of one process say what a call costs."""
    rows = []
    for work, steps, every in [(20, 4000, "all in the cache"), (1000, 600, "20 us of work between calls")]:
        pairs = [[run_neighbours(runner, v, flavour, 1, steps, work, "paired") for v in ["bare", "gnomon"]] for _ in range(rounds)]
        added = spread([with_it["added_ns"] for _, with_it in pairs])
        said = spread([with_it["cost"]["ns_per_call"] for _, with_it in pairs])
        ratio = statistics.median(w["cost"]["ns_per_call"] / w["added_ns"] for _, w in pairs if w["added_ns"] > 0)
        rows.append([f"{flavour}, {every}", shown(spread([bare["added_ns"] for bare, _ in pairs]), "{:.0f}", "+"),
                     shown(added, "{:.0f}", "+"), shown(said, "{:.0f}"), f"{ratio:.2f}"])
    return rows


def many_ranks(runner, flavour, rounds):
    """Bare and with gnomon in turn. Everything is of the steps, by the program's own clocks, but for children_s."""
    runs = {"bare": [], "gnomon": []}
    for turn in range(rounds):
        for variant in sorted(runs, reverse=turn % 2 == 1):
            runs[variant].append(run_neighbours(runner, variant, flavour, NEIGHBOURS_RANKS, 200, 1000))
    pairs = list(zip(runs["bare"], runs["gnomon"]))
    if any(b["sum"] != g["sum"] for b, g in pairs):
        raise Failed(f"neighbours.{flavour}: another result with gnomon")
    return {"pairs": pairs, "bare_cpu_s": spread([b["cpu_s"] for b, _ in pairs])} | {
        what: spread([100 * (g[what] / b[what] - 1) for b, g in pairs]) for what in ["cpu_s", "elapsed_s", "children_s"]}


def bench_neighbours(runner, options):
    title("A program with many call paths")
    print(f"  bench/neighbours: three exchanges a step with 26 neighbours through the same functions, waits by index. Processor time\n"
          "  that a call through MPI_X takes more than one past the tool, in blocks of steps in turn within one process, against\n"
          f"  what the report says an ordinary call costs. Aim: within {100 * OWN_COST_AIM:.0f} % of each other.\n", flush=True)
    rounds = min(3, options.rounds)
    rows = [row for flavour in runner.flavours for row in own_cost_rows(runner, flavour, rounds)]
    table(rows, ["one rank", "control, ns", "paired, ns", "reported, ns", "reported/paired"])
    print(f"\n  {NEIGHBOURS_RANKS} ranks on {os.cpu_count()} cores, a call every 20 us of processor time, {rounds} rounds bare and with gnomon in turn. + % of the\n"
          f"  steps: processor time of all ranks, elapsed time; + % all: processor time with start, end and launcher. Aim: at most\n"
          f"  {100 * NEIGHBOURS_AIM:.1f} % of processor time, elapsed within what bare runs differ by.\n", flush=True)
    results, rows = {}, []
    for flavour in runner.flavours:
        r = results[flavour] = many_ranks(runner, flavour, rounds)
        cost = r["pairs"][-1][1]["cost"]
        elapsed = spread([b["elapsed_s"] for b, _ in r["pairs"]])
        rows.append([flavour, shown(r["bare_cpu_s"], "{:.2f}"), shown(r["cpu_s"], "{:.1f}", "+"),
                     f"≤ {100 * NEIGHBOURS_AIM:.1f}", shown(elapsed, "{:.2f}"), shown(r["elapsed_s"], "{:.1f}", "+"),
                     shown(r["children_s"], "{:.1f}", "+"), f"{100 * cost['share']:.2f} %", f"{cost['ns_per_call']:.0f}"])
    table(rows, ["", "bare CPU, s", "+ % CPU", "aim", "bare elapsed, s", "+ % elapsed", "+ % all", "own cost said", "ns a call"])
    return results


# ---- samples ----

def sampled_run(runner, flavour, ranks, variant):
    """Steps that two ranks of `sampled` make in a second of their own processor time; and what the profile says."""
    command = [runner.path("bench", f"sampled.{flavour}"), "1000" if ranks < 8 else "300"]
    output, _, where = runner.run(variant, flavour, ranks, command)
    result = {"steps": float(output.split()[0])}
    db = sqlite3.connect(runner.profile(where))
    for name, query in {"samples": "SELECT sum(samples) FROM sampling", "unattributed": "SELECT sum(unattributed) FROM sampling",
                        "by_place": "SELECT sum(by_place) FROM sampling", "lost": "SELECT sum(lost) FROM sampling",
                        "elapsed_s": "SELECT max(elapsed_ns) * 1e-9 FROM process",
                        "agent_s": "SELECT sum(value) FROM run WHERE key GLOB 'sampler/*/cpu_s'"}.items():
        result[name] = db.execute(query).fetchone()[0] or 0
    db.close()
    return result


def sampling_row(flavour, ranks, on, off):
    added = spread([b["steps"] / a["steps"] - 1 for a, b in zip(on, off)])
    samples, agent_s, elapsed_s = (sum(r[what] for r in on) for what in ["samples", "agent_s", "elapsed_s"])
    return [f"{flavour}, {ranks} ranks", shown({k: 100 * v for k, v in added.items()}, "{:.2f}", "+"),
            f"{samples / elapsed_s:.0f}", f"{1e6 * agent_s / max(samples, 1):.1f}", f"{100 * agent_s / elapsed_s:.2f} %",
            f"{100 * sum(r['by_place'] for r in on) / max(samples, 1):.1f} %",
            f"{100 * sum(r['unattributed'] + r['lost'] for r in on) / max(samples, 1):.2f} %"]


def bench_sampling(runner, options):
    title("Samples of where computations spend their time")
    print("  bench/sampled: every rank computes between two calls; what a step takes of its processor time more than without\n"
          "  samples, in turn; what the agent takes for each sample and of one core (aim: at most 1 %); samples that go by their\n"
          "  function, and that are lost or go nowhere.\n", flush=True)
    results, rows = {}, []
    for flavour in runner.flavours:
        for ranks in [2, 8, 32] if flavour == "openmpi" else [2]:  # MPICH's ranks do not give way
            turns = [[sampled_run(runner, flavour, ranks, v) for v in ["gnomon", "unsampled"]] for _ in range(min(3, options.rounds))]
            on, off = ([turn[i] for turn in turns] for i in [0, 1])
            results[f"{flavour}/{ranks}"] = {"on": on, "off": off}
            rows.append(sampling_row(flavour, ranks, on, off))
    table(rows, ["", "+ % CPU", "samples/s", "us a sample", "of a core", "by place", "lost"])
    return results


# ---- real programs ----

def substitute(path, *changes):
    with open(path) as file:
        text = file.read()
    for pattern, replacement in changes:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    with open(path, "w") as file:
        file.write(text)


def prepare_cavity(folder, ranks):
    """OpenFOAM's first example, refined: 20 steps."""
    if not os.path.isdir(OPENFOAM_EXAMPLE):
        raise Failed("skipped, openfoam-examples is not installed (scripts/setup.sh bench)")
    shutil.copytree(OPENFOAM_EXAMPLE, folder)
    for packed in glob.glob(folder + "/**/*.gz", recursive=True):
        subprocess.run(["gunzip", packed], check=True)
    substitute(folder + "/system/blockMeshDict", (r"\(20 20 1\)", "(120 120 1)"))
    substitute(folder + "/system/controlDict", (r"^deltaT .*", "deltaT 0.0005;"), (r"^endTime .*", "endTime 0.01;"),
               (r"^writeInterval .*", "writeInterval 1000;"))
    with open(folder + "/system/decomposeParDict", "w") as file:
        file.write(OPENFOAM_PARTS.format(ranks=ranks))
    for command in ["blockMesh", "decomposePar"]:
        done = subprocess.run([command], cwd=folder, env=environment(), capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"{command}: {(done.stderr or done.stdout).strip()[-300:]}")


def prepare_silicon(folder, _ranks):
    known = sorted(glob.glob("/usr/share/**/[Ss]i[._]*.[Uu][Pp][Ff]", recursive=True))
    if not known:
        raise Failed("skipped, no pseudopotential of silicon (scripts/setup.sh bench: quantum-espresso-data)")
    os.mkdir(folder)
    with open(folder + "/silicon.in", "w") as file:
        file.write(QE_INPUT.format(folder=os.path.dirname(known[0]), file=os.path.basename(known[0])))


def measure_program(runner, program, command):
    runs, cpu = {"bare": [], "gnomon": []}, {"bare": [], "gnomon": []}
    ranks = program.get("ranks", 2)
    prepared = None
    if "prepare" in program:
        prepared = os.path.join(runner.folder, f"prepared-{program['prepare']}-{ranks}")
        globals()["prepare_" + program["prepare"]](prepared, ranks)
    for turn in range(program["rounds"]):
        for variant in sorted(runs, reverse=turn % 2 == 1):  # the two go first in turn
            before = children_s()
            _, seconds, where = runner.run(variant, "openmpi", ranks, command, program["inputs"], prepared)
            runs[variant].append(seconds)
            cpu[variant].append(children_s() - before)
            if variant == "gnomon":
                cost = runner.report(where)["cost"]
    pairs = list(zip(runs["bare"], runs["gnomon"]))
    return {"bare_s": spread(runs["bare"]), "gnomon_s": spread(runs["gnomon"]),
            "added_cpu": spread([g / b - 1 for b, g in zip(cpu["bare"], cpu["gnomon"])]),
            "added": spread([g / b - 1 for b, g in pairs]), "added_s": spread([g - b for b, g in pairs]),
            "added_to_fastest": min(runs["gnomon"]) / min(runs["bare"]) - 1, "calls": cost["calls"],
            "probe_ns_per_call": cost["probe_ns_per_call"], "own_share": cost["share"], "aim": program["aim"],
            "rounds_s": runs}


def real_row(program, r):
    percent, cpu = ({k: 100 * v for k, v in r[what].items()} for what in ["added", "added_cpu"])
    return [program["name"], program["rounds"], shown(r["bare_s"], "{:.2f}"), shown(r["added_s"], "{:.2f}", "+"),
            shown(percent, "{:.1f}", "+"), f"{100 * r['added_to_fastest']:+.1f}",
            shown(cpu, "{:.1f}", "+"), program["aim"],
            f"{r['calls']:,}", f"{r['probe_ns_per_call']:.0f}", f"{100 * r['own_share']:.2f} %"]


def bench_real(runner, _options):
    title("Real programs, Open MPI, two ranks where nothing else is said")
    print("  Wall time of mpirun, bare and with gnomon in turn. + is of the same round, median (min … max); fastest:\n"
          "  gnomon's fastest run against the bare program's, which a busy machine disturbs least; CPU: processor time of launcher\n"
          "  and ranks. probe ns, own cost: what gnomon measures of itself per call, and its part of the program's CPU time.\n",
          flush=True)
    results, rows = {}, []
    for program in PROGRAMS:
        command = [shutil.which(program["command"][0], path=runner.path("bench") + ":" + os.environ["PATH"])]
        if not command[0] or not shutil.which("mpirun.openmpi"):
            print(f"  {program['name']}: skipped, {program['command'][0]} or mpirun.openmpi is not installed")
            continue
        try:
            results[program["name"]] = measure_program(runner, program, command + program["command"][1:])
            rows.append(real_row(program, results[program["name"]]))
        except Failed as why:
            print(f"  {program['name']}: not measured: {why}")
    if rows:
        table(rows, ["program", "rounds", "bare, s", "+ s", "+ %", "fastest, %", "+ % CPU", "aim", "MPI calls", "probe ns",
                     "own cost"])
    return results


# ---- size ----

def bench_size(runner, _options):
    title("Size of what is left behind")
    few, many = 200, 2000000
    results, rows = {}, []
    for flavour in runner.flavours:
        sizes = {}
        for iterations in [few, many]:
            command = [runner.path("bench", f"calls.{flavour}"), "iterations", str(iterations)]
            _, _, where = runner.run("gnomon", flavour, 2, command)
            sizes[iterations] = os.path.getsize(runner.profile(where))
        results[flavour] = sizes
        rows.append([flavour, f"{sizes[few]:,}", f"{sizes[many]:,}", f"{sizes[many] / sizes[few]:.2f}"])
    if rows:
        table(rows, ["profile.db, bytes", f"{few} iterations", f"{many:,} iterations", "ratio"])
    return results


# ---- a million events ----

def bench_trace(runner, _options):
    title("A million events in a trace")
    print("  A ring of MPI_Irecv, MPI_Isend and MPI_Waitall of one rank on MPI_COMM_SELF, ten events a turn, --trace-full=\n"
          "  block. + s: wall time of mpirun more than that of the bare program of the same round, median (min … max).\n"
          f"  Aim: at most {1000 * TRACE_AIM['seconds']:.0f} ms and {TRACE_AIM['bytes'] / 1e6:.0f} MB.\n", flush=True)
    results, rows = {}, []
    for flavour in runner.flavours:
        command = [runner.path("bench", f"calls.{flavour}"), "iterations", "100000"]
        seconds = {"bare": [], "gnomon": [], "traced": []}
        for turn in range(5):
            for variant in sorted(seconds, reverse=turn % 2 == 1):
                _, wall, where = runner.run(variant, flavour, 1, command)
                seconds[variant].append(wall)
                if variant == "traced":
                    facts = runner.report(where)["trace"]
        added = {v: spread([s - b for b, s in zip(seconds["bare"], seconds[v])]) for v in ["gnomon", "traced"]}
        results[flavour] = {"added_s": added, "trace": facts, "rounds_s": seconds}
        rows.append([flavour, f"{facts['events']:,}", shown(spread(seconds["bare"]), "{:.3f}"),
                     shown(added["gnomon"], "{:.3f}", "+"), shown(added["traced"], "{:.3f}", "+"),
                     f"{facts['bytes'] / 1e6:.1f}", f"{facts['bytes'] / max(1, facts['events']):.1f}",
                     f"{facts['dropped'] + facts['unwritten']:,}"])
    if rows:
        table(rows, ["flavour", "events", "bare, s", "+ s, profile", "+ s, with trace", "MB", "bytes/event", "lost"])
    return results


# ---- the causal sort ----

def show(runner, program, *arguments):
    """Runs a program of bench/ that prints its own table."""
    done = subprocess.run([runner.path("bench", program), *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"bench/{program}: {done.stderr.strip()}")
    print("  " + done.stdout.strip().replace("\n", "\n  "), flush=True)
    return done.stdout.splitlines()


def bench_order(runner, options):
    title("Events in causal order")
    print("  Events of a synthetic 2-D stencil in memory: copied; merged by timestamp with a heap; sorted causally.\n"
          "  Aims: sort/merge at most 1; 20 million events/s at 64 locations; 10^9 events below 64 MiB.\n", flush=True)
    return {"order": show(runner, "order"), "window": show(runner, "window", 1e7 if options.quick else 1e9)}


def seconds_of(words):
    begin = time.perf_counter()
    done = subprocess.run(words, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{words[0]}: {done.stderr.strip()}")
    return time.perf_counter() - begin


def bench_files(runner, options):
    title("gnomon order on an archive, against the OTF2 library alone")
    events = 1000000 if options.quick else 10000000
    archive = os.path.join(runner.folder, "archive")
    print(f"  A synthetic 2-D stencil of 64 locations, {events:,} events. local: the library reads location after location,\n"
          "  global: it merges them by timestamp; callbacks do nothing. Wall time in turn, median (min … max).\n"
          f"  Aim: at most {FILE_AIM}.\n", flush=True)
    gnomon = runner.path("bin", "gnomon")
    seconds_of([gnomon, "synth", "stencil2", "-n", "64", "-e", str(events), "-o", archive])
    ways = {"local": [runner.path("bench", "read_otf2"), archive + "/traces.otf2", "local"],
            "global": [runner.path("bench", "read_otf2"), archive + "/traces.otf2", "global"],
            "gnomon order": [gnomon, "order", archive],
            "gnomon order --to none": [gnomon, "order", "--to", "none", archive]}
    rounds = [{name: seconds_of(words) for name, words in ways.items()} for _ in range(options.rounds)]
    table([[name, shown(spread([r[name] for r in rounds]), "{:.2f}")]
           + [f"{statistics.median(r[name] / r[base] for r in rounds):.2f}" for base in ["local", "global"]]
           for name in ways], ["", "s", "/local", "/global"])
    shutil.rmtree(archive)
    return rounds


# ---- repairing timestamps ----

SYNC_CLOCKS = {"right": [], "skewed": ["--offset", "50us", "--rate", "1ppm", "--wander", "sine:1ppm:10s"]}


def children_s():
    """Processor time of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds_into(words, folder):
    """Of a command that makes the folder, on the wall and of the processor; nobody gets what the one before it left to
    be written."""
    shutil.rmtree(folder, ignore_errors=True)
    os.sync()
    before = children_s()
    return {"wall": seconds_of(words), "cpu": children_s() - before}


def sync_rounds(runner, archive, count):
    out = os.path.join(runner.folder, "repaired")
    ways = {"copy": [runner.path("bench", "copy_otf2"), archive + "/traces.otf2", out],
            "sync": [runner.path("bin", "gnomon"), "sync", archive, "-o", out, "--presync", "none"]}
    rounds = []
    for turn in range(count):
        order = sorted(ways, reverse=turn % 2 == 1)
        rounds.append({name: seconds_into(ways[name], out) for name in order})
    shutil.rmtree(out, ignore_errors=True)
    return rounds


def sync_row(pattern, events, clocks, rounds):
    ratios = {kind: spread([r["sync"][kind] / r["copy"][kind] for r in rounds]) for kind in ["wall", "cpu"]}
    return [f"{pattern}, {clocks}", f"{events / 1e6:.0f}",
            *(shown(spread([r[way]["wall"] for r in rounds]), "{:.2f}") for way in ["copy", "sync"]),
            *(shown(ratios[kind], "{:.2f}") for kind in ["wall", "cpu"])]


def bench_sync(runner, options):
    title("gnomon sync, against the OTF2 library reading and writing the same archive")
    print("  Synthetic archives of 64 locations on 16 nodes, whose clocks are right, or up to 50 us and 1 ppm wrong (which\n"
          "  violates the clock condition). copy: the library alone, event by event. Wall time of the processes in turn, median\n"
          f"  (min … max); ratios are of the same round, of wall time and of processor time. Aim: at most {SYNC_AIM}.\n", flush=True)
    results, rows = {}, []
    archive = os.path.join(runner.folder, "archive")
    for pattern in ["ring", "stencil3", "multigrid"]:
        for events in [1e6] if options.quick else [4e6, 10e6]:
            for clocks, words in SYNC_CLOCKS.items():
                seconds_of([runner.path("bin", "gnomon"), "synth", pattern, "-n", "64", "-e", str(int(events)), "--domains",
                            "16", "--latency", "5us", "--latency-within", "1us", *words, "-o", archive])
                rounds = sync_rounds(runner, archive, options.rounds)
                shutil.rmtree(archive)
                results[f"{pattern} {events:.0f} {clocks}"] = rounds
                rows.append(sync_row(pattern, events, clocks, rounds))
    table(rows, ["", "million events", "copy, s", "sync, s", "sync/copy", "processor time"])
    print("\n  In memory, on one core, by the share of all events that are receives before their sends; aim: 10 million events/s\n"
          "  whatever the share.\n", flush=True)
    return {"archives": results, "memory": show(runner, "repair", 1e6 if options.quick else 4e6)}


# ---- gnomon sync with several processes ----

def bench_processes(runner, options):
    title("gnomon sync with one and two processes")
    events = 1000000 if options.quick else 10000000
    archive, out = os.path.join(runner.folder, "archive"), os.path.join(runner.folder, "repaired")
    print(f"  A synthetic multigrid solver of 64 locations on 16 nodes with skewed clocks, {events:,} events. Wall time of mpirun in\n"
          "  turn, median (min ... max); ratios are to one process without mpirun of the same round.\n", flush=True)
    seconds_of([runner.path("bin", "gnomon"), "synth", "multigrid", "-n", "64", "-e", str(events), "--domains", "16",
                "--latency", "5us", "--latency-within", "1us", *SYNC_CLOCKS["skewed"], "-o", archive])
    sync = [runner.path("bin", "gnomon"), "sync", archive, "-o", out, "--presync", "none"]
    ways = {"alone": sync}
    for flavour in runner.flavours:
        ways.update({f"{flavour}, {n}": [f"mpirun.{flavour}", "-n", str(n), *sync] for n in [1, 2]})
    rounds = [{name: seconds_into(words, out)["wall"] for name, words in ways.items()} for _ in range(options.rounds)]
    shutil.rmtree(archive)
    shutil.rmtree(out, ignore_errors=True)
    table([[name, shown(spread([r[name] for r in rounds]), "{:.2f}"),
            shown(spread([r[name] / r["alone"] for r in rounds]), "{:.2f}")] for name in ways], ["", "s", "/alone"])
    return rounds


# ---- the replay on many processes ----

def replay_line(words, patience=PATIENCE_S):
    """What bench/smpi/scaling.c tells in its last line, as a dictionary."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=patience, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise Failed(f"{' '.join(words)}: not done after {patience} s") from None
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("processes ")]
    if done.returncode != 0 or not lines:  # a deadlock is no failure for smpirun
        raise Failed(f"{' '.join(words)}: {done.stderr.strip()[-300:]}")
    names, values = lines[-1][::2], lines[-1][1::2]
    facts = {n: v if n == "digest" else float(v) if n.endswith("_s") else int(v) for n, v in zip(names, values)}
    if facts["unmatched"] or facts["cut"]:
        raise Failed(f"{' '.join(words)}: not everything was matched")
    return facts


def cost_of_block(runner):
    """Nanoseconds of a basic block of the replay, with one process: of the fastest round, which neighbours disturbed least; and of an op."""
    alone = [runner.path("bench", "replay_alone"), "64", "1000"]
    counted = replay_line([runner.path("bench", "replay_counted"), "64", "1000"])
    blocks = counted["measure_blocks"] + counted["forward_blocks"]
    seconds = min(facts["measure_s"] + facts["forward_s"] for facts in (replay_line(alone) for _ in range(9)))
    return seconds * 1e9 / blocks, seconds * 1e9 / counted["ops"]


def simulate(runner, ranks, ns_per_block):
    platform_file = os.path.join(os.path.dirname(__file__), "..", "bench", "smpi", "cluster.xml")
    hosts = os.path.join(runner.folder, "hosts")
    with open(hosts, "w") as file:
        file.writelines(f"node{i}\n" for i in range(ranks))
    return replay_line(["smpirun", "-np", str(ranks), "-no-privatize", "-platform", platform_file, "-hostfile", hosts,
                        runner.path("bench", "replay_smpi")] + ["--cfg=" + o for o in SMPI_OPTIONS]
                       + ["--log=root.thres:critical", str(SCALING_ITERATIONS), f"{ns_per_block:.3f}"], 4 * PATIENCE_S)


def bench_scaling(runner, options):
    title("The replay on many processes, simulated")
    if not os.path.exists(runner.path("bench", "replay_smpi")) or not shutil.which("smpirun"):
        raise Failed("no SimGrid (libsimgrid-dev)")
    ns_per_block, ns_per_op = cost_of_block(runner)
    print(f"  SimGrid's SMPI: a fat tree of 10 Gb/s and 1 to 2 us, a rank per node, {SCALING_ITERATIONS} iterations per rank of a\n"
          "  program like SMG2000 (bench/smpi). Computing is counted, not timed; with one process it takes "
          f"{ns_per_op:.1f} ns per op,\n  {ns_per_block:.2f} ns per counted block. Results are compared with those of one process."
          f" Aim: time per event\n  at {SCALING_RANKS[-1]} ranks at most {SCALING_AIM} times that at {SCALING_RANKS[0]}.\n", flush=True)
    results, rows = {"ns_per_block": ns_per_block, "ns_per_op": ns_per_op}, []
    for ranks in SCALING_RANKS[:2] if options.quick else SCALING_RANKS:
        facts = simulate(runner, ranks, ns_per_block)
        alone = replay_line([runner.path("bench", "replay_alone"), str(ranks), str(SCALING_ITERATIONS)])
        if facts["digest"] != alone["digest"]:
            raise Failed(f"{ranks} ranks find something else than one process")
        events = facts["ops"] * facts["events_per_op"] / ranks
        facts["ns_per_event"] = 1e9 * (facts["measure_s"] + facts["forward_s"]) / events
        results[ranks] = facts
        rows.append([str(ranks), f"{facts['ops']:,}", f"{100 * facts['violating'] / facts['messages']:.1f} %",
                     f"{1e3 * facts['measure_s']:.3f}", f"{1e3 * facts['forward_s']:.3f}", f"{facts['ns_per_event']:.0f}",
                     f"{facts['ns_per_event'] / results[SCALING_RANKS[0]]['ns_per_event']:.2f}"])
    table(rows, ["ranks", "ops", "violating", "measure, ms", "forward, ms", "ns/event/rank", f"/{SCALING_RANKS[0]}"])
    return results


# ---- clocks ----

def bench_clock(runner, _options):
    title("Clocks with bounds")
    print("  Two clocks of 3 GHz, 10,000 exchanges in bursts of 8 over delays of 10 us and an exponential tail of 3 us. Linear\n"
          "  regression converts by one multiplication and one addition of doubles. Aims: 10 ns an exchange, 8 ns a timestamp,\n"
          "  the speed of regression (the paper: 0.35 to 0.39 of it).\n", flush=True)
    return show(runner, "clock")


# ---- clock baselines ----

def bench_fits(runner, options):
    title("Clock baselines")
    print("  What it takes to convert a reading by each method, from the same exchanges. Ratios are to linear regression, to\n"
          "  FreeZer as published and to gnomon's own bounds, of the same run. In the paper FreeZer ran at 0.35 to 0.39 of\n"
          "  regression's speed (a ratio of 2.6 to 2.9), and the hull's linear program took 57 times FreeZer's at 10,000.\n",
          flush=True)
    return show(runner, "fits", *([1000, 10000] if options.quick else []))


# ---- frames ----

def bench_frames(runner, options):
    title("Questions over frames of bounded time")
    print("  All but one location waiting, that one busy: the sweep, the paper's aggregated event view, and only reading the\n"
          "  changes. Bounds 2 us wide, iterations of 2 ms. Aims: linear in events; 1024 locations cost what a deeper merge\n"
          "  costs, not more; never wider than the aggregated view.\n", flush=True)
    return show(runner, "frames", 1e6 if options.quick else 1e7)


# ---- what-if ----

def bench_whatif(runner, options):
    title("What would make a run faster")
    print("  One pass over a history of a million events (64 ranks, 4 hosts), against one that only reads the same arrays; the\n"
          "  critical path; the ten best changes of all, on one core and on all. Aim: at most 20 ms a pass, on one core.\n",
          flush=True)
    return show(runner, "whatif", *([1e5] if options.quick else []))


# ---- all of it ----

def machine():
    name = "?"
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            name = line.split(":")[1].strip()
    return {"cpu": name, "cores": os.cpu_count(), "kernel": platform.release(), "load": list(os.getloadavg()),
            "started": time.strftime("%Y-%m-%dT%H:%M:%S%z")}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", metavar="BUILD_DIR")
    parser.add_argument("--quick", action="store_true", help="3 rounds, no real programs")
    parser.add_argument("--real", action="store_true", help="the real programs, with --quick too")
    parser.add_argument("--only", metavar="NAME", choices=SECTIONS, help="one of " + ", ".join(SECTIONS))
    parser.add_argument("--rounds", type=int, help="rounds of the calls (default 7)")
    parser.add_argument("--json", metavar="FILE", help="write all figures there too")
    options = parser.parse_args()
    options.rounds = max(1, options.rounds or (3 if options.quick else 7))
    options.batches = 60 if options.quick else 100
    options.path_rounds = min(3, options.rounds)
    return options


def sections(options):
    if options.only:
        return [options.only]
    return [s for s in SECTIONS if s != "real" or options.real or not options.quick]


def main():
    options = parse()
    if not os.path.exists(os.path.join(options.build, "bench", "parts")):
        sys.exit(f"bench.py: {options.build} has no bench/parts: is it built? (make build)")
    here = machine()
    print(f"{here['cpu']}, {here['cores']} cores, Linux {here['kernel']}, load {here['load'][0]:.2f} at the start")
    results = {"machine": here, "aim_ns": AIM_NS}
    with tempfile.TemporaryDirectory(prefix="gnomon-bench-") as folder:
        runner = Runner(options.build, folder)
        for section in sections(options):
            try:
                results[section] = globals()["bench_" + section](runner, options)
            except Failed as why:
                print(f"  not measured: {why}")
    here["load_after"] = list(os.getloadavg())
    print(f"\nload {here['load_after'][0]:.2f} at the end; two ranks on a busy machine of {here['cores']} cores "
          "wait for their neighbours")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=2)


if __name__ == "__main__":
    main()
