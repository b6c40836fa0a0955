"""check_graph.py PROGRAM --scale N --edges N --seed N OUTPUT: what pagerank or components printed is what a plain
solution for the same graph gives: visits in floating point, components by joining sets."""
import argparse
import re
import sys

parser = argparse.ArgumentParser()
parser.add_argument("program", choices=("pagerank", "components"))
for name in ("scale", "edges", "seed"):
    parser.add_argument(f"--{name}", type=int, required=True)
parser.add_argument("output")
given = parser.parse_args()
M64 = 2**64 - 1
vertices = 2**given.scale


def random_at(position):
    z = position * 0x9E3779B97F4A7C15 & M64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & M64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & M64
    return z ^ (z >> 31)


def renumber(vertex):
    for _ in range(3):
        vertex = (vertex * 0x9E3779B97F4A7C15 + given.seed) % vertices
        vertex ^= vertex >> (given.scale // 2 + 1)
    return vertex


def edge(i):
    row = column = 0
    for level in range(given.scale):
        word = random_at((given.seed << 40) + i * 6 + level // 4)
        part = (word >> 16 * (level % 4) & 0xFFFF) / 65536
        row = 2 * row + (part >= 0.7)
        column = 2 * column + (0.5 <= part < 0.7 or part >= 0.9)
    return renumber(row), renumber(column)


def components(edges):
    leader = list(range(vertices))

    def find(v):
        while leader[v] != v:
            leader[v] = v = leader[leader[v]]
        return v

    for a, b in edges:
        a, b = find(a), find(b)
        leader[max(a, b)] = min(a, b)
    label = [find(v) for v in range(vertices)]
    sizes = [label.count(v) for v in set(label)]
    checksum = sum(label[v] * random_at(v) for v in range(vertices)) & M64
    return [f"{len(sizes)} components, the largest of {max(sizes)} vertices, checksum {checksum:016x}"]


def pagerank(edges):
    sources, degree = [[] for _ in range(vertices)], [0] * vertices
    for a, b in edges:
        degree[a] += 1
        sources[b].append(a)
    visits = [1 / vertices] * vertices
    for _ in range(200):
        stranded = sum(x for x, d in zip(visits, degree) if d == 0)
        visits = [(0.15 + 0.85 * stranded) / vertices + 0.85 * sum(visits[a] / degree[a] for a in s) for s in sources]
    most = max(range(vertices), key=visits.__getitem__)
    ppm = round(visits[most] * 1e6)
    return [f"most at {most} ({near} ppm)" for near in (ppm - 1, ppm, ppm + 1)]


if len({renumber(v) for v in range(vertices)}) != vertices:
    sys.exit("vertices get one number")
expected = {"pagerank": pagerank, "components": components}[given.program]([edge(i) for i in range(vertices * given.edges)])
printed = open(given.output).read()
if not any(re.search(re.escape(line), printed) for line in expected):
    sys.exit(f"expected {expected[len(expected) // 2]}")
