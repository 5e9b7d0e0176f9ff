"""The hosted form in Chromium: filled in, mended, sent; by mouse and keyboard; with JavaScript and without."""

import os
import shutil
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.async_api import async_playwright, expect

from bot.model.question import QuestionState, Way
from tests.browser.asked_pages import NOW, TOKEN, forms_served, launch_data
from tests.browser.conftest import ARGUMENTS, CHROMIUM, WATCH

AXE = Path(__file__).parents[2] / ".cache" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
DAYS = {"type": "array", "items": {"type": "string", "format": "date"}, "minItems": 2, "maxItems": 2}
TEXT = """\
To book the **berth for Aurora** I need a few things, Mara.

## What it costs

- 410 € a day, see [the rules](https://harbour.example.org/rules)

| Berth | Length |
|:------|-------:|
| 7     |   90 m |
"""
BERTHS = [{"const": 7, "title": "Berth 7"}, {"const": None, "title": "Any berth"}, {"const": "12", "title": "Berth 12"}]
EVERYTHING = {
    "type": "object",
    "required": ["name", "why", "guests", "terms", "berth", "day", "stay", "pin"],
    "properties": {
        "name": {"type": "string", "title": "Your name", "maxLength": 40, "examples": ["Mara Lindqvist"]},
        "why": {"type": "string", "title": "What is it about?", "description": "A sentence or two.", "minLength": 5},
        "guests": {"type": "integer", "title": "How many people?", "minimum": 1, "maximum": 12, "default": 2},
        "price": {"type": "number", "title": "Most you would pay", "minimum": 0, "multipleOf": 0.01},
        "terms": {"type": "boolean", "title": "May we call you back?"},
        "berth": {"title": "Which berth?", "oneOf": BERTHS},
        "country": {
            "title": "Country",
            "enum": ["Austria", "Bulgaria", "France", "Italy", "Norway", "Poland", "Spain", "UK"],
        },
        "extras": {"type": "array", "title": "Extras", "items": {"enum": ["crane", "pilot", "water"]}, "maxItems": 2},
        "day": {"type": "string", "format": "date", "title": "Day"},
        "at": {"type": "string", "format": "time", "title": "Time", "default": "08:30:00Z"},
        "start": {"type": "string", "format": "date-time", "title": "Start of the work"},
        "stay": {**DAYS, "title": "Stay"},
        "mail": {"type": "string", "format": "email", "title": "E-mail"},
        "site": {"type": "string", "format": "uri", "title": "Web page"},
        "pin": {"type": "string", "format": "password", "title": "Access code", "minLength": 4},
        "origin": {"const": "web"},
    },
}
ANSWER = {
    "name": "Ann",
    "why": "The crane\nis stuck.",
    "guests": 3,
    "price": 12.5,
    "terms": False,
    "berth": None,
    "country": "Norway",
    "extras": ["crane", "water"],
    "day": "2026-07-05",
    "at": "11:30:00+03:00",
    "start": "2026-07-05T09:15:00+03:00",
    "stay": ["2026-07-05", "2026-07-08"],
    "mail": "ann@example.org",
    "site": "https://example.org/",
    "pin": "s3cret",
    "origin": "web",
}
DAY = {
    "type": "object",
    "properties": {"day": {"type": "string", "format": "date", "title": "Day"}},
    "required": ["day"],
}


@pytest.fixture
def browser(tmp_path):
    """Opens pages in Chromium: ``async with browser() as (forms, window)``; ``window()`` is a new one of another person."""
    if not Path(CHROMIUM).exists() and shutil.which("chromium") is None:
        _without("Chromium is missing; on Debian: apt-get install chromium")
    pictures = Path(os.environ.get("DISCREET_SCREENSHOTS") or tmp_path)

    @asynccontextmanager
    async def opened(*, javascript=True):
        problems = []

        async def window(*, width=1100, height=900, dark=False):
            context = await chromium.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if dark else "light",
                java_script_enabled=javascript,
                locale="en-GB",
            )
            await context.add_init_script(WATCH)
            page = await context.new_page()
            page.set_default_timeout(10_000)
            page.pictures = pictures
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.on(
                "console",
                lambda said: (
                    problems.append(said.text) if "the server responded with a status of" not in said.text else None
                ),
            )
            return page

        async with forms_served() as forms, async_playwright() as playwright:
            chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
            try:
                yield forms, window
                assert problems == []
            finally:
                await chromium.close()

    return opened


