"""Words, files and cards in the form that Telegram shows: each part one call, with its final bytes (OUT-2).

Files come first, the words under the first of them as far as a caption goes, the rest as messages; buttons stand under
the last message (an album can't carry any). What a button stands for never leaves: on the wire is an opaque token. A
link is a button too, or a line of text where Telegram would refuse its address and the whole message with it.
"""

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from bot.channels.telegram.formatting import Entity, FormattedText, is_web_address, render
from bot.channels.telegram.payload import NO_PREVIEW, Params, decode, encode
from bot.channels.telegram.splitting import split, split_caption
from bot.model.output import Final as Answer
from bot.model.output import OutFile
from bot.model.part import Action, ButtonToken, Part
from bot.ports.channel import Reply
from forms.card import Card, FieldRow, Style
from policy.blank import is_blank
from policy.boundary import Speech
from policy.ruleset import Streaming
from policy.utf16 import utf16_len

Tokens = Callable[[], str]

ALBUM_MAX: Final = 10
PHOTO_MAX_BYTES: Final = 10 * 2**20
TAP_TEXT_MAX: Final = 200
_PHOTOS: Final = frozenset({"image/jpeg", "image/png", "image/webp"})
_POINTER: Final = "⬇️"
"""Stands over buttons that have no words of their own; Telegram refuses a message without text."""


def new_token() -> str:
    """An opaque token of a button: 128 bits, 22 of the 64 bytes that Telegram takes."""
    return secrets.token_urlsafe(16)


def present(speech: Speech, answer: Answer, *, to: Reply, tokens: Tokens = new_token) -> tuple[Part, ...]:
    """Bring an answer into its final form (see :meth:`bot.ports.channel.Channel.present`)."""
    card = answer.card if answer.card is not None else Card()
    words = FormattedText(text=answer.text) if answer.verbatim else render(answer.text)
    under = _card_text(card)
    runs = _runs([replace(file, name=_mended(file.name)) for file in answer.files])
    rest: tuple[FormattedText, ...]
    caption = FormattedText(text="")
    keyboard, buttons, labels = _keyboard(card, tokens, private=int(to.destination.channel) > 0)
    if not runs:
        whole = _joined(words, under)
        rest = split(whole) or (whole,)
        if keyboard and is_blank(whole.text):
            rest = (FormattedText(text=_POINTER),)
    elif keyboard and len(runs[-1]) > 1:
        caption, rest = _beside_album(words, under)
    else:
        caption, rest = split_caption(_joined(words, under))
    parts = [_files(speech, run, caption if index == 0 else None, to) for index, run in enumerate(runs)]
    parts += [_message(speech, text, to) for text in rest]
    if keyboard:
        parts[-1] = _with_buttons(parts[-1], keyboard, buttons, labels)
    if to.message is not None:
        parts[0] = _with_params(parts[0], reply_parameters=_answers(to.message))
    return tuple(parts)


def present_fragment(text: str, *, to: Reply, streaming: Streaming, stream: str, message: str | None) -> Part | None:
    """A growing answer as a draft or as an edit (see :meth:`bot.ports.channel.Channel.present_fragment`)."""
    if streaming is Streaming.OFF or is_blank(text):
        return None
    pieces = split(render(text))
    if not pieces:
        return None
    if streaming is Streaming.DRAFT:
        if int(to.destination.channel) < 0:
            return None  # drafts are shown in private chats only
        params = _params(pieces[-1], to)
        params.pop("link_preview_options")
        params["draft_id"] = 1 + int.from_bytes(hashlib.sha256(stream.encode()).digest()[:4], "big") % (2**31 - 1)
        return _part(Speech.FRAGMENT, Action.DRAFT, "sendMessageDraft", params, _readable(pieces[-1]), to)
    if message is None:
        first = _message(Speech.FRAGMENT, pieces[0], to)
        return first if to.message is None else _with_params(first, reply_parameters=_answers(to.message))
    params = _params(pieces[0], to)
    params.pop("message_thread_id", None)
    params["message_id"] = int(message)
    return _part(Speech.FRAGMENT, Action.EDIT, "editMessageText", params, _readable(pieces[0]), to)


def typing(to: Reply) -> Part:
    """The sign that work is under way; Telegram shows it for 5 s."""
    params = {**_place(to), "action": "typing"}
    return _part(Speech.SIGN, Action.TYPING, "sendChatAction", params, "", to)


