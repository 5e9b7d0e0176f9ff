"""The page of the built-in chat, driven in Chromium."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from bot.channels.web.people import Member, Room
from bot.model.question import QuestionState, Way
from bot.wiring import run_demo
from tests.browser.mentions import KNOWN, MENTIONS

AXE = Path(__file__).parents[2] / ".cache" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
HOSTILE = "<img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>"


async def test_a_newcomer_sees_why_the_bot_was_silent_and_what_it_answered(screen):
    async with screen() as page:
        await page.picture("empty")
        await page.say("customers", "See you on Tuesday, Jordan.", who="mara")
        await page.sees("customers", "no_address", ".decision.mute")
        await page.say("customers", "@desk when is our delivery?", who="jordan")
        await page.sees("customers", "explicit_mention", ".decision.respond")
        await page.sees("customers", "Tuesday", ".from-bot table ~ p, .from-bot p")
        badge = page.room("customers").locator(".decision").first
        assert "Nobody addressed the bot" in (await badge.locator("summary").get_attribute("title") or "")
        await badge.locator("summary").click()
        why = badge.locator(".why")
        for words in ("Nobody addressed the bot", "external", "PART-1"):
            assert words in await why.inner_text()
        assert await why.locator(".gates .passed").count() == 4
        assert await why.locator(".gates .stopped").inner_text() == "consent"
        await page.picture("decisions")
        await page.page.locator("#decisions").click()
        await badge.wait_for(state="hidden")


async def test_a_thing_to_try_fills_the_composer_as_the_right_person(screen):
    async with screen() as page:
        await page.page.locator(".things button").nth(4).click()
        area = page.room("operators").locator("textarea")
        assert await area.input_value() == "How many orders are open?"
        assert await area.evaluate("area => area === document.activeElement")
        assert await page.room("operators").locator("select").input_value() == "olga"
        await area.press("Enter")
        await page.sees("operators", "open_question", ".decision.respond")


async def test_a_button_is_pressed_and_answered_in_private(screen):
    async with screen() as page:
        await page.say("private", "card please")
        button = page.room("private").locator(".card-button", has_text="Move it")
        await button.click()
        await page.sees("private", "Noted, thank you.", ".note")
        await page.sees("private", "You have chosen.")
        await page.room("private").locator(".card-button[aria-pressed=true]", has_text="Move it").wait_for()
        assert "secret" not in await page.page.content()
        await page.picture("card")


async def test_files_go_both_ways(screen, tmp_path):
    (tmp_path / "list.txt").write_bytes(b"twelve bytes")
    async with screen() as page:
        room = page.room("private")
        await room.locator("input[type=file]").set_input_files(tmp_path / "list.txt")
        await room.locator(".chip", has_text="list.txt").wait_for()
        await page.picture("chip")
        await room.locator("textarea").press("Enter")
        await page.sees("private", "I have read 12 bytes.")
        async with page.page.expect_download() as download:
            await room.locator(".from-bot .file").click()
        saved = await (await download.value).path()
        assert saved.read_bytes() == b"received"
        assert await room.locator(".chip").count() == 0


async def test_an_answer_grows_before_ones_eyes(screen):
    async with screen() as page:
        await page.say("private", "stream please")
        await page.sees("private", "Looking it up: the answer", ".draft")
        await page.picture("growing")
        page.desk.brain.goes_on.set()
        await page.sees("private", "the answer is 42.", ".log .from-bot")
        await page.room("private").locator(".draft").wait_for(state="detached")


async def test_one_replies_edits_and_deletes(screen):
    async with screen() as page:
        room = page.room("customers")
        await page.say("customers", "@desk hello", who="mara")
        await page.sees("customers", "Your delivery", ".from-bot")
        await room.locator(".from-bot").hover()
        await room.locator(".from-bot").get_by_role("button", name="Reply", exact=True).click()
        await room.locator(".target", has_text="Reply to desk").wait_for()
        await room.locator("textarea").press("Escape")
        await room.locator(".target").wait_for(state="hidden")
        await room.locator(".from-bot").get_by_role("button", name="Reply", exact=True).click()
        await room.locator("textarea").fill("and then?")
        await page.picture("reply")
        await room.locator("textarea").press("Enter")
        await page.sees("customers", "direct_reply", ".decision.respond")
        own = room.locator(".message", has_text="and then?").first
        await own.hover()
        await own.get_by_role("button", name="Edit").click()
        assert await room.locator("textarea").input_value() == "and then?"
        await room.locator("textarea").fill("and after that?")
        await room.locator("textarea").press("Enter")
        await page.sees("customers", "edited", ".head .edited")
        own = room.locator(".message", has_text="and after that?").first
        await own.hover()
        page.page.on("dialog", lambda dialog: dialog.accept())
        await own.get_by_role("button", name="Delete").click()
        await page.sees("customers", "This message was deleted.", ".deleted")
        assert "and after that?" not in await room.locator(".message:not(.from-bot)").last.inner_text()


async def test_only_ones_own_messages_can_be_changed(screen):
    async with screen() as page:
        await page.say("customers", "hello", who="mara")
        own = page.room("customers").locator(".message", has_text="hello")
        await own.get_by_role("button", name="Edit").wait_for(state="attached")
        await page.room("customers").locator("select").select_option("jordan")
        await own.get_by_role("button", name="Edit").wait_for(state="detached")


async def test_the_keyboard_is_enough(screen):
    async with screen() as page:
        keyboard = page.page.keyboard
        for _ in range(30):
            await keyboard.press("Tab")
            if await page.page.evaluate("document.activeElement.tagName") == "TEXTAREA":
                break
        await keyboard.type("hello @de")
        await page.room("customers").locator("[role=option][aria-selected=true]", has_text="@desk").wait_for()
        await page.picture("mention")
        await keyboard.press("Enter")
        await keyboard.type("first")
        await keyboard.press("Shift+Enter")
        await keyboard.type("second")
        area = page.room("customers").locator("textarea")
        assert await area.input_value() == "hello @desk first\nsecond"
        await page.room("customers").locator(".to", has_text="Addressed: desk").wait_for()
        await keyboard.press("Enter")
        await page.sees("customers", "explicit_mention", ".decision")
        assert await area.input_value() == ""
        await keyboard.press("ArrowUp")
        await page.room("customers").locator(".target", has_text="You are editing").wait_for()
        assert await area.input_value() == "hello @desk first\nsecond"
        await keyboard.press("Escape")
        await keyboard.press("Shift+Tab")
        await keyboard.press("Shift+Tab")
        assert await page.page.evaluate("document.activeElement !== document.body")


async def test_hostile_words_names_and_markdown_stay_words(screen):
    members = (Member(id="mara", name=HOSTILE[:60], operator=True),)
    rooms = (Room(id="private", title=HOSTILE, members=("mara",), direct=True),)
    async with screen(members=members, rooms=rooms) as page:
        await page.say("private", f"echo {HOSTILE} [x](javascript:alert(1)) ![t](https://evil.example/t.png)")
        await page.sees("private", "onerror", ".from-bot .prose")
        await page.sees("private", "onerror", ".message:not(.from-bot) .prose")
        assert await page.page.locator(".prose img, .prose script, a[href^=javascript]").count() == 0
        assert "hacked" not in await page.page.title()


async def test_html_that_is_not_harmless_is_not_grafted(screen):
    async with screen() as page:
        grafted = await page.page.evaluate(
            """async (html) => {
                const { graft } = await import("/static/text.js");
                const box = document.createElement("div");
                box.append(graft(html));
                return box.innerHTML;
            }""",
            '<p onclick="x()">a<script>b</script><img src=x><a href="javascript:c">c</a><iframe>d</iframe>'
            '<svg><a xlink:href="javascript:x">e</a></svg><a href="https://f.example" onclick="x()">f</a></p>',
        )
        assert "onclick" not in grafted
        assert not re.search(r"<(script|img|iframe|svg)|javascript:", grafted)
        assert 'href="https://f.example"' in grafted
        assert await page.page.evaluate("window.violations.splice(0)") == ["script-src-attr"] * 2  # and it is refused
        page.problems.clear()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_on_a_phone_nothing_is_wider_than_the_screen(screen, dark):
    async with screen(width=360, height=720, dark=dark, touch=True) as page:
        name = f"phone-{'dark' if dark else 'light'}"
        tabs = page.page.locator("#tabs button")
        await page.page.locator("#tabs button", has_text="Things to try").tap()
        await page.picture(f"{name}-things")
        assert await page.overflow() == 0
        await tabs.nth(2).tap()
        await page.say("private", "card please")
        await page.sees("private", "Move the delivery?", ".card")
        await page.say("private", "echo " + "Donaudampfschifffahrt" * 20)
        await page.sees("private", "Donaudampf", ".from-bot .prose")
        await page.follows("private")
        assert await page.overflow() == 0
        await page.picture(f"{name}-private")
        await tabs.nth(0).tap()
        await page.say("customers", "@desk when is our delivery?", who="jordan")
        await page.sees("customers", "Rye flour", ".from-bot")
        await page.room("customers").locator(".decision summary").first.tap()
        await page.picture(f"{name}-customers")
        assert await page.overflow() == 0
        actions = page.room("customers").locator(".from-bot .actions button").first
        await actions.tap()
        await page.room("customers").locator(".target").wait_for()


async def contrast(page, selector):
    """Contrast of an element's words with the nearest opaque ground behind it (WCAG 2)."""
    return await page.page.locator(selector).first.evaluate(
        """(element) => {
            const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
            const rgb = (colour) => {
                canvas.clearRect(0, 0, 1, 1);
                canvas.fillStyle = colour;
                canvas.fillRect(0, 0, 1, 1);
                return [...canvas.getImageData(0, 0, 1, 1).data];
            };
            let ground = element;
            while (rgb(getComputedStyle(ground).backgroundColor)[3] < 255) ground = ground.parentElement;
            const light = (colour) => {
                const [r, g, b] = rgb(colour).slice(0, 3).map((part) => {
                    const share = part / 255;
                    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
                });
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const [one, other] = [light(getComputedStyle(element).color), light(getComputedStyle(ground).backgroundColor)];
            return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        }"""
    )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_words_stand_out_from_their_ground(screen, dark):
    async with screen(dark=dark) as page:
        await page.say("private", "card please")
        await page.sees("private", "Move the delivery?", ".card")
        await page.say("customers", "hello @jordan", who="mara")
        await page.sees("customers", "addressed_to_other", ".decision")
        await page.say("operators", "how many?")
        await page.sees("operators", "Rye flour", ".from-bot")
        await page.room("operators").locator(".decision summary").click()
        await page.picture("dark" if dark else "light")
        for selector in (
            ".prose.plain",
            ".from-bot .prose p",
            ".from-bot .prose a",
            ".head time",
            ".tag",
            ".mention",
            ".room-head p",
            ".audience.external",
            ".audience.internal",
            ".decision.mute summary",
            ".decision.respond summary",
            ".gates .passed",
            ".why dt",
            ".card dt",
            ".card-button.primary",
            ".card-button.danger",
            ".things small",
            ".try",
            "#subtitle",
            ".as span",
        ):
            assert await contrast(page, selector) >= 4.5, selector


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_the_demo_plays_with_the_whole_gateway_behind_it(screen, dark):
    async with screen(stage=run_demo, dark=dark) as page:
        for number in range(6):
            await page.page.locator(".things .try").nth(number).click()
            await page.page.keyboard.press("Enter")
        await page.sees("customer", "no_address", ".decision.mute")
        await page.sees("customer", "Monday to Friday", ".from-bot")
        await page.room("customer").locator(".card-button", has_text="19:00").click()
        await page.sees("customer", "tonight at 19:00", ".from-bot")
        await page.sees("operators", "booking-db", ".from-bot")
        await page.sees("customer", "safe_error", ".decision")
        await page.sees("operators", "gave no answer", ".from-bot")
        for selector in ("operational", "progress", "report", "safe_error"):
            assert await contrast(page, f'[data-speech="{selector}"] .prose p') >= 4.5, selector
        await page.picture(f"demo-{'dark' if dark else 'light'}")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_a_price_of_the_demo_waits_for_an_operator_and_is_approved_by_a_tap(screen, dark):
    async with screen(stage=run_demo, dark=dark) as page:
        await page.page.locator(".things .try").nth(6).click()
        await page.page.keyboard.press("Enter")
        await page.sees("operators", "1,400 EUR", ".card")
        await page.sees("customer", "drafted", ".decision.defer")
        await page.picture(f"draft-{'dark' if dark else 'light'}")
        await page.page.locator(".things .try").nth(7).click()
        await page.page.keyboard.press("Enter")
        await page.sees("operators", "2,100 EUR", ".card")
        old = page.room("operators").locator(".card", has_text="replaced by a newer version")
        await old.wait_for()
        assert await old.locator(".card-button").count() == 0
        assert await page.room("customer").locator(".from-bot").count() == 0
        card = page.room("operators").locator(".card", has_text="2,100 EUR")
        await card.locator(".card-button", has_text="Approve").click()
        await page.sees("customer", "2,100 EUR", ".from-bot")
        await page.sees("operators", "approved, and done", ".card")
        await page.page.locator(".things .try").nth(8).click()
        await page.page.keyboard.press("Enter")
        await page.sees("customer", "withheld", ".decision")
        await page.sees("operators", "stopped before it was sent", ".from-bot")
        assert "Sea Terrace" not in await page.page.content()
        await page.picture(f"drafts-{'dark' if dark else 'light'}")


