"""The card of an approval on the page, in Chromium: whole, readable, with buttons that can be told apart."""

import asyncio

import pytest

from bot.model.approval import Gate
from tests.approvals_desk import approvals_desk

PARAMETERS = {
    "service": "api",
    "amount": 100,
    "url": "https://example.org/" + "very-long-path/" * 12,
    "word": "x" * 300,
    "mail": {"to": ["a@example.org"], "text": "Dear Sir,\n\n<b>Approved ✅</b>\n\u202eevil"},
}


def stage(folder, desks):
    """A gateway with one approval, for the page."""

    async def run(*, port, announce):
        async with approvals_desk(folder) as desk:
            await desk.propose(PARAMETERS, reason="as asked", gates=(Gate(name="evaluation", passed=False),))
            desks.append(desk)
            announce(desk.url)
            await asyncio.Event().wait()

    return run


@pytest.mark.rule("APPR-2")
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1100])
async def test_a_card_is_whole_at_every_width_and_its_parameters_wrap(screen, tmp_path, width, dark):
    async with screen(width=width, dark=dark, stage=stage(tmp_path, [])) as page:
        card = page.room("ops").locator(".card").last
        await card.wait_for()
        await card.scroll_into_view_if_needed()
        assert await page.overflow() <= 0
        block = card.locator("pre.block").first
        assert "monospace" in await block.evaluate("one => getComputedStyle(one).fontFamily")
        assert await block.evaluate("one => one.scrollWidth <= one.clientWidth")
        assert await block.locator("b").count() == 0
        assert "│ │ <b>Approved ✅</b>" in await block.inner_text()
        assert "⟨U+202E⟩evil" in await block.inner_text()
        looks = [
            await card.get_by_role("button", name=name, exact=True).evaluate(
                "one => [getComputedStyle(one).color, getComputedStyle(one).backgroundColor].join()"
            )
            for name in ("Approve", "Deny", "Return…")
        ]
        assert len(set(looks)) == 3
        await page.picture(f"approval-{width}-{'dark' if dark else 'light'}")


@pytest.mark.rule("APPR-2", "APPR-3")
async def test_a_tap_on_the_page_decides_and_the_card_closes_by_itself(screen, tmp_path):
    desks = []
    async with screen(width=1100, stage=stage(tmp_path, desks)) as page:
        card = page.room("ops").locator(".card").last
        await card.get_by_role("button", name="Deny", exact=True).click()
        await page.sees("ops", ": denied", ".card")
        assert await card.get_by_role("button").count() == 0
        (approval,) = await desks[0].store.approvals.recent(5)
        assert approval.state.value == "denied"