def _without(reason):
    if os.environ.get("DISCREET_NO_SKIP") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


async def fill_in(page):
    """Everything, as a person would."""
    await page.get_by_label("Your name").fill("Ann")
    await page.get_by_label("What is it about?").fill("The crane\nis stuck.")
    await page.get_by_label("How many people?").fill("3")
    await page.get_by_label("Most you would pay").fill("12.50")
    await page.get_by_role("radiogroup", name="May we call you back?").get_by_label("No", exact=True).check()
    await page.get_by_role("radiogroup", name="Which berth?").get_by_label("Any berth").check()
    await page.get_by_label("Country").select_option("Norway")
    for extra in ("crane", "water"):
        await page.get_by_role("group", name="Extras").get_by_label(extra).check()
    await page.get_by_label("Day", exact=False).first.fill("2026-07-05")
    await page.get_by_label("Start of the work").fill("2026-07-05T09:15")
    stay = page.get_by_role("group", name="Stay")
    await stay.get_by_label("From").fill("2026-07-05")
    await stay.get_by_label("To").fill("2026-07-08")
    await page.get_by_label("E-mail").fill("ann@example.org")
    await page.get_by_label("Web page").fill("https://example.org/")
    await page.get_by_label("Access code").fill("s3cret")


async def send(page):
    await page.get_by_role("button").click()


@pytest.mark.rule("FORM-6")
@pytest.mark.parametrize("javascript", [True, False], ids=["with JavaScript", "without"])
async def test_every_kind_of_field_is_filled_in_mended_and_sent(browser, javascript):
    async with browser(javascript=javascript) as (forms, window):
        forms.kept.ask(EVERYTHING, text=TEXT, timezone="Europe/Sofia")
        page = await window()
        await page.goto(forms.link())
        await fill_in(page)
        await page.get_by_label("How many people?").fill("0")
        await page.get_by_role("group", name="Extras").get_by_label("pilot").check()
        await send(page)

        await expect(page).to_have_title("Please look again: A question for you")
        summary = page.get_by_role("alert")
        await expect(summary).to_be_focused()
        await expect(summary.get_by_role("link")).to_have_count(2)
        guests = page.get_by_label("How many people?")
        await expect(guests).to_have_value("0")
        await expect(guests).to_have_accessible_description("From 1 to 12 This is too small. The smallest is: 1")
        await summary.get_by_role("link").first.click()
        await expect(guests).to_be_focused()
        await expect(page.get_by_label("What is it about?")).to_have_value("The crane\nis stuck.")
        await expect(page.get_by_role("group", name="Extras").get_by_label("pilot")).to_be_checked()
        await expect(page.get_by_role("radiogroup", name="Which berth?").get_by_label("Any berth")).to_be_checked()
        await expect(page.get_by_label("Start of the work")).to_have_value("2026-07-05T09:15")
        await expect(page.get_by_label("Access code")).to_have_value("")
        assert "s3cret" not in await page.content()

        await guests.fill("3")
        await page.get_by_role("group", name="Extras").get_by_label("pilot").uncheck()
        await page.get_by_label("Access code").fill("s3cret")
        await send(page)
        await expect(page.get_by_role("heading", level=1)).to_have_text("Thank you")
        await expect(page.get_by_text("Sunday, 5 July 2026, 09:15 (Europe/Sofia, UTC+03:00)")).to_be_visible()
        await expect(page.get_by_text("Any berth")).to_be_visible()
        assert "s3cret" not in await page.content()
    assert forms.kept.question().answer == ANSWER
    assert forms.kept.question().way is Way.FORM


