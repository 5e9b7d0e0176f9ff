"""The two ceremonies of WebAuthn (APPR-9): a passkey is made, a passkey signs.

The library knows the formats and the mathematics; what it leaves to its caller (frames of other origins, whose key it
is, challenges of one use) is looked at here and in :mod:`bot.approvals.passkeys`.
"""

import hmac
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from bot.approvals.addresses import RelyingParty
from bot.approvals.proofs import Bound, CeremonyError, Proof, decoded, encoded
from bot.ports.approvals import Passkey

if TYPE_CHECKING:
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

NAME: Final = "Discreet"
_TIMEOUT_MS: Final = 120_000


# enrolling


def creation_options(
    party: RelyingParty, *, handle: bytes, person: str, display: str, known: Sequence[Passkey], challenge: bytes
) -> dict[str, Any]:
    """What ``navigator.credentials.create`` is asked for, as JSON.

    Args:
        party: for whom.
        handle: opaque, of the person.
        person: as authenticators list it.
        display: the same, nicer.
        known: the person's passkeys: none of their authenticators makes a second one.
        challenge: random.
    """
    from webauthn import generate_registration_options
    from webauthn.helpers import options_to_json_dict
    from webauthn.helpers.structs import (
        AttestationConveyancePreference,
        AuthenticatorSelectionCriteria,
        ResidentKeyRequirement,
        UserVerificationRequirement,
    )

    options = generate_registration_options(
        rp_id=party.id,
        rp_name=NAME,
        user_id=handle,
        user_name=person,
        user_display_name=display,
        challenge=challenge,
        timeout=_TIMEOUT_MS,
        attestation=AttestationConveyancePreference.NONE,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.PREFERRED, user_verification=UserVerificationRequirement.REQUIRED
        ),
        exclude_credentials=_descriptors(known),
    )
    return dict(options_to_json_dict(options))


def verify_creation(credential: Mapping[str, Any], *, party: RelyingParty, challenge: bytes) -> tuple[str, bytes, int]:
    """(credential id, public key, counter) of a new passkey.

    Raises:
        CeremonyError: it proves nothing.
    """
    from webauthn import verify_registration_response

    _look_at_frames(credential)
    try:
        found = verify_registration_response(
            credential=dict(credential),
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            require_user_verification=True,
        )
    except Exception:  # noqa: BLE001 - the library raises what its parsers raise, with what was sent in the text
        raise CeremonyError("creation") from None
    return encoded(found.credential_id), found.credential_public_key, found.sign_count


# approving


def request_options(party: RelyingParty, *, allowed: Sequence[Passkey], challenge: bytes) -> dict[str, Any]:
    """What ``navigator.credentials.get`` is asked for, as JSON."""
    from webauthn import generate_authentication_options
    from webauthn.helpers import options_to_json_dict
    from webauthn.helpers.structs import UserVerificationRequirement

    options = generate_authentication_options(
        rp_id=party.id,
        challenge=challenge,
        timeout=_TIMEOUT_MS,
        allow_credentials=_descriptors(allowed),
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return dict(options_to_json_dict(options))


def verify_assertion(
    credential: Mapping[str, Any], *, party: RelyingParty, bound: Bound, passkey: Passkey, handle: bytes | None
) -> tuple[Proof, int]:
    """The proof of an assertion, and the authenticator's counter, which the caller compares.

    Args:
        credential: as the browser sent it.
        party: for whom it has to be made.
        bound: what its challenge has to be made from.
        passkey: with whose key it has to be signed.
        handle: of the passkey's person; None: it is not looked at.

    Raises:
        CeremonyError: it proves nothing.
    """
    count = verify_use(credential, party=party, challenge=bound.challenge, passkey=passkey, handle=handle)
    try:
        response = credential["response"]
        proof = Proof(
            credential=passkey.id,
            public_key=passkey.public_key,
            authenticator_data=decoded(response["authenticatorData"]),
            client_data=decoded(response["clientDataJSON"]),
            signature=decoded(response["signature"]),
            party=party.id,
            origin=party.origin,
            bound=bound,
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        raise CeremonyError("assertion") from None
    return proof, count


def verify_use(
    credential: Mapping[str, Any], *, party: RelyingParty, challenge: bytes, passkey: Passkey, handle: bytes | None
) -> int:
    """The counter of an authenticator that has signed a challenge, as for :func:`verify_assertion`.

    Raises:
        CeremonyError: it proves nothing.
    """
    from webauthn import verify_authentication_response

    _look_at_frames(credential)
    if handle is not None and not _is_of(credential, handle):
        raise CeremonyError("handle")
    try:
        found = verify_authentication_response(
            credential=dict(credential),
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            credential_public_key=passkey.public_key,
            credential_current_sign_count=0,  # compared where it is stored, in one step
            require_user_verification=True,
        )
    except Exception:  # noqa: BLE001 - the library raises what its parsers raise, with what was sent in the text
        raise CeremonyError("assertion") from None
    if encoded(found.credential_id) != passkey.id:
        raise CeremonyError("credential")
    return int(found.new_sign_count)


def challenge_of(credential: Mapping[str, Any]) -> bytes | None:
    """The challenge that a browser says it has had signed; None: it says none."""
    try:
        return decoded(_client_data(credential)["challenge"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _look_at_frames(credential: Mapping[str, Any]) -> None:
    """Our pages stand in no frame, so nothing that was signed in one is for them."""
    try:
        said = _client_data(credential)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise CeremonyError("client_data") from None
    if said.get("crossOrigin") not in (None, False) or "topOrigin" in said:
        raise CeremonyError("frame")


def _is_of(credential: Mapping[str, Any], handle: bytes) -> bool:
    """Whether an authenticator that tells whose passkey it is tells the right person."""
    given = credential["response"].get("userHandle")
    if not given:
        return True
    try:
        return hmac.compare_digest(decoded(given), handle)
    except (ValueError, AttributeError):
        return False


def _client_data(credential: Mapping[str, Any]) -> dict[str, Any]:
    said = json.loads(decoded(credential["response"]["clientDataJSON"]))
    if not isinstance(said, dict):
        raise TypeError("no object")
    return said


def _descriptors(passkeys: Sequence[Passkey]) -> "list[PublicKeyCredentialDescriptor]":
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

    return [PublicKeyCredentialDescriptor(id=decoded(passkey.id)) for passkey in passkeys]
