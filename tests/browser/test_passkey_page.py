"""High assurance in Chromium, with its virtual authenticator: the whole way with a running daemon, and the pages."""

import json
import os
import shutil
import socket
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from playwright.async_api import async_playwright, expect

from bot.api.control import ask
from bot.approvals.addresses import relying_party
from bot.model.approval import Action, Gate
from tests.acceptance.commands import run
from tests.acceptance.test_chat_run import daemon
from tests.browser.asked_pages import forms_served
from tests.browser.conftest import ARGUMENTS, CHROMIUM, WATCH
from tests.passkeys import approval, bench, gated

AXE = Path(__file__).parents[2] / ".cache" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
rule = pytest.mark.rule
KEY = "SYNTHETIC-key-of-the-main-agent"
POLICY = """\
version: 1
operators: [olga]
people:
  olga: {accounts: ["web:olga"], names: [Olga Petrova]}
channels:
  "web:desk:operators": {audience: internal, reports: true}
"""
CONFIG = """\
agents:
  main: {kind: echo}
chat:
  enabled: true
  listen: "127.0.0.1:0"
  rooms:
    operators: {title: Operators, members: [olga]}
    private: {title: Olga and desk, members: [olga], direct: true}
pages: {enabled: true, listen: "127.0.0.1:%d"}
api: {enabled: true, listen: "127.0.0.1:0"}
metrics: {enabled: false}
log: {level: info, format: json}
"""
TRANSFER = {"action": "transfer", "system": "bank", "parameters": {"amount": 1200, "to": "Lindqvist Foods"}}
LONG = Action(
    name="send_mail",
    system="mail",
    parameters={
        "to": ["anna.lindqvist@example.org", "purchasing@example.org"],
        "subject": "Your offer of 12 May, with the changes that we have agreed on the telephone",
        "text": "Dear Anna,\n\nthank you for the call. We deliver 40 sacks on Tuesday.\n\nKind regards\nOlga",
        "attachments": [{"name": "offer.pdf", "size": 48_211, "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"}],
        "priority": 1,
    },
)


def missing(reason):
    if os.environ.get("DISCREET_NO_SKIP") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Device:
    """A page with an authenticator that knows the fingerprint of its person, as a phone does."""

    def __init__(self, page, session, authenticator):
        self.page = page
        self.session = session
        self.id = authenticator

    async def credentials(self):
        found = await self.session.send("WebAuthn.getCredentials", {"authenticatorId": self.id})
        return found["credentials"]

    async def refuses(self, refuses=True):
        """The person lays no finger on it, or another one's."""
        await self.session.send("WebAuthn.setUserVerified", {"authenticatorId": self.id, "isUserVerified": not refuses})

    async def renew(self):
        """Another one in its place, which knows nothing yet."""
        await self.session.send("WebAuthn.removeVirtualAuthenticator", {"authenticatorId": self.id})
        self.id = await authenticator(self.session)


async def device(page):
    """Give a page its authenticator; it stays with the page wherever that goes."""
    session = await page.context.new_cdp_session(page)
    await session.send("WebAuthn.enable")
    return Device(page, session, await authenticator(session))


async def authenticator(session):
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    made = await session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return made["authenticatorId"]


@pytest.fixture
def chromium(tmp_path):
    """Opens windows: ``async with chromium() as window``; an error in a console or a refusal of a policy fails the test."""
    if not Path(CHROMIUM).exists() and shutil.which("chromium") is None:
        missing("Chromium is missing; on Debian: apt-get install chromium")
    pictures = Path(os.environ.get("DISCREET_SCREENSHOTS") or tmp_path)

    @asynccontextmanager
    async def opened():
        problems = []

        def heard(said):
            if said.type in ("error", "warning") and "the server responded with a status of" not in said.text:
                problems.append(said.text)

        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))

            async def window(*, width=1100, height=900, dark=False, javascript=True, touch=False):
                context = await browser.new_context(
                    viewport={"width": width, "height": height},
                    color_scheme="dark" if dark else "light",
                    java_script_enabled=javascript,
                    has_touch=touch,
                    is_mobile=touch,
                    locale="en-GB",
                )
                context.set_default_timeout(10_000)
                await context.add_init_script(WATCH)
                context.on("console", heard)
                context.on("weberror", lambda error: problems.append(str(error.error)))
                page = await context.new_page()
                page.pictures = pictures
                return page

            try:
                yield window
                assert problems == []
            finally:
                await browser.close()

    return opened


