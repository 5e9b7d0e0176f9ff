"""Run a file of cases: a line a case, then the count. No case is known here by its id.

Exit code 0: nothing failed; 1: something did; 2: the file can't be read.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.cases import configuration, delivery, forms, matrix, operation, questions, scheduling, telegram
from tests.cases.result import Failed, NotRun

Case = dict[str, Any]
KINDS: dict[str, Callable[[Case, Path], Awaitable[None]]] = {
    "matrix_events": matrix.events,
    "telegram_updates": telegram.updates,
    **configuration.KINDS,
    **delivery.KINDS,
    **forms.KINDS,
    **operation.KINDS,
    **questions.KINDS,
    **scheduling.KINDS,
}
LONGEST_S = 120.0


async def outcome(case: Case) -> tuple[str, str]:
    """Run one case: pass, fail or not_run, and why."""
    kind = str(case.get("input", {}).get("kind"))
    run = KINDS.get(kind)
    if run is None:
        return "not_run", f"{kind} is not built yet"
    try:
        with tempfile.TemporaryDirectory(prefix="case-") as folder:
            async with asyncio.timeout(LONGEST_S):
                await run(case, Path(folder))
    except NotRun as reason:
        return "not_run", str(reason)
    except Failed as failed:
        return "fail", str(failed)
    except Exception as error:
        return "fail", f"{type(error).__name__}: {error}"
    return "pass", ""


async def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cases", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, default=Path(__file__).with_name("cases.jsonl"))
    parser.add_argument("--only", metavar="ID", action="append", default=[], help="run this case; may be repeated")
    parser.add_argument("--json", action="store_true", help="a JSON object a line")
    options = parser.parse_args()
    try:
        lines = options.file.read_text(encoding="utf-8").splitlines()
        cases = [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError) as error:
        print(f"{options.file}: {error}", file=sys.stderr)
        return 2
    counts = {"pass": 0, "fail": 0, "not_run": 0}
    for case in cases:
        if options.only and case.get("id") not in options.only:
            continue
        result, why = await outcome(case)
        counts[result] += 1
        if options.json:
            print(json.dumps({"id": case.get("id"), "result": result, "why": why}, ensure_ascii=False), flush=True)
        else:
            print(f"{case.get('id')}: {result.replace('_', ' ')}" + (f": {why}" if why else ""), flush=True)
    print(
        f"{counts['pass']} passed, {counts['fail']} failed, {counts['not_run']} not run",
        file=sys.stderr if options.json else sys.stdout,
    )
    return 1 if counts["fail"] else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
