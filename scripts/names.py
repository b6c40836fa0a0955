#!/usr/bin/env python3
"""Whether the names of computations and their shares are to be believed.

    names.py BUILD_DIR truth [--runs N] [--mpi openmpi|mpich] [--seconds S] [PROGRAM ...]
    names.py BUILD_DIR perf  [--mpi openmpi|mpich] -- COMMAND ...
    names.py BUILD_DIR perf  [--mpi openmpi|mpich] --builds

truth: the programs of bench/names know what share of their processor time each function took. Printed is how often the
intervals of the report hold it, for the report's and for plain binomial ones of 99 %, and how wide they are.

perf: the command runs once on two ranks, measured by gnomon and by `perf record -e cpu-clock` at the same time. Each
function (and each library, as a whole) with a percent of the computations or more is compared. Ends with 1 when one is outside
of both 99 % intervals together and half a point, or one of three percent is missing. --builds: bench/names in all kinds of
builds: levels of optimisation, LTO, no debug information or in one file only, stripped, not position independent.
"""
import argparse
import collections
import json
import math
import os
import re
import statistics
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS = ["hydro", "conjugate", "fourier", "sorting"]
RANKS = 2
Z = 2.5758  # 99 %
BUILDS = {"O0": "-O0 -g", "O2": "-O2 -g", "O3 LTO": "-O3 -g -flto", "no -g": "-O2", "stripped": "-O2 -g -s",
          "not PIE": "-O2 -g -no-pie", "no frame pointer, -Os": "-Os -g -fomit-frame-pointer", "clang": "-O2 -g"}


def wilson(hits, n):
    if n == 0:
        return 0.0, 1.0
    p, z2 = hits / n, Z * Z / n
    middle, half = (p + z2 / 2) / (1 + z2), Z * math.sqrt(p * (1 - p) / n + z2 / n / 4) / (1 + z2)
    return middle - half, middle + half


class Bench:
    def __init__(self, build, mpi, folder):
        self.gnomon, self.mpi, self.folder = os.path.join(os.path.abspath(build), "bin", "gnomon"), mpi, folder
        self.environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none",
                                OMPI_MCA_btl_vader_single_copy_mechanism="none")
        self.runs = 0

    def compile(self, program, flags="-O2 -g", out=None, compiler=None):
        out = os.path.join(self.folder, out or program)
        extra = dict(self.environment)
        if compiler:
            extra.update(OMPI_CC=compiler, MPICH_CC=compiler)
        subprocess.run([f"mpicc.{self.mpi}", *flags.split(), "-o", out, os.path.join(HERE, "bench", "names", program + ".c"), "-lm"],
                       check=True, env=extra)
        return out

    def measure(self, words, before=()):
        """(what it printed, the report). The command of each rank is put behind `before`."""
        self.runs += 1
        folder = os.path.join(self.folder, f"run{self.runs}")
        os.mkdir(folder)
        done = subprocess.run([f"mpirun.{self.mpi}", "-n", str(RANKS), *before, self.gnomon, "run", "-d", folder, *words],
                              capture_output=True, text=True, env=self.environment)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)}: exit status {done.returncode}: {done.stderr[-2000:]}")
        report = json.loads(subprocess.run([self.gnomon, "report", "-d", folder, "--by", "place", "--format", "json"],
                                           capture_output=True, text=True, check=True).stdout)
        shutil.rmtree(folder)
        return done.stdout, report


def computations(report):
    return [r for r in report["activities"] if r["known"] == "samples" and r["samples"]]


def truth(bench, options):
    programs = options.words or PROGRAMS
    for program in programs:
        path = bench.compile(program)
        held = held_binomial = intervals = missing = 0
        widths, plain, outside = [], [], collections.Counter()
        for _ in range(options.runs):
            printed, report = bench.measure([path, str(options.seconds)])
            sections, elapsed = collections.Counter(), collections.Counter()
            for name, cpu, wall in re.findall(r"^truth (\S+) (\S+) (\S+)$", printed, re.M):
                sections[name] += float(cpu)
                elapsed[name] += float(wall)
            rows = [r for r in computations(report) if r["function"] in sections]
            shares, samples = collections.Counter(), collections.Counter()
            low, high = collections.Counter(), collections.Counter()
            for r in rows:
                shares[r["function"]] += r["share"]
                samples[r["function"]] += r["samples"]
            # An interval is of a row. Functions in several rows (loops, libraries) are asked for as a whole: squares add up.
            for f in sections:
                mine = [r for r in rows if r["function"] == f]
                low[f] = shares[f] - math.sqrt(sum((r["share"] - r["low"]) ** 2 for r in mine))
                high[f] = shares[f] + math.sqrt(sum((r["high"] - r["share"]) ** 2 for r in mine))
            all_shares, n = sum(shares.values()), sum(samples.values())
            for f in sections:
                true = elapsed[f] / sum(elapsed.values())
                if samples[f] == 0: # nothing is stated of it
                    missing += true >= 0.03
                    continue
                intervals += 1
                if low[f] / all_shares <= true <= high[f] / all_shares:
                    held += 1
                else:
                    outside[f] += 1
                    print(f"   {f} {100*true:.2f} used {100*sections[f]/sum(sections.values()):.2f} [{100*low[f] / all_shares:.2f} {100*shares[f]/all_shares:.2f} {100*high[f]/all_shares:.2f}] samples {samples[f]} of {n}")
                a, b = wilson(samples[f], n)
                held_binomial += a <= true <= b
                widths.append((high[f] - low[f]) / all_shares)
                plain.append(b - a)
        print(f"{program:<12} {options.runs} runs  {intervals} intervals  held {100 * held / intervals:.1f} %  width {100 * statistics.median(widths):.1f} points"
              f"   binomial: held {100 * held_binomial / intervals:.1f} %  width {100 * statistics.median(plain):.1f}   outside: {dict(outside)}   of 3 % and more missing: {missing}", flush=True)


