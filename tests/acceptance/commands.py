"""Runs the real command as a user does: a process of its own, in a folder of its own."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

TREE = Path(__file__).parents[2]
LONGEST_S = 60.0


def environment(folder: Path, **more: str) -> dict[str, str]:
    """A bare environment, so that nothing of the machine's own leaks in."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(TREE),
        "PYTHONWARNINGS": "error",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        **more,
    }


def run(
    folder: Path,
    *arguments: str,
    stdin: str = "",
    program: Sequence[str] = ("-m", "bot"),
    variables: dict[str, str] | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run the command to its end. Whatever it is, it shows no traceback."""
    done = subprocess.run(
        [sys.executable, *program, *arguments],
        cwd=folder,
        env=environment(folder, **(variables or {})),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )
    assert "Traceback" not in done.stdout + done.stderr
    return done
