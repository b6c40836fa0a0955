#!/usr/bin/env python3
"""A table of what `gnomon explain` says first of each program of tests/patterns, which has one cause and a switch
that removes it: whether kind, rank and line are right, whether the gain is in its interval, and how wide that is: of gain_s, and of
the way in which the switch mends it, where explain tells that (like_s, even_s, blocks).

    scripts/patterns.py BUILD [--mpi openmpi|mpich] [--ranks N[,N…]] [PROGRAM…]

Ranks: as the tests have it, or others, where the program is paced (sleeps). The mended program's time is the least of
three runs. Run scripts/mpi_env.sh first where MPI needs it.
"""
import argparse
import json
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent.parent
NOT_THE_PROGRAM = {"preempted", "oversubscribed", "preempted rank", "MPI_Init and MPI_Finalize"}
# in which way the switch mends them; the others' in none that is told apart
WAYS = {"imbalance": "like_s", "imbalance_f": "like_s", "chain": "like_s", "several": "like_s", "coupled": "like_s",
        "slack": "like_s",
        "meanwhile": "like_s", "hybrid_thread": "like_s", "phases": "even_s", "phases_apart": "even_s",
        "alternating": "even_s", "pipeline": "blocks", "pipeline_f": "blocks"}
BLOCKS = 8 # of the pipelines that are mended
# what they compute takes a core, or their rank has a number
FIXED = {"imbalance", "hybrid_serial", "hybrid_unequal", "hybrid_thread", "imbalance_f", "large", "collective", "io",
         "io_mpi", "overlap", "slow_host"}


def cases():
    text = (HERE / "tests/e2e/CMakeLists.txt").read_text()
    for line in re.findall(r"^e2e\(patterns\.\S+ patterns\.sh (.*)\)$", text, re.M):
        name, ranks, kind, rank = shlex.split(line)
        if not name.endswith("_p"):
            yield name, int(ranks), kind, rank


def expected_ranks(name, ranks, tested, rank):
    """The rank that is late is told from the last one where it is that."""
    if rank == "-":
        return None
    late = [int(r) for r in rank.split(",")]
    if name in ("phases", "phases_apart"): # the first and the last one
        return [0, ranks - 1]
    if name == "coupled":
        return list(range(ranks // 2, ranks))
    if name in ("late_sender", "late_receiver"): # in pairs
        late = list(range(late[0], ranks, 2))
    if ranks != tested and name in ("chain", "several", "slack", "hybrid_thread"):
        late = [r + ranks - tested for r in late]
    return late


def call(command, folder, **more):
    return subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=300, check=True, **more)


def seconds(done):
    return float(done.stdout.split()[-1])


def here_line(source):
    for number, line in enumerate(source.read_text().splitlines(), 1):
        if re.search(r"[/*!#]\s*here\b", line):
            return number
    return 0


class Case:
    def __init__(self, build, mpi, folder):
        self.gnomon, self.mpi, self.folder = str(pathlib.Path(build).resolve() / "bin/gnomon"), mpi, folder

    def compile(self, name):
        source = next(path for path in (HERE / "tests/patterns").glob(name + ".*") if path.suffix in (".c", ".f90"))
        compiler = ("mpif90." if source.suffix == ".f90" else "mpicc.") + self.mpi
        flags = ["-fopenmp"] if name.startswith("hybrid") or name == "imbalance" else []
        call([compiler, "-g", "-O1", *flags, "-o", name, str(source)], self.folder)
        self.line = here_line(source)

    def start(self, ranks):
        return ["mpirun." + self.mpi, *(["--bind-to", "none"] if self.mpi == "openmpi" else []), "-n", str(ranks)]

    def explain(self, name, ranks, option):
        with tempfile.TemporaryDirectory(dir=self.folder) as runs:
            done = call([*self.start(ranks), self.gnomon, "run", "-d", runs, *option, "./" + name, "bad"], self.folder)
            told = call([self.gnomon, "explain", "-d", runs, "--top", "0", "--format", "json"], self.folder)
        return seconds(done), json.loads(told.stdout)


def way_of(name, cause):
    """What is gained in the way that the program has; None: that is not told."""
    way = cause.get(WAYS.get(name))
    if way and WAYS[name] == "blocks":
        return way["gain_s"] if way["count"] == BLOCKS else None
    return way


def is_in(gain, interval, bad):
    """Two runs of one program differ."""
    return interval["low"] - 0.05 * bad <= gain <= interval["high"] + 0.05 * bad


def told(gain, interval, bad):
    text = "in" if is_in(gain, interval, bad) else f"{gain:.2f} not in {interval['low']:.2f} to {interval['high']:.2f}"
    return [text, (interval["high"] - interval["low"]) / gain if gain > 0 else float("nan")]


def judge(name, answer, kind, ranks, line, gain, bad):
    causes = [c for c in answer["causes"] if c["kind"] not in NOT_THE_PROGRAM]
    if not causes:
        return ["nothing", "", "", "", "", "", ""]
    first = next((c for c in causes if c["kind"] == kind), causes[0]) if kind.startswith("wrong") else causes[0]
    lines = [hop.get("line") for hop in first["chain"]] + [place.get("line") for place in first["places"]]
    lines += [first["differs"]["after"]["line"]] if first["differs"] else []
    right, way = first["kind"] == kind, way_of(name, first)
    return [first["kind"] if not right else "right",
            "-" if ranks is None else "right" if first["ranks"] == ranks else str(first["ranks"]),
            "right" if line in lines else str(lines[:3]),
            *told(gain, first["gain_s"], bad), *(told(gain, way, bad) if way else ["-", ""])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--mpi", default="openmpi", choices=("openmpi", "mpich"))
    parser.add_argument("--ranks", default="")
    parser.add_argument("programs", nargs="*")
    options = parser.parse_intermixed_args()
    rows, widths = [], {"windows": [], "trace": []}
    with tempfile.TemporaryDirectory() as folder:
        case = Case(options.build, options.mpi, folder)
        for name, tested, kind, rank in cases():
            if options.programs and name not in options.programs or name == "slow_host":
                continue
            counts = [int(n) for n in options.ranks.split(",")] if options.ranks and name not in FIXED else [tested]
            case.compile(name)
            for ranks in counts:
                mended = min(seconds(call([*case.start(ranks), "./" + name, "mended"], folder)) for _ in range(3))
                for how, option in (("windows", []), ("trace", ["--trace"])):
                    bad, answer = case.explain(name, ranks, option)
                    row = judge(name, answer, kind, expected_ranks(name, ranks, tested, rank), case.line,
                                bad - mended, bad)
                    rows.append((name, ranks, how, *row))
                    width = row[4] if row[6] == "" else row[6]
                    if row[0] == "right" and width == width:
                        widths[how].append(width)
                    print(f"{name:18}{ranks:4}  {how:8}", "  ".join(f"{t:.2f}" if isinstance(t, float) else str(t)
                                                                  for t in row), flush=True)
    right = [row for row in rows if row[3] == "right" and row[4] in ("right", "-") and row[5] == "right"]
    ways = [row for row in rows if row[8] not in ("-", "")]
    print(f"{len(right)} of {len(rows)} right in kind, rank and line; gain in its interval: "
          f"{sum(row[6] == 'in' for row in rows)}; of its way: {sum(row[8] == 'in' for row in ways)} of {len(ways)}")
    for how, each in widths.items():
        if each:
            print(f"{how}: the interval of the gain is {statistics.median(each):.0%} of it in the median")
    sys.exit(len(right) != len(rows))


if __name__ == "__main__":
    main()