async def test_a_form_is_filled_in_and_confirmed_by_the_keyboard_alone(browser):
    schema = {
        "type": "object",
        "required": ["name", "terms"],
        "properties": {"name": {"type": "string", "maxLength": 9}, "terms": {"type": "boolean"}},
    }
    async with browser() as (forms, window):
        forms.kept.ask(schema, important=True)
        page = await window()
        await page.goto(forms.link())
        keys = page.keyboard
        await keys.press("Tab")
        await keys.type("Ann")
        await keys.press("Tab")
        await keys.press("Space")
        await keys.press("ArrowDown")
        await keys.press("Tab")
        await keys.press("Enter")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Please confirm")
        await expect(page.locator("dd")).to_have_text(["Ann", "No"])
        assert forms.kept.question().answer is None
        await keys.press("Tab")
        await keys.press("Enter")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Thank you")
    assert forms.kept.question().answer == {"name": "Ann", "terms": False}


async def test_an_answer_is_changed_before_it_is_confirmed(browser):
    async with browser(javascript=False) as (forms, window):
        forms.kept.ask(DAY, important=True)
        page = await window()
        await page.goto(forms.link())
        await page.get_by_label("Day").fill("2026-07-05")
        await send(page)
        await page.get_by_role("link", name="Change the answer").click()
        await expect(page.get_by_label("Day")).to_have_value("2026-07-05")
        await page.get_by_label("Day").fill("2026-07-06")
        await send(page)
        await expect(page.get_by_text("Monday, 6 July 2026")).to_be_visible()
        await send(page)
        await expect(page.get_by_role("heading", level=1)).to_have_text("Thank you")
    assert forms.kept.question().answer == {"day": "2026-07-06"}


async def test_of_two_windows_one_wins_and_the_other_is_told_so(browser):
    async with browser() as (forms, window):
        forms.kept.ask(DAY)
        first, second = await window(), await window()
        for page, day in ((first, "2026-07-05"), (second, "2026-07-06")):
            await page.goto(forms.link())
            await page.get_by_label("Day").fill(day)
        await send(first)
        await expect(first.get_by_role("heading", level=1)).to_have_text("Thank you")
        await send(second)
        await expect(second.get_by_role("heading", level=1)).to_have_text("Somebody was faster")
        assert "5 July" not in await second.content()
    assert forms.kept.question().answer == {"day": "2026-07-05"}


async def test_going_back_after_sending_shows_that_it_is_done(browser):
    async with browser() as (forms, window):
        forms.kept.ask(DAY)
        page = await window()
        await page.goto(forms.link())
        await page.get_by_label("Day").fill("2026-07-05")
        await send(page)
        await expect(page.get_by_role("heading", level=1)).to_have_text("Thank you")
        page.on("dialog", lambda dialog: dialog.accept())
        await page.reload()  # sends the same once more
        await expect(page.get_by_role("heading", level=1)).to_have_text("Thank you")
        await page.go_back()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Already answered")
    assert forms.kept.question().version == 2


async def test_a_double_click_is_one_answer(browser):
    async with browser() as (forms, window):
        forms.kept.ask(DAY)
        page = await window()
        await page.goto(forms.link())
        await page.get_by_label("Day").fill("2026-07-05")
        await page.get_by_role("button").dblclick()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Thank you")
    assert forms.kept.question().version == 2


async def test_a_question_that_ends_while_it_is_filled_in_says_so(browser):
    async with browser() as (forms, window):
        forms.kept.ask(DAY)
        page = await window()
        await page.goto(forms.link())
        await page.get_by_label("Day").fill("2026-07-05")
        forms.kept.now = forms.kept.question().expires_at
        await send(page)
        await expect(page.get_by_role("heading", level=1)).to_have_text("Too late for this one")
    assert forms.kept.question().state is QuestionState.EXPIRED


async def test_a_time_that_comes_twice_is_asked_back(browser):
    schema = {"type": "object", "properties": {"at": {"type": "string", "format": "date-time", "title": "When"}}}
    async with browser(javascript=False) as (forms, window):
        forms.kept.ask(schema, timezone="Europe/Sofia")
        page = await window(width=360)
        await page.goto(forms.link())
        await page.get_by_label("When").fill("2026-10-25T03:30")
        await send(page)
        which = page.get_by_role("group", name="Which of these do you mean?")
        await page.screenshot(path=page.pictures / "form-twice.png", full_page=True)
        await which.get_by_label("UTC+02:00").check()
        await send(page)
        await expect(page.get_by_role("heading", level=1)).to_have_text("Thank you")
    assert forms.kept.question().answer == {"at": "2026-10-25T03:30:00+02:00"}


