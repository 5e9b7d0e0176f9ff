"""What a look at a Matrix account finds: its login, and whether everything that it needs is in place (OPS-2)."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class MatrixLogin:
    """A login that the server knows; never its token.

    Attributes:
        user_id: of the account.
        device_id: of the device that Discreet is.
        homeserver: its address, without a slash at the end.
        signed: the device is cross-signed, so that other people's clients trust it with their keys.
        note: what an admin should know of it, with the mend where it is not signed.
    """

    user_id: str
    device_id: str
    homeserver: str
    signed: bool
    note: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class MatrixCheck:
    """One thing that was looked at.

    Attributes:
        name: a short word for it.
        ok: it is as it should be, or as somebody wanted it.
        detail: what was found; may hold names that strangers chose, which are to be cleaned before they are shown.
        mend: what to do; None where nothing is.
        told: something to know, neither in order nor not.
    """

    name: str
    ok: bool
    detail: str
    mend: str | None = None
    told: bool = False
