#!/usr/bin/env python3
"""Whether the arguments of each call in the table are those that an MPI library's headers declare.

    mpi_signatures.py SOURCE HEADER-FOLDER...

The wrappers hand arguments on in registers and stack slots: one too many or of another kind, and the library gets rubbish.
Exit status 1 when one differs, 77 when the headers declare none.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + "/scripts")
import mpi_wrappers  # noqa: E402

KINDS = {"P": "pointer", "S": "pointer", "A": "pointer", "B": "pointer", "I": "int", "L": "64 bits", "H": "handle"}


def kind_of(parameter):
    if "*" in parameter or "[" in parameter:
        return "pointer"
    words = [w for w in re.findall(r"\w+", parameter) if w != "const"]
    if not words:
        return parameter
    if words[0] in ("MPI_Count", "MPI_Aint", "MPI_Offset"):
        return "64 bits"
    return "handle" if words[0].startswith("MPI_") else "int" if words[0] == "int" else " ".join(words)


def declared(folders):
    calls = {}
    for folder in folders:
        for header in sorted(pathlib.Path(folder).rglob("*.h")):
            text = re.sub(r"/\*.*?\*/", " ", header.read_text(errors="replace"), flags=re.S)
            text = re.sub(r"^#.*?(?<!\\)$", " ", text, flags=re.M | re.S)
            for name, parameters in re.findall(r"\bint\s+(MPIX?_\w+)\s*\(([^()]*)\)", text):
                names = [p.strip() for p in parameters.split(",")]
                calls.setdefault(name, [] if names in (["void"], [""]) else [kind_of(p) for p in names])
    return calls


def main():
    _, table, _ = mpi_wrappers.read_table(sys.argv[1] + "/src/event/mpi_api.txt")
    headers, compared, wrong = declared(sys.argv[2:]), 0, 0
    for name, _, _, arguments in table:
        name = mpi_wrappers.spelled(name)
        if name not in headers:
            continue
        compared += 1
        ours = [KINDS[kind] for kind, _ in arguments]
        if ours != headers[name]:
            wrong += 1
            print(f"{name}: the table has {ours},\n    the header {headers[name]}")
    print(f"{compared} of {len(table)} calls compared, {wrong} differ")
    sys.exit(77 if compared == 0 else 1 if wrong else 0)


if __name__ == "__main__":
    main()
