"""Kind ``approval_sequence``: what is proposed, pressed, typed and executed, and where the approval stands then.

Steps: ``open`` (an agent proposes), ``revise`` (it proposes something else in its place), ``callback`` (a tap), ``message`` (words), ``bot`` (names the question for words that
stands there now), ``execute`` (the agent uses it), ``event`` (a restart, or time that passes).

Where a case wants a bare word to be asked back, the contract decides otherwise in a group (FORM-14: other chat stays chat);
what is asserted is that it decides nothing.
"""

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from bot.model.approval import Approval, ApprovalState
from bot.ports.approvals import Role
from tests.cases.approvals import WORDS, Message, Opened, Scene, buttons_of, policy_of, refusal_of, scene
from tests.cases.clocks import listening
from tests.cases.result import NotRun, check

STATES: Final = {
    "denied (timeout)": {ApprovalState.EXPIRED},
    "timed out": {ApprovalState.EXPIRED},
    "expired": {ApprovalState.EXPIRED},
    "pending": {ApprovalState.PROPOSED, ApprovalState.IN_REVIEW},
    "approved": {ApprovalState.APPROVED, ApprovalState.CLAIMED, ApprovalState.EXECUTED},
    "denied": {ApprovalState.DENIED},
    "rejected": {ApprovalState.DENIED},
    "cancelled": {ApprovalState.CANCELLED},
    "returned": {ApprovalState.RETURNED},
}
_KINDS: Final = ("open", "callback", "message", "bot", "execute", "revise", "event")
_YES, _NO = {"approve", "accept", "allow", "yes"}, {"deny", "reject", "decline", "no"}
_TIME: Final = re.compile(r"(\d+)\s*(ms|s|m|h|d)(?:ec(?:ond)?s?|in(?:ute)?s?|ours?|ays?)?\b")
_UNITS_S: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


async def sequence(case: dict[str, Any], folder: Path) -> None:
    """Run one case."""
    steps = case["input"]["steps"]
    opens = [step["open"] for step in steps if "open" in step]
    for one in opens:
        one["args"] = _arguments(one.get("args", {}))
        one["chat"] = int(one["chat"])
        people = [user for user in one.get("approvers", ()) if isinstance(user, int) and user > 0]
        for other in set(one.get("approvers", ())) - set(people):  # a chat or a name decides nothing
            check(refusal_of(policy_of([{**one, "approvers": [other]}])), f"{other!r} as an approver to be refused")
        one["approvers"] = people
    everybody = [] if opens else sorted({_from(step) for step in steps if _from(step) is not None})
    with listening() as heard:
        async with scene(folder, opens, everybody=everybody) as stage:
            play = _Play(stage, steps)
            await play.run()
            await _Ending(stage, play, case["expected"]).check()
    check(not heard.errors, "no error in the log", heard.errors)


def _from(step: Mapping[str, Any]) -> Any:
    return next((step[kind].get("from") for kind in ("callback", "message") if kind in step), None)


