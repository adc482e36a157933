"""Writes what a library exports, from nccl_symbols.def: a version script for the linker, or the plain list for the tests.

usage: make_exports.py (preload|drop-in) (map|list) nccl_symbols.def OUTPUT

The preload exports the handled functions alone: every other call of the program goes to NCCL without touching us. The drop-in
takes the place of libnccl.so.2 and exports all. Names carry no version, as NCCL's do not."""

import re
import sys

OWN = ["nccl_slab_comm_counters", "nccl_slab_comm_force", "nccl_slab_comm_plan", "nccl_slab_comm_verdict",
       "nccl_slab_real_function", "nccl_slab_version"]
ROW = re.compile(r"^(NCCL_SYMBOL|NCCL_SYMBOL_WITHOUT_ALIAS)\((\w+), [\d.]+, \w+, (forward|handled)\)$")


def exports(flavour, rows):
    names = list(OWN)
    for row in rows:
        match = ROW.match(row.strip())
        if not match:
            continue
        kind, name, role = match.groups()
        if flavour == "preload" and role != "handled":
            continue
        names.append(name)
        if kind == "NCCL_SYMBOL":
            names.append("p" + name)
    return sorted(names)


def main(flavour, form, table, output):
    with open(table, encoding="utf-8") as rows:
        names = exports(flavour, rows)
    if form == "map":
        text = "{\n  global:\n" + "".join(f"    {name};\n" for name in names) + "  local:\n    *;\n};\n"
    else:
        text = "".join(f"{name}\n" for name in names)
    with open(output, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
