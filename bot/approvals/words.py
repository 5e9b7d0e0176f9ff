"""What people read around an approval: English by key; the catalogues have the other languages (OPS-5).

None of these sentences holds a word of an agent: what agents and strangers wrote stands in blocks of its own.
"""

from collections.abc import Mapping
from typing import Final

from bot.texts.words import page_words

_PREFIX: Final = "approval."

BUTTONS: Final[Mapping[str, str]] = {
    "button.approve": "Approve",
    "button.deny": "Deny",
    "button.why": "Deny with reason…",
    "button.return": "Return…",
    "button.change": "Change…",
    "button.full": "Show in full",
    "button.passkey": "Approve with passkey…",
}
CARD: Final[Mapping[str, str]] = {
    "title.call": "To decide: {code}",
    "title.draft": "Draft to decide on: {code}",
    "title.call.over": "{code}: {result}",
    "title.draft.over": "Draft {code}: {result}",
    "row.action": "Action",
    "row.system": "System",
    "row.agent": "Agent",
    "row.where": "Goes to",
    "row.deciders": "May decide",
    "row.agreed": "Has agreed",
    "row.until": "Until",
    "row.assurance": "Assurance",
    "row.version": "Version",
    "row.by": "Decided by",
    "row.changed_by": "Changed by",
    "block.parameters": "Parameters",
    "block.text": "Exactly this text is sent (SHA-256 {digest}…)",
    "block.files": "Files",
    "block.reason": "Reason, in the agent's words",
    "block.task": "Task",
    "block.gates": "Conditions that are not met",
    "block.words": "Given as the reason",
    "block.note": "Said of the outcome",
    "block.part": "{name}: only the first {shown} of {total} characters",
    "block.folded": "{name}: {total} characters, not shown here",
    "deciders_many": "{count} of these: {people}",
    "deciders_nobody": "nobody whom the policy names",
    "time": "{time} ({zone})",
    "by_itself": "Approved by itself at {time} ({zone}) if nobody decides before.",
    "passkey": "with a passkey, on a page",
    "none": "none",
    "bytes": "{count} bytes",
    "how": "You can also reply to this message: yes, no, or deny or return with your words. "
    "As commands: {sign}approve {named}, {sign}deny {code} and {sign}return {code}.",
    "how_folded": "Not everything fits here. “Show in full” sends everything; then it can be approved.",
    "how_high": "Approving needs a passkey. You can also reply to this message: no, or deny or return with your words.",
    "moved": "Everything has been shown. It is decided under the newer message.",
}
RESULTS: Final[Mapping[str, str]] = {
    "result.approved": "approved",
    "result.denied": "denied",
    "result.returned": "returned for changes",
    "result.expired": "expired, nobody has decided in time",
    "result.cancelled": "taken back by the agent",
    "result.claimed": "approved, and under way",
    "result.executed": "approved, and done",
    "result.failed": "approved, but it failed",
    "result.unknown": "approved, but nobody knows whether it was done",
    "result.replaced": "replaced by a newer version",
    "person_at": "{person}, {time} ({zone})",
    "somebody": "somebody whom the policy no longer names",
    "the_time": "the passing of time",
    "the_policy": "the policy",
}
TOLD: Final[Mapping[str, str]] = {
    "told.approve": "Noted: you approve {code}.",
    "told.deny": "Noted: you deny {code}.",
    "told.return": "Noted: {code} goes back for changes.",
    "told.voice": "Noted: you approve {code}. Others have to agree, too.",
    "told.stale": "{code} has changed meanwhile. Please look at the newer version.",
    "told.already": "Too late, {code} is decided: {result}.",
    "told.already_by": "Too late, {code} is decided by {person}: {result}.",
    "told.expired": "Too late, {code} has expired.",
    "told.not_yours": "Somebody else has to decide this.",
    "told.requester": "It was asked for in your name, so somebody else has to decide this.",
    "told.voted": "Your decision on {code} is counted already.",
    "told.words": "Please reply to my question with your reason.",
    "told.justify": "This needs a reason in words. Please reply once more, or deny it.",
    "told.look": "{code} was not shown here yet. Please look at it and then decide.",
    "told.unseen": "Please have {code} shown in full first.",
    "told.passkey": "Approving {code} needs a passkey. Please use the page.",
    "told.no_such": "There is nothing to decide under this code.",
    "told.no_code": "Please name the code, such as: {example}.",
    "told.newer": "{code} was changed, so the version has to be named, too: {example}.",
    "told.nothing": "There is nothing that waits for your decision.",
    "told.which": "Which one do you mean? Please name the code: {codes}.",
    "told.full": "Everything is sent.",
    "told.asked": "Please reply to my question.",
    "told.change": "The values are in the form below.",
    "told.unclear": "I could not tell whether this is a yes or a no. Please reply yes or no.",
}
PROMPTS: Final[Mapping[str, str]] = {
    "prompt.deny": "{person}, why do you deny {code}? Please reply to this message.",
    "prompt.return": "{person}, what has to change in {code}? Please reply to this message.",
    "prompt.approve": "{person}, a condition of {code} is not met. Why may it go ahead all the same? "
    "Please reply to this message.",
    "waits": "{code} still waits for a decision.",
    "full": "{code}, everything that is to be decided.",
}
EDITING: Final[Mapping[str, str]] = {
    "edit.ask": "Change {code}: what is changed here is what is approved in your name.",
    "edit.rest": "These stay as they are, no field can show them: {paths}.",
    "edit.none": "No field can show the values of {code}. Please return it with a comment.",
    "edit.voice": "{code} is changed, and you approve it. Others have to agree, too.",
    "edit.changed": "{code} is changed and waits for a decision.",
    "edit.late": "{code} has changed or was decided meanwhile. Nothing was changed.",
}
ENGLISH: Final[Mapping[str, str]] = {
    f"{_PREFIX}{key}": sentence
    for key, sentence in {**BUTTONS, **CARD, **RESULTS, **TOLD, **PROMPTS, **EDITING}.items()
}


class ApprovalWords:
    """The words in one language."""

    def __init__(self, language: str | None) -> None:
        """Args: language: BCP 47 tag; the nearest catalogue is taken."""
        self._words = page_words(language, ENGLISH)

    def say(self, key: str, /, **values: object) -> str:
        """A sentence by its key, without the prefix."""
        sentence = self._words[f"{_PREFIX}{key}"]
        return sentence.format(**values) if values else sentence