def _arguments(args: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters; ``x_spec`` says how a long ``x`` is made."""
    found = {}
    for name, value in args.items():
        if name.endswith("_spec") and isinstance(value, Mapping):
            found[name.removesuffix("_spec")] = str(value["repeat"]) * int(value["times"]) + str(value.get("then", ""))
        else:
            found[name] = value
    return found


class _Play:
    """The steps in their order."""

    def __init__(self, stage: Scene, steps: list[dict[str, Any]]) -> None:
        self.stage = stage
        self.steps = steps
        self.taps: list[tuple[Opened, int, str]] = []  # approval, who, callback query
        self.named: dict[Any, int] = {}  # message ids of the case, as ours
        self.attempts = 0
        self.first_tap: tuple[str, Approval] | None = None  # what was told, and how it stood after it

    async def run(self) -> None:
        """Play them."""
        for number, step in enumerate(self.steps):
            kind = next((kind for kind in _KINDS if kind in step), None)
            if kind is None:
                raise NotRun(f"a step with {', '.join(step)} is not understood")
            value = step[kind]
            following = self.steps[number + 1] if number + 1 < len(self.steps) else {}
            match kind:
                case "open":
                    await self._open(value)
                case "callback":
                    await self._tap(value, following)
                case "message":
                    await self._say(value)
                case "bot":
                    self.named[step.get("message_id")] = await self._prompt()
                case "revise":
                    one = self._of(value)
                    args = _arguments(value.get("args", {}))
                    await self.stage.revise(one, str(value.get("tool", one.first.action.name)), args)
                case "execute":
                    self.attempts += 1
                    tool, args = value["tool"], _arguments(value.get("args", {}))
                    if not await self.stage.execute(self._of(value), tool, args):
                        await self.stage.ask_anew(tool, args)
                case _:
                    await self._happen(str(value))
        await self.stage.settled()

    async def _open(self, value: Mapping[str, Any]) -> None:
        name = str(value.get("question_id", f"q{len(self.stage.opened)}"))
        timeout = value.get("timeout_s")
        ttl_s = None if timeout is None else int(timeout)
        one = await self.stage.open(name, value["chat"], str(value["tool"]), value["args"], ttl_s)
        check(one.card, "a card with buttons to be shown")

    async def _tap(self, value: Mapping[str, Any], following: Mapping[str, Any]) -> None:
        one, sender = self._of(value), int(value["from"])
        word = str(value["data"]).lower()
        label = "button.approve" if word in _YES else "button.deny" if word in _NO else None
        if label is None:
            raise NotRun(f"a button {word!r} is not understood")
        if label == "button.deny" and "bot" in following:
            label = "button.why"
        before = len(self.stage.api.sent(one.chat))
        old = str(value.get("card", value.get("version", "new"))).lower() in ("old", "first", "1")
        card = one.card if old else (await self.stage.messages(one, Role.CARD))[-1]
        card = card if buttons_of(card) else one.card  # one that is closed still stands on somebody's phone as it was
        query = self.stage.press(one, WORDS.say(label), sender, card=card)
        if query is None:
            return  # nobody can press what the card does not offer; the end says whether it had to
        self.taps.append((one, sender, query))
        if "at_ms" in following.get("callback", {}):
            return  # the next one comes before this one can have had its effect
        await self.stage.settled()
        if self.first_tap is None:
            self.first_tap = self.stage.toast(query), await self.stage.now(one)
            said = len(self.stage.api.sent(one.chat)) - before
            check(said == 0 or label == "button.why", "nothing to be said before all because of a tap", said)

    async def _say(self, value: Mapping[str, Any]) -> None:
        stage, sender, to = self.stage, int(value["from"]), value.get("reply_to")
        chat = int(value.get("chat", stage.opened[0].chat if stage.opened else sender))
        reply_to = None
        if to is not None:
            named = {one.name: one.card["message_id"] for one in stage.opened} | self.named
            if to not in named:
                raise NotRun(f"nothing is known as {to!r} that could be replied to")
            reply_to = named[to]
        stage.api.say(chat=chat, sender=sender, text=str(value["text"]), reply_to=reply_to)
        await stage.settled()

    async def _prompt(self) -> int:
        one = self.stage.opened[-1]
        approval = await self.stage.now(one)
        person = self.taps[-1][1]
        prompts = await self.stage.messages(one, f"{Role.PROMPT}:deny:telegram:{person}")
        check(prompts, "a question for the reason", approval.state.value)
        return int(prompts[-1]["message_id"])

    def _of(self, value: Mapping[str, Any]) -> Opened:
        """The approval that a step is about."""
        name = value.get("question_id", value.get("question"))
        found = [one for one in self.stage.opened if name is None or one.name == str(name)]
        if not found:
            raise NotRun(f"no approval is known as {name!r}")
        return found[-1]

    async def _happen(self, what: str) -> None:
        if re.search(r"restart|sigterm|sigkill|crash", what.lower()):
            await self.stage.restart()
            return
        passed = _TIME.search(what)
        if passed is None:
            raise NotRun(f"the event {what!r} is not understood")
        seconds = float(passed[1]) * _UNITS_S[passed[2]]
        self.stage.clock.jump(self.stage.gateway, seconds)
        open_ones = [one for one in self.stage.opened if (await self.stage.now(one)).state.undecided]
        async with asyncio.timeout(10):
            for one in open_ones:
                while self._due(approval := await self.stage.now(one)) and approval.state.undecided:
                    await asyncio.sleep(0.05)  # the room's own look at the time; bounded above
        await self.stage.settled()

    def _due(self, approval: Approval) -> bool:
        return approval.expires_at is not None and self.stage.clock() >= approval.expires_at


class _Ending:
    """What the case says of the end, clause by clause."""

    def __init__(self, stage: Scene, play: _Play, expected: Mapping[str, Any]) -> None:
        self._stage = stage
        self._play = play
        self._end = str(expected.get("end_state", "")).lower()
        self._raw = str(expected.get("end_state", ""))
        self._musts = [str(one).lower() for one in expected.get("must", [])]
        self._never = [str(one).lower() for one in expected.get("must_not", [])]

    async def check(self) -> None:
        """Raise Failed where it is another."""
        understood = False
        if re.search(r"not approvable|truncated|cut off", self._end):
            understood = True
            await self._unseen()
        if re.search(r"literal", self._end):
            understood = True
            await self._literal()
        if re.search(r"normal message|passed on|as a message", self._end):
            understood = True
            await self._passed_on()
        if re.search(r"executed once|once\b.*execut", self._end):
            understood = True
            await self._once()
        elif re.search(r"(neither|nothing|never|not)\b.*execut", self._end):
            understood = True
            check(not self._stage.executed, "nothing to be executed", self._stage.executed)
        if "new approval" in self._end:
            understood = True
            self._anew()
        understood |= await self._states()
        if not understood:
            raise NotRun(f"the end {self._raw!r} is not understood")
        await self._must()

    # where it stands

    async def _states(self) -> bool:
        found = False
        for clause in re.split(r"[,;]", self._end):
            word = next((word for word in sorted(STATES, key=len, reverse=True) if word in clause), None)
            if word is None or "approval" in clause or re.search("not approv|executed once", clause):
                continue
            for one in self._meant(clause):
                found = True
                approval = await self._stage.now(one)
                check(approval.state in STATES[word], f"{one.name} to be {word}", approval.state.value)
                await self._decided(one, approval, clause)
        for reason in re.findall(r"reason '([^']*)'", self._raw):
            one = self._stage.opened[-1]
            given = (await self._stage.now(one)).decisions[-1]
            check(given.words == reason, f"the reason {reason!r}", given.words)
        return found

    def _meant(self, clause: str) -> list[Opened]:
        named = [one for one in self._stage.opened if re.search(rf"\b{re.escape(one.name.lower())}\b", clause)]
        return named or self._stage.opened[-1:]

    async def _decided(self, one: Opened, approval: Approval, clause: str) -> None:
        """Who has decided, and what the card says of it."""
        person = re.search(r"by (\d+)", clause)
        if person is not None:
            accounts = [decision.account for decision in approval.standing]
            check(accounts == [f"telegram:{person[1]}"], f"a decision by {person[1]} alone", accounts)
        if approval.state.undecided:
            return
        for card in await self._stage.messages(one, Role.CARD):
            labels = [key["text"] for key in buttons_of(card)]
            check(WORDS.say("button.approve") not in labels, "no button to approve any more", labels)
            result = WORDS.say(f"result.{approval.state.value}")
            check(result in card.get("text", ""), f"the card to say {result!r}")

    async def _once(self) -> None:
        """The agent uses it, and once only."""
        one = self._stage.opened[-1]
        action = one.first.action
        if not self._play.attempts:
            check(await self._stage.execute(one, action.name, action.parameters), "the approved action to be let")
        check(not await self._stage.execute(one, action.name, action.parameters), "a second use to be refused")
        check(len(self._stage.executed) == 1, "one execution", self._stage.executed)
        approved = [one for one in (await self._stage.now(one)).decisions if one.verdict.value == "approve"]
        check(len(approved) == 1, "one decision", len(approved))

    def _anew(self) -> None:
        anew = self._stage.asked_anew
        check(anew, "a new approval to be asked for")
        check(all(one.state.undecided for one in anew), "the new approvals to wait", [one.state.value for one in anew])

    # what people saw

    async def _unseen(self) -> None:
        """APPR-2: what does not fit can't be approved before everything was shown, and then it can."""
        stage, one = self._stage, self._stage.opened[-1]
        sender = self._approver()
        labels = [key["text"] for key in buttons_of(one.card)]
        check(WORDS.say("button.approve") not in labels, "no button to approve what is not shown whole", labels)
        check(WORDS.say("button.deny") in labels, "a button to deny", labels)
        stage.api.say(chat=one.chat, sender=sender, text="yes", reply_to=one.card["message_id"])
        await stage.settled()
        check((await stage.now(one)).state.undecided, "a yes to what was not shown to approve nothing")
        check(stage.press(one, WORDS.say("button.full"), sender) is not None, "a way to see all of it", labels)
        await stage.settled()
        whole = "".join(self._read(message) for message in stage.api.sent(one.chat))
        for value in one.first.action.parameters.values():
            check(_letters(str(value)) in _letters(whole), "every parameter in full, within reach")
        async with asyncio.timeout(10):
            while WORDS.say("button.approve") not in map(_label, buttons_of(shown := await self._card(one))):
                await asyncio.sleep(0.02)  # the receipt of what was sent in full; bounded above
        query = stage.press(one, WORDS.say("button.approve"), sender, card=shown)
        check(query is not None, "a button to approve once everything was shown")
        await stage.settled()
        approval = await stage.now(one)
        check(approval.state is ApprovalState.APPROVED, "to be approvable then", approval.state.value)

    async def _card(self, one: Opened) -> Message:
        """The latest."""
        return (await self._stage.messages(one, Role.CARD))[-1]

    def _approver(self) -> int:
        (person, *_) = self._stage.gateway.daemon.crew.policy().people
        return int(person.partition(":")[2])

    def _read(self, message: Message) -> str:
        text = str(message.get("text", message.get("caption", "")))
        if "document" not in message:
            return text
        return text + self._stage.api.world.files[message["document"]["file_id"]].content.decode()

    async def _literal(self) -> None:
        """What the agent wrote stands there as it is, before and after, and closes no block."""
        one = self._stage.opened[-1]
        values = [str(value) for value in one.first.action.parameters.values()]
        after = await self._card(one)
        check(after.get("text") != one.card.get("text"), "the card to be edited after the decision")
        for card in (one.card, after):
            for value in values:
                check(value in card.get("text", ""), "the literal text", card.get("text"))
            kinds = {entity["type"] for entity in card.get("entities", [])}
            check(not kinds & {"text_link", "url"}, "no link made of what the agent wrote", kinds)
        refused = [call for call in self._stage.api.calls_of("sendMessage", "editMessageText") if call.error]
        check(not refused, "nothing that the platform refuses", refused)

    async def _passed_on(self) -> None:
        """The agent answers, and nobody else says anything."""
        said = [step["message"] for step in self._play.steps if "message" in step]
        heard = [request.text for request in self._stage.agent.requests]
        check(heard == [str(one["text"]) for one in said], "the words to go to the agent", heard)
        texts = self._stage.api.texts(int(said[-1].get("chat", said[-1]["from"])))
        check(texts == ["ok"] * len(said), "the agent's answer and nothing else", texts)

    # what else is asked for

    async def _must(self) -> None:
        stage, told = self._stage, [self._stage.toast(query) for query in self._stage.queries]
        for must in self._musts:
            if re.search(r"first press.*refus", must):
                check(self._play.first_tap is not None and self._play.first_tap[0], "a refusal in private")
                check(self._play.first_tap[1].state.undecided, "the request to stay pending")  # type: ignore[index]
            if re.search(r"second press.*already", must):
                one = await stage.now(stage.opened[-1])
                late = _sayings(one, "told.already", "told.already_by")
                check(told[-1] in late, "the second press to be told that it is decided", told[-1])
            if re.search(r"answer '?expired", must):
                one = await stage.now(stage.opened[-1])
                check(told[-1] in _sayings(one, "told.expired", "told.already"), "to be told it expired", told[-1])
        for never in self._never:
            if re.fullmatch(r"executed?", never):
                one = stage.opened[-1]
                action = one.first.action
                check(not await stage.execute(one, action.name, action.parameters), "nothing to be executed")
            if "success" in never:
                for card in await stage.messages(stage.opened[-1], Role.CARD):
                    check(WORDS.say("result.approved") not in card.get("text", ""), "no success to be displayed")


def _sayings(approval: Approval, *keys: str) -> set[str]:
    """A sentence with everything that may stand in it."""
    results = [WORDS.say(f"result.{state.value}") for state in ApprovalState if not state.undecided]
    people = [decision.person for decision in approval.decisions]
    return {
        WORDS.say(key, code=approval.code, result=result, person=person)
        for key in keys
        for result in results
        for person in people or [""]
    }


def _label(button: Mapping[str, Any]) -> str:
    return str(button["text"])


def _letters(text: str) -> str:
    return "".join(text.split())


async def replies(rows: list[dict[str, Any]], folder: Path) -> list[set[str]]:
    """What each row, as a reply to a card, has made of the approval: approved, denied or unclear."""
    person, chat = 510000001, -1001000100000
    found = []
    opens = [{"approvers": [person], "chat": chat, "tool": "deploy", "args": {"row": n}} for n in range(len(rows))]
    async with scene(folder, opens) as stage:
        for number, row in enumerate(rows):
            one = await stage.open(f"q{number}", chat, "deploy", opens[number]["args"], None)
            stage.api.say(chat=chat, sender=person, text=row["text"], reply_to=one.card["message_id"])
            await stage.settled()
            state = (await stage.now(one)).state
            found.append({"unclear"} if state.undecided else {state.value})
    return found
