"""What rustc needs for a bundle's crate: CPU time and memory, in all and per node of the forests.

    python build_cost.py BUNDLE [OPTION OF compile-forest...]

Nodes are counted as the forests were trained, before any pass. Cargo and the compiler's start are
included.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

CODEGEN = pathlib.Path(__file__).resolve().parent.parent


def compile_forest(crate, arguments):
    """Generates the crate; returns the number of nodes that the forests had."""
    done = subprocess.run(
        ["cargo", "run", "--quiet", "--release", "--manifest-path", CODEGEN / "Cargo.toml", "--bin",
         "compile-forest", "--", *arguments, "--out", crate, "--explain"],
        stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(done.returncode)
    given = {}
    for predictor, nodes in re.findall(r"^(\w+) +merge equal leaves +(\d+)", done.stdout, re.MULTILINE):
        given.setdefault(predictor, int(nodes))
    return sum(given.values())


def build(crate, *profile):
    """User seconds of a build, and the most bytes that one of its processes had in memory."""
    environment = os.environ | {"CARGO_TARGET_DIR": str(crate / "target")}
    process = subprocess.Popen(["cargo", "build", "--quiet", *profile], cwd=crate, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit("error: the crate does not build")
    # Linux counts kibibytes, and in a parent the children that it waited for.
    return usage.ru_utime, usage.ru_maxrss * 1024


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as temporary:
        crate = pathlib.Path(temporary) / "enerinfer-runtime"
        nodes = compile_forest(crate, sys.argv[1:])
        print(f"{nodes} nodes")
        for name, profile in ("release", ["--release"]), ("debug", []):
            seconds, most = build(crate, *profile)
            print(f"{name:8} {seconds:6.2f} s {most / 1e6:7.0f} MB    per node: "
                  f"{seconds / nodes * 1e6:6.1f} us {most / nodes / 1e3:6.2f} kB")


if __name__ == "__main__":
    main()
