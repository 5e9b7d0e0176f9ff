"""The gateway's own sentences in English, by key: what the catalogues translate (OPS-5, OUT-7).

They go through the same formatting as an agent's answer, so they are Markdown; names in braces are filled in. A
sentence is plain, never technical, names no error, and a failure asks for the smallest useful input.
"""

from typing import Final

from bot.texts.codes import Failure, Notice, Stop
from policy.reasons import Reason

FAILURES: Final[dict[Failure, str]] = {
    Failure.UNAVAILABLE: "I can't answer right now. Please try again in a few minutes.",
    Failure.TIMEOUT: "That took longer than I can wait. Please ask again, perhaps for a smaller part of it.",
    Failure.ATTACHMENT_UNREADABLE: "I cannot read that attachment here. Please paste the relevant section.",
    Failure.ATTACHMENT_TOO_LARGE: "That file is too large for me. Please paste the part that matters.",
    Failure.TOO_LONG: "That is more than I can take in at once. Please send the part that matters most.",
    Failure.WITHHELD: "I can't send that answer here. Please tell me in one sentence what you need.",
    Failure.BUSY: "I am still busy with earlier requests. Please send this again in a minute.",
}

NOTICES: Final[dict[Notice, str]] = {
    Notice.ACKNOWLEDGED: "Seen, thank you.",
    Notice.STOPPED: "Stopped.",
    Notice.NOTHING_TO_STOP: "There is nothing to stop right now.",
    Notice.TAP_TAKEN: "Thank you, noted.",
    Notice.TAP_STALE: "This button is no longer valid.",
    Notice.COMMAND_NOT_HERE: "That command does not work here.",
    Notice.UNCLEAR_SEND: "Nobody can tell whether a message has arrived (number {part} in the outbox). "
    "It will not be sent again by itself.",
    Notice.UNCLEAR_SENDS: "The gateway was interrupted, and nobody can tell whether these messages have arrived: "
    "{count} (numbers {first} to {last} in the outbox). They will not be sent again by themselves.",
    Notice.CHANNEL_MOVED: "The chat `{old}` goes on as `{new}`. "
    "It counts as unknown until the policy lists the new id.",
    Notice.POLICY_BROKEN: "The policy file has changed and can't be used, so the rules from before stay in force. "
    "`discreet policy check` shows what is wrong.",
    Notice.POLICY_LOADED: "The changed policy is in force.",
    Notice.RECORD_BROKEN: "A source of the record has changed and can't be used, so what it said before stays. "
    "`discreet record check` shows what is wrong.",
    Notice.RECORD_AWAY: "A source of the record can't be reached. What it said before stays for a while and then "
    "counts as unknown. `discreet record check` shows which one.",
    Notice.RECORD_TWICE: "Entries of the record that stand in two sources count as unknown: {count}. "
    "`discreet record check` names them.",
    Notice.DELIVERY_MUTED: "A scheduled delivery was not sent: number `{delivery}`, because of `{code}`. "
    "`discreet deliveries list` shows it.",
    Notice.POISON: "An event could not be understood and was set aside. Those after it go on as usual.",
    Notice.WITHHELD_REPORT: "An answer was stopped before it was sent (request {request}): {why} (`{codes}`).",
    Notice.QUESTION_WITHHELD: "A question of an agent was not asked: {why} (`{codes}`).",
    Notice.RUN_FAILED: "The agent gave no answer (request {request}). The log says more.",
    Notice.PASSKEY_LINK: "Open this on the device whose passkey you want to use: <{link}>\n\n"
    "The link works once, for {minutes} minutes, and for you alone: please pass it to nobody.",
    Notice.PASSKEY_NO_PAGES: "Passkeys need the pages of this gateway, under https and a name. "
    "They are switched on in the configuration.",
    Notice.PASSKEY_REVOKED: "Your passkey was taken away, so a new one comes in by whoever keeps this gateway: "
    "they make the link with `discreet passkeys invite` and give it to you in person.",
    Notice.PASSKEY_ADDED: "A passkey was added for {person} (`{passkey}`); passkeys of this person now: {count}. "
    "If that was not their own doing: `discreet passkeys revoke {passkey}`.",
    Notice.PASSKEY_DOUBTED: "An approval by a passkey of {person} (`{passkey}`) was refused: its counter did not rise, "
    "so the passkey may have been copied. `discreet passkeys revoke {passkey}` takes it away.",
    Notice.HOLDING_WORDS: "Thank you for asking. You will hear from us.",
    Notice.DRAFT_SENT: "Draft {code} was sent as it was approved.",
    Notice.DRAFT_REFUSED: "Draft {code} was approved, and the platform did not take it. Nothing was sent.",
    Notice.DRAFT_STOPPED: "Draft {code} was approved and stopped at the door. Nothing was sent.",
    Notice.DRAFT_UNKNOWN: "Draft {code} was approved, and nobody can tell whether all of it has arrived. "
    "It will not be sent again by itself.",
}

