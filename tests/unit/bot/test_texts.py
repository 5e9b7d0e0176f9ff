"""What the gateway says to people: complete in every language, in plain words, and nowhere but in the catalogues."""

import ast
import gettext
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.channels.web import words as page
from bot.texts import catalogues
from bot.texts.codes import Failure, Notice, Stop
from bot.texts.sentences import ENGLISH, FAILURES, NOTICES, REASONS
from bot.texts.words import LANGUAGES, Words, explain, nearest, page_words, translate
from policy.reasons import Reason

BOT = Path(catalogues.__file__).parents[1]
TRANSLATED = [language for language in LANGUAGES if language != "en"]
SPEAKING = ("runtime", "deliveries", "channels")
"""Rooms that bring words to people. What agents say is the agents' own."""
CALLS = {"present", "present_fragment", "answer_tap", "Final", "Fragment", "Progress", "Operational"}
SAYING = {"say", "tell"}


def _names(sentence: str) -> list[str]:
    return sorted(re.findall(r"{(\w+)}", sentence))


def _compiled(language: str) -> gettext.GNUTranslations:
    with catalogues.path_of(language, "mo").open("rb") as stream:
        return gettext.GNUTranslations(stream)


@pytest.mark.parametrize(("codes", "sentences"), [(Failure, FAILURES), (Notice, NOTICES), (Reason, REASONS)])
def test_every_code_has_a_sentence(codes, sentences):
    assert set(codes) == set(sentences)
    assert all(sentence.strip().endswith(".") for sentence in sentences.values())


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_language_lacks_no_translation_and_none_is_in_doubt(language):
    found = {message.context: message for message in catalogues.read(language) if message.id}
    assert {key: message.id for key, message in found.items()} == catalogues.sentences()
    assert [key for key, message in found.items() if message.fuzzy or message.string in ("", "None", None)] == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_translation_fills_in_the_same_names(language):
    wrong = {
        message.context: message.string
        for message in catalogues.read(language)
        if message.id and _names(message.string) != _names(message.id)
    }
    assert wrong == {}


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_translation_keeps_the_code_marks_and_ends_as_the_original_does(language):
    for message in catalogues.read(language):
        if message.id:
            assert message.string.count("`") == message.id.count("`"), message.context
            assert message.string[-1:] in ".!?" if message.id.endswith((".", "!", "?")) else True, message.context
            assert message.string == message.string.strip()


@pytest.mark.parametrize("language", TRANSLATED)
def test_the_compiled_catalogue_is_up_to_date(language):
    compiled = _compiled(language)
    fresh = gettext.GNUTranslations(io.BytesIO(catalogues.compiled(catalogues.read(language))))
    for key, sentence in catalogues.sentences().items():
        assert compiled.pgettext(key, sentence) == fresh.pgettext(key, sentence), "run python -m bot.texts.catalogues"


@pytest.mark.parametrize("language", TRANSLATED)
def test_the_written_catalogue_reads_back_as_it_is(language):
    assert catalogues.written(catalogues.read(language)) == catalogues.path_of(language, "po").read_bytes()


@pytest.mark.parametrize("language", TRANSLATED)
def test_sentences_are_translated_and_not_copied(language):
    assert [key for key, sentence in ENGLISH.items() if translate(language, key, sentence) == sentence] == []


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("en", "en"),
        ("ru", "ru"),
        ("de-AT", "de"),
        ("DE", "de"),
        ("es-419", "es"),
        ("bg_BG", "bg"),
        ("ru-Cyrl-RU", "ru"),
        ("fr", "en"),
        ("zh-Hans", "en"),
        ("", "en"),
        (None, "en"),
        ("-", "en"),
        ("../../etc", "en"),
        ("de" * 40, "en"),
        ("і", "en"),
    ],
)
def test_the_nearest_language_is_taken_by_its_primary_subtag(tag, language):
    assert nearest(tag) == language


def test_a_failure_asks_for_the_smallest_useful_input():
    assert Words("en").say(Failure.ATTACHMENT_UNREADABLE) == (
        "I cannot read that attachment here. Please paste the relevant section."
    )
    for failure in Failure:
        assert "please" in Words("en").say(failure).casefold()
        assert not re.search(r"error|exception|server|token|api|json|timeout", Words("en").say(failure), re.IGNORECASE)


