import asyncio
import json
from contextlib import aclosing

import pytest
from aiohttp import web

from bot.agents.connection import SlowAgentError
from bot.agents.openai import OpenAIAgent
from bot.model.errors import AgentError, ConfigError
from bot.model.output import Final, Fragment, SafeError, Silence
from bot.model.request import Attachment
from bot.texts.codes import Failure
from tests.servers.agents import FilesInMemory, outputs_of, request, serving

EVENTS = "text/event-stream; charset=utf-8"


class Model:
    """An OpenAI-compatible server that plays what it is given: responses in their order, the last one again."""

    def __init__(self, *plays):
        self.plays = list(plays)
        self.seen = []

    async def __call__(self, received):
        self.seen.append((received.path, await received.json(), dict(received.headers)))
        play = self.plays.pop(0) if len(self.plays) > 1 else self.plays[0]
        return await play(received)


def event(content=None, finish=None):
    return f"data: {json.dumps({'choices': [{'delta': {'content': content}, 'finish_reason': finish}]}, ensure_ascii=False)}\n\n".encode()


def streaming(*pieces, content_type=EVENTS):
    async def stream(received):
        response = web.StreamResponse(headers={"Content-Type": content_type})
        await response.prepare(received)
        for piece in pieces:
            await response.write(piece)
        await response.write_eof()
        return response

    return stream


def answering(body=b"", status=200, content_type="application/json", **headers):
    async def answer(_):
        return web.Response(body=body, status=status, headers={"Content-Type": content_type, **headers})

    return answer


HELLO = streaming(event("Hello"), event(finish="stop"), b"data: [DONE]\n\n")


def agent(url, **changes):
    async def pause(_):
        """No test waits for a provider."""

    given = {"name": "model", "base_url": f"{url}/v1/", "model": "m-1", "api_key": "sk-SECRET", "pause": pause}
    return OpenAIAgent(**{**given, "total_s": 5, "wait_s": 5, **changes})


async def ask(model, asked=None, files=None, **changes):
    async with serving(model) as url:
        asking = agent(url, **changes)
        try:
            return await outputs_of(asking, asked or request(), files)
        finally:
            await asking.close()


async def test_a_stream_grows_and_ends_in_a_final_wherever_it_is_cut():
    raw = b": ping\n\n" + event("Gr") + event("öß") + event("e") + event(finish="stop") + b"data: [DONE]\n\n"
    for size in (1, 7, 1000):
        said = await ask(Model(streaming(*[raw[at : at + size] for at in range(0, len(raw), size)])))
        assert said[-1] == Final(text="Größe")
        grown = [one.text for one in said[:-1]]
        assert all(isinstance(one, Fragment) for one in said[:-1])
        assert all("Größe".startswith(text) for text in grown)
        assert grown == sorted(set(grown), key=len)


async def test_the_request_is_a_chat_completion_with_the_key_in_its_header_alone():
    model = Model(HELLO)
    await ask(model, options={"temperature": 0})
    ((path, body, headers),) = model.seen
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == "Bearer sk-SECRET"
    assert (body["model"], body["stream"], body["temperature"]) == ("m-1", True, 0)
    assert [one["role"] for one in body["messages"]] == ["system", "system", "user"]
    assert "SECRET" not in json.dumps(body)


async def test_a_server_without_a_key_gets_no_header():
    model = Model(HELLO)
    await ask(model, api_key=None)
    assert "Authorization" not in model.seen[0][2]


async def test_an_answer_in_one_piece_is_understood():
    whole = answering(b'{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}')
    assert await ask(Model(whole)) == [Final(text="Hi")]
    model = Model(whole)
    assert await ask(model, stream=False) == [Final(text="Hi")]
    assert model.seen[0][1]["stream"] is False


async def test_silence_and_thoughts_are_never_shown_while_they_come():
    letters = [event(letter) for letter in "<think>hm</think><silence/>"]
    assert await ask(Model(streaming(*letters, event(finish="stop")))) == [Silence()]


async def test_a_stream_without_its_last_empty_line_is_whole():
    assert (await ask(Model(streaming(event("Hi"), b"data: [DONE]"))))[-1] == Final(text="Hi")


BUSY = answering(b'{"error":{"message":"SECRET"}}', 429, **{"Retry-After": "3"})
BROKEN = answering(b"Traceback SECRET", 503, "text/html")


@pytest.mark.parametrize(
    ("plays", "asked"),
    [((BUSY, HELLO), 2), ((BROKEN, BUSY, HELLO), 3)],
)
async def test_a_provider_that_has_said_nothing_yet_is_asked_again(plays, asked):
    pauses = []

    async def pause(seconds):
        pauses.append(seconds)

    model = Model(*plays)
    assert (await ask(model, pause=pause))[-1] == Final(text="Hello")
    assert len(model.seen) == asked
    assert pauses[-1] == 3


