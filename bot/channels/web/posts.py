"""What a browser may post, bounded. Nothing in it says who is posting, but in the demo."""

import base64
import binascii
import re
from typing import Annotated, Any, Final, TypeVar

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

MAX_TEXT: Final = 8_000
MAX_FILES: Final = 10
MAX_TYPED: Final = 32_768
"""Characters of one field; above what the judge takes, so that too much is said to be too much."""
MAX_CHOICES: Final = 1_000
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def _clean(text: str) -> str:
    return _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


Text = Annotated[str, StringConstraints(max_length=MAX_TEXT), AfterValidator(_clean)]
Id = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
Nonce = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{8,64}$")]


class _Post(BaseModel):
    """``nonce`` makes a repeated post the same post; ``as_`` is heard in the demo only."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    nonce: Nonce
    as_: Id | None = Field(default=None, alias="as")


class Upload(BaseModel):
    """A file that comes with a message; ``content`` is base64."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Annotated[str, StringConstraints(max_length=400)]
    media_type: Annotated[str, StringConstraints(max_length=200)] = ""
    content: str = Field(repr=False)

    def decoded(self) -> bytes:
        """The bytes. ValueError: not base64."""
        try:
            return base64.b64decode(self.content, validate=True)
        except binascii.Error as error:
            raise ValueError("content is not base64") from error


class MessagePost(_Post):
    """A new message."""

    text: Text = Field(repr=False)
    mentions: Annotated[list[Id], Field(max_length=50)] = []
    reply: Id | None = None
    files: Annotated[list[Upload], Field(max_length=MAX_FILES)] = []


class EditPost(_Post):
    """A message as it stands now."""

    text: Text = Field(repr=False)
    mentions: Annotated[list[Id], Field(max_length=50)] = []


class DeletePost(_Post):
    """Take a message back."""


class TapPost(_Post):
    """Press a button."""

    token: Annotated[str, StringConstraints(min_length=1, max_length=64)]


Control = Annotated[str, StringConstraints(pattern=r"^f[0-9]{1,2}(-[a-z]{1,8}){0,2}$")]
Typed = Annotated[str, StringConstraints(max_length=MAX_TYPED)]


class AnswerPost(_Post):
    """What the fields of a card hold, by control; or that an answer is ``confirmed`` as its ``version`` was shown."""

    fields: Annotated[dict[Control, Annotated[list[Typed], Field(max_length=MAX_CHOICES)]], Field(max_length=80)] = (
        Field(default={}, repr=False)
    )
    confirmed: bool = False
    version: int | None = None


PostT = TypeVar("PostT", bound=_Post)


def parse(kind: type[PostT], body: bytes) -> PostT | None:
    """Read a post; None: it is none."""
    try:
        raw: Any = orjson.loads(body)
        return kind.model_validate(raw)
    except (ValidationError, ValueError, RecursionError):
        return None