def test_names_in_braces_are_filled_in_and_nothing_else_is():
    said = Words("de").say(Notice.CHANNEL_MOVED, old="telegram:7001:-5", new="{request}")
    assert said.startswith("Der Chat `telegram:7001:-5` geht als `{request}` weiter.")


def test_a_missing_value_does_not_cost_the_sentence():
    assert "request –" in Words("en").say(Notice.RUN_FAILED)


def test_a_reason_is_explained_in_the_language_of_the_reader():
    assert explain(Reason.NO_ADDRESS) == REASONS[Reason.NO_ADDRESS]
    assert explain(Reason.NO_ADDRESS, "ru-RU").startswith("К боту никто не обращался")


def test_the_page_is_there_in_every_language():
    for language in LANGUAGES:
        words = page_words(language, page.ENGLISH)
        assert words.keys() == page.ENGLISH.keys()
        assert words["lang"] == language
    assert page_words("es-MX", page.ENGLISH)["compose.send"] == "Enviar"
    assert page_words(None, page.ENGLISH) == page.ENGLISH


# words outside of the catalogues


def _calls() -> Iterator[tuple[Path, ast.Call, str]]:
    for room in SPEAKING:
        for path in sorted((BOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call):
                    function = node.func
                    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
                    yield path, node, name


def _literals(node: ast.expr) -> Iterator[str]:
    """Words that stand in an expression itself: texts, the fixed pieces of f-strings, both sides of a sum or choice."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=values):
            for value in values:
                yield from _literals(value)
        case ast.BinOp(left=left, right=right):
            yield from _literals(left)
            yield from _literals(right)
        case ast.IfExp(body=body, orelse=other):
            yield from _literals(body)
            yield from _literals(other)
        case ast.BoolOp(values=values):
            for value in values:
                yield from _literals(value)
        case _:
            return


def test_no_words_for_people_stand_outside_the_catalogues():
    found = []
    for path, call, name in _calls():
        if name in CALLS:
            spoken = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "text")]
            if name == "answer_tap":
                spoken = spoken[1:]  # the first one is the platform's id of the tap
            words = [text for argument in spoken for text in _literals(argument) if re.search(r"[^\W\d_]", text)]
            found += [f"{path.relative_to(BOT)}:{call.lineno}: {text!r}" for text in words]
    assert found == []


def _codes(node: ast.expr) -> Iterator[Failure | Notice]:
    match node:
        case ast.Attribute(value=ast.Name(id="Notice"), attr=name):
            yield Notice[name]
        case ast.Attribute(value=ast.Name(id="Failure"), attr=name):
            yield Failure[name]
        case ast.IfExp(body=body, orelse=other):
            yield from _codes(body)
            yield from _codes(other)
        case _:
            return


def test_who_says_a_sentence_gives_it_its_names():
    wrong = []
    for path, call, name in _calls():
        if name in SAYING and call.args and not any(keyword.arg is None for keyword in call.keywords):
            given = {keyword.arg for keyword in call.keywords}
            for code in _codes(call.args[0]):
                sentence = FAILURES[code] if isinstance(code, Failure) else NOTICES[code]
                if missing := set(_names(sentence)) - given:
                    wrong.append(f"{path.relative_to(BOT)}:{call.lineno}: {code} needs {sorted(missing)}")
    assert wrong == []


def test_an_unfinished_translation_is_marked_and_left_out_of_the_compiled_form(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogues, "LOCALES", tmp_path)
    monkeypatch.setattr(catalogues, "sentences", lambda: {"notice.stopped": "Stopped."})
    assert catalogues.main() == 1
    assert catalogues.main() == 1, "what is not translated stays so"
    before, _, after = catalogues.path_of("ru", "po").read_text().rpartition('msgstr ""')
    text = f'{before}msgstr "Остановлено."{after}'
    for language in TRANSLATED:
        catalogues.path_of(language, "po").write_text(text.replace("Language: ru", f"Language: {language}"))
    assert catalogues.main() == 0
    monkeypatch.setattr(catalogues, "sentences", lambda: {"notice.stopped": "Stopped now."})
    assert catalogues.main() == 1
    compiled = _compiled("ru")
    assert compiled.pgettext("notice.stopped", "Stopped now.") == "Stopped now."


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_reason_for_a_stop_is_said_once_in_every_language(language):
    words = Words(language)
    said = {words.stopped([stop]) for stop in Stop}
    assert len(said) == len(Stop)
    assert words.stopped([Stop.LEAK, Stop.LEAK]) == words.stopped([Stop.LEAK])