@pytest.fixture
def folder(tmp_path):
    files = {"config.yaml": CONFIG % free_port(), "policy.yaml": POLICY, "api-keys": f"main {KEY}\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    return tmp_path


class Agent:
    """The agent's side: HTTP with its key."""

    def __init__(self, http, url):
        self.http = http
        self.url = url

    async def call(self, method, path, body=None, *, status=200):
        headers = {"Authorization": f"Bearer {KEY}"}
        async with self.http.request(method, f"{self.url}/v1/approvals{path}", json=body, headers=headers) as answer:
            said = await answer.json()
            assert answer.status == status, said
            return said


@asynccontextmanager
async def living(folder):
    """A daemon with everything, and the agent beside it."""
    async with daemon(folder) as one:
        await one.logged("pages")
        api = await one.logged("api")
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=30)) as http:
            yield one, Agent(http, f"http://{api['host']}:{api['port']}")


async def turns_to(page, room):
    await page.locator(f'#tabs [data-pane="{room}"]').click()
    await page.locator(f'[data-room="{room}"]').wait_for()


async def says(page, room, text):
    await turns_to(page, room)
    area = page.locator(f'[data-room="{room}"] .composer textarea')
    await area.fill(text)
    await area.press("Enter")


@rule("APPR-9", "APPR-3")
async def test_the_whole_way_from_the_first_passkey_to_the_verified_proof(chromium, folder):
    async with living(folder) as (one, agent), chromium() as window:
        chat = await window(width=1400)
        await chat.goto(await ask(folder / "data" / "control.sock", "invite", person="olga"))
        await chat.locator("#enter").click()
        await chat.locator("#state.live").wait_for()
        operators, private = (chat.locator(f'[data-room="{room}"]') for room in ("operators", "private"))

        # a passkey, by the link from the private chat
        await says(chat, "private", "/passkey")
        link = private.locator('a[href*="/k/"]')
        await link.wait_for()
        phone = await device(await window(width=360, height=780, touch=True))
        await phone.page.goto(await link.get_attribute("href"))
        await expect(phone.page.get_by_text("Olga Petrova")).to_be_visible()
        await phone.page.get_by_label("Name of the device").fill("Phone")
        await phone.page.get_by_role("button", name="Add passkey").click()
        await expect(phone.page.get_by_role("heading", level=1)).to_have_text("Your passkey is in place")
        await turns_to(chat, "operators")
        await operators.get_by_text("A passkey was added for olga").wait_for()
        await phone.page.goto(await link.get_attribute("href"))
        await expect(phone.page.get_by_role("heading", level=1)).to_have_text("This link is used up")

        # an approval, by the page that the tap opens
        proposed = await agent.call("POST", "", {**TRANSFER, "assurance": "high", "reason": "It is due."}, status=201)
        tap = operators.locator('a.card-button[href*="/a/"]')
        await tap.wait_for()
        async with chat.context.expect_page() as opening:
            await tap.click()
        opened = await opening.value
        await expect(opened.get_by_text("Lindqvist Foods").first).to_be_visible()
        await opened.close()
        address = await tap.get_attribute("href")
        assert (await agent.call("GET", f"/{proposed['id']}"))["state"] == "in_review"
        page = phone.page
        await page.goto(address)

        # it changes before it is approved: what the page shows is not approved
        await page.get_by_role("button", name="Approve with passkey").wait_for()
        current = await agent.call("GET", f"/{proposed['id']}")
        changed = {"parameters": {**TRANSFER["parameters"], "amount": 9200}, "revision": current["revision"]}
        revised = await agent.call("POST", f"/{proposed['id']}/revise", changed)
        assert revised["version"] != proposed["version"]
        await page.get_by_role("button", name="Approve with passkey").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("This has changed")
        claim = {"version": revised["version"], "claim_key": "c1"}
        await agent.call("POST", f"/{proposed['id']}/claim", claim, status=409)

        # the new version, by its own page
        await chat.wait_for_function(
            """(old) => [...document.querySelectorAll('[data-room="operators"] a.card-button[href*="/a/"]')]
                .some((one) => one.href !== old)""",
            arg=address,
        )
        new = operators.locator('a.card-button[href*="/a/"]').last
        await page.goto(await new.get_attribute("href"))
        await expect(page.get_by_text("9200").first).to_be_visible()
        await page.get_by_role("button", name="Approve with passkey").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Approved")
        claimed = await agent.call("POST", f"/{proposed['id']}/claim", claim)
        assert claimed["state"] == "claimed"

        # and the proof holds, while the daemon runs and after it
        done = run(folder, "approvals", "verify", proposed["id"])
        assert (done.returncode, done.stdout.split()[0]) == (0, "pass"), done.stdout + done.stderr
        listed = json.loads(run(folder, "passkeys", "list", "--json").stdout)
        assert (listed["person"], listed["label"]) == ("olga", "Phone")
        invited = run(folder, "passkeys", "invite", "olga")
        assert invited.stdout.startswith("http://localhost:")
        assert "/k/" in invited.stdout
        refused = run(folder, "passkeys", "invite", "nobody")
        assert (refused.returncode, "no operator" in refused.stderr) == (2, True)
        assert run(folder, "passkeys", "revoke", listed["passkey"]).returncode == 0
        assert run(folder, "passkeys", "revoke", listed["passkey"]).returncode == 2
        assert one.url
    done = run(folder, "approvals", "verify")
    assert (done.returncode, done.stdout.count("pass")) == (0, 1)