@pytest.mark.parametrize(
    ("plays", "asked", "what"),
    [
        ((BROKEN,), 3, "status 503"),
        ((answering(b"SECRET", 429, **{"Retry-After": "9999"}),), 1, "status 429"),
        ((answering(b"SECRET", 429, **{"Retry-After": "tomorrow"}),), 3, "status 429"),
        ((answering(b"SECRET", 401),), 1, "status 401"),
        ((answering(b"", 307, Location="http://127.0.0.1:1/SECRET"),), 1, "redirect"),
        ((answering(b"SECRET", 200, "text/html"),), 1, "content type"),
        ((answering(b'{"choices":[{"mess'),), 1, "not JSON"),
        ((streaming(event("half")),), 1, "broke off"),
        ((streaming(event("half"), b'data: {"error":{"message":"SECRET"}}\n\n'),), 1, "reported an error"),
        ((streaming(event("half"), b'data: {"choi\n\n'),), 1, "not JSON"),
        ((streaming(event("half"), b"data: \xff\n\n"),), 1, "no UTF-8"),
        ((streaming(b"data: " + b"x" * (3 << 20)),), 1, "too long"),
    ],
)
async def test_a_hostile_provider_is_an_error_that_repeats_nothing_of_it(plays, asked, what):
    model = Model(*plays)
    async with serving(model) as url:
        asking = agent(url)
        with pytest.raises(AgentError, match=what) as caught:
            await outputs_of(asking, request("SECRET"))
        await asking.close()
    assert len(model.seen) == asked
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None


async def test_an_absent_provider_is_tried_three_times():
    async with serving(Model(HELLO)) as url:
        pass
    pauses = []

    async def pause(seconds):
        pauses.append(seconds)

    asking = agent(url, pause=pause)
    with pytest.raises(AgentError, match="can't be reached"):
        await outputs_of(asking, request())
    assert pauses == [0.5, 1.0]
    await asking.close()


async def test_an_endless_answer_is_too_long_and_the_connection_is_closed():
    gone = asyncio.Event()

    async def endless(received):
        response = web.StreamResponse(headers={"Content-Type": EVENTS})
        try:
            await response.prepare(received)
            while True:
                await response.write(event("x" * 1000))
        finally:
            gone.set()

    said = await ask(Model(endless))
    assert said[-1] == SafeError(failure=Failure.TOO_LONG)
    await asyncio.wait_for(gone.wait(), 5)


async def test_a_provider_that_drips_comments_is_cut_off():
    async def drip(received):
        response = web.StreamResponse(headers={"Content-Type": EVENTS})
        await response.prepare(received)
        while True:
            await response.write(b": ping\n\n")
            await asyncio.sleep(0)

    with pytest.raises(SlowAgentError):
        await ask(Model(drip), total_s=0.1)


async def test_a_finished_answer_is_not_kept_waiting_by_an_open_connection():
    async def linger(received):
        response = web.StreamResponse(headers={"Content-Type": EVENTS})
        await response.prepare(received)
        await response.write(event("Hi", "stop"))
        await asyncio.Event().wait()

    assert await ask(Model(linger)) == [Final(text="Hi")]


async def test_a_run_that_is_closed_hangs_up():
    gone = asyncio.Event()

    async def linger(received):
        response = web.StreamResponse(headers={"Content-Type": EVENTS})
        try:
            await response.prepare(received)
            await response.write(event("Hi"))
            await asyncio.Event().wait()
        finally:
            gone.set()

    async with serving(Model(linger)) as url:
        asking = agent(url)
        async with asyncio.timeout(5), aclosing(asking.run(request(), FilesInMemory())) as outputs:
            assert await anext(outputs) == Fragment(text="Hi")
        await asyncio.wait_for(gone.wait(), 5)
        await asking.close()


def file(media_type, handle="f", size=None):
    return Attachment(handle=handle, name="name", media_type=media_type, size=size)


async def test_texts_and_images_reach_the_model_as_data():
    model = Model(HELLO)
    files = FilesInMemory({"t": "\ufeffäöü".encode(), "i": b"PNG"})
    asked = request(attachments=(file("text/plain; charset=utf-8", "t"), file("image/png", "i", 3)))
    await ask(model, asked, files, images=True)
    text, image = model.seen[0][1]["messages"][-1]["content"]
    assert json.loads(text["text"])["attachments"][0]["text"] == "äöü"
    assert image["image_url"]["url"] == "data:image/png;base64,UE5H"


@pytest.mark.parametrize(
    ("attachment", "content", "images", "failure"),
    [
        (file("application/zip"), b"PK", True, Failure.ATTACHMENT_UNREADABLE),
        (file("image/png"), b"PNG", False, Failure.ATTACHMENT_UNREADABLE),
        (file("text/plain"), b"\xff\xfe", False, Failure.ATTACHMENT_UNREADABLE),
        (file("text/plain"), None, False, Failure.ATTACHMENT_UNREADABLE),
        (file("text/plain", size=11), b"x", False, Failure.ATTACHMENT_TOO_LARGE),
        (file("text/plain"), b"x" * 11, False, Failure.ATTACHMENT_TOO_LARGE),
    ],
)
async def test_a_file_that_the_model_cannot_see_ends_the_run_before_a_model_call(attachment, content, images, failure):
    model = Model(HELLO)
    files = FilesInMemory({} if content is None else {"f": content})
    said = await ask(model, request(attachments=(attachment,)), files, images=images, max_text_bytes=10)
    assert said == [SafeError(failure=failure)]
    assert model.seen == []


@pytest.mark.parametrize(
    "changes",
    [
        {"base_url": "https://u:SECRET@api.example.org"},
        {"options": {"messages": "SECRET"}},
        {"api_key": ""},
        {"api_key": "SECRET\n"},
    ],
)
def test_a_wrong_setting_is_refused_and_not_repeated(changes):
    with pytest.raises(ConfigError) as caught:
        agent("http://127.0.0.1:1", **changes)
    assert "SECRET" not in str(caught.value)
