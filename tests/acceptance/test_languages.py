"""People read the gateway's own words in their language (OPS-5)."""

import pytest

from bot.model.output import SafeError
from bot.texts.codes import Failure
from bot.texts.words import LANGUAGES, Words
from tests.harness import GROUP, POLICY, CountingAgent, running


@pytest.mark.rule("OPS-5", "OUT-7")
async def test_a_failure_is_told_in_the_language_of_the_person_who_asked(api, tmp_path):
    agent = CountingAgent(answer=lambda _request: [SafeError(failure=Failure.ATTACHMENT_UNREADABLE)])
    async with running(tmp_path, api=api, agent=agent) as gateway:
        for number, language in enumerate(LANGUAGES):
            person = {"id": 700 + number, "is_bot": False, "first_name": "P", "language_code": language}
            api.say(chat=700 + number, sender=person, text="hello")
        await gateway.settled()
        told = [api.texts(700 + number) for number in range(len(LANGUAGES))]
    sentences = [Words(language).say(Failure.ATTACHMENT_UNREADABLE) for language in LANGUAGES]
    assert told == [[sentence] for sentence in sentences]
    assert len(set(sentences)) == len(LANGUAGES)


@pytest.mark.rule("OPS-5")
async def test_where_the_platform_does_not_tell_the_policys_language_is_taken(api, tmp_path):
    agent = CountingAgent(answer=lambda _request: [SafeError(failure=Failure.UNAVAILABLE)])
    policy = POLICY.replace("{audience: external}", "{audience: external, language: bg}")
    async with running(tmp_path, api=api, agent=agent, policy=policy) as gateway:
        person = {"id": 700, "is_bot": False, "first_name": "P"}
        api.say(chat=GROUP, sender=person, text="@desk_bot hello")
        await gateway.settled()
        assert api.texts(GROUP) == [Words("bg").say(Failure.UNAVAILABLE)]
