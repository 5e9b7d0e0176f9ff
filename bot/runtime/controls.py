"""What the gateway carries out itself, beside the agents' lanes: control commands, taps, answers, invites (PART-8).

None of it needs a model call, and none of it is queued behind an agent.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime

from bot.clarifications.hearing import ClarificationHearing
from bot.deliveries.dispatcher import Dispatcher
from bot.deliveries.door import Door, Place
from bot.model.inbound import Material
from bot.model.output import Final
from bot.model.part import Part
from bot.ports.channel import Channel, Reply
from bot.ports.hearing import Heard, Hearer
from bot.ports.store import Inbox, Outbox, Waiting
from bot.runtime.clearing import Clearing
from bot.runtime.work import STOPPING, Work, reply_to, tapped_button
from bot.texts.codes import Notice
from bot.texts.words import Words
from policy.boundary import Speech
from policy.event import Kind
from policy.reasons import Reason

Stop = Callable[[Place, str | None], Awaitable[bool]]
"""Stops what a person may stop at a place; whether there was anything."""
Continue = Callable[[Work, str], None]
"""Gives a tap with its value to the agent."""


class Controls:
    """Carries out one piece of work at a time for each conversation."""

    def __init__(
        self,
        *,
        channels: Mapping[str, Channel],
        inbox: Inbox,
        outbox: Outbox,
        dispatcher: Dispatcher,
        door: Door,
        clearing: Clearing,
        hearers: Sequence[Hearer],
        language: Callable[[Work, Material], str],
        stop: Stop,
        go_on: Continue,
        done: Callable[[Work, str], None],
        clock: Callable[[], datetime],
        clarifying: ClarificationHearing | None = None,
    ) -> None:
        """Make it.

        Args:
            channels: by account.
            inbox: where the work ends.
            outbox: knows what buttons stand for.
            dispatcher: carries parts out.
            door: knows the settings of a place.
            clearing: checks parts.
            hearers: hear what people say to what waits for them, in this order.
            language: of a person's words.
            stop: what "stop" does.
            go_on: what a tap of an agent's own button does.
            done: is told what came of it.
            clock: gives aware times.
            clarifying: hears corrections of answers; None: nothing is clarified.
        """
        self._clarifying = clarifying
        self._channels = channels
        self._inbox = inbox
        self._outbox = outbox
        self._dispatcher = dispatcher
        self._door = door
        self._clearing = clearing
        self._hearers = hearers
        self._language = language
        self._stop = stop
        self._go_on = go_on
        self._done = done
        self._clock = clock

    async def carry_out(self, work: Work) -> None:
        """Do one."""
        channel = self._channels[work.place.destination.account]
        material = channel.material(work.reading)
        to = reply_to(work)
        words = Words(self._language(work, material))
        event = work.reading.event
        if event.kind is Kind.TAP:
            await self._tap(work, material, to, words)
        elif event.kind is Kind.INVITE:  # never an introduction: the bot comes in, or not, and says nothing
            accept = work.decision.reason is Reason.INVITE_ACCEPTED
            following = channel.answer_invite(to=to, accept=accept)
            await self._finish(work, [] if following is None else [following])
        elif work.decision.reason is Reason.ANSWER:
            await self._answer(work, material, to, words.language)
        elif work.decision.reason is Reason.CORRECTION:
            await self._correct(work, material, to, words.language)
        elif event.command is not None and event.command.name in STOPPING:
            stopped = await self._stop(work.place, event.sender)
            await self._say(work, to, words.say(Notice.STOPPED if stopped else Notice.NOTHING_TO_STOP))
        else:
            await self._command(work, material, to, words)

    async def _command(self, work: Work, material: Material, to: Reply, words: Words) -> None:
        event = work.reading.event
        for hearer in self._hearers:
            heard = await hearer.commanded(event, material.text, language=words.language)
            if heard is not None:
                await self._finish(work, self._spoken(heard, to))
                return
        await self._say(work, to, words.say(Notice.COMMAND_NOT_HERE))

    async def _answer(self, work: Work, material: Material, to: Reply, language: str) -> None:
        """A reply to something of ours that waits for people, or what was said in its thread (FORM-8, FORM-14)."""
        event = work.reading.event
        for hearer in self._hearers:
            heard = await hearer.replied(event, material.text, language=language)
            if heard is not None:
                sent = await self._finish(work, self._spoken(heard, to))
                await hearer.told(event, [one.id for one in sent])
                return
        await self._finish(work, ())

    async def _correct(self, work: Work, material: Material, to: Reply, language: str) -> None:
        """An answer to a clarification reads otherwise now (CLAR-4)."""
        heard = Heard()
        if self._clarifying is not None:
            heard = await self._clarifying.edited(work.reading.event, material.text, language=language)
        await self._finish(work, self._spoken(heard, to))

    def _spoken(self, heard: Heard, to: Reply) -> Sequence[Part]:
        channel = self._channels[to.destination.account]
        speech = Speech.REPORT if heard.inside else Speech.SAFE_ERROR
        return () if heard.says is None else channel.present(speech, heard.says, to=to)

    async def _tap(self, work: Work, material: Material, to: Reply, words: Words) -> None:
        """A button: its token says what it stands for; a token that we did not make for this place says nothing."""
        event = work.reading.event
        tapped = await tapped_button(self._outbox, work.reading, material.tap_token)
        if tapped is None or tapped.destination.room != to.destination.room:
            await self._toast(work, material, to, words.say(Notice.TAP_STALE))
            await self._finish(work, ())
            return
        for hearer in self._hearers:
            heard = await hearer.tapped(tapped.part_id, tapped.value, event, language=words.language)
            if heard is not None:
                await self._toast(work, material, to, heard.toast)
                await self._finish(work, self._spoken(heard, to))
                return
        await self._toast(work, material, to, "")  # a button of the agent's own
        self._go_on(work, tapped.value)

    async def _toast(self, work: Work, material: Material, to: Reply, text: str) -> None:
        """The end of the button's spinner, after the decision: a second answer would never show."""
        if material.tap_id is None:
            return
        answer = self._channels[to.destination.account].answer_tap(material.tap_id, text, to=to)
        if answer is not None:
            await self._dispatcher.show(answer, work.place, written_for=work.decision.audience)

    async def _say(self, work: Work, to: Reply, sentence: str) -> None:
        channel = self._channels[to.destination.account]
        await self._finish(work, channel.present(Speech.SAFE_ERROR, Final(text=sentence), to=to))

    async def _finish(self, work: Work, parts: Sequence[Part]) -> list[Waiting]:
        new, _ = self._clearing.checked(work, parts)
        sent = await self._inbox.finish(work.event_id, new, outcome="control", now=self._clock())
        self._dispatcher.enqueue(sent)
        self._done(work, "control")
        return sent
