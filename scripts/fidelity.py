#!/usr/bin/env python3
"""Whether repaired timestamps are to be believed: the experiment of Becker et al. 2009, section 6, on simulated runs
whose truth is known.

    fidelity.py BUILD_DIR [--quick] [--ranks COUNT ...] [--json FILE] [--sync OPTIONS]
    fidelity.py BUILD_DIR --uncertain [--quick]

A multigrid solver runs in the middle of twenty quiet minutes; clocks drift and wander, and were compared only at the
begin and at the end. Two tables: by how much repairing changes distances of events (the paper's table 4), and how far
times and transfers are from the truth, before and after. Ends with 1 when a limit below is exceeded, when a repaired
trace still has messages that go backward, or when guaranteed bounds are left. docs/repair-fidelity.md explains the tables.

--uncertain: traces with dependencies that only may hold (zero bytes, communicators made and freed), and the hybrid trace of a
real program where there are eztrace and OpenMP. Ends with 1 when a repaired time is farther from the truth than clocks were wrong.
"""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile

RANKS_PER_NODE = 4
EVENTS_PER_RANK = 64000
SIZES = [16, 64, 128]
SEEDS = [1, 2, 3]
# What is left of the clocks' wander between two measurements 20 minutes apart: as much as in the paper (a few percent
# of the messages reversed, by some microseconds), and four times as much.
WANDERS = {"as in the paper": "sine:0.05ppm:900s", "four times that": "sine:0.2ppm:900s"}
# Of the repair after linear interpolation, over all sizes and runs.
LIMITS = {"distance_mean_percent": 0.01, "intervals_above_1_percent": 0.18, "position_max_percent": 0.0001}
THRESHOLDS = ["> 0 %", "> 0.01 %", "> 0.1 %", "> 1 %", "> 10 %", "> 100 %"]
ONE_PERCENT = THRESHOLDS.index("> 1 %")
# How times are told, in the order of the table: what fidelity calls it, and of which of the two archives.
WAYS = {"raw": ("raw timestamps", "ends"), "offsets": ("linear alone", "ends"), "none": ("CLC alone", "ends"),
        "linear": ("CLC after linear", "ends"), "middle": ("bounds alone", "bounds"), "bounds": ("CLC in bounds", "bounds")}


def run(words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: exit status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


class Experiment:
    def __init__(self, build, folder, words):
        self.words = words
        self.gnomon = os.path.join(build, "bin", "gnomon")
        self.judge = os.path.join(build, "tests", "fidelity", "fidelity")
        self.folder = folder

    def synth(self, archive, ranks, wander, seed, measure):
        """The same run whatever was measured of its clocks."""
        run([self.gnomon, "synth", "multigrid", "-n", str(ranks), "-e", str(ranks * EVENTS_PER_RANK), "--seed", str(seed),
             "--domains", str(ranks // RANKS_PER_NODE), "--latency", "5us", "--latency-within", "1us", "--spacing", "250ns", "--quiet", "600s",
             "--offset", "1ms", "--rate", "5ppm", "--wander", wander, "--measure-offsets", measure, "-o", archive])
        return archive

    def sync(self, archive, presync):
        """Where the repaired archive is, and what gnomon sync says of it."""
        out = f"{archive}.{presync}"
        said = run([self.gnomon, "sync", archive, "-o", out, "--presync", presync, "--verify", "--format", "json",
                    *self.words])
        return f"{presync}={out}", json.loads(said)

    def judged(self, archive, presyncs):
        """{times: figures}, with what gnomon sync says beside those of repaired archives."""
        repaired = [self.sync(archive, presync) for presync in presyncs]
        lines = run([self.judge, archive, *(place for place, _ in repaired)]).splitlines()
        found = {figures["times"]: figures for figures in map(json.loads, lines)}
        for presync, (_, said) in zip(presyncs, repaired):
            found[presync]["sync"] = said
        return found

    def measure(self, ranks, wander, seed):
        """{way: figures}"""
        folder = tempfile.mkdtemp(dir=self.folder)
        ends = self.synth(os.path.join(folder, "ends"), ranks, wander, seed, "1us")
        found = self.judged(ends, ["none", "linear"])
        bounds = self.synth(os.path.join(folder, "bounds"), ranks, wander, seed, "20us:60s")
        others = self.judged(bounds, ["bounds"])
        shutil.rmtree(folder)
        return found | {"middle": others["offsets"], "bounds": others["bounds"]}

    def measure_all(self, sizes, wander, seeds):
        """{size: [figures of each seed]}; runs are independent: one on each core, the largest first"""
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as cores:
            doing = {size: [cores.submit(self.measure, size, wander, seed) for seed in seeds]
                     for size in sorted(sizes, reverse=True)}
            return {size: [one.result() for one in doing[size]] for size in sizes}


def largest(runs, way, name):
    """As the paper: the maximum of the runs."""
    return max(r[way][name] for r in runs)


def largest_of(runs, way, name, index):
    return max(r[way][name][index] for r in runs)


def mean(runs, way, name):
    return sum(r[way][name] for r in runs) / len(runs)


def table(heads, rows):
    widths = [max(len(str(row[i])) for row in rows + [heads]) for i in range(len(heads))]
    for row in [heads] + rows:
        print("  " + "  ".join(str(cell).ljust(width) if i == 0 else str(cell).rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths))))
    print(flush=True)


