"""Salted digests (DUR-5): they show that two contents are the same, and to outsiders nothing.

The salt is made once for each store and stays in it.
"""

import hashlib


def content_digest(salt: bytes, content: bytes) -> bytes:
    """Of a content."""
    return hashlib.sha256(salt + content).digest()


def event_tag(salt: bytes, event_id: int) -> str:
    """The opaque name under which the journal speaks of an event."""
    return hashlib.sha256(b"%b:event:%d" % (salt, event_id)).hexdigest()[:16]


def part_tag(salt: bytes, part_id: int) -> str:
    """The opaque name under which the journal speaks of a part."""
    return hashlib.sha256(b"%b:part:%d" % (salt, part_id)).hexdigest()[:16]
