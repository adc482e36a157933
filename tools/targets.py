"""Names the ninja targets of a build folder that are installed or defined under one of the given source folders.

Usage: targets.py BUILD_FOLDER [SOURCE_FOLDER...]
"""
import json
import pathlib
import sys


def is_wanted(target, folders):
    if target["installed"]:
        return True
    defined_in = pathlib.Path(target["defined_in"]).parent
    return target["build_by_default"] and any(defined_in.is_relative_to(folder) for folder in folders)


def of(build, *folders):
    """The wanted targets' files, relative to the build folder."""
    build, folders = pathlib.Path(build).resolve(), [pathlib.Path(folder).resolve() for folder in folders]
    described = json.loads((build / "meson-info" / "intro-targets.json").read_text(encoding="utf-8"))
    return [str(pathlib.Path(name).relative_to(build))
            for target in described if is_wanted(target, folders) for name in target["filename"]]


if __name__ == "__main__":
    print("\n".join(of(*sys.argv[1:])))
