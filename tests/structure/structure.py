#!/usr/bin/env python3
"""How the house is built: which file may use which, one name for one thing, documents that can be found.

    structure.py includes SOURCE     #includes go upwards in the order of rooms, and never in a circle
    structure.py tags SOURCE         each struct, union and enum tag of a header is defined once
    structure.py headers SOURCE CC FLAG...   each header compiles alone, and all of them together
    structure.py commands SOURCE     a command parses, calls and answers in 150 lines; quantities are printed in one place
    structure.py docs SOURCE         every page of docs/ is in README's index, every link leads somewhere, each pattern has a page
"""
import itertools
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# Made from tables when gnomon is built.
GENERATED = {"calls.h", "calls_alone.h", "call_table.h", "perfetto.pb-c.h", "pprof.pb-c.h"}

# Rooms that may not use all of those above them, and why.
ONLY = {
    # in somebody else's program: nothing that allocates, prints or needs a library
    "capture": {"event", "unwind", "clock", "image"},
    # shared by the program and whoever looks at it
    "image": {"base", "event", "unwind", "clock"},
}
# What a run is known by and what it is made of are two things.
NEVER = {("trace", "graph")}

failures = []


def fail(text):
    failures.append(text)


def sources(root):
    return sorted(p.relative_to(root / "src") for p in (root / "src").glob("*/*.[ch]"))


def rooms_of(root):
    found = re.search(r"set\(GNOMON_ROOMS\s+([^)]*)\)", (root / "src/CMakeLists.txt").read_text())
    return found.group(1).split()


def included(path):
    return re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.M)


def file_of(path):
    """x.h, x.c and x_inside.h are one file."""
    name = re.sub(r"_inside$", "", Path(path).stem)
    return f"{Path(path).parent}/{name}"


def circles(uses):
    """Tarjan's strongly connected components of more than one file."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []
    numbers = itertools.count()

    def visit(node):
        index[node] = low[node] = next(numbers)
        stack.append(node)
        on_stack.add(node)
        for other in sorted(uses.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in on_stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            component = set()
            while node not in component:
                component.add(stack.pop())
            on_stack.difference_update(component)
            if len(component) > 1:
                found.append(frozenset(component))

    sys.setrecursionlimit(10000)
    for node in sorted(uses):
        if node not in index:
            visit(node)
    return found


def check_tables(root, rooms):
    """The order of rooms is written for people in two more places."""
    table = re.findall(r"^\| `src/(\w+)/` \|", (root / "CONTRIBUTING.md").read_text(), re.M)
    if table != rooms:
        fail(f"CONTRIBUTING.md lists the rooms as {' '.join(table)}, src/CMakeLists.txt as {' '.join(rooms)}")
    page = re.findall(r"^## `(\w+)/`", (root / "docs/rooms.md").read_text(), re.M)
    if page != rooms:
        fail(f"docs/rooms.md lists the rooms as {' '.join(page)}, src/CMakeLists.txt as {' '.join(rooms)}")
    folders = {p.parent.name for p in (root / "src").glob("*/*.[ch]")}
    if folders != set(rooms):
        fail(f"folders of src/ and rooms differ: {' '.join(sorted(folders ^ set(rooms)))}")


def check_arrow(path, room, other, rooms):
    if room == other:
        return
    if other not in rooms:
        fail(f"src/{path} includes a file of {other}/, which is no room")
    elif rooms.index(other) > rooms.index(room):
        fail(f"src/{path} includes a file of {other}/, which is below {room}/ (src/CMakeLists.txt)")
    elif other not in ONLY.get(room, {other}):
        fail(f"src/{path} includes a file of {other}/: {room}/ uses nothing but {' '.join(sorted(ONLY[room]))}")
    elif (room, other) in NEVER:
        fail(f"src/{path} includes a file of {other}/, which {room}/ has no business with")


def check_answer(root):
    """How a quantity and a table look does not depend on what they are of: files of gnomon_answer use each other only."""
    listed = re.search(r"add_library\(gnomon_answer STATIC ([^)]*)\)", (root / "src/answer/CMakeLists.txt").read_text())
    own = {f"answer/{Path(name).stem}" for name in listed[1].split()}
    for path in sources(root):
        if file_of(path) in own:
            for target in included(root / "src" / path):
                if file_of(target) not in own and not target.startswith("base/"):
                    fail(f"src/{path} includes {target}: what is printed in general knows nothing of MPI (docs/rooms.md)")


def check_includes(root):
    rooms = rooms_of(root)
    uses = {}
    check_tables(root, rooms)
    check_answer(root)
    for path in sources(root):
        for target in included(root / "src" / path):
            if target in GENERATED:
                continue
            if not (root / "src" / target).is_file() or target.count("/") != 1:
                fail(f'src/{path} includes "{target}": quotes are for room/file.h and {" ".join(sorted(GENERATED))}')
                continue
            check_arrow(path, path.parent.name, target.split("/")[0], rooms)
            if file_of(path) != file_of(target):
                uses.setdefault(file_of(path), set()).add(file_of(target))
    found = set(circles(uses))
    for circle in sorted(found, key=sorted):
        arrows = [f"{a} → {b}" for a in sorted(circle) for b in sorted(uses[a] & circle)]
        fail("files include each other in a circle: " + ", ".join(arrows))
    print(f"{len(rooms)} rooms, {len(uses)} files that use others, {len(found)} circles")


def without_comments(text):
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.S)


def check_tags(root):
    """A tag that no header has is its file's own (struct arguments of a command)."""
    places = {}
    for path in sources(root):
        text = without_comments((root / "src" / path).read_text())
        for kind, tag in re.findall(r"\b(struct|union|enum)\s+(\w+)\s*\{", text):
            places.setdefault(tag, []).append(path)
    shared = 0
    for tag, where in sorted(places.items()):
        in_header = any(p.suffix == ".h" for p in where)
        shared += in_header
        if in_header and not tag.startswith("gn_"):
            fail(f"src/{where[0]}: the tag {tag} of a header has no prefix gn_")
        if len(where) > 1 and (in_header or tag.startswith("gn_")):
            fail(f"the tag {tag} is defined in " + " and ".join(f"src/{p}" for p in where))
    print(f"{shared} tags of headers, each defined once")


