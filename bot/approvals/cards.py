"""Cards where people decide (APPR-2, OUT-8): what goes out with a change of an approval, ready to be stored with it.

Nothing here changes an approval or sends anything. Cards go to the windows of the policy in force that are verified
internal places; where there is none, nothing is made, and there is no other place to fall back to.
"""

from collections.abc import Callable, Iterable, Mapping

from bot.approvals import showing
from bot.approvals.showing import Terms
from bot.deliveries.door import Door, Place
from bot.model.approval import Approval, Assurance, Verdict
from bot.model.output import Final as Answer
from bot.model.part import Action, Part
from bot.ports.approvals import Role, Shown, Standing
from bot.ports.channel import Channel, Reply
from bot.ports.store import NewPart
from policy.approvals import Requirement, Window, windows
from policy.boundary import Basis, Speech
from policy.destination import Destination
from policy.event import Chat
from policy.ruleset import Policy, Resend

Requirements = Callable[[Approval], Requirement]
"""What an approval needs, by the policy in force now."""
Pages = Callable[[str, str], str | None]
"""The page on which a passkey approves one version of an approval; None: there are no such pages."""


class Cards:
    """Makes the parts that show approvals."""

    def __init__(
        self,
        *,
        policy: Callable[[], Policy],
        channels: Mapping[str, Channel],
        door: Door,
        requirement: Requirements,
        page: Pages = lambda _approval, _version: None,
    ) -> None:
        """Args: channels: by account."""
        self._policy = policy
        self._channels = channels
        self._door = door
        self._requirement = requirement
        self._page = page

    # where

    def places(self, approval: Approval) -> list[Place]:
        """Where it is shown by the policy in force; with those of the escalation once others are asked, too."""
        policy, requirement = self._policy(), self._requirement(approval)
        shown: list[Window] = list(windows(policy, requirement))
        if approval.escalated and requirement.escalate is not None:
            further = Requirement(shown=requirement.escalate.shown)
            shown += windows(policy, further)
        found = {window.destination: _place(window) for window in shown}
        return [place for place in found.values() if place.destination.account in self._channels]

    # what

    def opened(self, approval: Approval, *, except_at: Iterable[Destination] = ()) -> list[Shown]:
        """A card of this version at every place (but those that have one)."""
        there = set(except_at)
        return [
            shown
            for place in self.places(approval)
            if place.destination not in there
            for shown in self._opened(approval, place, to=Reply(destination=place.destination))
        ]

    def whole_at(self, approval: Approval) -> frozenset[str]:
        """The destinations where the card itself shows everything (for ``unfolded``)."""
        return frozenset(str(place.destination) for place in self.places(approval) if self._fits(approval, place))

    def brought_up_to_date(self, approval: Approval, standing: Iterable[Standing]) -> list[Shown]:
        """Edits of the cards that stand: replaced, decided, done, a voice more. ``standing``: with the role CARD.

        Where the signs under a message can't change, a folded card stays folded: what follows it is unfolded
        (:meth:`unfolded`), and it is left as it is.
        """
        made = []
        for one in standing:
            place = _place_of(one)
            channel = self._channels.get(one.destination.account)
            if channel is None:
                continue
            asks = approval.state.undecided and one.version == approval.version
            if asks and not channel.keyboards and not self._fits(approval, place):
                continue
            parts = showing.edit(approval, self.terms(approval, place), channel, one)
            made += self._shown(place, parts, role=Role.CARD, version=one.version)
        return made

    def unfolded(self, approval: Approval, standing: Iterable[Standing], destination: Destination) -> list[Shown]:
        """The cards of a place after everything was sent there: they can be approved now.

        Where the signs under a message can't change, that is a new message.
        """
        channel = self._channels[destination.account]
        here = [one for one in standing if (one.destination, one.version) == (destination, approval.version)]
        if channel.keyboards:
            return self.brought_up_to_date(approval, here)
        made: list[Shown] = []
        for one in here:
            place = _place_of(one)
            made = made or self._opened(approval, place, to=Reply(destination=destination))
            parts = showing.moved(approval, self.terms(approval, place), channel, one)
            made += self._shown(place, parts, role=Role.CARD, version=one.version)
        return made

    def here(self, approval: Approval, place: Place, to: Reply) -> tuple[list[Shown], bool]:
        """A card at a place where somebody asks for it; and whether everything can be read in it."""
        return self._opened(approval, place, to=to), self._fits(approval, place)

    def full(self, approval: Approval, place: Place, to: Reply) -> list[Shown]:
        """Everything, there where the card stands."""
        parts = showing.full(approval, self.terms(approval, place), self._channels[to.destination.account], to=to)
        return self._shown(place, parts, role=Role.FULL, version=approval.version)

    def page(self, approval: Approval) -> str:
        """The page on which a passkey approves it; empty: there is none."""
        return self._page(approval.id, approval.version) or ""

    def words_wanted(
        self, approval: Approval, verdict: Verdict, account: str, *, place: Place, to: Reply
    ) -> list[Shown]:
        """A question for the words of a decision, to one person (D-023)."""
        terms, channel = self.terms(approval, place), self._channels[to.destination.account]
        person = self._policy().person(account)
        name = "" if person is None else terms.people.get(person.id, "")
        parts = showing.words_wanted(approval, verdict, terms, channel, to=to, person=name)
        return self._shown(place, parts, role=f"{Role.PROMPT}:{verdict.value}:{account}", version=approval.version)

    def notice(self, approval: Approval, text: str, *, place: Place, to: Reply) -> list[Shown]:
        """A sentence of the gateway about an approval (Markdown)."""
        parts = self._channels[to.destination.account].present(Speech.REPORT, Answer(text=text), to=to)
        return self._shown(place, parts, role=Role.NOTICE, version=approval.version)

    def reminders(self, approval: Approval, standing: Iterable[Standing]) -> list[Shown]:
        """A word under each card of this version that it still waits."""
        made = []
        for one in standing:
            channel = self._channels.get(one.destination.account)
            if channel is not None and one.version == approval.version:
                place = _place_of(one)
                to = Reply(destination=one.destination, message=one.message)
                parts = showing.reminder(approval, self.terms(approval, place), channel, to=to)
                made += self._shown(place, parts, role=Role.NOTICE, version=one.version)
        return made

    def terms(self, approval: Approval, place: Place) -> Terms:
        """What a card says beside the approval."""
        policy, requirement = self._policy(), self._requirement(approval)
        people = {person.id: person.display or person.id for person in policy.people.values()}
        operators = frozenset(policy.operators)
        who = operators if requirement.who is None else operators & requirement.who
        if approval.escalated and requirement.escalate is not None:
            more = requirement.escalate.who
            who = operators if more is None else who | (operators & more)
        high = requirement.high or approval.proposal.assurance is Assurance.HIGH
        return Terms(
            language=self._door.settings(place).language,
            timezone=policy.timezone,
            deciders=tuple(sorted(people.get(person, person) for person in who)),
            quorum=requirement.quorum,
            agreed=tuple(
                people.get(one.person, one.person) for one in approval.standing if one.verdict is Verdict.APPROVE
            ),
            assurance=Assurance.HIGH if high else Assurance.NORMAL,
            where=_where(policy, approval),
            page=self.page(approval) if high else "",
            people=people,
        )

    def _fits(self, approval: Approval, place: Place) -> bool:
        channel = self._channels[place.destination.account]
        return showing.fits(approval, self.terms(approval, place), channel, to=Reply(destination=place.destination))

    def _opened(self, approval: Approval, place: Place, *, to: Reply) -> list[Shown]:
        parts = showing.card(
            approval,
            self.terms(approval, place),
            self._channels[place.destination.account],
            to=to,
            unfolded=str(place.destination) in approval.unfolded,
        )
        return self._shown(place, parts, role=Role.CARD, version=approval.version)

    def _shown(self, place: Place, parts: Iterable[Part], *, role: str, version: str) -> list[Shown]:
        """The parts that may be shown there: to the inside, and nowhere else (OUT-8)."""
        settings = self._door.settings(place)
        channel = self._channels[place.destination.account]
        again = Resend.RESEND.value
        return [
            Shown(
                part=NewPart(
                    lane=channel.lane(part.destination),
                    part=part,
                    audience=settings.audience,
                    basis=Basis.REPORT,
                    person=place.other_side,
                    chat=place.chat.value,
                    event_id=None,
                    unclear=again if channel.repeatable or part.action is Action.EDIT else settings.unclear_sends.value,
                ),
                role=role,
                version=version,
            )
            for part in parts
            if self._door.verdict(part, place, Basis.REPORT, written_for=settings.audience) is None
        ]


def _place(window: Window) -> Place:
    chat = Chat.GROUP if window.person is None else Chat.DIRECT
    return Place(destination=window.destination, chat=chat, person=window.person)


def _place_of(standing: Standing) -> Place:
    """Where a message of ours stands; whether it may still be shown there is the door's matter (OUT-8)."""
    return Place(destination=standing.destination, chat=standing.chat, person=standing.person)


def _where(policy: Policy, approval: Approval) -> str:
    """Where a draft goes, in words of the policy: the organisation, and the complete destination."""
    origin = approval.origin
    if origin is None:
        return ""
    person = policy.person(origin.person) if origin.chat is Chat.DIRECT else None
    counterparty = person.counterparty if person is not None else policy.channel(origin.destination).counterparty
    known = policy.counterparties.get(counterparty) if counterparty is not None else None
    names = [] if known is None else [known.name or known.id]
    names += [] if person is None else [person.display or person.id]
    return ", ".join([*names, str(origin.destination)])
