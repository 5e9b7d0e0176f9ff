"""Kind ``delivery_sequence``: what is said leaves once and in order, whatever the platform does; what comes is taken once.

Steps that send run in this process (:mod:`tests.cases.outgoing`); steps about updates, signals and crashes run against
the real daemon (:mod:`tests.cases.incoming`). On Matrix it is :mod:`tests.cases.matrix_delivery`.
"""

import re
from pathlib import Path
from typing import Any

from tests.cases import incoming, matrix_delivery, matrix_verdict, queueing, tapping
from tests.cases.matrix_played import Played as MatrixPlayed
from tests.cases.outgoing import Played, interrupt, play
from tests.cases.result import NotRun, check
from tests.cases.script import in_parts, replies_of, sends_of
from tests.cases.verdict import judge

PLATFORMS = ("telegram", "matrix", "any")


async def sequence(case: dict[str, Any], folder: Path) -> None:
    """Run one case."""
    given, expected = case["input"], case["expected"]
    platform = given.get("platform", "telegram")
    if platform not in PLATFORMS:
        raise NotRun(f"{platform.capitalize()} is not built yet")
    steps = given["steps"]
    if platform == "matrix":
        await _on_matrix(given, str(expected["end_state"]), folder)
    elif any("callback" in str(step.get("update", "")) for step in steps):
        await tapping.run(steps, expected, folder)
    elif any("update" in step or "http" in step or "event" in step for step in steps):
        await incoming.run(steps, expected, folder)
    elif any(step.get("do") == "enqueue" for step in steps):
        await queueing.run(steps, expected, folder)
    else:
        await _outgoing(steps, expected, given.get("limit", {}), folder)


async def _on_matrix(given: dict[str, Any], end_state: str, folder: Path) -> None:
    def verdict(played: MatrixPlayed) -> None:
        matrix_verdict.judge(played, end_state, given.get("limit", {}))

    await matrix_delivery.run(given, folder, verdict)


async def _outgoing(
    steps: list[dict[str, Any]], expected: dict[str, Any], limits: dict[str, int], folder: Path
) -> None:
    end_state = str(expected["end_state"])
    sends, replies = sends_of(steps), replies_of(steps)
    if not sends:
        raise NotRun("nothing is sent in it")

    def verdict(played: Played) -> None:
        judge(played, end_state, limits)

    await play(steps, folder / "as-is", verdict, buttons=False)
    if any(reply.says("entit") for reply in replies):  # the same words with formatting that can be refused

        def with_bold(played: Played) -> None:
            check(all(reply.fault is not None and reply.fault.hits for reply in played.replies[:1]), "a refusal")
            judge(played, end_state, limits)

        bold = [
            {**step, "text": f"**{step['text']}**"} if "text" in step and "markdown" in str(step.get("do")) else step
            for step in steps
        ]
        await play(bold, folder / "bold", with_bold, buttons=False)
    if any(send.photos for send in sends):
        await play(steps, folder / "buttons", _with_buttons(verdict), buttons=True)
    if any(send.parts > 1 for send in sends):
        await _interrupted(steps, folder)


def _with_buttons(verdict: Any) -> Any:
    def judged(played: Played) -> None:
        verdict(played)
        holders = [call for call in played.calls if "reply_markup" in call.arguments]
        check(len(holders) == 1, "buttons at one message", len(holders))
        album = [call for call in played.calls if call.method == "sendMediaGroup"]
        check(not album or holders[0].method == "sendMessage", "buttons under the text that follows the album")

    return judged


async def _interrupted(steps: list[dict[str, Any]], folder: Path) -> None:
    """A stop in the middle: the next start goes on behind it and repeats nothing."""
    sends = sends_of(steps)
    numbers = [int(found[0]) for reply in replies_of(steps) if (found := re.findall(r"\d+", reply.label))]
    at = min(max(numbers, default=2), sends[0].parts)
    seen, rows = await interrupt(sends, at, folder / "interrupted")
    wanted = [text.split()[1] for text in in_parts(sends[0].parts).split("\n\n")] if sends[0].parts > 1 else []
    check([text.split()[1] for text in seen] == wanted, "each part once, in order, after a stop in the middle")
    states = [row.state for row in rows if row.code != "report"][: sends[0].parts]
    check(states[at - 1] == "unknown", f"part {at} to be uncertain after the stop", states)
    check(states.count("delivered") == sends[0].parts - 1, "the other parts to be delivered", states)


KINDS = {"delivery_sequence": sequence}
