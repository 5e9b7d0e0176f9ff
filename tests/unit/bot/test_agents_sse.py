import pytest

from bot.agents.sse import EventStream, Lines
from bot.model.errors import AgentError

STREAM = "\ufeff: a comment\r\ndata: eins\r\n\r\nevent: x\ndata:zwei — Größe\ndata:  drei\nid: 7\nretry: 1\n\nnonsense\n\rdata\r\r"
EVENTS = ["eins", "zwei — Größe\n drei", ""]


def events(chunks: list[bytes]) -> list[str]:
    stream = EventStream(longest=100)
    found = [data for chunk in chunks for data in stream.feed(chunk)]
    rest = stream.finish()
    return found if rest is None else [*found, rest]


@pytest.mark.parametrize("size", range(1, 12))
def test_events_are_the_same_wherever_the_chunks_are_cut(size):
    raw = STREAM.encode()
    assert events([raw[at : at + size] for at in range(0, len(raw), size)]) == EVENTS


def test_a_last_event_without_its_empty_line_is_still_given():
    assert events([b"data: one\n\ndata: two"]) == ["one", "two"]


@pytest.mark.parametrize(
    "raw",
    [b"data: " + b"x" * 200, b"data: " + b"x" * 200 + b"\n", b"data: " + b"x" * 60 + b"\ndata: " + b"x" * 60 + b"\n"],
)
def test_an_event_that_never_ends_is_refused(raw):
    with pytest.raises(AgentError, match="too long"):
        events([raw])


def test_bytes_that_are_no_text_are_refused_without_being_repeated():
    with pytest.raises(AgentError) as caught:
        events([b"data: secret \xff\xfe\n\n"])
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_lines_of_json_keep_a_bare_carriage_return():
    lines = Lines(longest=100, bare_cr=False)
    assert list(lines.feed(b'{"a":1}\r\n\n{"b":\r')) == ['{"a":1}', ""]
    assert list(lines.feed(b"2}\n{")) == ['{"b":\r2}']
    assert lines.finish() == "{"
    assert lines.finish() is None