def compiled(compiler, flags, files, folder):
    """What the compiler says against these, each by itself; nothing: it takes them."""
    command = [*compiler, *flags, "-fsyntax-only", "-x", "c", *map(str, files)]
    run = subprocess.run(command, cwd=folder, stderr=subprocess.PIPE, text=True, check=False)
    return run.stderr if run.returncode != 0 else ""


def check_headers(root, compiler, flags):
    headers = [p for p in sources(root) if p.suffix == ".h"]
    # MPI's own headers contradict each other: who includes one of them is for one flavour
    headers = [p for p in headers if not re.search(r"#\s*include <mpi.h>", (root / "src" / p).read_text())]
    wrong = compiled(compiler, flags, headers, root / "src")
    if wrong:
        fail("not all headers compile alone:\n" + wrong)
    with tempfile.TemporaryDirectory(prefix="gnomon-structure.") as folder:
        together = Path(folder) / "together.c"
        together.write_text("".join(f'#include "{p}"\n' for p in headers))
        wrong = compiled(compiler, flags, [together], folder)
    if wrong:
        fail("all headers together do not compile:\n" + wrong)
    print(f"{len(headers)} headers, each alone and all together")


def links(path):
    """Pages that a page of ours links to, as paths."""
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text()):
        if "://" not in target:
            yield (path.parent / target).resolve()


def check_patterns(root):
    """What gnomon explain finds has a page each, which docs/patterns.md names."""
    table = (root / "docs/patterns.md").read_text()
    named = dict(re.findall(r"\[`([^`]+)`\]\(patterns/([\w-]+)\.md\)", table))
    kinds = set()
    for source in (root / "src/analyse").glob("patterns*.c"):
        kinds |= set(re.findall(r'\.name = "([^"]+)"', source.read_text()))
    for kind in sorted(kinds - set(named)):
        fail(f"docs/patterns.md has no page of {kind}")
    for kind, page in sorted(named.items()):
        if kind not in kinds:
            fail(f"docs/patterns/{page}.md is of {kind}, which gnomon explain does not know")


def check_docs(root):
    pages = {p.resolve() for p in (root / "docs").rglob("*.md")}
    readme = (root / "README.md").read_text()
    index = readme[readme.index("## Formats and documents"):]
    for page in sorted(pages):
        name = page.relative_to(root.resolve())
        if f"({name})" not in index and page.parent.name != "patterns":
            fail(f"README.md's index of documents does not name {name}")
    check_patterns(root)
    seen, todo = set(), [root.resolve() / "README.md"]
    while todo:
        page = todo.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        for target in links(page):
            if not target.exists():
                fail(f"{page.relative_to(root.resolve())} links to {os.path.relpath(target, root)}, which is not there")
            else:
                todo.append(target)
    for page in sorted(pages - seen):
        fail(f"no link leads from README.md to {page.relative_to(root.resolve())}")
    print(f"{len(pages)} pages of docs/, all in the index")


# Who knows the units of times and sizes: what reads them, and what prints them.
UNITS = {"base/quantity.c", "answer/quantities.c", "answer/spans.c", "answer/fit.c"}
COMMAND_LINES = 150


def check_commands(root):
    commands = sorted((root / "src/cli").glob("command_*.c"))
    longest = 0
    for path in commands:
        lines = path.read_text().count("\n")
        longest = max(longest, lines)
        if lines > COMMAND_LINES:
            fail(f"{path.relative_to(root)} has {lines} lines, more than {COMMAND_LINES}: what neither parses nor calls "
                 "nor answers belongs to another room")
    for path in sources(root):
        units = re.findall(r'"(ns|us|ms|KiB|MiB|GiB)"', (root / "src" / path).read_text())
        if units and str(path) not in UNITS:
            fail(f"src/{path} knows units ({', '.join(sorted(set(units)))}): answer/quantities.h prints them")
    print(f"{len(commands)} commands, the longest has {longest} lines")


def main():
    what, root = sys.argv[1], Path(sys.argv[2])
    if what == "headers":
        flags = sys.argv[4:]
        check_headers(root, sys.argv[3].split(), flags)
    else:
        {"includes": check_includes, "tags": check_tags, "docs": check_docs, "commands": check_commands}[what](root)
    for text in failures:
        print("FAIL", text)
    sys.exit(1 if failures else 0)


main()
