"""random_loops.py make SEED SOURCE TRUTH | check REPORT TRUTH RANKS: a program of random loops, one in the other, with
branches, `continue`, `break`, switches, things done by turns; and how often each is gone round, which follows from the
source. Nothing in the program counts, as a counter would tell copies of a loop apart: every round does something else
that can be seen. check: none of the loops may be wrong unless it says that it is doubtful."""
import json
import random
import sys

FUNCTIONS, CALLS = 8, 3
MPI = ["MPI_Barrier(MPI_COMM_WORLD);", "MPI_Allreduce(&v, &w, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);",
       "MPI_Bcast(&v, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);", "quiet(3);", "inner();"]
HEAD = """#include <mpi.h>
static volatile int sink, calls = %d;
static double v, w;
__attribute__((noinline)) static void quiet(int i) { sink += i; }
__attribute__((noinline)) static void inner(void) { MPI_Allreduce(&v, &w, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); sink++; }
""" % CALLS
MAIN = """int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int k = 0; k < calls; k++) {
%s
    }
    MPI_Finalize();
    return 0;
}"""


class Break(Exception):
    pass


class Continue(Exception):
    pass


class Loop:
    """`for` or `while` over one variable to a bound: a constant, what nobody knows, or of another variable."""

    def __init__(self, maker, variables, depth, _):
        self.variable = f"i{len(variables)}"
        self.kind = maker.random.choice(["for", "while"])
        self.bound = maker.random.choice([("constant", maker.random.randint(1, 5)), ("unknown", maker.random.randint(0, 6)),
                                          ("of", maker.random.choice(variables), maker.random.randint(1, 3))])
        self.body = maker.block(variables + [self.variable], depth + 1, True)
        self.count = self.line = 0

    def write(self, out):
        kind, *what = self.bound
        bound = f"({what[0]} % 4 + {what[1]})" if kind == "of" else f"n{what[0]}" if kind == "unknown" else what[0]
        out("{")
        if self.kind == "for":
            out(f"for (int {self.variable} = 0; {self.variable} < {bound}; {self.variable}++) {{")
        else:
            out(f"int {self.variable} = -1;")
            out(f"while (++{self.variable} < {bound}) {{")
        self.line = out.line
        out("sink++;")
        write(self.body, out)
        out("}")
        out("}")

    def run(self, of):
        kind, *what = self.bound
        for of[self.variable] in range(of[what[0]] % 4 + what[1] if kind == "of" else what[0]):
            self.count += 1
            try:
                run(self.body, of)
            except Continue:
                pass
            except Break:
                break


class Branch:
    def __init__(self, maker, variables, depth, is_in_loop):
        self.of, self.modulus = maker.random.choice(variables), maker.random.randint(2, 4)
        self.rest = maker.random.randrange(self.modulus)
        kind = maker.random.random() if is_in_loop else 1
        self.leave = "break;" if kind < 0.2 else "continue;" if kind < 0.4 else None
        self.yes, self.no = (maker.block(variables, depth + 1, is_in_loop) for _ in range(2))

    def write(self, out):
        out(f"if ({self.of} % {self.modulus} == {self.rest}) {{")
        if self.leave:
            out(self.leave)
        else:
            write(self.yes, out)
            out("} else {")
            write(self.no, out)
        out("}")

    def run(self, of):
        is_true = of[self.of] % self.modulus == self.rest
        if self.leave and is_true:
            raise Break if self.leave == "break;" else Continue
        if not self.leave:
            run(self.yes if is_true else self.no, of)


class Turns:
    def __init__(self, maker, variables, depth, is_in_loop):
        self.one, self.other = (maker.block(variables, depth + 1, is_in_loop) for _ in range(2))

    def write(self, out):
        out("if (turn) {")
        write(self.one, out)
        out("turn = 0;")
        out("} else {")
        write(self.other, out)
        out("turn = 1;")
        out("}")

    def run(self, of):
        turn = of["turn"]
        run(self.one if turn else self.other, of)
        of["turn"] = 1 - turn


