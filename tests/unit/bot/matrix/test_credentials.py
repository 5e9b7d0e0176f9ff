"""The kept login: for its owner alone, whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from bot.channels.matrix.credentials import (
    Credentials,
    account_folder,
    read_credentials,
    read_private,
    write_credentials,
    write_private,
)
from bot.config.secret import Secret
from bot.model.errors import ChannelError
from bot.observability.redaction import redact

TOKEN = "opaque-token-of-a-server"
LOGIN = Credentials(
    homeserver="https://matrix.example.org",
    user_id="@desk:example.org",
    device_id="DEVICE",
    access_token=Secret(TOKEN),
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_two_accounts_never_share_a_folder(tmp_path: Path) -> None:
    users = [
        "@desk:example.org",
        "@desk:example_org",
        "@Desk:example.org",
        "@desk/../x:example.org",
        "@..:..",
        "@:",
        "@ü:x",
        "@\ud83d:x",
        "@" + "x" * 300 + ":a",
        "@" + "x" * 300 + ":b",
    ]
    folders = [account_folder(tmp_path, user) for user in users]
    assert len(set(folders)) == len(users)
    for folder in folders:
        assert folder.parent == tmp_path / "matrix"
        assert len(folder.name) < 100
    assert folders[0].name.startswith("desk_example.org-")


def test_there_is_no_login_before_the_first_one(tmp_path: Path) -> None:
    assert read_credentials(account_folder(tmp_path, LOGIN.user_id)) is None


def test_a_login_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    folder = account_folder(tmp_path, LOGIN.user_id)
    before = os.umask(0)
    try:
        write_credentials(folder, LOGIN)
    finally:
        os.umask(before)
    assert read_credentials(folder) == LOGIN
    assert [mode(folder.parent), mode(folder), mode(folder / "credentials.json")] == [0o700, 0o700, 0o600]
    assert [path.name for path in folder.iterdir()] == ["credentials.json"]


def test_a_new_login_replaces_the_old_one_and_a_rest_of_a_crash(tmp_path: Path) -> None:
    write_credentials(tmp_path / "a", LOGIN)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("untouched")
    (tmp_path / "a" / "credentials.json.draft").symlink_to(elsewhere)
    newer = Credentials(
        homeserver="https://other.example.org",
        user_id=LOGIN.user_id,
        device_id="NEW",
        access_token=Secret("another-one"),
    )
    write_credentials(tmp_path / "a", newer)
    assert read_credentials(tmp_path / "a") == newer
    assert elsewhere.read_text() == "untouched"


def test_what_was_open_to_others_is_closed(tmp_path: Path) -> None:
    write_credentials(tmp_path / "a", LOGIN)
    (tmp_path / "a" / "credentials.json").chmod(0o644)
    assert read_credentials(tmp_path / "a") == LOGIN
    assert mode(tmp_path / "a" / "credentials.json") == 0o600


def test_nothing_shows_the_token(tmp_path: Path) -> None:
    write_credentials(tmp_path / "a", LOGIN)
    assert TOKEN not in repr(read_credentials(tmp_path / "a"))
    assert TOKEN not in redact(f"a text with {TOKEN} in it")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "5",
        "[" * 60_000,
        '{"homeserver":"h","user_id":"u","device_id":"d"}',
        '{"access_token":5}',
        "\xff",
    ],
)
def test_a_damaged_login_is_an_error_with_its_mend(tmp_path: Path, content: str) -> None:
    write_private(tmp_path / "a" / "credentials.json", content.encode("latin-1"))
    with pytest.raises(ChannelError, match="discreet matrix login"):
        read_credentials(tmp_path / "a")


def test_a_folder_that_cannot_be_used_is_an_error_with_its_mend(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a file")
    with pytest.raises(ChannelError, match="Mend"):
        write_credentials(tmp_path / "a", LOGIN)
    with pytest.raises(ChannelError, match="Mend"):
        read_credentials(tmp_path / "a")
    (tmp_path / "b" / "credentials.json").mkdir(parents=True)
    with pytest.raises(ChannelError, match="Mend"):
        read_private(tmp_path / "b" / "credentials.json")
