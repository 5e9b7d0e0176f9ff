"""Words, files and cards in their final form: what the payload of a part holds is what the page shows (OUT-2)."""

import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from bot.channels.filenames import media_type, visible_name
from bot.channels.web.markdown import readable, render, split
from bot.model.output import Final as Answer
from bot.model.output import OutFile
from bot.model.part import Action, ButtonToken, Part
from bot.ports.channel import Reply
from forms.card import Card
from policy.boundary import Speech
from policy.destination import Destination
from policy.ruleset import Streaming


def present(speech: Speech, answer: Answer, *, to: Reply) -> tuple[Part, ...]:
    """An answer as messages; almost always one.

    Every message has its id from here on, so that sending it again does nothing (DUR-2).
    """
    pieces = split(answer.text) if answer.text.strip() else [""]
    parts = [_message(speech, piece, (), None, to) for piece in pieces[:-1]]
    return (*parts, _message(speech, pieces[-1], answer.files, answer.card, to))


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


def _message(speech: Speech, text: str, files: tuple[OutFile, ...], card: Card | None, to: Reply) -> Part:
    markup = render(text) if text else ""
    message = f"b{secrets.token_hex(10)}"
    tokens = tuple(
        ButtonToken(token=secrets.token_urlsafe(12), label=button.label, value=button.value)
        for button in (card.buttons if card is not None else ())
    )
    named = tuple(replace(file, name=visible_name(file.name), media_type=media_type(file.media_type)) for file in files)
    document: dict[str, Any] = {
        "text": readable(markup),
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
        "card": None if card is None else _card(card, tokens),
    }
    seen = [document["text"], *(file.name for file in named), card.words if card is not None else ""]
    return Part(
        destination=to.destination,
        action=Action.FILES if files and not text and card is None else Action.SEND,
        speech=speech,
        text="\n".join(line for line in seen if line),
        payload=_dump({"kind": "send", "id": message, "message": document}),
        files=named,
        buttons=tokens,
    )


def _card(card: Card, tokens: tuple[ButtonToken, ...]) -> Mapping[str, Any]:
    return {
        "title": card.title,
        "rows": [list(row) for row in card.rows],
        "buttons": [
            {"label": button.label, "token": token.token, "style": button.style.value}
            for button, token in zip(card.buttons, tokens, strict=True)
        ],
    }


def _part(destination: Destination, action: Action, speech: Speech, text: str, payload: Mapping[str, Any]) -> Part:
    return Part(destination=destination, action=action, speech=speech, text=text, payload=_dump(payload))


def _dump(payload: Mapping[str, Any]) -> bytes:
    return orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)
