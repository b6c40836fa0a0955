#!/usr/bin/env python3
"""Programs with random call graphs, whose call paths are compared with an independent unwinder's (probe.h).

    random_paths.py LIBRARY [--programs N] [--calls N] [--seed S] [--keep FOLDER]

LIBRARY is the probe library of the build. Each program has files in C and C++, a file without unwind tables and plugins
that come and go. File by file, compilers, levels of optimisation and kinds of frames take turns, so that eight programs have
each of them several times; what a program was made with is printed. By hand: --programs 64 --calls 1000000.
Exit status: 1 when any path differs, 77 when there is no compiler.
"""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FUNCTIONS = 24  # of a program, in C and C++
FILES = 4       # that they are spread over; the first one is in C++
PLUGINS = 3
LEVELS = ["-O0", "-O1", "-O2", "-O3"]
FRAMES = ["-fomit-frame-pointer", "-fno-omit-frame-pointer"]
PATIENCE_S = 3600

# What happens before the body, and what its frame has. {size} is random when the program is written, noise() when it runs.
KINDS = {
    "plain": "",
    "room": "    char room[{size}];\n    USED(room);\n",
    "alloca": "    char *room = (char *)__builtin_alloca({size} + 16 * noise(64));\n    USED(room);\n",
    "aligned": "    __attribute__((aligned({alignment}))) char room[{size}];\n    USED(room);\n",
    "aligned_alloca": "    __attribute__((aligned({alignment}))) char room[{size}];\n    USED(room);\n"
                      "    char *more = (char *)__builtin_alloca(16 + 16 * noise(64));\n    USED(more);\n",
}
KINDS_OF_C = {
    "array": "    char room[{size} + 16 * noise(64)];\n    USED(room);\n",
}
AVX = "    double room[4] __attribute__((aligned(32))) = {{(double)depth, 1, 2, {size}}};\n    USED(room);\n"

# Cases of the body's switch; {n} is a number that no other site has.
STEPS = {
    "probe": "            probe();\n",
    "direct": "            {callee}(depth + 1);\n",
    "pointer": "            functions[draw(function_count)](depth + 1);\n",
    "any": "            any(depth);\n",
    "self": "            {self}(depth + 1 + (int)draw(3));\n",
    "signal": "            through_signal(depth);\n",
    "trap": "            through_trap(depth);\n",
    "first_trap": "            through_first_trap(depth);\n",
    "thread": "            through_thread(depth);\n",
    "coroutine": "            through_coroutine(depth);\n",
    "plugin": "            through_plugin(depth);\n",
    "generated": "            through_generated_code(depth);\n",
    "no_tables": "            no_tables_{one}(depth);\n",
    "mpi": "            mpi_like(depth);\n",
    "variable": "            variable_{file}(depth, 2, 1.5, \"text\", {n});\n",
    "jump": "            maybe_jump();\n",
}
STEPS_OF_CXX = {
    "throw": "            maybe_throw();\n",
    "catch": "            catching(depth);\n",
}
STEPS_OF_C = {
    "setjmp": "            waiting_{file}(depth);\n",
}
FREQUENT = ["probe", "probe", "direct", "direct", "pointer", "any"]