async def test_the_choice_of_light_or_dark_is_kept(screen):
    async with screen() as page:
        await page.page.locator("#theme").click()
        await page.page.locator("#theme").click()
        await page.page.reload()
        await page.page.locator("#state.live").wait_for()
        assert await page.page.locator("html").get_attribute("data-theme") == "dark"


async def test_a_page_that_lost_its_connection_misses_nothing(screen):
    async with screen() as page:
        await page.say("customers", "before", who="mara")
        await page.sees("customers", "before")
        await page.page.context.set_offline(True)
        for subscriber in tuple(page.desk.chat._live._subscribers):
            subscriber.closed = True
            subscriber.wake()
        await page.page.locator("#state.lost").wait_for()
        await page.desk.timeline.append(
            "customers",
            "m1away",
            {"author": "jordan", "at": 0, "text": "while away", "mentions": [], "reply": None, "files": []},
            at=page.desk.clock(),
        )
        await page.page.context.set_offline(False)
        await page.sees("customers", "while away")
        page.problems = [problem for problem in page.problems if "ERR_INTERNET_DISCONNECTED" not in problem]


async def test_people_who_enter_by_a_link_see_their_rooms_and_are_themselves(screen):
    async with screen(person="mara", width=1100) as page:
        assert await page.page.locator("#tabs button").all_inner_texts() == ["Lindqvist Foods", "Mara and desk"]
        assert await page.page.locator("select").count() == 0
        await page.say("customers", "hello")
        await page.sees("customers", "you", ".tag")
        assert await page.page.locator(".decision").count() == 0
        assert await page.page.locator("#decisions").is_hidden()
        await page.picture("entered")
        await page.page.locator("#leave").click()
        await page.page.get_by_text("You need a link").wait_for()
        await page.picture("closed")
        page.problems.clear()  # the browser notes the refusal of the page itself