@asynccontextmanager
async def pages(tmp_path, chromium):
    """The pages alone, with approvals in memory, under the name that passkeys want."""
    port = free_port()
    async with (
        bench(tmp_path, base_url=f"http://localhost:{port}") as desk,
        forms_served(passkeys=desk.passkeys, public_url=f"http://localhost:{port}", port=port),
        chromium() as window,
    ):
        assert relying_party(f"http://localhost:{port}") == desk.addresses.party
        yield desk, window


async def added(desk, window, **looks):
    """Somebody with a passkey on their device."""
    one = await device(await window(**looks))
    await one.page.goto(await desk.passkeys.invite("ann"))
    await one.page.get_by_role("button", name="Add passkey").click()
    await expect(one.page.get_by_role("heading", level=1)).to_have_text("Your passkey is in place")
    return one


@rule("APPR-9")
async def test_a_finger_that_is_not_laid_on_decides_nothing_and_can_be_laid_on_later(tmp_path, chromium):
    async with pages(tmp_path, chromium) as (desk, window):
        phone = await added(desk, window)
        one = desk.room.put(approval())
        await phone.page.goto(desk.addresses.approval(one.id, one.version))
        await phone.refuses()
        button = phone.page.get_by_role("button", name="Approve with passkey")
        await button.click()
        await expect(phone.page.get_by_role("status")).to_have_text(
            "The passkey was not used, so nothing has happened. You can try again."
        )
        assert desk.room.decisions == []
        await phone.refuses(False)
        await button.click()
        heading = phone.page.get_by_role("heading", level=1)
        await expect(heading).to_have_text("Approved")
        await expect(heading).to_be_focused()
        assert await phone.page.get_by_text("1200.5").count() == 0
    assert len(desk.room.decisions) == 1


@rule("APPR-9", "APPR-7")
async def test_a_justification_is_asked_for_before_the_passkey(tmp_path, chromium):
    async with pages(tmp_path, chromium) as (desk, window):
        phone = await added(desk, window)
        one = desk.room.put(gated())
        await phone.page.goto(desk.addresses.approval(one.id, one.version))
        button = phone.page.get_by_role("button", name="Approve with passkey")
        await button.click()  # the browser itself asks for the field
        assert await phone.page.evaluate("document.activeElement.id") == "text"
        await phone.page.get_by_label("Why it is right all the same").fill("   ")
        await button.click()
        await expect(phone.page.get_by_role("status")).to_contain_text("A condition of this action is not met.")
        await phone.page.get_by_label("Why it is right all the same").fill("Tested by hand.")
        await button.click()
        await expect(phone.page.get_by_role("heading", level=1)).to_have_text("Approved")
    assert [decision["words"] for decision in desk.room.decisions] == ["Tested by hand."]