class Writer:
    """Writes one program."""

    def __init__(self, seed, folder):
        self.random = random.Random(seed)
        self.folder = folder
        self.sites = 0

    def body(self, number, file, language, gnu):
        steps = STEPS | (STEPS_OF_CXX if language == "cpp" else STEPS_OF_C)
        names = FREQUENT + self.random.sample(sorted(set(steps) - {"probe"}), 3)
        cases = ""
        for case, name in enumerate(names):
            self.sites += 1
            step = steps[name].format(callee=f"f{self.random.randrange(FUNCTIONS)}", self=f"f{number}", file=file,
                                      one=self.random.randrange(2), n=self.sites)
            cases += f"        case {case}:\n{step}            SITE({self.sites});\n            break;\n"
        nested = ""
        if gnu and language == "c" and self.random.random() < 0.3:  # a function inside of another one
            self.sites += 1
            nested = (f"    int outer = depth;\n    NOINLINE void nested(int more)\n    {{\n        outer += more;\n"
                      f"        probe();\n        SITE({self.sites});\n        if (go_on(outer))\n            any(outer);\n    }}\n"
                      f"    nested(1);\n    SITE(-{self.sites});\n")
        return (f"{nested}    for (int turn = 1 + (int)draw(3); turn > 0 && go_on(depth); turn--)\n"
                f"        switch (draw({len(names)})) {{\n{cases}        }}\n")

    def function(self, number, file, language, gnu, avx):
        kinds = KINDS | (KINDS_OF_C if language == "c" else {})
        kind = self.random.choice(sorted(kinds))
        opening = kinds[kind]
        if avx and self.random.random() < 0.2:
            opening = AVX
        opening = opening.format(size=self.random.randrange(1, 300), alignment=self.random.choice([32, 64, 128]))
        attribute = "__attribute__((force_align_arg_pointer)) " if self.random.random() < 0.1 else ""
        ending = ""
        if kind == "plain" and self.random.random() < 0.4:  # the last call may become a jump
            callee = self.random.choice(["any(depth)", "probe()", f"f{self.random.randrange(FUNCTIONS)}(depth + 1)"])
            ending = f"    if (depth < 30 && state.fuel > 0) {{\n        {callee};\n        return;\n    }}\n"
        linkage = 'extern "C" ' if language == "cpp" else ""
        return (f"{linkage}{attribute}NOINLINE void f{number}(int depth)\n{{\n{opening}"
                f"{self.body(number, file, language, gnu)}{ending}}}\n\n")

    def head(self, language):
        declared = "".join(f"void f{i}(int depth);\n" for i in range(FUNCTIONS))
        declared += "void no_tables_0(int depth);\nvoid no_tables_1(int depth);\nvoid mpi_like(int depth);\n"
        if language == "cpp":
            declared = f'extern "C" {{\n{declared}}}\nstatic NOINLINE void catching(int depth);\n'
        return f'#include "program.h"\n\n#include <stdarg.h>\n\n{declared}\n'

    def tail(self, file, language):
        text = (f"NOINLINE void variable_{file}(int depth, int count, ...)\n{{\n    va_list rest;\n    va_start(rest, count);\n"
                "    double number = va_arg(rest, double);\n    USED(&number);\n    va_end(rest);\n    probe();\n    SITE(v1);\n"
                "    any(depth);\n    SITE(v2);\n}\n\n")
        if language == "cpp":
            return text + CXX_TAIL
        return text + C_TAIL.replace("{file}", str(file))

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    def program(self, compilers):
        """compilers: (gnu, avx) of each file. Returns the names of the files."""
        names = []
        for file, (gnu, avx) in enumerate(compilers):
            language = "cpp" if file == 0 else "c"
            mine = [n for n in range(FUNCTIONS) if n % FILES == file]
            linkage = 'extern "C" ' if language == "cpp" else ""
            before = f"{linkage}void variable_{file}(int depth, int count, ...);\nvoid waiting_{file}(int depth);\n\n"
            text = self.head(language) + before + "".join(self.function(n, file, language, gnu, avx) for n in mine)
            if file == 1:
                text += "node_function *const functions[] = {" + ", ".join(f"f{n}" for n in range(FUNCTIONS)) + "};\n"
                text += f"const unsigned function_count = {FUNCTIONS};\n\n"
            names.append(f"file{file}.{language}")
            self.write(names[-1], text + self.tail(file, language))
        self.write("no_tables.c", self.head("c") + NO_TABLES)
        self.write("mpi_like.c", self.head("c") + MPI_LIKE)
        for plugin in range(PLUGINS):
            self.write(f"plugin{plugin}.c", self.head("c") + PLUGIN.format(more=16 * plugin))
        return names


C_TAIL = """NOINLINE void waiting_{file}(int depth)
{
    jmp_buf here;
    volatile struct saved saved;
    struct saved now = save_state();
    saved.catchers = now.catchers, saved.jump_base = now.jump_base, saved.jump_count = now.jump_count;
    if (state.jump_count < MAX_JUMPS && setjmp(here) == 0) {
        state.jumps[state.jump_count++] = &here;
        any(depth);
        SITE(w1);
    } else {
        probe();
        SITE(w2);
    }
    restore_state((struct saved){saved.catchers, saved.jump_base, saved.jump_count});
}
"""

CXX_TAIL = """struct Thrown {
    int depth;
};

struct Guard { // the frame has something to do when an exception passes
    ~Guard()
    {
        probe();
        SITE(guard);
    }
};

static NOINLINE void guarded(int depth)
{
    Guard guard;
    any(depth);
    SITE(guarded);
}

static NOINLINE void catching(int depth)
{
    saved before = save_state();
    state.catchers++;
    try {
        guarded(depth);
        SITE(try);
    } catch (const Thrown &thrown) {
        restore_state(before);
        saved inside = begin_boundary(); // a jump out of here would leave the exception behind
        probe();
        SITE(catch);
        if (go_on(thrown.depth))
            any(depth);
        restore_state(inside);
    }
    restore_state(before);
}

extern "C" void maybe_throw(void)
{
    if (state.catchers > 0 && draw(2))
        throw Thrown{3};
}
"""

NO_TABLES = """NOINLINE void no_tables_0(int depth)
{
    struct saved saved = begin_boundary();
    probe();
    SITE(n0);
    any(depth);
    SITE(n1);
    restore_state(saved);
}

NOINLINE void no_tables_1(int depth)
{
    struct saved saved = begin_boundary();
    volatile char room[64] = {(char)depth};
    any(depth + room[0] - room[0]);
    SITE(n2);
    restore_state(saved);
}
"""

