"""Words, files and cards in the form that Matrix shows: each part one event, with its final bytes (OUT-2).

Files come first, one event each; the words stand under the first of them if they fit, else they follow. Matrix has no
buttons: a card lists its choices, each with a sign, and the sender puts the signs under the message as reactions, so
that a choice is one tap. What a choice stands for never leaves. Choices that only change the card are not offered: a
message does not change under the signs that stand below it. A link stands under the card as a link.
"""

import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from bot.channels.filenames import media_type, visible_name
from bot.channels.matrix.html import Shown, code, joined, link, mended, verbatim
from bot.channels.matrix.payload import HTML, Content, decode, edit_of, encode, marked
from bot.channels.matrix.pictures import extent
from bot.channels.matrix.splitting import fits, split_block, split_card, split_fields, split_text, split_words
from bot.model.output import Final as Answer
from bot.model.output import OutFile
from bot.model.part import Action, ButtonToken, Part
from bot.ports.channel import Reply
from forms.card import Card, FieldRow
from policy.blank import is_blank
from policy.boundary import Speech
from policy.ruleset import Streaming

Tokens = Callable[[], str]

KEYCAPS: Final = (*(f"{digit}\ufe0f\u20e3" for digit in range(1, 10)), "\U0001f51f")
TYPING_MS: Final = 10_000
"""After which the sign goes out by itself; it is repeated sooner."""
_NOTICES: Final = frozenset({Speech.PROGRESS, Speech.OPERATIONAL, Speech.SAFE_ERROR, Speech.ACKNOWLEDGEMENT})
_PICTURES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_SPACE: Final = re.compile(r"\s+")


def new_token() -> str:
    """An opaque token of a choice, or a transaction id: 128 bits."""
    return secrets.token_urlsafe(16)


def present(speech: Speech, answer: Answer, *, to: Reply, tokens: Tokens = new_token) -> tuple[Part, ...]:
    """Bring an answer into its final form (see :meth:`bot.ports.channel.Channel.present`)."""
    card = answer.card
    words = split_text(mended(answer.text), verbatim) if answer.verbatim else split_words(answer.text)
    pieces = [piece for piece in words if not is_blank(piece.text)]
    caption = pieces.pop() if answer.files and card is None and len(pieces) == 1 else None
    choices = _choices(card, tokens)
    if card is not None:
        pieces = _with_card(pieces, card, choices)
    if not pieces and not answer.files:
        pieces = [Shown(body=mended(answer.text), html="")]  # nothing to see: the boundary withholds it
    parts: list[Part] = []
    for index, file in enumerate(answer.files):
        parts.append(_file(speech, file, caption if index == 0 else None, to, first=not parts))
    kind = "m.notice" if speech in _NOTICES and card is None else "m.text"
    for piece in pieces:
        parts.append(_message(speech, kind, piece, to, first=not parts))
    if choices:
        parts[-1] = replace(parts[-1], buttons=choices, payload=_seeded(parts[-1], choices))
    return tuple(parts)


def present_fragment(
    text: str,
    *,
    to: Reply,
    streaming: Streaming,
    stream: str,  # noqa: ARG001 - an edit names the message, which is enough
    message: str | None,
) -> Part | None:
    """A growing answer as a message and its edits (see :meth:`bot.ports.channel.Channel.present_fragment`)."""
    if streaming is not Streaming.EDIT or is_blank(text):
        return None
    shown = next(split_words(text))
    if is_blank(shown.text):
        return None
    if message is None:
        return _message(Speech.FRAGMENT, "m.text", shown, to, first=True)
    content = edit_of(message, _words("m.text", shown))
    return _send(Speech.FRAGMENT, Action.EDIT, content, shown.text, to)


def typing(to: Reply, *, on: bool) -> Part:
    """The sign that work is under way, or its end."""
    return _sign(Action.TYPING, to, do="typing", on=on, timeout_ms=TYPING_MS)


def read_receipt(to: Reply) -> Part | None:
    """The mark that the request was read; None where there is no message to mark."""
    return None if to.message is None else _sign(Action.READ, to, do="read", event=mended(to.message))


def answer_invite(to: Reply, *, accept: bool) -> Part:
    """Go into a room that the bot was invited to, or decline."""
    return _sign(Action.JOIN, to, do="join") if accept else _sign(Action.LEAVE, to, do="leave")


def _sign(action: Action, to: Reply, **document: Any) -> Part:
    return Part(
        destination=to.destination,
        action=action,
        speech=Speech.SIGN,
        text="",
        payload=encode({"room": to.destination.channel, **document}),
    )


