#!/usr/bin/env python3
"""Tables 3, 4 and 5 of Benavides et al. 2019 (section 6) on four hosts of this machine.

    bench/table345.py BUILD_DIR [--runs N] [--iterations N] [--seconds S]      needs root; ten minutes

The hosts are network namespaces on one bridge, and all but the first one's clocks are made up. On them run the
paper's three programs, a rank of 2 threads on each, with a straggler and without one in turn. bench/stragglers reads
the traces. bench/README.md says how to read the tables. The exit status is 0 whatever they say.
"""

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

# of each host: seconds apart, each at a rate of its own that does not change, which is what straight lines assume
CLOCKS = ["", "offset=-5s,rate=20ppm", "offset=3s,rate=-35ppm", "offset=40s,rate=8ppm"]
STRAGGLER, FACTOR, RANKS, THREADS = 3, 3, 4, 2
SKIPPED = 77
# name, region of its work, items of a thread in each iteration without a straggler
PROGRAMS = [("kmeans", "assign", 50000 / 8), ("pagerank", "rank", 131072 / 8), ("components", "propagate", 65536 / 8)]
AIM_SCORE, AIM_ERROR = 1.0, 1.8  # points wide; % of the run time: the paper's best
NET = "10.76.0"


class Skipped(Exception):
    pass


class Failed(Exception):
    pass


# ---- hosts ----


def ip(words):
    subprocess.run(["ip", *words.split()], check=True, capture_output=True, text=True)


class Hosts:
    """Network namespaces, one for each rank, and how a program is launched over them."""

    def __init__(self, folder):
        self.folder = folder
        self.names = [f"gn{os.getpid()}h{number}" for number in range(RANKS)]

    def __enter__(self):
        if os.geteuid() != 0 or not shutil.which("ip"):
            raise Skipped("network namespaces need root, and the program `ip`")
        try:
            self.join()
        except subprocess.CalledProcessError as error:
            self.__exit__()
            raise Skipped(f"network namespaces cannot be made here: {error.stderr.strip()}") from error
        self.write()
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL, check=False)

    def join(self):
        """The bridge is in the first one."""
        first = self.names[0]
        for number, name in enumerate(self.names):
            ip(f"netns add {name}")
            ip(f"-n {name} link set lo up")
            if number == 0:
                ip(f"-n {first} link add net type bridge")
            else:
                ip(f"link add to{number} netns {first} type veth peer name net netns {name}")
                ip(f"-n {first} link set to{number} master net up")
            ip(f"-n {name} addr add {NET}.{number + 1}/24 dev net")
            ip(f"-n {name} link set net up")

    def write(self):
        self.rsh, self.list = f"{self.folder}/rsh", f"{self.folder}/hosts"
        with open(self.rsh, "w", encoding="utf-8") as file:
            file.write("#!/bin/bash\nhost=$1\nshift\ncase $host in\n")
            for number, (name, clock) in enumerate(zip(self.names, CLOCKS)):
                export = f"; export GNOMON_TEST_CLOCK={clock}" if clock else ""
                file.write(f"{NET}.{number + 1}) space={name} name=host{number}{export} ;;\n")
            file.write('esac\nexec ip netns exec $space unshare -u bash -c "hostname $name; $*"\n')
        os.chmod(self.rsh, 0o755)
        with open(self.list, "w", encoding="utf-8") as file:
            file.writelines(f"{NET}.{number + 1} slots=1\n" for number in range(RANKS))

    def launch(self, command):
        """Waiting ranks give way (mpi_yield_when_idle): there are fewer cores than the hosts seem to have."""
        mca = {
            "plm_rsh_agent": self.rsh,
            "btl": "tcp,self",
            "oob_tcp_if_include": f"{NET}.0/24",
            "btl_tcp_if_include": f"{NET}.0/24",
            "mpi_yield_when_idle": "1",
        }
        words = " ".join(f"--mca {key} {value}" for key, value in mca.items())
        mpirun = f"mpirun.openmpi --bind-to none {words} --hostfile {self.list} -n {RANKS} {' '.join(command)}"
        return ["ip", "netns", "exec", self.names[0], "unshare", "-u", "bash", "-c", f"hostname host0; exec {mpirun}"]


# ---- runs ----


def wait_for(path, text, seconds=30):
    """The report comes when the run's folder is whole, perhaps after the program has ended."""
    for _ in range(seconds * 10):
        with open(path, encoding="utf-8", errors="replace") as file:
            if re.search(text, file.read(), re.M):
                return
        time.sleep(0.1)
    raise Failed(f"no report within {seconds} s: {path}")