OWN = []  # libraries in the system's folders that are the program


def own(path):
    return any(name in path for name in OWN) or not re.match(r"/(usr/(local/)?)?lib(64|32)?/|\[", path)


def plain(symbol, library):
    """A function's name without its parameters; all that have no names are one."""
    if symbol == "[unknown]" or re.match(r".*:0x[0-9a-f+x]+$", symbol):
        return os.path.basename(library or symbol.split(":0x")[0]) + ", without names"
    symbol = re.sub(r"(\.(constprop|isra|part|cold|lto_priv)(\.[0-9]+)?)+$", "", symbol) # a copy of the compiler's, by its function
    return re.sub(r"\(.*", "", symbol)


def perf_counts(data, inline):
    """Samples by function of the program's own code, or by library; those in MPI calls are none."""
    out = subprocess.run(["perf", "script", "-i", data, "-F", "comm,ip,sym,dso", "--inline" if inline else "--no-inline"], capture_output=True,
                         text=True, errors="replace").stdout
    counts, comm, frames = collections.Counter(), None, []

    def end():
        if not frames or comm.startswith(("gnomon", "perf", "sh")) or any(re.match(r"P?MPI_|p?mpi_\w+_?$", s) or "libgnomon" in d for s, d in frames):
            return
        symbol, library = frames[0]
        if library == "inlined":
            library = next((d for s, d in frames if d != "inlined"), "")
        counts[plain(symbol, library) if own(library) else os.path.basename(library)] += 1
    for line in out.splitlines():
        if line and not line[0].isspace():
            end()
            comm, frames = line.split()[0], []
        else:
            found = re.match(r"\s+[0-9a-f]+ (.*) \((.*)\)$", line)
            if found and not found[2].startswith("[kernel"):  # where what it does there was begun
                frames.append(found.groups())
    end()
    return counts


def compare(bench, words, inline):
    before = ["sh", "-c", f'exec perf record -q -F 499 -e cpu-clock --call-graph dwarf,16384 -o "{bench.folder}/perf.$$" -- "$0" "$@"']
    _, report = bench.measure(words, before)
    counts = collections.Counter()
    for name in os.listdir(bench.folder):
        if name.startswith("perf."):
            counts += perf_counts(os.path.join(bench.folder, name), inline)
            os.remove(os.path.join(bench.folder, name))
    shares, low, high, samples = (collections.Counter() for _ in range(4))
    # Edges without samples of their own (calls that follow each other within nanoseconds) are named by the function they lie in.
    for r in computations(report) + [r for r in report["activities"] if r["known"] == "range"]:
        name = os.path.basename(r["library"]) if r["library"] else plain(r["function"] or "?", "")
        name = re.sub(r"^.*!", "", name)
        shares[name] += r["share"]
        samples[name] += r["samples"]
        high[name] += ((r["high"] - r["low"]) / 2) ** 2
    n, whole = sum(counts.values()), sum(shares.values()) or 1
    wrong = 0
    print(f"{' '.join(words)[:90]}: {n} samples of perf, {sum(samples.values())} of gnomon", flush=True)
    for name, hits in counts.most_common():
        theirs, mine = hits / n, shares[name] / whole
        if theirs < 0.01 and mine < 0.01:
            continue
        a, b = wilson(hits, n)
        half = math.sqrt(high[name]) / whole or wilson(0, sum(samples.values()))[1]
        far = mine + half < a - 0.005 or mine - half > b + 0.005
        missing = theirs >= 0.03 and samples[name] == 0
        wrong += far or missing
        print(f"  {name[:48]:<48} perf {100 * theirs:5.1f} ± {50 * (b - a):3.1f}   gnomon {100 * mine:5.1f} ± {100 * half:4.1f}"
              f"{'   OUTSIDE' if far else ''}{'   MISSING' if missing else ''}")
    for name, share in shares.most_common():
        if share / whole >= 0.02 and counts[name] == 0:
            half = math.sqrt(high[name]) / whole
            far = share / whole - half > wilson(0, n)[1] + 0.005
            wrong += far
            print(f"  {name[:48]:<48} perf   none         gnomon {100 * share / whole:5.1f} ± {100 * half:4.1f}{'   OUTSIDE' if far else ''}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", metavar="BUILD_DIR")
    parser.add_argument("what", choices=["truth", "perf"])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--mpi", default="openmpi", choices=["openmpi", "mpich"])
    parser.add_argument("--own", action="append", default=[], metavar="LIBRARY", help="an installed library that is the program's own code")
    parser.add_argument("--builds", action="store_true")
    parser.add_argument("--inline", action="store_true", help="perf names inlined functions, too (slow for large programs)")
    words = sys.argv[1:]
    command = words[words.index("--") + 1:] if "--" in words else []
    options = parser.parse_intermixed_args(words[:len(words) - len(command) - 1] if command else words)
    options.words += command
    OWN.extend(options.own)
    with tempfile.TemporaryDirectory(prefix="gnomon-names-") as folder:
        bench = Bench(options.build, options.mpi, folder)
        if options.what == "truth":
            truth(bench, options)
            return
        if not options.builds:
            sys.exit(1 if compare(bench, options.words, options.inline) else 0)
        wrong = 0
        for kind, flags in BUILDS.items():
            for program in PROGRAMS:
                out = bench.compile(program, flags, f"{program}.{kind.split()[0]}", "clang" if kind == "clang" else None)
                print(f"{kind}: ", end="")
                wrong += compare(bench, [out, str(options.seconds)], True)
        print(f"{wrong} outside or missing")
        sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