async def test_an_operator_who_entered_sees_decisions(screen):
    async with screen(person="olga", width=1100) as page:
        await page.say("customers", "hello")
        await page.sees("customers", "no_address", ".decision.mute")
        await page.picture("operator")


async def test_a_link_that_was_used_says_so(screen):
    async with screen(person="mara") as page:
        link = await page.desk.chat.invite("olga")
        other = await page.page.context.browser.new_context(locale="en-GB")
        for used in (False, True):
            tab = await other.new_page()
            await tab.goto(link)
            await tab.locator("#enter").click()
            if used:
                await tab.get_by_text("This link has been used").wait_for()
                await tab.screenshot(path=page._pictures / "used.png")
            else:
                await tab.locator("#state.live").wait_for()


async def test_the_page_and_the_server_find_the_same_mentions(screen):
    async with screen() as page:
        found = await page.page.evaluate(
            """async ([texts, known]) => {
                const { addressed } = await import("/static/text.js");
                return texts.map((text) => addressed(text, new Set(known)));
            }""",
            [[text for text, _ in MENTIONS], list(KNOWN)],
        )
        assert json.dumps(found) == json.dumps([list(expected) for _, expected in MENTIONS])


FIELDS = {
    "Who takes it in": "Jordan",
    "Boxes": "12",
    "Highest price": "9.5",
    "Day": "2026-12-24",
    "E-mail": "jordan@example.org",
    "Website": "https://example.org",
    "Notes": "Ring twice,\nthen wait.",
    "Call me at": "2026-12-23T09:30",
    "from": "10:00",
    "to": "12:30",
}


