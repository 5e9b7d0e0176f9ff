"""What the actions of commands bring to people: a summary in a room, a handover on internal channels (OUT-5, OUT-8)."""

from collections.abc import Callable, Mapping
from datetime import datetime

from bot.commands.words import CommandWords
from bot.config.commands import SummaryAction
from bot.deliveries.dispatcher import Dispatcher
from bot.deliveries.door import Door, Place
from bot.model.command import Call, Thing
from bot.model.output import Final
from bot.ports.channel import Channel, Reply
from bot.ports.commands import Tell
from bot.ports.store import NewPart, Outbox
from bot.questions.showing import plain
from policy.boundary import Basis, Speech
from policy.decision import Audience
from policy.event import Chat
from policy.ruleset import Person, Resend

QUOTED: int = 500
"""Characters of a person's words in a handover."""


class Telling:
    """Says what commands say to people, through the door."""

    def __init__(
        self,
        *,
        channels: Mapping[str, Channel],
        outbox: Outbox,
        dispatcher: Dispatcher,
        door: Door,
        tell: Tell,
        clock: Callable[[], datetime],
    ) -> None:
        """Args: tell: speaks to operators on verified internal channels."""
        self._channels = channels
        self._outbox = outbox
        self._dispatcher = dispatcher
        self._door = door
        self._tell = tell
        self._clock = clock

    async def unknown(self, run_id: str) -> None:
        """Tell operators that nobody knows what came of a run (CMD); there is one at a time in a conversation."""
        await self._tell(
            lambda language: CommandWords(language).say("unknown", run=run_id[:8]), about="command_unknown"
        )

    async def summary(self, action: SummaryAction, call: Call) -> bool:
        """Show the agent's words in the room; False: they may not be shown there.

        Another room has to have the very audience of the conversation, resolved now, and a trusted one: nothing that
        an agent says is a grant for a room of outsiders (OUT-5, OUT-6).
        """
        here = action.room is None or action.room == call.destination
        room = call.destination if action.room is None else action.room
        place = Place(destination=room, chat=call.chat if here else Chat.GROUP, person=call.account if here else None)
        settings, channel = self._door.settings(place), self._channels.get(room.account)
        if channel is None or settings.audience is not call.audience:
            return False
        text = f"{CommandWords(settings.language).say('summary')}\n\n{call.words or ''}"
        basis = Basis.REQUEST if here else Basis.REPORT
        parts = channel.present(Speech.FINAL, Final(text=text), to=Reply(destination=room))
        verdicts = [self._door.verdict(part, place, basis, written_for=call.audience) for part in parts]
        verdicts.append(self._door.verdict_together(parts, place, basis))  # a word may be cut between two (OUT-2)
        if any(verdict is not None for verdict in verdicts):
            return False
        new = [
            NewPart(
                lane=channel.lane(room),
                part=part,
                audience=call.audience,
                basis=basis,
                person=place.other_side,
                chat=place.chat.value,
                event_id=call.event_id if here else None,
                unclear=Resend.RESEND.value if channel.repeatable else settings.unclear_sends.value,
            )
            for part in parts
        ]
        self._dispatcher.enqueue(await self._outbox.put(new, now=self._clock()))
        return bool(new)

    async def handover(self, call: Call, person: Person | None, thing: Thing | None) -> bool:
        """Tell operators who needs a person and what for; False: nobody could be told."""
        return bool(
            await self._tell(
                lambda language: handover_words(call, person, thing, language),
                about="command_handover",
                place=str(call.destination.room),
            )
        )


def handover_words(call: Call, person: Person | None, thing: Thing | None, language: str) -> str:
    """What operators read.

    A private chat with an operator stays private: of that they read that there is one, and not what was said (OUT-5).
    """
    words = CommandWords(language)
    private = call.audience is Audience.OPERATOR
    name = words.say("handover_stranger") if person is None else plain(person.display or person.id)
    lines = [words.say("handover", request=call.request_id[:8]), words.say("handover_who", person=name)]
    if not private:
        lines.append(words.say("handover_where", place=str(call.destination).replace("`", "")))
    if thing is not None:
        lines.append(words.say("handover_what", object=plain(thing.display)))
    if call.asked.strip() and not private:
        lines += [words.say("handover_said"), _quoted(call.asked)]
    if (call.words or "").strip():
        lines += [words.say("handover_words"), _quoted(call.words or "")]
    return "\n\n".join(lines)


def _quoted(text: str) -> str:
    """Somebody else's words, as plain words of a quote."""
    short = text if len(text) <= QUOTED else f"{text[:QUOTED]} …"
    return "\n".join(f"> {plain(line)}" for line in short.strip().splitlines())
