"""What a newcomer copies out of docs/approvals.md works as it stands there."""

import json
import re
from pathlib import Path

import pytest

from bot.api.proposed import read_claim, read_outcome, read_proposal
from bot.config.file import load_config
from policy.document import load

DOCS = Path(__file__).parents[3] / "docs"
APPROVALS = (DOCS / "approvals.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", APPROVALS, re.DOTALL)


def test_the_files_to_try_it_with_can_be_loaded(tmp_path):
    config, policy = blocks("yaml")[:2]
    assert (config.startswith("# config.yaml"), policy.startswith("# policy.yaml")) == (True, True)
    (tmp_path / "config.yaml").write_text(config)
    (tmp_path / "api-keys").write_text("main SYNTHETIC-key-of-at-least-32-characters\n")
    for name in ("config.yaml", "api-keys"):
        (tmp_path / name).chmod(0o600)
    read = load_config(tmp_path / "config.yaml", environment={})
    assert (list(read.agents), read.api.enabled, read.chat.enabled) == (["main"], True, True)
    assert load(policy, source="policy.yaml", environment={}).operators


BODIES = re.findall(r"-d '(\{.*?\})'(?:\n|$)", "\n".join(blocks("sh")), re.DOTALL)


@pytest.mark.parametrize("body", BODIES)
def test_what_is_posted_there_is_taken(body):
    posted = re.sub(r"'\"\$\w+\"'", "a" * 64, body).encode()
    document = json.loads(posted)
    if "action" in document:
        assert read_proposal(posted, header_key=None).proposal.action.name == "refund"
    elif "claim_key" in document:
        assert read_claim(posted).version == "a" * 64
    else:
        assert read_outcome(posted).executed is True


def test_there_is_something_of_each_kind():
    assert len(BODIES) >= 4