async def asks(page, name, room="customers", person="mara"):
    """Somebody asks the bot, and the bot asks back; its card."""
    composer = page.room(room).locator(".composer")
    await composer.locator("select").select_option(person)
    await composer.locator("textarea").fill(f"@desk ask {name}")
    await composer.locator("textarea").press("Enter")
    await page.sees(room, f"What about the {name}?", ".from-bot")
    return page.room(room).locator(".from-bot", has_text=f"What about the {name}?").last


@pytest.mark.rule("FORM-3")
async def test_a_question_is_answered_by_a_button_and_closes(screen):
    async with screen() as page:
        card = await asks(page, "colour")
        await page.picture("question-colour")
        await card.locator(".card-button", has_text="Green").click()
        await card.get_by_text("It is answered.").wait_for()
        assert await card.locator("button.card-button, form").count() == 0
        (question,) = page.desk.asked.questions.values()
        assert (question.answer, question.way) == ({"colour": "Green"}, "tap")


@pytest.mark.rule("FORM-3")
async def test_a_question_is_answered_in_ones_own_words(screen):
    async with screen() as page:
        card = await asks(page, "colour")
        line = card.get_by_label("Or answer in your own words")
        await line.fill("blue")
        await line.press("Enter")
        await card.get_by_text("It is answered.").wait_for()
        await page.sees("customers", "blue", ".message:not(.from-bot)")
        (question,) = page.desk.asked.questions.values()
        assert (question.answer, question.way) == ({"colour": "Blue"}, "reply")


