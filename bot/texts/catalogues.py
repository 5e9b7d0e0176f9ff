"""Brings the catalogues up to date with the sentences in the code: ``python -m bot.texts.catalogues``.

Needed by developers alone; the package ships what comes out of it.
"""

import io
import sys
from datetime import UTC, datetime
from pathlib import Path
from pkgutil import resolve_name
from typing import Final

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from bot.texts.words import DOMAIN, FALLBACK, LANGUAGES

SOURCES: Final = (
    "bot.texts.sentences:ENGLISH",
    "bot.channels.web.words:ENGLISH",
    "bot.questions.words:ENGLISH",
    "bot.deliveries.words:ENGLISH",
    "bot.approvals.words:ENGLISH",
    "bot.clarifications.words:ENGLISH",
    "bot.commands.words:ENGLISH",
    "bot.pages.words:ENGLISH",
)
"""Sentences by key. They are named and not imported, because words lie below everything that speaks them."""
_NO_DATE: Final = datetime(2000, 1, 1, tzinfo=UTC)
LOCALES: Final = Path(__file__).parent / "locales"


def sentences() -> dict[str, str]:
    """Every sentence of the sources by key."""
    found: dict[str, str] = {}
    for source in SOURCES:
        found |= resolve_name(source)
    return found


def path_of(language: str, suffix: str) -> Path:
    """Where a catalogue stands: ``po`` or ``mo``."""
    return LOCALES / language / "LC_MESSAGES" / f"{DOMAIN}.{suffix}"


def template() -> Catalog:
    """All sentences without translations; the key is the context, so that equal words may differ elsewhere."""
    made = Catalog(project=DOMAIN)
    for key, sentence in sorted(sentences().items()):
        made.add(sentence, context=key)
    for message in made:
        message.flags.discard("python-format")
    return made


def read(language: str) -> Catalog:
    """The catalogue of a language as it stands in its file; an empty one where there is none."""
    path = path_of(language, "po")
    if not path.exists():
        return Catalog(locale=language, domain=DOMAIN)
    with path.open("rb") as stream:
        return read_po(stream, locale=language, domain=DOMAIN, abort_invalid=True)


def written(catalogue: Catalog) -> bytes:
    """The text of a catalogue, without dates, so that equal words make equal files."""
    lines = []
    for message in catalogue:
        if message.id:
            fuzzy = ["#, fuzzy"] if message.fuzzy else []
            lines += [*fuzzy, f"msgctxt {_quoted(message.context or '')}", f"msgid {_quoted(str(message.id))}"]
            lines += [f"msgstr {_quoted(str(message.string or ''))}", ""]
    head = ['msgid ""', 'msgstr ""', f'"Language: {catalogue.locale_identifier}\\n"']
    head += ['"MIME-Version: 1.0\\n"', '"Content-Type: text/plain; charset=utf-8\\n"']
    head += ['"Content-Transfer-Encoding: 8bit\\n"', ""]
    return "\n".join([*head, *lines]).encode()


def compiled(catalogue: Catalog) -> bytes:
    """The binary form of a catalogue, without what is fuzzy and without dates."""
    plain = read_po(io.BytesIO(written(catalogue)), locale=catalogue.locale, domain=DOMAIN)
    plain.creation_date = plain.revision_date = _NO_DATE
    out = io.BytesIO()
    write_mo(out, plain)
    return out.getvalue()


def main() -> int:
    """Update and compile all catalogues; 1 where a translation is missing or in doubt."""
    made = template()
    doubtful = 0
    for language in LANGUAGES:
        if language == FALLBACK:
            continue
        catalogue = read(language)
        catalogue.update(made)
        path_of(language, "po").parent.mkdir(parents=True, exist_ok=True)
        path_of(language, "po").write_bytes(written(catalogue))
        path_of(language, "mo").write_bytes(compiled(catalogue))
        open_ones = [message.context for message in catalogue if message.id and (message.fuzzy or not message.string)]
        doubtful += len(open_ones)
        sys.stdout.write(f"{language}: {len(catalogue)} sentences, {len(open_ones)} without a sure translation\n")
        sys.stdout.writelines(f"  {key}\n" for key in open_ones)
    return 1 if doubtful else 0


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


if __name__ == "__main__":
    sys.exit(main())