def answer_tap(tap_id: str, text: str, *, to: Reply) -> Part:
    """The end of a button's spinner; words in it are seen by the person who pressed, alone."""
    text = _mended(text)
    shown = text if utf16_len(text) <= TAP_TEXT_MAX else split(FormattedText(text=text), limit=TAP_TEXT_MAX)[0].text
    params: Params = {"callback_query_id": tap_id}
    if shown:
        params["text"] = shown
    speech = Speech.SAFE_ERROR if shown else Speech.SIGN
    return _part(speech, Action.TAP_ANSWER, "answerCallbackQuery", params, shown, to)


def _part(
    speech: Speech,
    action: Action,
    method: str,
    params: Params,
    text: str,
    to: Reply,
    files: tuple[OutFile, ...] = (),
) -> Part:
    return Part(
        destination=to.destination,
        action=action,
        speech=speech,
        text=text,
        payload=encode(method, params),
        files=files,
    )


def _place(to: Reply) -> Params:
    place: Params = {"chat_id": int(to.destination.channel)}
    if to.destination.thread is not None:
        place["message_thread_id"] = int(to.destination.thread)
    return place


def _params(text: FormattedText, to: Reply) -> Params:
    params = {**_place(to), "text": text.text, "link_preview_options": NO_PREVIEW}
    if text.entities:
        params["entities"] = [entity.as_json() for entity in text.entities]
    return params


def _answers(message: str) -> Params:
    """The reply mark; where the message has gone meanwhile, the answer comes without."""
    return {"message_id": int(message), "allow_sending_without_reply": True}


def _readable(text: FormattedText) -> str:
    """Everything that a person could read: the words, where links lead, what code says it is (OUT-2)."""
    hidden = [value for entity in text.entities for value in (entity.url, entity.language) if value]
    return "\n".join([text.text, *(value for value in dict.fromkeys(hidden) if value not in text.text)])


def _message(speech: Speech, text: FormattedText, to: Reply) -> Part:
    return _part(speech, Action.SEND, "sendMessage", _params(text, to), _readable(text), to)


# files


def _runs(files: Sequence[OutFile]) -> list[tuple[OutFile, ...]]:
    """Files in their order: neighbouring photos as albums, everything else one by one."""
    runs: list[tuple[OutFile, ...]] = []
    for file in files:
        last = runs[-1] if runs else ()
        if last and len(last) < ALBUM_MAX and _is_photo(file) and _is_photo(last[-1]):
            runs[-1] = (*last, file)
        else:
            runs.append((file,))
    return runs


def _is_photo(file: OutFile) -> bool:
    return file.media_type in _PHOTOS and len(file.content) <= PHOTO_MAX_BYTES


def _files(speech: Speech, files: tuple[OutFile, ...], caption: FormattedText | None, to: Reply) -> Part:
    words = _caption(caption)
    text = "\n".join([*([_readable(caption)] if words and caption is not None else []), *(file.name for file in files)])
    params = _place(to)
    if len(files) > 1:
        media: list[Params] = [{"type": "photo", "media": f"attach://{index}"} for index in range(len(files))]
        media[0].update(words)
        return _part(speech, Action.FILES, "sendMediaGroup", {**params, "media": media}, text, to, files)
    method, field = ("sendPhoto", "photo") if _is_photo(files[0]) else ("sendDocument", "document")
    return _part(speech, Action.FILES, method, {**params, field: "attach://0", **words}, text, to, files)


def _caption(caption: FormattedText | None) -> Params:
    if caption is None or is_blank(caption.text):
        return {}
    params: Params = {"caption": caption.text}
    if caption.entities:
        params["caption_entities"] = [entity.as_json() for entity in caption.entities]
    return params


# cards


class _Lines:
    """Lines of a card; its words are no markup, whatever signs are in them."""

    def __init__(self) -> None:
        self.text = ""
        self.entities: list[Entity] = []

    def add(self, words: str, kind: str = "") -> None:
        """Write on, in a certain way if it can be seen at all."""
        words = _mended(words)
        if kind and not is_blank(words):
            self.entities.append(Entity(type=kind, offset=utf16_len(self.text), length=utf16_len(words)))
        self.text += words

    def end(self, *, gap: bool = False) -> None:
        """End a line, if there is one; a gap sets apart what follows."""
        self.text += ("\n\n" if gap else "\n") if self.text else ""