@pytest.mark.rule("FORM-3")
async def test_a_question_is_answered_by_its_fields(screen):
    async with screen() as page:
        card = await asks(page, "delivery")
        for label, value in FIELDS.items():
            await card.get_by_label(re.compile(rf"^{label}( optional)?$")).fill(value)
        await card.get_by_role("radio", name="yes").check()
        await card.get_by_role("radio", name="Fast").check()
        await card.get_by_role("checkbox", name="Ice").check()
        await card.get_by_role("checkbox", name="Card").check()
        await card.get_by_label("Country").select_option(label="BG")
        await card.screenshot(path=page._pictures / "question-fields.png")
        await card.get_by_role("button", name="Send the answer").click()
        await card.get_by_text("It is answered.").wait_for()
        (question,) = page.desk.asked.questions.values()
        assert question.answer == {
            "name": "Jordan",
            "boxes": 12,
            "price": 9.5,
            "fragile": True,
            "day": "2026-12-24",
            "hours": ["10:00:00+01:00", "12:30:00+01:00"],
            "call": "2026-12-23T09:30:00+01:00",
            "speed": 2,
            "extras": ["Ice", "Card"],
            "country": "BG",
            "mail": "jordan@example.org",
            "site": "https://example.org",
            "notes": "Ring twice,\nthen wait.",
            "terms": "2026-01",
        }
        assert (question.way, question.answered_by) == ("card", "web:mara")
        await page.picture("question-closed")


@pytest.mark.rule("FORM-2", "FORM-3")
async def test_what_is_wrong_is_said_beside_its_field_and_only_that_is_mended(screen):
    async with screen() as page:
        card = await asks(page, "delivery")
        await card.get_by_label("Who takes it in").fill("Jordan")
        await card.get_by_label("Boxes").fill("99")
        await card.get_by_label("E-mail").fill("jordan")
        await card.get_by_label("from").fill("10:00")
        await card.get_by_label("E-mail").press("Enter")
        await card.get_by_text("Please look once more at what is marked.").wait_for()
        wrong = await card.locator(".is-wrong").evaluate_all(
            "boxes => boxes.map((box) => [box.querySelector('label, legend').firstChild.data, box.querySelector('.wrong').innerText])"
        )
        assert dict(wrong) == {
            "Boxes": "Please write a number of at most 20.",
            "Day": "Please fill this in.",
            "Between": "Please fill in both.",
            "E-mail": "Please write a whole e-mail address.",
        }
        boxes = card.get_by_label("Boxes")
        assert await boxes.evaluate("input => input === document.activeElement")
        assert await boxes.get_attribute("aria-invalid") == "true"
        described = (await boxes.get_attribute("aria-describedby") or "").split()
        said = [await page.page.locator(f"#{id_}").inner_text() for id_ in described]
        assert said == ["at least 1 · at most 20", "Please write a number of at most 20."]
        assert await card.get_by_label("Who takes it in").input_value() == "Jordan"
        assert page.desk.asked.attempts == [
            ["boxes: above_maximum", "day: missing_required", "hours: wrong_type", "mail: invalid_email"]
        ]
        await card.screenshot(path=page._pictures / "question-errors.png")
        await boxes.fill("20")
        await card.get_by_label("Day").fill("2026-12-24")
        await card.get_by_label("E-mail").fill("jordan@example.org")
        await card.get_by_label(re.compile("^to$")).fill("11:00")
        await card.get_by_role("button", name="Send the answer").click()
        await card.get_by_text("It is answered.").wait_for()