# A library whose name is that of an MPI library: its frames at the inner end are not the user's.
MPI_LIKE = """static NOINLINE void inner(int depth)
{
    probe();
    SITE(m0);
    if (depth % 2)
        any(depth);
    SITE(m1);
}

void mpi_like(int depth)
{
    inner(depth);
    SITE(m2);
}
"""

PLUGIN = """static NOINLINE void inside(int depth)
{{
    char room[{more} + 16];
    USED(room);
    probe();
    SITE(p0);
    if (go_on(depth))
        any(depth);
    SITE(p1);
}}

__attribute__((visibility("default"))) void plugin_entry(int depth)
{{
    inside(depth);
    SITE(p2);
}}
"""


def compilers():
    return [pair for pair in [("gcc", "g++"), ("clang", "clang++")] if all(map(shutil.which, pair))]


def run(words, **more):
    done = subprocess.run(words, text=True, capture_output=True, **more)
    if done.returncode != 0 and "calls" not in done.stdout:
        sys.exit(f"random_paths.py: {' '.join(words)}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return done


def build(number, seed, folder, library, ways):
    """Writes and builds one program. Returns what its files were compiled with."""
    has_avx = "avx" in open("/proc/cpuinfo").read()
    mine = [ways[(number + 5 * file) % len(ways)] for file in range(FILES)]
    draw = random.Random(seed)
    avx = [has_avx and draw.random() < 0.5 for _ in mine]
    writer = Writer(seed, folder)
    names = writer.program([(way[0][0] == "gcc", a) for way, a in zip(mine, avx)])
    cxx = mine[0][0][1]
    objects = []

    def compile_(compiler, source, options):
        objects.append(os.path.join(folder, os.path.basename(source) + ".o"))
        run([compiler, "-g", "-fPIC", "-w", "-D_GNU_SOURCE", "-I", HERE, "-I", folder, *options, "-c", source, "-o", objects[-1]])

    for name, ((c, cxx_here), level, frame), a in zip(names, mine, avx):
        options = [level, frame, "-fexceptions"] + (["-mavx"] if a else [])
        compile_(cxx_here if name.endswith("cpp") else c, os.path.join(folder, name), options)
    (c, _), level, frame = mine[1]
    compile_(c, os.path.join(HERE, "program.c"), [level, frame, "-fexceptions"])
    compile_(c, os.path.join(folder, "no_tables.c"), [level, frame, "-fno-exceptions", "-fno-unwind-tables",
                                                      "-fno-asynchronous-unwind-tables", "-g0"])
    shared = ["-shared", "-fPIC", "-g", "-w", "-I", HERE, "-Wl,-z,undefs"]
    mpi = os.path.join(folder, "libmpi_like.so")
    run([c, *shared, level, frame, os.path.join(folder, "mpi_like.c"), "-o", mpi])
    for plugin in range(PLUGINS):
        run([c, *shared, level, frame, os.path.join(folder, f"plugin{plugin}.c"), "-o",
             os.path.join(folder, f"libplugin{plugin}.so")])
    run([cxx, *objects, mpi, library, "-rdynamic", "-Wl,-rpath," + os.path.dirname(library) + ":" + folder, "-ldl", "-lpthread",
         "-o", os.path.join(folder, "program")])
    return "; ".join(f"{way[0][0]} {way[1]} {way[2][2:]}{' avx' if a else ''}" for way, a in zip(mine, avx))


RESULT = re.compile(r"(\w+) (\d+)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--programs", type=int, default=8)
    parser.add_argument("--calls", type=int, default=100000, help="of all programs together (default 100000)")
    parser.add_argument("--seed", type=int, default=20261123)
    parser.add_argument("--keep", metavar="FOLDER", help="leave the programs there")
    options = parser.parse_args()
    found = compilers()
    if not found:
        print("random_paths.py: no C and C++ compiler")
        return 77
    ways = [(pair, level, frame) for level in LEVELS for pair in found for frame in FRAMES]
    wrong = total = 0
    with tempfile.TemporaryDirectory(prefix="gnomon-paths-") as temporary:
        for number in range(options.programs):
            seed = options.seed + number
            folder = os.path.join(options.keep or temporary, str(seed))
            os.makedirs(folder, exist_ok=True)
            made = build(number, seed, folder, os.path.abspath(options.library), ways)
            words = [os.path.join(folder, "program"), str(options.calls // options.programs), str(seed), folder]
            done = run(words, timeout=PATIENCE_S)
            result = dict((name, int(value)) for name, value in RESULT.findall(done.stdout))
            print(f"seed {seed} ({made}): {done.stdout.strip()}", flush=True)
            if done.stderr:
                print(done.stderr, end="", flush=True)
            wrong += result["wrong_walks"] + result["wrong_paths"]
            total += result["calls"]
            if result["cut"] > result["calls"] / 100:  # a path that found no room is not compared
                print("  too many paths found no room")
                wrong += 1
    print(f"{options.programs} programs, {total} calls, {wrong} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