def measure(asked, hosts, program, items, options, folder):
    """The run's folder, and what the program says of how long its iterations took."""
    os.makedirs(folder)
    pace_ns = max(1, round(asked.seconds * 1e9 / items))
    command = [f"{asked.build}/bin/gnomon", "run", "--trace", "--keep-exchanges", "100000"]
    command += ["--clock-branching", str(RANKS)]
    command += [f"{asked.build}/examples/{program}.openmpi", "--threads", str(THREADS), "--time"]
    command += ["--iterations", str(asked.iterations), "--pace", str(pace_ns), *options]
    with open(f"{folder}/out", "w", encoding="utf-8") as out, open(f"{folder}/err", "w", encoding="utf-8") as err:
        files = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err}
        code = subprocess.run(hosts.launch(command), cwd=folder, timeout=600, check=False, **files).returncode
    if code != 0:
        with open(f"{folder}/err", encoding="utf-8", errors="replace") as err:
            raise Failed(f"{program}: exit status {code}\n{err.read()[-2000:]}")
    wait_for(f"{folder}/err", "^next: ")
    with open(f"{folder}/out", encoding="utf-8") as out:
        took = re.search(rf"^{program}: ([0-9.]+) s$", out.read(), re.M)
    runs = [name for name in os.listdir(folder) if name.startswith("gnomon-")]
    if not took or len(runs) != 1:
        raise Failed(f"{program}: no run time, or not one run: {folder}")
    return f"{folder}/{runs[0]}", float(took.group(1))


def analyse(asked, run, region):
    words = [f"{asked.build}/bench/stragglers", run, region, "exchange", str(STRAGGLER), str(FACTOR)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"bench/stragglers {run}: {done.stderr.strip()}")
    return {clocks["clocks"]: clocks for clocks in json.loads(done.stdout)}


class Result:
    """Of one program: runs with the straggler, by clocks, and the times of both kinds of runs."""

    def __init__(self):
        self.runs = []
        self.whole = {"straggler": [], "balanced": []}
        self.loop = {"straggler": [], "balanced": []}


def middle(interval):
    return sum(interval) / 2


KINDS = {"straggler": [f"--straggler={STRAGGLER}", f"--straggler-work={FACTOR}"], "balanced": ["--balanced"]}


def repeat(asked, hosts, program, region, items, folder):
    result = Result()
    for number in range(asked.runs):
        for kind, options in KINDS.items():
            run, loop = measure(asked, hosts, program, items, options, f"{folder}/{program}-{kind}-{number}")
            clocks = analyse(asked, run, region)
            result.loop[kind].append(loop)
            result.whole[kind].append(middle(clocks["gnomon"]["length_s"]))
            if kind == "straggler":
                result.runs.append(clocks)
            print(f"  {program} {number + 1}/{asked.runs} {kind}: iterations {loop:.3f} s", file=sys.stderr, flush=True)
    return result


# ---- tables ----


def median_of(intervals):
    """Medians of both ends; None where there is no run."""
    intervals = list(intervals)
    if not intervals:
        return None
    return tuple(statistics.median(interval[end] for interval in intervals) for end in (0, 1))


def shown(interval, digits=2):
    if interval is None:
        return "none"
    low, high = (f"{end:.{digits}f}" for end in interval)
    return low if low == high else f"{low} to {high}"


def of_clocks(result, clocks):
    return [run[clocks] for run in result.runs if "problem" not in run[clocks]]


def scores(result, clocks):
    return median_of(run["score"] for run in of_clocks(result, clocks))


def predicted(result, clocks, form, times):
    """New run times, s: for each run what it took less what goes."""
    for took, run in zip(times["straggler"], result.runs):
        if "problem" not in run[clocks]:
            low, high = run[clocks]["forms"][form]["reduction_s"]
            yield took - high, took - low


def speedups(result, clocks, form, times):
    each = zip(predicted(result, clocks, form, times), times["straggler"])
    return median_of((100 * (1 - high / took), 100 * (1 - low / took)) for (low, high), took in each)


def actual_speedup(times):
    return 100 * (1 - statistics.median(times["balanced"]) / statistics.median(times["straggler"]))


def error(result, clocks, form, times):
    """Of the predicted run time, % of the actual one, as in the paper: what its table 5 has follows so from its run
    times and its table 4. Above 0 the run was faster than predicted."""
    new = median_of(predicted(result, clocks, form, times))
    actual = statistics.median(times["balanced"])
    return new and tuple(100 * (end / actual - 1) for end in new)


def points(result, clocks, form, times):
    """Of the predicted reduction, percentage points of the run: the middle."""
    by = speedups(result, clocks, form, times)
    return by and middle(by) - actual_speedup(times)


def worst(interval):
    return max(abs(end) for end in interval)


def print_table(title, rows, results):
    print(f"\n{title}\n")
    print(f"{'':53}" + "".join(f"{name:>24}" for name in results))
    for name, cell in rows:
        print(f"{name:53}" + "".join(f"{cell(result):>24}" for result in results.values()))


OWN_FORMS = ["score", "time alone", "mean", "median", "factor"]
# How the straggler's region is made faster (bench/stragglers.c).
FORMS = {
    "score": "by its score",
    "gnomon's score": "by gnomon's score",
    "time alone": "by its time alone",
    "mean": "to the others' mean",
    "median": "to the others' median",
    "factor": "by the known factor",
}
TIMES = {"whole": "whole run, by the trace", "loop": "its iterations, by the program"}


