"""What the pages of passkeys say, in English, by key (see :mod:`bot.pages.words`)."""

from typing import Final

PASSKEY: Final[dict[str, str]] = {
    "page.passkey.script": "This page needs JavaScript, because the browser has to talk to your passkey. "
    "Please switch it on for this page, or open the page in another browser.",
    "page.passkey.unsupported": "This browser can't use passkeys here. "
    "Please open this page in the browser of your phone or computer.",
    "page.passkey.waiting": "Waiting for your passkey…",
    "page.passkey.cancelled": "The passkey was not used, so nothing has happened. You can try again.",
    "page.passkey.there": "This device has a passkey of yours for this already.",
    "page.passkey.unsent": "That could not be sent just now, and nothing has happened. Please try again in a minute.",
}

APPROVE: Final[dict[str, str]] = {
    "page.approve.title": "Approve with a passkey",
    "page.approve.lead": "Nothing has happened yet. Please read everything below: it is the whole of it, "
    "and it happens exactly as it stands here if you approve it.",
    "page.approve.code": "Code",
    "page.approve.agent": "Asked by",
    "page.approve.action": "Action",
    "page.approve.system": "System",
    "page.approve.what": "All values",
    "page.approve.none": "There are none.",
    "page.approve.why": "Why",
    "page.approve.reason": "Reason given",
    "page.approve.task": "Task",
    "page.approve.target": "What it is about",
    "page.approve.gates": "Conditions",
    "page.approve.passed": "met",
    "page.approve.not_passed": "not met",
    "page.approve.version": "Fingerprint of this version",
    "page.approve.exact": "The same as JSON, to the letter",
    "page.approve.words": "Why it is right all the same",
    "page.approve.words_hint": "A condition is not met. What you write is kept with your decision.",
    "page.approve.button": "Approve with passkey",
    "page.approve.nobody": "Nobody who may decide this has a passkey yet. "
    "Operators get one by writing /passkey (Matrix: !passkey) to the bot in their private chat.",
    "page.approve.deny": "To refuse it or to send it back, please use the buttons in the chat.",
    "page.approve.until": "It can be decided until {time}.",
}

ENROL: Final[dict[str, str]] = {
    "page.enrol.title": "Add a passkey",
    "page.enrol.lead": "With a passkey you approve important actions by your fingerprint, your face or the code of "
    "your device. It stays with you; this gateway only learns how to recognise it.",
    "page.enrol.whose": "It will belong to",
    "page.enrol.known": "Passkeys so far",
    "page.enrol.first": "You will be asked for a passkey that you have already, and then for the new one. "
    "If you have lost it, ask whoever runs this gateway for a link.",
    "page.enrol.next": "That was a passkey of yours. Please press the button once more to add the new one.",
    "page.enrol.told": "The operators are told that it was added.",
    "page.enrol.label": "Name of the device",
    "page.enrol.label_hint": "So that you know it again in a list. It can be left empty.",
    "page.enrol.label_example": "Work phone",
    "page.enrol.button": "Add passkey",
}

PASSKEY_NOTICES: Final[dict[str, str]] = {
    "page.approved.title": "Approved",
    "page.approved.sentence": "Your decision is stored together with its proof. You can close this page.",
    "page.counted.title": "Your approval counts",
    "page.counted.sentence": "Others have to approve it, too, before it may happen. You can close this page.",
    "page.stale.title": "This has changed",
    "page.stale.sentence": "What this page shows is no longer what would happen, so it can't be approved here. "
    "The chat has the new version.",
    "page.decided.title": "Already decided",
    "page.decided.sentence": "There is nothing left to do here. The chat shows what came of it.",
    "page.no_approval.title": "Nothing here",
    "page.no_approval.sentence": "There is nothing to approve behind this link. Please open it again from the chat.",
    "page.nobody.title": "A passkey is missing",
    "page.nobody.sentence": "Nobody who may decide this has a passkey yet. "
    "Operators get one by writing /passkey (Matrix: !passkey) to the bot in their private chat.",
    "page.words_wanted.title": "A reason is needed",
    "page.words_wanted.sentence": "A condition of this action is not met. "
    "Please write in a few sentences why it is right all the same.",
    "page.not_entitled.title": "Somebody else has to decide",
    "page.not_entitled.sentence": "The passkey is fine, but its owner may not approve this. Nothing was decided.",
    "page.passkey_refused.title": "This passkey was not accepted",
    "page.passkey_refused.sentence": "It is not known here, was taken back, or could not prove itself. "
    "Nothing has happened.",
    "page.passkey_copied.title": "This passkey was not accepted",
    "page.passkey_copied.sentence": "It may have been copied. Nothing was decided, and the operators have been told.",
    "page.too_slow.title": "That took too long",
    "page.too_slow.sentence": "Nothing has happened. Please try again.",
    "page.enrolled.title": "Your passkey is in place",
    "page.enrolled.sentence": "From now on it approves what needs one. You can close this page.",
    "page.enrol_gone.title": "This link is used up",
    "page.enrol_gone.sentence": "A link for a passkey works once and only for some minutes. "
    "For a new one, please write /passkey (Matrix: !passkey) to the bot in your private chat.",
}
