from bot.agents.echo import EchoAgent
from bot.model.output import Final, SafeError, Silence
from bot.model.request import Attachment
from bot.texts.codes import Failure
from tests.servers.agents import FilesInMemory, outputs_of, request

PHOTO = Attachment(handle="p", name="a `b`\n.png", media_type="image/png")


async def test_echo_says_what_it_was_told_and_fetches_nothing():
    agent, files = EchoAgent(), FilesInMemory({"p": b"abc"})
    assert await outputs_of(agent, request("hello"), files) == [Final(text="hello")]
    assert files.fetched == []
    assert agent.name == "echo"
    await agent.close()


async def test_echo_reads_attachments_and_tells_their_size():
    files = FilesInMemory({"p": b"abc"})
    assert await outputs_of(EchoAgent(), request("", attachments=(PHOTO,)), files) == [
        Final(text="`a 'b' .png`: 3 bytes")
    ]
    assert files.fetched == ["p"]


async def test_a_file_that_cannot_be_had_is_said_plainly():
    said = await outputs_of(EchoAgent(), request("look", attachments=(PHOTO,)))
    assert said == [SafeError(failure=Failure.ATTACHMENT_UNREADABLE)]


async def test_echo_of_nothing_is_silence():
    assert await outputs_of(EchoAgent(), request("  ")) == [Silence()]