def lines(results):
    """Clocks and form of the question: gnomon's own, and of the others those that the paper has, and one more."""
    for clocks in next(iter(results.values())).runs[0]:
        for form in OWN_FORMS if clocks == "gnomon" else ["score", "gnomon's score", "median"]:
            yield f"{clocks}: {FORMS[form]}", clocks, form


def print_times(results):
    def cell_of(what, kind):
        def cell(result):
            times = getattr(result, what)[kind]
            return f"{statistics.median(times):.3f} ({min(times):.2f}-{max(times):.2f})"

        return cell

    rows = [(f"{kind}: {TIMES[what]}", cell_of(what, kind)) for what in TIMES for kind in KINDS]
    print_table("Run times, s: median (least-most)", rows, results)


def widest(result):
    return max(run["gnomon"]["score"][1] - run["gnomon"]["score"][0] for run in result.runs)


def print_scores(results):
    clocks = list(next(iter(results.values())).runs[0])
    rows = [(name, lambda result, name=name: shown(scores(result, name), 3)) for name in clocks]
    rows.append(("widest of gnomon's, points", lambda result: f"{widest(result):.4f}"))
    print_table("Table 3: straggler score, % of the run", rows, results)


def print_predictions(results, what):
    def predicted_cell(clocks, form):
        return lambda result: shown(speedups(result, clocks, form, getattr(result, what)))

    rows = [(name, predicted_cell(clocks, form)) for name, clocks, form in lines(results)]
    rows.append(("actual", lambda result: f"{actual_speedup(getattr(result, what)):.2f}"))
    print_table(f"Table 4: predicted reduction of the run time, % ({TIMES[what]})", rows, results)


def print_errors(results, what):
    def cell_of(clocks, form):
        def cell(result):
            times = getattr(result, what)
            off = error(result, clocks, form, times)
            return f"{shown(off)} ({points(result, clocks, form, times):+.2f})" if off else "none"

        return cell

    rows = [(name, cell_of(clocks, form)) for name, clocks, form in lines(results)]
    print_table(
        f"Table 5: error of the predicted run time, % of the actual one ({TIMES[what]});\n"
        "         in brackets that of the predicted reduction, percentage points of the run",
        rows,
        results,
    )


def print_verdict(results):
    def verdict(is_met):
        return "met" if is_met else "MISSED"

    width = max(widest(result) for result in results.values())
    print(f"\nScores: at most {width:.4f} points wide (aim {AIM_SCORE}): {verdict(width <= AIM_SCORE)}")
    for what in TIMES:
        for form in OWN_FORMS:
            off = max(worst(error(result, "gnomon", form, getattr(result, what))) for result in results.values())
            print(f"{TIMES[what]}, {FORMS[form]}: off by at most {off:.2f} %", end=" ")
            print(f"(aim {AIM_ERROR}): {verdict(off <= AIM_ERROR)}")


def print_all(results):
    print_times(results)
    print_scores(results)
    for what in TIMES:
        print_predictions(results, what)
        print_errors(results, what)
    print_verdict(results)


# ---- all ----


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--runs", type=int, default=5, help="of each kind (5)")
    parser.add_argument("--iterations", type=int, default=8, help="of each run (8)")
    parser.add_argument("--seconds", type=float, default=1, help="that a balanced iteration takes (1)")
    parser.add_argument("--program", action="append", choices=[p[0] for p in PROGRAMS], help="only these")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the runs there")
    return parser.parse_args()


def chosen(asked):
    return [program for program in PROGRAMS if not asked.program or program[0] in asked.program]


def prepare(asked):
    for name in ["bench/stragglers", "bin/gnomon"] + [f"examples/{p[0]}.openmpi" for p in chosen(asked)]:
        if not os.access(f"{asked.build}/{name}", os.X_OK):
            raise Skipped(f"no {asked.build}/{name}: is it built, and Open MPI there? (make build)")


def tables(asked, folder):
    with Hosts(folder) as hosts:
        results = {name: repeat(asked, hosts, name, region, items, folder) for name, region, items in chosen(asked)}
    print(f"{RANKS} ranks of {THREADS} threads, each on a host of its own.", end=" ")
    print(f"The straggler, rank {STRAGGLER}, has {FACTOR} times the work.")
    print(f"{asked.runs} runs with that straggler and {asked.runs} without one, in turn; medians.")
    print_all(results)


def main():
    asked = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # no namespaces are left behind
    folder = os.path.abspath(asked.keep) if asked.keep else tempfile.mkdtemp(prefix="gnomon-table345.")
    try:
        prepare(asked)
        os.makedirs(folder, exist_ok=True)
        tables(asked, folder)
    except Skipped as why:
        print(f"table345.py: skipped: {why}", file=sys.stderr)
        return SKIPPED
    except Failed as why:
        print(f"table345.py: {why}", file=sys.stderr)
        return 1
    finally:
        if not asked.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