def _send(
    speech: Speech, action: Action, content: Content, text: str, to: Reply, files: tuple[OutFile, ...] = ()
) -> Part:
    document: dict[str, Any] = {
        "do": "send",
        "room": to.destination.channel,
        "type": "m.room.message",
        "content": content,
        "txn": new_token(),
    }
    if files:
        document["file"] = 0
    return Part(
        destination=to.destination,
        action=action,
        speech=speech,
        text=text,
        payload=encode(document),
        files=files,
    )


def _message(speech: Speech, kind: str, shown: Shown, to: Reply, *, first: bool) -> Part:
    content = _placed(_words(kind, shown), to, first=first)
    if content["body"].startswith(">") and "m.in_reply_to" in content.get("m.relates_to", {}):
        # older clients take quoted lines at the start of a reply for a copy of what it answers, and hide them
        content["body"] = f"\n{content['body']}"
    return _send(speech, Action.SEND, content, shown.text, to)


def _words(kind: str, shown: Shown) -> Content:
    content: Content = {"msgtype": kind, "body": shown.body}
    if shown.formatted:
        content |= {"format": HTML, "formatted_body": shown.html}
    return marked(content)


def _placed(content: Content, to: Reply, *, first: bool) -> Content:
    """With the mark of what it answers, and of its thread."""
    root = to.destination.thread
    answers = to.message if first or root is not None else None
    if root is None:
        relation: Content = {} if answers is None else {"m.in_reply_to": {"event_id": mended(answers)}}
    else:
        relation = {
            "rel_type": "m.thread",
            "event_id": mended(root),
            "is_falling_back": not (first and answers is not None),
            "m.in_reply_to": {"event_id": mended(answers if answers is not None else root)},
        }
    return {**content, "m.relates_to": relation} if relation else content


# files


def _file(speech: Speech, file: OutFile, caption: Shown | None, to: Reply, *, first: bool) -> Part:
    name, kind = visible_name(mended(file.name)), media_type(file.media_type)
    content = _words(_message_type(kind), caption if caption is not None else Shown(body=name, html=""))
    info: Content = {"mimetype": kind, "size": len(file.content)}
    if content["msgtype"] == "m.image":
        info |= extent(file.content)
    content |= {"filename": name, "info": info}
    text = name if caption is None else f"{caption.text}\n{name}"
    named = replace(file, name=name, media_type=kind)
    return _send(speech, Action.FILES, _placed(content, to, first=first), text, to, (named,))


def _message_type(kind: str) -> str:
    """How a file is shown; a picture in a form that can hold more than a picture is a file."""
    if kind in _PICTURES:
        return "m.image"
    return {"video": "m.video", "audio": "m.audio"}.get(kind.partition("/")[0], "m.file")


# cards


def _choices(card: Card | None, tokens: Tokens) -> tuple[ButtonToken, ...]:
    if card is None or card.stepwise:
        return ()
    return tuple(
        ButtonToken(
            token=tokens(),
            label=button.label,
            value=button.value,
            key=button.sign or (KEYCAPS[index] if index < len(KEYCAPS) else f"{index + 1}."),
        )
        for index, button in enumerate(button for button in card.buttons if not button.url)
    )


def _with_card(pieces: list[Shown], card: Card, choices: tuple[ButtonToken, ...]) -> list[Shown]:
    """The card under the words, in the same message as far as it fits; the choices are in the last."""
    whole = list(pieces)
    for block in _blocks(card, choices):
        if is_blank(block.body):
            continue
        if whole and fits(both := joined(whole[-1], block)):
            whole[-1] = both
        else:
            whole.append(block)
    return whole


def _blocks(card: Card, choices: tuple[ButtonToken, ...]) -> Iterator[Shown]:
    """Title and rows, blocks, what is asked, lines to copy, small print, links, choices."""
    yield from split_card(mended(card.title), [(mended(name), mended(value)) for name, value in card.rows], ())
    for name, block in card.blocks:
        yield from split_block(mended(name), mended(block))
    if card.fields:
        yield from split_fields([_mended_row(row) for row in card.fields], card.columns)
    if not is_blank(card.example):
        yield from split_text(mended(card.example), code)
    yield from split_text(mended(card.note), verbatim)
    for button in card.buttons:
        if button.url:
            yield link(_label(button.label), mended(button.url))
    yield from split_card("", (), [(choice.key, _label(choice.label)) for choice in choices])


def _label(label: str) -> str:
    return _SPACE.sub(" ", mended(label)).strip()


def _mended_row(row: FieldRow) -> FieldRow:
    return FieldRow(
        title=mended(row.title), hint=mended(row.hint), required=mended(row.required), value=mended(row.value)
    )


def _seeded(part: Part, choices: tuple[ButtonToken, ...]) -> bytes:
    """With the reactions to tap; more than ten would be a wall."""
    seeds = [choice.key for choice in choices] if len(choices) <= len(KEYCAPS) else []
    return encode({**decode(part), "seeds": seeds}) if seeds else part.payload