def _card_text(card: Card) -> FormattedText:
    """Title, rows, blocks and fields, names in bold; then lines to copy, small print, links that can be no buttons."""
    lines = _Lines()
    lines.add(card.title, "bold")
    for name, value in card.rows:
        lines.end()
        lines.add(f"{name}:", "bold")
        lines.add(f" {value}")
    for name, block in card.blocks:
        lines.end(gap=True)
        lines.add(name, "bold")
        lines.end()
        lines.add(block, "pre")
    for index, row in enumerate(card.fields):
        lines.end(gap=index == 0)
        _add_field(lines, row)
    for words, kind in ((card.example, "pre"), (card.note, "italic")):
        if not is_blank(words):
            lines.end(gap=True)
            lines.add(words, kind)
    for index, button in enumerate(button for button in card.buttons if button.url and not is_web_address(button.url)):
        lines.end(gap=index == 0)
        lines.add(f"{button.label}: {button.url}")
    return FormattedText(text=lines.text, entities=tuple(lines.entities))


def _add_field(lines: _Lines, row: FieldRow) -> None:
    """One field in lines that fit a phone: name and mark, what it takes, what is filled in."""
    lines.add(row.title, "bold")
    if row.required:
        lines.add(f" ({row.required})")
    if row.hint:
        lines.add(f": {row.hint}" if "\n" not in row.hint else f"\n{row.hint}")
    if row.value:
        lines.add(f"\n→ {row.value}" if row.hint else f": {row.value}")


def _mended(text: str) -> str:
    """Without lone surrogates, which have no bytes on the wire."""
    return text.encode("utf-8", "replace").decode()


def _joined(above: FormattedText, under: FormattedText) -> FormattedText:
    if not under.text:
        return above
    if is_blank(above.text):
        return under
    gap = f"{above.text}\n\n"
    shift = utf16_len(gap)
    moved = tuple(replace(entity, offset=entity.offset + shift) for entity in under.entities)
    return FormattedText(text=gap + under.text, entities=above.entities + moved)


def _beside_album(words: FormattedText, under: FormattedText) -> tuple[FormattedText, tuple[FormattedText, ...]]:
    """Caption and messages where an album comes last and buttons are to follow it: at least one message."""
    caption, rest = split_caption(words)
    if not is_blank(under.text):
        return caption, (*rest, *split(under))
    if rest:
        return caption, rest
    if is_blank(words.text):
        return caption, (FormattedText(text=_POINTER),)
    return FormattedText(text=""), split(words)


def _keyboard(
    card: Card, tokens: Tokens, *, private: bool
) -> tuple[list[list[dict[str, Any]]], tuple[ButtonToken, ...], str]:
    """The buttons in their rows, the tokens of those that send one, and the labels and links as people read them.

    A Mini App opens in private chats only, and over https only; elsewhere its button is a link.
    """
    rows: list[list[dict[str, Any]]] = []
    made: list[ButtonToken] = []
    seen: list[str] = []
    for row in card.keyboard:
        keys = []
        for button in row:
            if button.url and not is_web_address(button.url):
                continue  # a line of the text
            key: dict[str, Any] = {"text": _mended(button.label)}
            seen.append(button.label)
            if not button.url:
                token = tokens()
                made.append(ButtonToken(token=token, label=button.label, value=button.value))
                key["callback_data"] = token
            elif button.web_app and private and button.url.lower().startswith("https://"):
                key["web_app"] = {"url": button.url}
            else:
                key["url"] = button.url
            seen += [button.url] if button.url else []
            if button.style is not Style.NEUTRAL:
                key["style"] = button.style.value
            keys.append(key)
        rows += [keys] if keys else []
    return rows, tuple(made), "\n".join(seen)


def _with_buttons(
    part: Part,
    keyboard: list[list[dict[str, Any]]],
    buttons: tuple[ButtonToken, ...],
    labels: str,
) -> Part:
    part = _with_params(part, reply_markup={"inline_keyboard": keyboard})
    return replace(part, text=f"{part.text}\n{labels}" if part.text else labels, buttons=buttons)


def _with_params(part: Part, **more: Any) -> Part:
    method, params = decode(part)
    return replace(part, payload=encode(method, {**params, **more}))