async def test_a_half_typed_date_is_said_and_not_taken_for_none(screen):
    async with screen() as page:
        card = await asks(page, "call")
        await card.get_by_label("Call me at").focus()
        await page.page.keyboard.type("2312")
        await page.page.keyboard.press("Enter")
        await card.get_by_text("Please give a whole date and time.").wait_for()
        assert page.desk.asked.attempts == []


@pytest.mark.rule("FORM-8")
async def test_a_time_that_comes_twice_is_asked_back_with_both_readings(screen):
    async with screen() as page:
        card = await asks(page, "call")
        await card.get_by_label("Call me at").fill("2026-10-25T02:30")
        await card.get_by_role("button", name="Send the answer").click()
        await card.get_by_text("this time comes twice").wait_for()
        await card.screenshot(path=page._pictures / "question-doubt.png")
        assert page.desk.asked.attempts == [["at: invalid_datetime"]]
        await card.get_by_role("radio", name="UTC+01:00").check()
        await card.get_by_role("button", name="Send the answer").click()
        await card.get_by_text("It is answered.").wait_for()
        (question,) = page.desk.asked.questions.values()
        assert question.answer == {"at": "2026-10-25T02:30:00+01:00"}


@pytest.mark.rule("FORM-3")
async def test_a_question_closes_in_every_window_and_the_keyboard_is_not_lost(screen):
    async with screen() as page:
        card = await asks(page, "colour")
        other = await page.page.context.new_page()
        await other.goto(page.desk.url)
        there = other.locator('[data-room="customers"] .from-bot')
        await there.locator(".own-words textarea").fill("half a thou")
        await card.locator(".card-button", has_text="Red").click()
        await there.get_by_text("It is answered.").wait_for()
        assert await there.locator("form, .card-button").count() == 0
        assert await there.evaluate("item => item.contains(document.activeElement)")
        await other.close()


@pytest.mark.rule("FORM-10")
async def test_a_masked_value_is_sent_once_and_is_nowhere_afterwards(screen):
    async with screen() as page:
        card = await asks(page, "secret", room="private")
        pin = card.get_by_label("PIN")
        assert (await pin.get_attribute("type"), await pin.input_value()) == ("password", "")
        assert await card.locator(".own-words").count() == 0
        await card.get_by_label("User name").fill("jo")
        await pin.fill("7319")
        await card.get_by_role("button", name="Send the answer").click()
        await card.get_by_text("Please write at least 3 characters.").wait_for()
        await card.get_by_text("It is not kept here: please fill it in again.").wait_for()
        assert (await card.get_by_label("User name").input_value(), await pin.input_value()) == ("jo", "")
        await card.screenshot(path=page._pictures / "question-masked.png")
        await card.get_by_label("User name").fill("jordan")
        await pin.fill("7319")
        await card.get_by_role("button", name="Send the answer").click()
        await card.get_by_text("It is answered.").wait_for()
        (question,) = page.desk.asked.questions.values()
        assert question.answer == {"user": "jordan", "pin": "7319"}
        everything = [
            await page.page.content(),
            await page.page.evaluate("JSON.stringify(Object.values(localStorage))"),
            await page.page.evaluate(
                "[...document.querySelectorAll('input, textarea')].map((one) => one.value).join()"
            ),
            repr([entry.document for entry in page.desk.timeline._entries.values()]),
            repr([arrival.raw for arrival in page.desk.brain.arrivals]),
        ]
        for seen in everything:
            assert "7319" not in seen
            assert "0000" not in seen.replace("0000000", "")


