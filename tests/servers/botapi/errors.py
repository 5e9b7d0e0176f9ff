"""What the Bot API answers when it refuses."""

from typing import Any


class ApiError(Exception):
    """An answer with ``ok: false``.

    Attributes:
        code: the HTTP status, repeated as ``error_code``.
        description: Telegram's sentence, with its prefix such as ``Bad Request:``.
        parameters: ``retry_after`` (s) or ``migrate_to_chat_id``, where there are any.
    """

    def __init__(self, code: int, description: str, parameters: dict[str, Any] | None = None) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters or {}

    @property
    def answer(self) -> dict[str, Any]:
        """The body of the answer."""
        body: dict[str, Any] = {"ok": False, "error_code": self.code, "description": self.description}
        if self.parameters:
            body["parameters"] = self.parameters
        return body


def bad_request(sentence: str, **parameters: Any) -> ApiError:
    """A 400; TDLib's sentences begin with a capital that the Bot API lowers, unless it is a CODE_LIKE_THIS."""
    if sentence[:1].isupper() and not sentence[1:2].isupper():
        sentence = sentence[0].lower() + sentence[1:]
    return ApiError(400, f"Bad Request: {sentence}", parameters)


def forbidden(sentence: str) -> ApiError:
    """A 403: the chat is closed to the bot until its membership changes."""
    return ApiError(403, f"Forbidden: {sentence}")


def conflict(sentence: str) -> ApiError:
    """A 409: two consumers of one queue."""
    return ApiError(409, f"Conflict: {sentence}")


def too_many(retry_after_s: int) -> ApiError:
    """A 429 with the time to wait, in whole seconds."""
    return ApiError(429, f"Too Many Requests: retry after {retry_after_s}", {"retry_after": retry_after_s})
