"""A2H: signatures and their keys, without a gateway."""

import base64
import json

import pytest
import rfc8785
from joserfc import jws
from joserfc.jwk import KeySet

from bot.api.a2h.signing import MOST, Signer
from bot.config.errors import ConfigError


def holds(message, signature, keys):
    head, middle, last = signature.split(".")
    assert middle == ""
    payload = base64.urlsafe_b64encode(rfc8785.dumps(message)).rstrip(b"=").decode()
    try:
        jws.deserialize_compact(f"{head}.{payload}.{last}", KeySet.import_key_set(keys), algorithms=["ES256"])
    except Exception:
        return False
    return True


def test_a_message_is_signed_in_its_canonical_form_without_the_signature_itself(tmp_path):
    signer = Signer(tmp_path / "keys.json")
    message = {"b": 1, "a": {"z": "é", "y": [1.5, True, None]}}

    signature = signer.sign({**message, "signature": "old"})

    assert holds(dict(reversed(message.items())), signature, signer.jwks())
    assert not holds({**message, "b": 2}, signature, signer.jwks())
    assert (tmp_path / "keys.json").stat().st_mode & 0o077 == 0


def test_of_keys_that_were_changed_the_latest_signs_and_the_others_still_verify(tmp_path):
    signer, message = Signer(tmp_path / "keys.json"), {"a": 1}
    first = signer.sign(message)
    for _ in range(MOST):
        assert holds(message, first, signer.jwks())
        kid = Signer(tmp_path / "keys.json").rotate()
        assert json.loads(base64.urlsafe_b64decode(signer.sign(message).split(".")[0] + "=="))["kid"] == kid

    assert len(signer.jwks()["keys"]) == MOST
    assert not holds(message, first, signer.jwks())
    assert all(key.keys().isdisjoint({"d"}) for key in signer.jwks()["keys"])


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"keys": []}', '{"keys": [{"kid": "a"}]}', '{"keys": [1]}'])
def test_a_file_without_keys_is_told_and_not_written_over(tmp_path, content):
    path = tmp_path / "keys.json"
    path.write_text(content)
    path.chmod(0o600)

    with pytest.raises(ConfigError, match="no keys"):
        Signer(path).sign({})
    assert path.read_text() == content


def test_keys_that_others_could_read_do_not_sign(tmp_path):
    Signer(tmp_path / "keys.json").rotate()
    (tmp_path / "keys.json").chmod(0o640)

    with pytest.raises(ConfigError, match="open to others"):
        Signer(tmp_path / "keys.json").sign({})
