"""Compares the settings table of README.md with src/base/settings.def, from which the library is made.

The table stands between the lines `<!-- settings -->` and `<!-- /settings -->`.
Usage: check_settings.py [--write]    --write: puts the table into README.md
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROW = re.compile(r'^SETTING\((\w+), "(\w+)", (.+?), "(.*?)", "(.*?)", "(.*)"\)$')
TABLE = re.compile(r"(<!-- settings -->\n)(.*?)(<!-- /settings -->)", re.DOTALL)


def rows(definitions):
    for line in definitions.splitlines():
        if line.startswith("SETTING("):
            _, name, kind, default, unit, sentence = ROW.match(line).groups()
            yield "NCCL_SLAB_" + name, kind.strip('"'), default, unit, sentence


def table(definitions):
    lines = ["| variable | value | default | meaning |", "|---|---|---|---|"]
    for variable, kind, default, unit, sentence in rows(definitions):
        value = f"`{kind}`".replace("|", "\\|") if "|" in kind else kind + (f", {unit}" if unit not in ("", kind) else "")
        shown = f"`{default}`" if default else ""
        lines.append(f"| `{variable}` | {value} | {shown} | {sentence.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def check(root, write=False):
    readme = pathlib.Path(root, "README.md")
    text = readme.read_text(encoding="utf-8")
    wanted = table(pathlib.Path(root, "src/base/settings.def").read_text(encoding="utf-8"))
    found = TABLE.search(text)
    if found is None:
        print("README.md: no lines <!-- settings --> ... <!-- /settings -->")
        return False
    if found[2] == wanted:
        return True
    if write:
        readme.write_text(text[: found.start(2)] + wanted + text[found.end(2) :], encoding="utf-8")
        return True
    print("README.md: the settings table differs from src/base/settings.def; tools/check_settings.py --write mends it")
    return False


if __name__ == "__main__":
    sys.exit(0 if check(ROOT, write="--write" in sys.argv[1:]) else 1)