class Switch: # in which `break` means another thing
    def __init__(self, maker, variables, depth, _):
        self.of = maker.random.choice(variables)
        self.cases = [maker.block(variables, depth + 1, False) for _ in range(maker.random.randint(4, 6))]

    def write(self, out):
        out(f"switch ({self.of} % {len(self.cases) + 1}) {{")
        for i, block in enumerate(self.cases):
            out(f"case {i}: {{")
            write(block, out)
            out("break;")
            out("}")
        out("}")

    def run(self, of):
        case = of[self.of] % (len(self.cases) + 1)
        if case < len(self.cases):
            run(self.cases[case], of)


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def block(self, variables, depth, is_in_loop):
        block = []
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            make = Branch if kind < 0.6 else Switch if kind < 0.68 else Turns if kind < 0.78 else Loop
            block.append(make(self, variables, depth, is_in_loop) if depth < 3 and kind > 0.42 else self.random.choice(MPI))
        return block


class Out:
    def __init__(self):
        self.text, self.line = HEAD, HEAD.count("\n")

    def __call__(self, text):
        self.text += text + "\n"
        self.line += text.count("\n") + 1


def write(block, out):
    for item in block:
        out(item) if isinstance(item, str) else item.write(out)


def run(block, of):
    for item in block:
        if not isinstance(item, str):
            item.run(of)


def all_loops(item):
    if isinstance(item, list):
        return [loop for one in item for loop in all_loops(one)]
    if isinstance(item, str):
        return []
    return [item] * isinstance(item, Loop) + [loop for part in vars(item).values() if isinstance(part, list) for loop in all_loops(part)]


def make(seed, source, truth):
    maker, out = Maker(seed), Out()
    functions = [[Loop(maker, ["a"], 0, False), *maker.block(["a"], 0, False), Loop(maker, ["a"], 0, False)] for _ in range(FUNCTIONS)]
    for i, body in enumerate(functions):
        out(f"static volatile int of_{i}[7] = {{0, 1, 2, 3, 4, 5, 6}};")
        out(f"__attribute__((noinline)) static void f{i}(int a)\n{{\n    int turn = 0;")
        for n in range(7):
            out(f"    const int n{n} = of_{i}[{n}];")
        write(body, out)
        out("    (void)turn;\n    (void)a;\n}")
        for k in range(CALLS):
            run(body, {"a": k, "turn": 0})
    out(MAIN % "\n".join(f"        f{i}(k);" for i in range(FUNCTIONS)))
    open(source, "w").write(out.text)
    with open(truth, "w") as file:
        for loop in all_loops(functions):
            file.write(f"{loop.line} {loop.count if loop.line else 0}\n")


def check(report, truth, ranks):
    found = {}

    def look(node, around):
        is_loop = node["kind"] == "loop" and node["iterations"]
        if is_loop: # what is named after the loop around it is not this line's
            found.setdefault(node["line"], []).append(None if node["line"] in around else node)
        for child in node["children"]:
            look(child, around | {node["line"]} if is_loop else around)
    look(json.load(open(report))["tree"], frozenset())
    exact, seen, wrong = 0, 0, []
    for line, count in (map(int, row.split()) for row in open(truth)):
        nodes = found.get(line, [])
        if not nodes or None in nodes:
            continue
        seen += 1
        if any(node["doubt"] for node in nodes):
            continue
        low, highs = sum(node["iterations"]["low"] for node in nodes), [node["iterations"]["high"] for node in nodes]
        exact += all(node["iterations"]["exact"] for node in nodes)
        if not low <= count * ranks or (None not in highs and count * ranks > sum(highs)):
            wrong.append(f"line {line}: {low} to {highs}, in truth {count * ranks}")
    print(f"{exact} of {seen} loops exact, {len(wrong)} wrong")
    assert not wrong, wrong
    assert seen > 10, "next to no loops were found"


if sys.argv[1] == "make":
    make(int(sys.argv[2]), sys.argv[3], sys.argv[4])
else:
    check(sys.argv[2], sys.argv[3], int(sys.argv[4]))