def distances(results, way):
    """The paper's table 4, of one way."""
    sizes = list(results)
    def row(name, form, value):
        return [name] + [form.format(value(results[size])) for size in sizes]
    rows = [row("average deviation of distances, %", "{:.4f}", lambda r: largest(r, way, "distance_mean_percent")),
            row("largest, %", "{:.2f}", lambda r: largest(r, way, "distance_max_percent"))]
    for title, name in [("intervals", "intervals_above_percent"), ("time in them", "time_above_percent")]:
        for i, threshold in enumerate(THRESHOLDS):
            rows.append(row(f"{title} {threshold}", "{:.3f}", lambda r: largest_of(r, way, name, i)))
    rows.append(row("largest deviation of a position, %", "{:.6f}", lambda r: largest(r, way, "position_max_percent")))
    rows.append(row("the same, us", "{:.1f}", lambda r: largest(r, way, "position_max_us")))
    table(["ranks"] + [str(size) for size in sizes], rows)


def against_truth(results):
    heads = ["ranks", "times", "reversed, %", "by, us", "at most", "error, us", "at most", "but constant", "at most",
             "transfer, us", "at most"]
    rows = []
    for size, runs in results.items():
        for way, (title, _) in WAYS.items():
            share = 100 * sum(r[way]["reversed"] for r in runs) / max(1, sum(r[way]["messages"] for r in runs))
            rows.append([size, title, f"{share:.2f}"]
                        + [form.format(what(runs, way, name)) for name in
                           ["reversed_by", "error", "error_but_constant", "transfer_error"]
                           for form, what, name in [("{:.2f}", mean, name + "_mean_us"), ("{:.1f}", largest, name + "_max_us")]])
    table(heads, [[str(cell) for cell in row] for row in rows])


def said(results):
    """What gnomon sync reports of its own work, and of the bounds that were there."""
    rows = []
    for size, runs in results.items():
        for way in ["none", "linear", "bounds"]:
            reports = [r[way]["sync"] for r in runs]
            counts = [report["messages"]["point_to_point"] for report in reports]
            share = {name: 100 * sum(c[name] for c in counts) / max(1, sum(c["messages"] for c in counts))
                     for name in ["reversed", "violating", "corrected"]}
            shift = max(report["amortization"]["largest_shift_ns"] for report in reports) / 1000
            outside = sum(report["bounds"]["outside"] for report in reports)
            bounded = sum(report["bounds"]["bounded"] for report in reports)
            rows.append([str(size), WAYS[way][0], *(f"{share[name]:.2f}" for name in share),
                         str(max(len(report["passes"]) for report in reports)), f"{shift:.1f}",
                         f"{100 * outside / bounded:.3f}" if bounded else "-"])
    table(["ranks", "times", "reversed, %", "violating, %", "corrected, %", "passes", "largest shift, us",
           "moved out of bounds, %"], rows)


