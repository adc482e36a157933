"""Names the ninja targets of a build folder that are installed or defined under one of the given source folders.

Usage: targets.py BUILD_FOLDER [SOURCE_FOLDER...]
"""
import json
import pathlib
import sys


def wanted(target, folders):
    if target.get("installed"):
        return True
    defined_in = pathlib.Path(target["defined_in"]).parent
    return target["build_by_default"] and any(defined_in.is_relative_to(folder) for folder in folders)


def main(build, *folders):
    described = pathlib.Path(build, "meson-info", "intro-targets.json").read_text()
    folders = [pathlib.Path(folder).resolve() for folder in folders]
    for target in json.loads(described):
        if wanted(target, folders):
            for name in target["filename"]:
                print(pathlib.Path(name).relative_to(pathlib.Path(build).resolve()))


if __name__ == "__main__":
    main(*sys.argv[1:])
