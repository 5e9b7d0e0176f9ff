"""Words, files and cards in their final form: what the payload of a part holds is what the page shows (OUT-2)."""

import secrets
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any, Final

import orjson

from bot.channels.filenames import media_type, visible_name
from bot.channels.web.fields import form_of, words_of
from bot.channels.web.markdown import cut, readable, render, split, verbatim
from bot.model.output import Final as Answer
from bot.model.output import OutFile
from bot.model.part import Action, ButtonToken, Part
from bot.ports.channel import Reply
from forms.card import Button, Card
from forms.reading import Locale
from policy.boundary import Speech
from policy.destination import Destination
from policy.ruleset import Streaming


def present(speech: Speech, answer: Answer, *, to: Reply, today: date) -> tuple[Part, ...]:
    """An answer as messages; almost always one.

    Every message has its id from here on, so that sending it again does nothing (DUR-2).
    """
    if answer.verbatim:
        pieces = [_verbatim(piece) for piece in cut(answer.text)]
    else:
        pieces = [_formatted(piece) for piece in split(answer.text)] if answer.text.strip() else [_NOTHING]
    parts = [_message(speech, piece, (), None, to) for piece in pieces[:-1]]
    card = None if answer.card is None else _Shown(answer.card, today)
    return (*parts, _message(speech, pieces[-1], answer.files, card, to))


def present_fragment(text: str, *, to: Reply, stream: str, streaming: Streaming, message: str | None) -> Part | None:
    """An answer that grows. The page shows it beside the conversation until the whole message comes."""
    if streaming is Streaming.OFF:
        return None
    markup = render(split(text)[0])
    if message is not None:
        payload: dict[str, Any] = {"kind": "edit", "id": message, "message": {"text": readable(markup), "html": markup}}
        return _part(to.destination, Action.EDIT, Speech.FRAGMENT, readable(markup), payload)
    payload = {"kind": "draft", "stream": stream, "reply": to.message, "html": markup}
    return _part(to.destination, Action.DRAFT, Speech.FRAGMENT, readable(markup), payload)


def present_rest(parts: tuple[Part, ...], *, message: str) -> tuple[Part, ...]:
    """Turn the first of final parts into an edit of the message that has been growing."""
    first, *rest = parts
    payload = orjson.loads(first.payload)
    edit = replace(first, action=Action.EDIT, payload=_dump({**payload, "kind": "edit", "id": message}))
    return (edit, *rest)


def typing(destination: Destination) -> Part:
    """The sign that work is under way."""
    return _part(destination, Action.TYPING, Speech.SIGN, "", {"kind": "typing"})


def answer_tap(destination: Destination, tap_id: str, text: str) -> Part:
    """A private word to the person who pressed a button."""
    payload = {"kind": "note", "tap": tap_id, "text": text}
    return _part(destination, Action.TAP_ANSWER, Speech.SIGN, text, payload)


_Words = tuple[str, str]
"""What can be read, and its HTML."""
_NOTHING: Final[_Words] = ("", "")


def _formatted(text: str) -> _Words:
    markup = render(text)
    return readable(markup), markup


def _verbatim(text: str) -> _Words:
    return text, verbatim(text)


def _message(speech: Speech, words: _Words, files: tuple[OutFile, ...], card: "_Shown | None", to: Reply) -> Part:
    text, markup = words
    message = f"b{secrets.token_hex(10)}"
    named = tuple(replace(file, name=visible_name(file.name), media_type=media_type(file.media_type)) for file in files)
    document: dict[str, Any] = {
        "text": text,
        "html": markup,
        "speech": speech.value,
        "reply": None if to.message is None else {"id": to.message},
        "files": [
            {
                "handle": f"{to.destination.channel}.{message}.{number}",
                "name": file.name,
                "media_type": file.media_type,
                "size": len(file.content),
            }
            for number, file in enumerate(named)
        ],
        "card": None if card is None else card.document,
    }
    seen = [document["text"], *(file.name for file in named), card.words if card is not None else ""]
    return Part(
        destination=to.destination,
        action=Action.FILES if files and not text and card is None else Action.SEND,
        speech=speech,
        text="\n".join(line for line in seen if line),
        payload=_dump({"kind": "send", "id": message, "message": document}),
        files=named,
        buttons=() if card is None else tuple(card.tokens),
    )


class _Shown:
    """A card as the page gets it.

    Attributes:
        document: what the page draws.
        tokens: what its buttons stand for.
        words: everything that a person could read in it.
    """

    def __init__(self, card: Card, today: date) -> None:
        self.tokens: list[ButtonToken] = []
        rows = [[one for one in row if _belongs(one, card)] for row in card.keyboard]
        rows = [row for row in rows if row]
        self.document: dict[str, Any] = {
            "title": card.title,
            "rows": [list(row) for row in card.rows],
            "buttons": [self._button(button) for row in rows for button in row],
        }
        if card.blocks:
            self.document["blocks"] = [list(block) for block in card.blocks]
        self.words = card.words
        if card.widths and rows:
            self.document["widths"] = [len(row) for row in rows]
        if card.note:
            self.document["note"] = card.note
        if card.form is not None:
            form = dict(form_of(card.form, Locale(timezone=card.timezone), today=today))
            form["zone"] = "" if form["zone"] in card.note else form["zone"]  # once is enough
            self.document["form"] = form
            self.words = "\n".join([card.words, *filter(None, words_of(form))])
        elif card.fields:
            self.document["columns"] = None if card.columns is None else list(card.columns)
            self.document["fields"] = [[row.title, row.hint, row.required, row.value] for row in card.fields]

    def _button(self, button: Button) -> Mapping[str, Any]:
        look = {"label": button.label, "style": button.style.value}
        if button.url:
            return {**look, "url": button.url}
        token = ButtonToken(token=secrets.token_urlsafe(12), label=button.label, value=button.value)
        self.tokens.append(token)
        return {**look, "token": token.token}


def _belongs(button: Button, card: Card) -> bool:
    """Where the fields themselves stand in the card, nothing that stands for them does.

    Neither the link of a question, which is the access to it and not for everybody in the room (FORM-6, FORM-9), nor a
    calendar.
    """
    return card.form is None or not (button.url or card.stepwise)


def _part(destination: Destination, action: Action, speech: Speech, text: str, payload: Mapping[str, Any]) -> Part:
    return Part(destination=destination, action=action, speech=speech, text=text, payload=_dump(payload))


def _dump(payload: Mapping[str, Any]) -> bytes:
    return orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)