REASONS: Final[dict[Reason, str]] = {
    Reason.EXPLICIT_MENTION: "The message mentions the bot.",
    Reason.DIRECTED_COMMAND: "The message is a command for the bot.",
    Reason.CONTROL_COMMAND: "The message is a control command, which the gateway carries out itself.",
    Reason.DIRECT_REPLY: "The message is a reply to something the bot wrote.",
    Reason.DIRECT_CHAT: "In a private chat everything that is said is said to the bot.",
    Reason.OPEN_QUESTION: "The policy lets the bot answer open questions in this trusted channel.",
    Reason.OPERATOR_MESSAGE: "The policy lets the bot answer operators in this trusted channel.",
    Reason.TAP: "Somebody pressed a button under a message of the bot.",
    Reason.ANSWER: "The message answers a question of the bot.",
    Reason.INVITE_ACCEPTED: "The policy lets the bot follow this invite.",
    Reason.INVITE_DECLINED: "The policy does not let the bot follow this invite, and has it declined.",
    Reason.IDENTITY_UNKNOWN: "The bot does not know its own name yet, so nothing can be addressed to it.",
    Reason.UNDECRYPTABLE: "The message can't be decrypted yet; it is judged when its key arrives.",
    Reason.ALBUM_PART: "The message is part of an album; it is judged when the album is complete.",
    Reason.BURST_PART: "Files may follow; they are taken together when it has been quiet for a moment.",
    Reason.FRAGMENT: "The text is so long that its rest may follow; it is taken as a whole.",
    Reason.MALFORMED: "The event could not be understood and was set aside.",
    Reason.SERVICE: "Joins, titles and the like are not requests.",
    Reason.REACTION: "A reaction is not a request.",
    Reason.NOTICE: "Automatic notices are never answered.",
    Reason.CHANNEL_POST: "A post in a broadcast channel is not a conversation.",
    Reason.BUSINESS: "Two other people are talking; the bot only looks over a shoulder.",
    Reason.AUTOMATIC_FORWARD: "The message was forwarded automatically.",
    Reason.WITHDRAWN: "The message was deleted, so nothing is started for it.",
    Reason.EDIT_OF_SEEN_MESSAGE: "The message was already taken up; an edit does not start it again.",
    Reason.EDIT_BY_ANOTHER: "Somebody else than the author changed the message, which counts for nothing.",
    Reason.EDIT_OF_UNKNOWN: "Nobody can tell who wrote the message that was changed.",
    Reason.CORRECTION: "The edit corrects a request that was already taken up.",
    Reason.HISTORY: "The message is older than the bot's first start here.",
    Reason.BACKLOG: "The message waited too long to be answered now.",
    Reason.SELF_ORIGIN: "The bot's own messages are never requests.",
    Reason.BOT_ORIGIN: "Another bot wrote this, and no operator has asked for it to be heard.",
    Reason.SYNTHETIC: "A program made this event; nobody asked.",
    Reason.UNKNOWN_CHANNEL: "The policy does not list this channel.",
    Reason.CHANNEL_DENIED: "The policy shuts this channel.",
    Reason.PERSON_DENIED: "The policy shuts this person out.",
    Reason.PERSON_UNKNOWN: "The policy does not list this person.",
    Reason.INVITE_NOT_AUTHORISED: "The policy does not let the bot follow this invite, so it is left alone.",
    Reason.ADDRESSED_TO_OTHER: "The message is addressed to another person.",
    Reason.REPLY_TO_OTHER: "The message is a reply to another person.",
    Reason.SALUTATION_OF_OTHER: "The message begins with another person's name.",
    Reason.UNRECOGNISED_COMMAND: "The command is not one that the bot knows.",
    Reason.REPLY_AUTHOR_UNKNOWN: "Nobody can tell who wrote the message that is replied to.",
    Reason.NOT_A_REPLY: "The message looks like a reply to the bot and is none.",
    Reason.NO_SUBSTANCE: "The message says nothing that could be answered.",
    Reason.NO_ADDRESS: "Nobody addressed the bot, so it keeps out of the conversation.",
    Reason.RATE_LIMITED: "There were too many requests in a short time.",
    Reason.RULE_FAILED: "A rule failed, and then the answer is silence.",
}

STOPS: Final[dict[Stop, str]] = {
    Stop.LEAK: "it may name what belongs to another counterparty",
    Stop.DISCLOSURE: "it has technical or internal details",
    Stop.HARD_STOP: "it does what no agent may do: sign, pay, use passwords, publish or pass on information",
    Stop.DRAFT: "an operator would have to see it first",
    Stop.REFERENCE: "a source that it names is unknown, has expired or is for others",
    Stop.READERS: "others read along now, or nothing may be said there",
    Stop.FORBIDDEN: "a rule of the policy forbids it",
    Stop.FAULT: "it could not be checked",
}
"""Parts of a sentence, after a colon."""

ENGLISH: Final[dict[str, str]] = {
    **{f"failure.{code.value}": sentence for code, sentence in FAILURES.items()},
    **{f"notice.{code.value}": sentence for code, sentence in NOTICES.items()},
    **{f"reason.{code.value}": sentence for code, sentence in REASONS.items()},
    **{f"stop.{code.value}": sentence for code, sentence in STOPS.items()},
}