def exceeded(results):
    wrong = []
    for size, runs in results.items():
        values = {"distance_mean_percent": largest(runs, "linear", "distance_mean_percent"),
                  "intervals_above_1_percent": largest_of(runs, "linear", "intervals_above_percent", ONE_PERCENT),
                  "position_max_percent": largest(runs, "linear", "position_max_percent")}
        wrong += [f"{size} ranks: {name} is {values[name]:.6g}, at most {most} is expected"
                  for name, most in LIMITS.items() if not values[name] <= most]
        wrong += [f"{size} ranks: {way}: messages go backward after the repair" for way in ["none", "linear", "bounds"]
                  if largest(runs, way, "reversed") > 0]
        wrong += [f"{size} ranks: {way}: gnomon sync --verify finds violations, or it did not converge"
                  for way in ["none", "linear", "bounds"] for r in runs
                  if not (r[way]["sync"]["verified"]["holds"] and r[way]["sync"]["converged"])]
        wrong += [f"{size} ranks: {r['bounds']['sync']['bounds']['outside']} events are outside of their bounds"
                  for r in runs if r["bounds"]["sync"]["bounds"]["outside"] > 0]
    return wrong


# ---- dependencies that only may hold ----

UNCERTAIN_CLOCKS = {"offsets": ["--offset", "20us"], "drifting": ["--offset", "20us", "--rate", "1ppm", "--wander", "sine:1ppm:10s"]}
ROUNDING_US = 0.002


class Uncertain:
    def __init__(self, build, folder):
        self.build, self.folder, self.rows, self.wrong = build, folder, [], []
        self.gnomon = os.path.join(build, "bin", "gnomon")

    def tool(self, name, *words):
        return run([os.path.join(self.build, "tests", "fidelity", name), *words])

    def fresh(self, name):
        path = os.path.join(self.folder, name)
        shutil.rmtree(path, ignore_errors=True)
        return path

    def judge(self, name, archive, words=()):
        """What gnomon sync makes of an archive with true times beside it; clocks as they are."""
        out = self.fresh("repaired")
        said = json.loads(run([self.gnomon, "sync", archive, "-o", out, "--presync", "none", "--format", "json", *words]))["messages"]
        told = {r["times"]: r for r in map(json.loads, self.tool("fidelity", archive, f"none={out}").splitlines())}
        before, after = told["raw"], told["none"]
        more = after["error_max_us"] - before["error_max_us"]
        self.rows.append([name, f"{before['events']:.0f}", sum(kind["messages"] for kind in said.values()), said["uncertain"]["messages"],
                          *(f"{r[column]:.2f}" for column in ("error_max_us", "error_but_constant_mean_us") for r in (before, after)),
                          f"{more:+.3f}"])
        if more > ROUNDING_US:
            self.wrong.append(f"{name}: a repaired time is {more:.3f} us farther from the truth than the clocks were wrong")

    def synthetic(self, pattern, ranks, events, clocks, seed):
        archive = self.fresh("original")
        run([self.gnomon, "synth", pattern, "-n", str(ranks), "-e", str(events), "--domains", str(ranks // RANKS_PER_NODE), "--latency", "5us",
             "--latency-within", "1us", "--seed", str(seed), *UNCERTAIN_CLOCKS[clocks], "-o", archive])
        self.judge(f"{pattern}, {ranks} ranks, {clocks}, {seed}", archive)

    def hybrid(self, seeds):
        """A program with OpenMP and communicators that come and go. Its repaired trace could be that of a run: that is the truth from
        which each process's clock is then taken away."""
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "e2e", "fixtures", "hybrid.c")
        program, truth = os.path.join(self.folder, "hybrid"), os.path.join(self.folder, "truth")
        try:
            for words in (["mpicc.openmpi", "-O2", "-o", program, source, "-fopenmp", "-pthread"],
                          ["mpirun.openmpi", "--bind-to", "none", "-n", "4", "eztrace", "-t", "openmpi openmp", program]):
                subprocess.run(words, cwd=self.folder, check=True, capture_output=True, timeout=120)
        except (OSError, subprocess.SubprocessError) as why:
            print(f"  no hybrid trace: {why}\n")
            return
        said = json.loads(run([self.gnomon, "sync", os.path.join(self.folder, "hybrid_trace", "eztrace_log.otf2"), "-o", truth, "--format", "json"]))
        # What messages take at least is known of this truth. Estimated anew with the clocks taken away it may be more, and then times may
        # be moved by as much too far.
        least = min(ns for name, ns in said["latency"].items() if name.endswith("_ns"))
        for seed in seeds:
            archive = self.fresh("original")
            self.tool("skew", truth, archive, "20000", str(seed))
            self.judge(f"hybrid, 4 ranks of 3 threads, offsets, {seed}", archive, ["--latency", f"{least:.0f}ns"])