@pytest.mark.rule("FORM-12")
async def test_an_important_answer_is_confirmed_once_more(screen):
    async with screen() as page:
        card = await asks(page, "transfer")
        assert await card.get_by_label("Amount").input_value() == "12.5"
        await card.get_by_label("Amount").fill("99")
        await card.get_by_label("PIN").fill("7319")
        await card.get_by_role("button", name="Send the answer").click()
        await card.locator("table", has_text="99").wait_for()
        await page.picture("question-confirm")
        await card.locator(".card-button", has_text="Change").click()
        assert await card.get_by_label("Amount").input_value() == "99"
        assert await card.get_by_label("PIN").input_value() == ""
        await card.get_by_label("PIN").fill("7319")
        await card.get_by_role("button", name="Send the answer").click()
        await card.locator(".card-button", has_text="Confirm").click()
        await card.get_by_text("It is answered.").wait_for()
        (question,) = page.desk.asked.questions.values()
        assert question.answer == {"amount": 99, "pin": "7319"}
        assert "7319" not in await page.page.content()


@pytest.mark.rule("FORM-12")
async def test_the_confirmation_works_in_the_card_itself_before_the_message_changes(screen):
    async with screen() as page:
        card = await asks(page, "transfer")

        async def rests(*_):
            return None

        shows, page.desk.asked.shows = page.desk.asked.shows, rests
        await card.get_by_label("PIN").fill("7319")
        await card.get_by_role("button", name="Send the answer").click()
        review = card.get_by_role("region", name="Is this right? Please confirm it.")
        await review.wait_for()
        assert await review.evaluate("box => box === document.activeElement")
        assert (await review.inner_text()).split("\n")[1:5] == ["Amount", "12.5", "PIN", "filled in, not shown"]
        await card.screenshot(path=page._pictures / "question-review.png")
        await review.get_by_role("button", name="Change").click()
        await card.get_by_text("It is not kept here: please fill it in again.").wait_for()
        await card.get_by_label("PIN").fill("1111")
        await card.get_by_role("button", name="Send the answer").click()
        page.desk.asked.shows = shows
        await review.get_by_role("button", name="Confirm").click()
        await card.get_by_text("It is answered.").wait_for()


@pytest.mark.rule("FORM-7", "FORM-9")
async def test_who_is_late_or_not_meant_is_told_so(screen):
    async with screen() as page:
        card = await asks(page, "call", person="mara")
        await page.room("customers").locator("select").last.select_option("jordan")
        await card.get_by_label("Call me at").fill("2026-12-01T10:00")
        send = card.get_by_role("button", name="Send the answer")
        await send.click()
        await card.get_by_text("This question is for Mara Lindqvist. Your answer was not used.").wait_for()
        await page.picture("question-not-yours")
        await page.room("customers").locator("select").last.select_option("mara")
        ((message, question),) = page.desk.asked.questions.items()

        async def rests(*_):
            return None

        shows, page.desk.asked.shows = page.desk.asked.shows, rests
        await page.desk.asked.submit_shown(
            question.destination, message, {"at": "2026-12-02T10:00:00+01:00"}, by="web:mara", way=Way.FORM
        )
        await send.click()
        await card.get_by_text("Another answer came first; yours was not used.").wait_for()
        assert await card.locator("form").count() == 0
        page.desk.asked.shows = shows


async def test_a_question_that_is_over_says_so(screen):
    async with screen() as page:
        card = await asks(page, "call")
        ((message, question),) = page.desk.asked.questions.items()
        page.desk.asked.questions[message] = replace(question, state=QuestionState.EXPIRED)
        await card.get_by_label("Call me at").fill("2026-12-01T10:00")
        await card.get_by_role("button", name="Send the answer").click()
        await card.get_by_text("The time for this question is over.").wait_for()
        await page.desk.asked.end(message)
        await card.get_by_text("It is expired.").wait_for()
        assert await card.locator(".card").count() == 0


async def test_what_is_being_typed_into_a_card_outlives_a_change_of_its_message(screen):
    async with screen() as page:
        card = await asks(page, "delivery")
        name = card.get_by_label("Who takes it in")
        await name.fill("Jord")
        ((message, question),) = page.desk.asked.questions.items()
        await page.desk.brain.edit(question, message, replace(page.desk.asked.open(question), text="What now?"))
        await page.sees("customers", "What now?", ".from-bot")
        await page.page.keyboard.type("an")
        changed = page.room("customers").locator(".from-bot", has_text="What now?")
        assert await changed.get_by_label("Who takes it in").input_value() == "Jordan"