@rule("APPR-9")
async def test_a_further_passkey_comes_in_by_one_that_is_there(tmp_path, chromium):
    async with pages(tmp_path, chromium) as (desk, window):
        phone = await added(desk, window)
        address = await desk.passkeys.link_for("telegram:501")
        await phone.page.goto(address)
        await expect(phone.page.get_by_text("a passkey that you have already")).to_be_visible()
        button = phone.page.get_by_role("button", name="Add passkey")
        await button.click()
        await expect(phone.page.get_by_role("status")).to_contain_text("press the button once more")
        await phone.renew()
        await button.click()
        await expect(phone.page.get_by_role("heading", level=1)).to_have_text("Your passkey is in place")
        assert len(await desk.store.passkeys.of("ann")) == 2
        thief = await device(await window())
        await thief.page.goto(await desk.passkeys.link_for("telegram:501"))
        await thief.page.get_by_role("button", name="Add passkey").click()
        await expect(thief.page.get_by_role("status")).to_contain_text("nothing has happened")
        assert len(await desk.store.passkeys.of("ann")) == 2


async def test_one_device_makes_no_second_passkey_for_the_same_person(tmp_path, chromium):
    async with pages(tmp_path, chromium) as (desk, window):
        phone = await added(desk, window)
        await phone.page.goto(await desk.passkeys.invite("ann"))
        await phone.page.get_by_role("button", name="Add passkey").click()
        await expect(phone.page.get_by_role("status")).to_have_text(
            "This device has a passkey of yours for this already."
        )
        assert len(await desk.store.passkeys.all()) == 1


async def test_without_a_script_a_sentence_says_what_is_missing(tmp_path, chromium):
    async with pages(tmp_path, chromium) as (desk, window):
        phone = await added(desk, window)
        assert await phone.credentials() != []
        one = desk.room.put(approval())
        page = await window(javascript=False)
        await page.goto(desk.addresses.approval(one.id, one.version))
        await expect(page.get_by_text("This page needs JavaScript")).to_be_visible()
        await expect(page.get_by_text("Lindqvist Foods").first).to_be_visible()
        await expect(page.get_by_role("button")).to_have_count(0)


async def test_a_server_that_is_gone_is_told_and_the_page_stays(tmp_path, chromium):
    async with pages(tmp_path, chromium) as (desk, window):
        phone = await added(desk, window)
        one = desk.room.put(approval())
        await phone.page.goto(desk.addresses.approval(one.id, one.version))
        await phone.page.route("**/options", lambda route: route.fulfill(status=502, body="bad gateway"))
        await phone.page.get_by_role("button", name="Approve with passkey").click()
        await expect(phone.page.get_by_role("status")).to_contain_text("That could not be sent just now")
        await expect(phone.page.get_by_role("button", name="Approve with passkey")).to_be_enabled()


async def faults_of(page):
    """What axe-core finds, and what it can't tell."""
    session = await page.context.new_cdp_session(page)  # the page's own policy lets no other script in
    await session.send("Runtime.evaluate", {"expression": AXE.read_text()})
    found = await page.evaluate("axe.run({resultTypes: ['violations', 'incomplete']})")
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found["violations"] + found["incomplete"]]


@pytest.mark.parametrize("width", [360, 1100])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_the_pages_fit_a_phone_and_a_screen(tmp_path, chromium, width, dark):
    if not AXE.exists():
        missing("axe-core is missing: tests/browser/axe/setup.sh")
    async with pages(tmp_path, chromium) as (desk, window):
        looks = {"width": width, "height": 800, "dark": dark, "touch": width < 500}
        name = f"passkey-{{}}-{'dark' if dark else 'light'}-{width}.png"
        phone = await device(await window(**looks))
        page = phone.page

        async def fits(what):
            assert await page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
            assert await faults_of(page) == []
            await page.screenshot(path=page.pictures / name.format(what), full_page=True)

        await page.goto(await desk.passkeys.invite("ann"))
        await fits("enrol")
        await page.get_by_role("button", name="Add passkey").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Your passkey is in place")
        await fits("enrolled")
        gates = (
            Gate(name="evaluation", passed=False, detail="ready on Friday"),
            Gate(name="budget", passed=True),
        )
        one = desk.room.put(approval(LONG, gates=gates))
        await page.goto(desk.addresses.approval(one.id, one.version))
        await page.get_by_text("The same as JSON").click()
        await fits("approve")
        await phone.refuses()
        await page.get_by_label("Why it is right all the same").fill("It was tested by hand.")
        await page.get_by_role("button", name="Approve with passkey").click()
        await expect(page.get_by_role("status")).to_contain_text("nothing has happened")
        await fits("cancelled")
        await page.goto(desk.addresses.approval("nothing", one.version))
        await fits("nothing")
