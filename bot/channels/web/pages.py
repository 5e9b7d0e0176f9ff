"""The page, its scripts, and the small pages around it. Nothing here holds a word of a person."""

import html
from collections.abc import Mapping
from importlib import resources
from string import Template
from typing import Final

_FOLDER: Final = resources.files("bot.channels.web") / "static"
_TYPES: Final = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml", "html": "text/html"}
_NOTICE: Final = Template("""<!doctype html>
<html lang="$lang">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<link rel="icon" href="/static/mark.svg">
<link rel="stylesheet" href="/static/style.css">
</head>
<body class="notice">
<main>
<img src="/static/mark.svg" alt="" width="48" height="48">
<h1>$title</h1>
<p>$sentence</p>
$rest</main>
</body>
</html>
""")
_ENTER: Final = Template("""<p><button id="enter" class="primary" type="button">$button</button></p>
<p id="failed" role="alert" hidden>$failed</p>
<script type="module" src="/static/enter.js"></script>
""")


class Assets:
    """The static files, read once."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, str]] = {}
        for file in _FOLDER.iterdir():
            kind = _TYPES.get(file.name.rpartition(".")[2])
            if kind is not None:
                self._files[file.name] = (file.read_bytes(), kind)

    def get(self, name: str) -> tuple[bytes, str] | None:
        """Content and media type of a static file; None: there is none of that name."""
        return self._files.get(name)


def notice(words: Mapping[str, str], name: str) -> str:
    """A small page that says one thing: ``closed`` or ``notfound``."""
    return _NOTICE.substitute(_escaped(words, name), rest="")


def confirm(words: Mapping[str, str]) -> str:
    """The page behind a one-time link: opening it uses nothing up, the button does."""
    rest = _ENTER.substitute(
        button=html.escape(words["enter.button"]),
        failed=html.escape(words["enter.failed"]),
    )
    return _NOTICE.substitute(_escaped(words, "enter"), rest=rest)


def _escaped(words: Mapping[str, str], name: str) -> dict[str, str]:
    return {
        "lang": html.escape(words["lang"]),
        "title": html.escape(words[f"{name}.title"]),
        "sentence": html.escape(words[f"{name}.sentence"]),
    }
