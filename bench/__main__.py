"""python -m bench [--rounds N] [--messages N]: the gateway beside its peers, in one run; medians and ratios."""

import argparse
import asyncio
from dataclasses import dataclass

from bench import contenders, decisions, intake, storm

ROW = "{:<28}{:>12}{:>14}{:>10}{:>10}"


@dataclass(frozen=True)
class Target:
    """A number to reach."""

    name: str
    got: float
    want: str
    met: bool


async def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--messages", type=int, default=1500)
    parser.add_argument("--chats", type=int, default=50)
    options = parser.parse_args()

    print(f"echo, {options.messages} messages over {options.chats} chats, medians of {options.rounds} rounds")
    print(ROW.format("", "messages/s", "CPU ms/message", "MB", "start s"))
    results: dict[str, contenders.Result] = {}
    measured: dict[str, list[contenders.Result]] = {name: [] for name in contenders.CONTENDERS}
    for _ in range(options.rounds):  # round by round, so that a slow minute of the machine hits all alike
        for name, start in contenders.CONTENDERS.items():
            measured[name].append(await contenders.run(start, messages=options.messages, chats=options.chats))
    for name, rounds in measured.items():
        result = results[name] = contenders.median(rounds)
        print(
            ROW.format(
                name,
                f"{result.per_s:,.0f}",
                f"{result.cpu_ms:.2f}",
                f"{result.memory_mb:.0f}",
                f"{result.start_s:.1f}",
            ),
        )
    ours, aiogram, ptb = results["discreet"], results["aiogram"], results["python-telegram-bot"]

    decision = decisions.measure()
    print(
        f"\none decision (facts and gates): {decision.decision_us:.1f} us; "
        f"json.loads of its update: {decision.loads_us:.1f} us",
    )
    stored = await intake.measure()
    print(
        f"durable intake, 100 waiting: {stored.ours_per_s:,.0f}/s; "
        f"raw SQLite, 100 a transaction: {stored.raw_per_s:,.0f}/s",
    )
    calm, stormy = await storm.measure()
    print(f"p99 of the quiet rooms: calm {calm * 1000:.0f} ms; while one room sends 90 %: {stormy * 1000:.0f} ms\n")

    targets = [
        Target("messages/s, of aiogram", ours.per_s / aiogram.per_s, ">= 1.5", ours.per_s >= 1.5 * aiogram.per_s),
        Target("messages/s, of python-telegram-bot", ours.per_s / ptb.per_s, ">= 4", ours.per_s >= 4 * ptb.per_s),
        Target(
            "CPU a message, of aiogram", ours.cpu_ms / aiogram.cpu_ms, "<= 0.6", ours.cpu_ms <= 0.6 * aiogram.cpu_ms
        ),
        Target(
            "memory over aiogram, MB",
            ours.memory_mb - aiogram.memory_mb,
            "<= 60",
            ours.memory_mb <= aiogram.memory_mb + 60,
        ),
        Target("first getUpdates after, s", ours.start_s, "<= 2", ours.start_s <= 2),
        Target("decision, of json.loads", decision.ratio, "<= 1.5", decision.ratio <= 1.5),
        Target("intake, of raw SQLite", stored.ratio, ">= 0.6", stored.ratio >= 0.6),
        Target("p99 in a storm, of calm", stormy / calm, "<= 2", stormy <= 2 * calm),
    ]
    for target in targets:
        print(f"{target.name:<36}{target.got:>8.2f}   {target.want:<8}{'reached' if target.met else 'MISSED'}")


if __name__ == "__main__":
    asyncio.run(main())