async def pages_of(forms, page):
    """Every page that there is, one after the other, by name."""
    forms.kept.ask(EVERYTHING, text=TEXT, timezone="Europe/Sofia", important=True)
    await page.goto(forms.link())
    yield "form"
    await fill_in(page)
    for box in await page.get_by_role("checkbox").all():
        await box.check()
    await page.get_by_label("Your name").fill("")
    await page.get_by_label("What is it about?").fill("")
    await page.get_by_label("Day", exact=False).first.fill("")
    await page.get_by_role("group", name="Stay").get_by_label("To").fill("")
    await page.get_by_label("Start of the work").fill("2026-10-25T03:30")
    await send(page)
    yield "errors"
    await fill_in(page)
    await page.get_by_role("group", name="Extras").get_by_label("pilot").uncheck()
    await send(page)
    yield "confirm"
    await send(page)
    yield "taken"
    for state in (QuestionState.ANSWERED, QuestionState.CANCELLED, QuestionState.EXPIRED):
        forms.kept.change(state=state)
        await page.goto(forms.link())
        yield state.value
    await page.goto(forms.link("x" * 43))
    yield "unknown"


@pytest.mark.rule("FORM-6")
@pytest.mark.parametrize(("width", "dark"), [(360, False), (1100, True)], ids=["narrow and light", "wide and dark"])
async def test_everybody_can_use_every_page(browser, width, dark):
    if not AXE.exists():
        _without("axe-core is missing: tests/browser/axe/setup.sh")
    found = {}
    async with browser() as (forms, window):
        page = await window(width=width, height=740, dark=dark)
        async for name in pages_of(forms, page):
            await page.screenshot(
                path=page.pictures / f"form-{name}-{'dark' if dark else 'light'}-{width}.png", full_page=True
            )
            assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0, name
            assert await page.evaluate("window.violations") == [], name
            await page.evaluate(AXE.read_text())
            result = await page.evaluate("axe.run({resultTypes: ['violations', 'incomplete']})")
            wrong = [rule for kind in ("violations", "incomplete") for rule in result[kind]]
            found[name] = [(rule["id"], node["html"][:200]) for rule in wrong for node in rule["nodes"]]
    assert [name for name, problems in found.items() if problems] == [], found
    assert len(found) == 8


async def test_inside_telegram_the_form_knows_who_fills_it_in_over_all_its_pages(browser):
    colours = quote('{"bg_color":"#17212b"}')
    async with browser() as (forms, window):
        forms.kept.ask(DAY, important=True)
        page = await window(width=390, height=740)
        told = []
        await page.expose_function("told", lambda name, _: told.append(name))
        await page.add_init_script("window.TelegramWebviewProxy = {postEvent: (name, data) => window.told(name, data)}")
        await page.goto(
            f"{forms.link(kind='m')}#tgWebAppData={quote(launch_data(at=NOW))}&tgWebAppThemeParams={colours}"
        )
        assert await page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
        await send(page)
        await page.get_by_role("link", name="Day").click()
        await expect(page.get_by_label("Day")).to_be_focused()
        await page.get_by_label("Day").fill("2026-07-05")
        await send(page)
        await page.get_by_role("link", name="Change the answer").click()
        await page.get_by_label("Day").fill("2026-07-06")
        await send(page)
        await page.screenshot(path=page.pictures / "form-telegram.png")
        await send(page)
        await expect(page.get_by_role("heading", level=1)).to_have_text("Thank you")
        await page.get_by_role("button", name="Close").click()
        await page.wait_for_function("true")
        assert await page.evaluate("window.violations") == []
    assert [told[0], told[-1]] == ["web_app_ready", "web_app_close"]
    assert {each["by"] for each in forms.kept.submitted} == {"telegram:42"}
    assert forms.kept.question().answer == {"day": "2026-07-06"}
    assert forms.kept.question().answered_by == "telegram:42"
    assert TOKEN not in str(told)