async def test_a_question_is_answered_with_the_keyboard_alone(screen):
    async with screen() as page:
        card = await asks(page, "ticks", room="private")
        keyboard = page.page.keyboard
        await card.focus()
        await keyboard.press("Tab")
        for _ in range(12):
            if await page.page.evaluate("document.activeElement.type") == "checkbox":
                break
            await keyboard.press("Tab")
        await keyboard.press("Space")
        await keyboard.press("Tab")
        await keyboard.press("Tab")
        await keyboard.press("Space")
        await keyboard.press("Enter")
        await card.get_by_text("It is answered.").wait_for()
        (question,) = page.desk.asked.questions.values()
        assert question.answer == {"sizes": ["S", "L"]}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_a_question_fits_on_a_phone_and_can_be_read(screen, dark):
    async with screen(width=360, height=720, dark=dark, touch=True, person="mara") as page:
        name = f"phone-question-{'dark' if dark else 'light'}"
        await page.page.locator("#tabs button", has_text="Mara and desk").tap()
        await page.say("private", "ask delivery")
        card = page.room("private").locator(".from-bot", has_text="What about the delivery?")
        await card.get_by_role("button", name="Send the answer").tap()
        await card.get_by_text("Please look once more").wait_for()
        assert await page.overflow() == 0
        inner = await card.locator(".card").evaluate("card => card.scrollWidth - card.clientWidth")
        assert inner <= 0
        await card.locator(".card").screenshot(path=page._pictures / f"{name}.png")
        await page.picture(f"{name}-screen")
        for selector in (
            ".field > label",
            ".field > legend",
            ".optional",
            ".hint",
            ".wrong:not(:empty)",
            ".problem:not(:empty)",
            ".options span",
            ".field input",
            ".card-button.primary",
            ".own-words > label",
        ):
            assert await contrast(page, f".card {selector}") >= 4.5, selector
        await page.room("private").locator(".composer textarea").fill("ask transfer")
        await page.room("private").locator(".composer textarea").press("Enter")
        card = page.room("private").locator(".from-bot", has_text="What about the transfer?")
        await card.get_by_label("PIN").fill("1")
        await card.get_by_role("button", name="Send the answer").tap()
        await card.locator("table").wait_for()
        await card.locator(".card").screenshot(path=page._pictures / f"{name}-confirm.png")
        assert await page.overflow() == 0


async def test_a_question_without_fields_is_confirmed_by_its_buttons(screen):
    async with screen() as page:
        card = await asks(page, "go", room="private")
        assert await card.locator("form:visible").count() == 0
        await card.get_by_role("button", name="Confirm").click()
        await card.get_by_text("It is answered.").wait_for()
        (question,) = page.desk.asked.questions.values()
        assert question.answer == {}


async def faults(page, state):
    """What axe-core finds in the card, and what it can't tell."""
    result = await page.page.evaluate("axe.run('.card', {resultTypes: ['violations', 'incomplete']})")
    wrong = [rule for kind in ("violations", "incomplete") for rule in result[kind]]
    return [(state, rule["id"], node["html"][:200]) for rule in wrong for node in rule["nodes"]]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_everybody_can_use_the_card_of_a_question(screen, dark):
    if not AXE.exists():
        reason = "axe-core is missing: tests/browser/axe/setup.sh"
        if os.environ.get("DISCREET_NO_SKIP") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    async with screen(dark=dark, height=2600) as page:
        await page.page.evaluate(AXE.read_text())
        card = await asks(page, "delivery")
        found = await faults(page, "asked")
        await card.get_by_role("button", name="Send the answer").click()
        await card.get_by_text("Please look once more").wait_for()
        found += await faults(page, "refused")
        card = await asks(page, "transfer", room="private")
        await card.get_by_label("PIN").fill("1")
        await card.get_by_role("button", name="Send the answer").click()
        await card.locator("table").wait_for()
        found += await faults(page, "confirm")
        await card.locator(".card-button", has_text="Confirm").click()
        await card.get_by_text("It is answered.").wait_for()
        found += await faults(page, "answered")
        assert found == []
