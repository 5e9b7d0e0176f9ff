"""What the policy file says of contents (AUTO-3, AUTO-4, OUT-4).

Such as::

detectors:
  prices: {words: [Sondertarif], patterns: ['offer [0-9]+']}
  technical_figure: {package: false} # the package's own are off for this class
disclosure: {hosts: [build01, "*.acme.net"], words: [sprint board]}
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema

from policy.content import ContentClass, Detector, Disclosure, HardStop
from policy.detectors import PACKAGE
from policy.document_shape import Shape, Term, flaw
from policy.search import PatternError, compiled

Topic = Literal[
    "prices",
    "contract",
    "legal",
    "public_post",
    "unverified_claim",
    "technical_figure",
    "signing",
    "moving_money",
    "entering_credentials",
    "publishing_packages",
    "passing_on_information",
]


def _word(value: str) -> str:
    if not any(map(str.isalnum, value)):
        raise flaw(
            "a word without letters or digits", "write what is to be found; a * at the end stands for any ending"
        )
    if "*" in value[:-1]:
        raise flaw("a * stands at the end only", "write the beginning of the word, or take patterns")
    return value


def _pattern(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise flaw("a pattern is expected here", "write a regular expression in single quotes")
    if len(value) > 1000:
        raise flaw("this is longer than 1000 characters", "make it several patterns")
    try:
        found = compiled(f"(?i:{value})")
    except PatternError as error:
        raise flaw(
            f"RE2 does not take this pattern: {error}", "mend it; look-around and references don't exist"
        ) from None
    if found.search(b"") is not None:
        raise flaw("this pattern finds everything: it matches an empty text", "write what has to be there")
    return value


def _host(value: str) -> str:
    below = value.removeprefix("*").removeprefix(".")
    if not below or not all(one.isalnum() or one in "-." for one in below):
        raise flaw("this is no name of a host", "write build01, or *.example.net for all names below it")
    return value


Word = Annotated[Term, AfterValidator(_word)]
Pattern = Annotated[
    str, PlainValidator(_pattern), WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 1000})
]
Host = Annotated[Term, AfterValidator(_host)]


class TopicDetectors(Shape):
    """What raises a text to one class or hard stop, whatever its agent declares (AUTO-4)."""

    package: bool | None = Field(
        default=None, description="false: the detectors of the package are off for it (default true)."
    )
    words: list[Word] = Field(
        default_factory=list,
        description="Words and phrases, found whole and in any case; a * at the end stands for any ending.",
    )
    patterns: list[Pattern] = Field(default_factory=list, description="Regular expressions (RE2), found in any case.")
    amounts: bool | None = Field(default=None, description="Sums of money with a currency are found.")


class Disclosures(Shape):
    """What never goes outside beside what the package knows (OUT-4)."""

    hosts: list[Host] = Field(
        default_factory=list, description="Names of your own hosts; *.example.net stands for all names below it."
    )
    words: list[Word] = Field(default_factory=list, description="Words and phrases, as in detectors.")
    patterns: list[Pattern] = Field(default_factory=list, description="Regular expressions, as in detectors.")


def detectors_of(written: Mapping[Topic, TopicDetectors]) -> tuple[Detector, ...]:
    """The detectors in force: the package's where they are not switched off, then the file's."""
    off = {_topic(name) for name, own in written.items() if own.package is False}
    kept = [detector for detector in PACKAGE if detector.raises not in off]
    added = [
        Detector(
            raises=_topic(name),
            words=tuple(own.words),
            patterns=tuple(own.patterns),
            amounts=bool(own.amounts),
        )
        for name, own in written.items()
        if own.words or own.patterns or own.amounts
    ]
    return (*kept, *added)


def disclosure_of(written: Disclosures) -> Disclosure:
    """What the file adds."""
    return Disclosure(hosts=tuple(written.hosts), words=tuple(written.words), patterns=tuple(written.patterns))


def _topic(name: Topic) -> ContentClass | HardStop:
    stops = {stop.value for stop in HardStop}
    return HardStop(name) if name in stops else ContentClass(name)