def uncertain(build, quick):
    print("\n== Dependencies that only may hold ==\n\n  Errors against the first clock at the true time, us, before -> after gnomon sync --presync none. \"mean\" is but a\n"
          "  constant. more: of the largest error; aim: none.\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="gnomon-fidelity-") as folder:
        u = Uncertain(build, folder)
        for pattern in ["stencil2", "collectives"] if quick else ["stencil2", "collectives", "nbc", "nonblocking", "multigrid"]:
            for ranks, events in [(8, 8000)] if quick else [(16, 64000), (64, 256000)]:
                for clocks in UNCERTAIN_CLOCKS:
                    for seed in SEEDS[:1] if quick else SEEDS:
                        u.synthetic(pattern, ranks, events, clocks, seed)
        u.hybrid(SEEDS)
    table(["trace", "events", "dependencies", "uncertain", "largest", "after", "mean", "after", "more"], u.rows)
    return u.wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", metavar="BUILD_DIR")
    parser.add_argument("--quick", action="store_true", help="16 ranks, one run of each kind")
    parser.add_argument("--uncertain", action="store_true", help="traces with dependencies that only may hold, instead")
    parser.add_argument("--ranks", metavar="COUNT", type=int, nargs="+", help="instead of 16, 64 and 128")
    parser.add_argument("--json", metavar="FILE", help="write all figures there too")
    parser.add_argument("--sync", metavar="WORDS", default="", help="options for gnomon sync, such as '--gamma 0.999'")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    if not os.path.exists(os.path.join(build, "tests", "fidelity", "fidelity")):
        sys.exit(f"fidelity.py: {build} has no tests/fidelity/fidelity: is it built? (make build)")
    if options.uncertain:
        wrong = uncertain(build, options.quick)
        for what in wrong:
            print("EXCEEDED: " + what)
        sys.exit(1 if wrong else 0)
    sizes, seeds = ([16], SEEDS[:1]) if options.quick else (SIZES, SEEDS)
    sizes = options.ranks or sizes
    everything, wrong = {}, []
    with tempfile.TemporaryDirectory(prefix="gnomon-fidelity-") as folder:
        experiment = Experiment(build, folder, options.sync.split())
        for title, wander in WANDERS.items():
            print(f"\n== What the clocks wander: {title} ({wander}) ==\n", flush=True)
            results = experiment.measure_all(sizes, wander, seeds)
            print(f"  Changed by the repair after linear interpolation; largest of {len(seeds)} runs\n")
            distances(results, "linear")
            print("  Against the truth; means over the runs, and the largest of all\n")
            against_truth(results)
            print("  What gnomon sync says; of all messages of the runs\n")
            said(results)
            if wander == WANDERS["as in the paper"]:
                wrong += exceeded(results)
            everything[title] = results
    if options.json:
        with open(options.json, "w") as file:
            json.dump(everything, file, indent=2)
    for what in wrong:
        print("EXCEEDED: " + what)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
