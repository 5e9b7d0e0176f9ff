"""The strict client of the other tests keeps out a device that nobody signed: else they would prove nothing."""

from pathlib import Path

from tests.interop.person import person


async def test_it_gives_no_keys_to_an_unsigned_device_and_reads_nothing_of_it(synapse, accounts, tmp_path: Path):
    people = {"homeserver": synapse.url, "password": accounts.password}
    async with (
        person(tmp_path, user=accounts.ann, **people) as ann,
        person(tmp_path, user=accounts.eve, cross_signed=False, signed_only=False, **people) as eve,
    ):
        room = await ann.do("create_room", name="Harbour", invite=[accounts.eve], encrypted=True, direct=False)
        await eve.do("join", room=room)
        await ann.sees_member(room, accounts.eve)
        await ann.say(room, "not for everybody")
        withheld = await eve.sees(lambda event: event["sender"] == accounts.ann and event["encrypted"])
        await eve.say(room, "from an unsigned device")
        refused = await ann.sees(lambda event: event["sender"] == accounts.eve and event["encrypted"])
    assert withheld["failure"] == "MEGOLM_KEY_WITHHELD_FOR_UNVERIFIED_DEVICE"
    assert refused["failure"] == "UNSIGNED_SENDER_DEVICE"
    assert "unsigned device" not in refused["content"]["body"]
