"""Who is addressed: tables of what counts as evidence and what only looks like it."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.channels.matrix.addressing import Addressed, addressed, mentions_of
from bot.channels.matrix.content import HTML, spoken
from bot.channels.matrix.markup import MAX_HTML, Markup, pill_of, read_markup
from bot.channels.matrix.relations import NO_RELATION
from policy.event import Command, Target

BOT = "@relay:example.org"
ANN = "@alice:example.org"
BOB = "@bob:example.org"
PILL = f'<a href="https://matrix.to/#/{BOT}">Relay</a>'
OTHER = f'<a href="https://matrix.to/#/{BOB}">Bob</a>'
ABSENT = object()


def find(body: str, html: Any = None, mentions: Any = ABSENT, *, direct: bool = False, user_id: str = BOT) -> Addressed:
    content: dict[str, Any] = {"msgtype": "m.text", "body": body}
    if html is not None:
        content |= {"format": HTML, "formatted_body": html}
    if mentions is not ABSENT:
        content["m.mentions"] = mentions
    said = spoken("m.room.message", content, NO_RELATION)
    return addressed(said, mentions_of(content, content), user_id=user_id, sender=ANN, direct=direct)


def whom(found: Addressed) -> tuple[bool, bool]:
    return found.mentions_self, found.mentions_others


@pytest.mark.parametrize(
    ("mentions", "mine", "others"),
    [
        ({}, False, False),
        ({"user_ids": []}, False, False),
        ({"user_ids": [BOT]}, True, False),
        ({"user_ids": [BOT, BOB]}, True, True),
        ({"user_ids": [BOB]}, False, True),
        ({"user_ids": [ANN]}, False, False),
        ({"user_ids": [ANN, BOT]}, True, False),
        ({"user_ids": ["@Relay:example.org"]}, False, True),
        ({"user_ids": ["relay", "@relay", " @relay:example.org"]}, False, False),
        ({"user_ids": [None, 5, [], {}, BOT]}, True, False),
        ({"user_ids": [None, 5, [BOT], {BOT: BOT}]}, False, False),
        ({"user_ids": BOT}, False, False),
        ({"user_ids": {BOT: True}}, False, False),
        ({"user_ids": None}, False, False),
        ({"room": True}, False, False),
        ({"room": True, "user_ids": [BOT]}, True, False),
    ],
)
def test_mentions_decide_alone_when_they_are_there(mentions: Any, mine: bool, others: bool) -> None:
    assert whom(find(f"{BOT} and @octo:example.org", f"{PILL} and {OTHER}", mentions)) == (mine, others)
    assert whom(find("hello", None, mentions)) == (mine, others)


@pytest.mark.parametrize("mentions", [None, [], "", BOT, 5, True, [BOT]])
def test_mentions_that_are_no_object_are_none_at_all(mentions: Any) -> None:
    assert whom(find("hi", f"{PILL} hi", mentions)) == (True, False)
    assert whom(find("hi", None, mentions)) == (False, False)


@pytest.mark.parametrize(
    "href",
    [
        "https://matrix.to/#/@relay:example.org",
        "http://matrix.to/#/@relay:example.org",
        "HTTPS://Matrix.To/#/@relay:example.org",
        "https://matrix.to/#/%40relay%3Aexample.org",
        "https://matrix.to/#/@relay%3aexample.org",
        "https://matrix.to/#/@relay:example.org?via=example.org",
        " https://matrix.to/#/@relay:example.org\n",
        "matrix:u/relay:example.org",
        "matrix:u/relay%3Aexample.org?action=chat",
        "MATRIX:u/relay:example.org",
    ],
)
def test_a_link_to_the_user_is_a_mention_whatever_it_is_called(href: str) -> None:
    assert pill_of(href) == BOT
    for label in ("Relay", "Bob", BOB, "", "<b>R</b>"):
        assert whom(find("x", f'hi <a class="pill" href="{href}">{label}</a>')) == (True, False)


@pytest.mark.parametrize(
    "href",
    [
        "https://matrix.to/#/!lab:example.org",
        "https://matrix.to/#/!lab:example.org/$p",
        "https://matrix.to/#/#relay:example.org",
        "https://matrix.to/#/relay:example.org",
        "https://matrix.to/#/@relay",
        "https://matrix.to/#/%2540relay:example.org",
        "https://matrix.to/@relay:example.org",
        "https://matrix.to.evil.example/#/@relay:example.org",
        "https://evil.example/#/@relay:example.org",
        "https://evil.example/?https://matrix.to/#/@relay:example.org",
        "matrix:r/relay:example.org",
        "matrix:roomid/relay:example.org",
        "@relay:example.org",
        "mailto:relay@example.org",
        "",
    ],
)
def test_another_link_is_none(href: str) -> None:
    assert pill_of(href) is None
    assert whom(find("x", f'hi <a href="{href}">{BOT}</a>')) == (False, False)


def test_ids_of_links_are_compared_exactly() -> None:
    assert whom(find("x", '<a href="https://matrix.to/#/@Relay:example.org">Relay</a>')) == (False, True)
    assert whom(find("x", '<a href="https://matrix.to/#/@relay:example.org.evil">Relay</a>')) == (False, True)
    assert whom(find("x", f"<a href='https://matrix.to/#/{ANN}'>Relay</a>")) == (False, False)


@pytest.mark.parametrize(
    "html",
    [
        f"<code>{PILL}</code>",
        f"<pre>{PILL}</pre>",
        f"<pre><code>{BOT} do x</code></pre>",
        f"<blockquote>{PILL}</blockquote> agreed",
        f"<blockquote><p>{PILL}</p><blockquote>x</blockquote>{PILL}</blockquote> agreed",
        f"<mx-reply><blockquote>{PILL}</blockquote></mx-reply>agreed",
        f"<MX-Reply>{PILL} {BOT}</MX-Reply>agreed",
        f"<span data-mx-spoiler>{PILL}</span>",
        f'<span data-mx-spoiler="why"><span>x</span>{PILL}</span>',
        f"<span DATA-MX-SPOILER=''>{BOT}</span>",
        f"<code>{PILL}",
        f"<blockquote><b>{PILL}</blockquote2>{PILL}",
        f"<code/>{PILL}",
        f"<code>x</p>{PILL}</code>",
        f"<!-- {PILL} -->",
        f"<!-- {PILL}",
        f"<script>{PILL}</script>",
        f"<style>{BOT}</style>",
        f'<img alt="{BOT}" title="{BOT}">',
        f'<b title="{BOT}">x</b>',
        f"<a href='https://matrix.to/#/{BOT}",
        f"<a href='https://matrix.to/#/{BOT}'",
        "<a name='x' data-href='https://matrix.to/#/@relay:example.org'>Relay</a>",
        f"<a href='#' href='https://matrix.to/#/{BOT}'>Relay</a>",
        f"`{BOT}`",
        f"&gt; {BOT}<br>no",
        "Relay relay @relay relay:example.org @room",
        "@relay:example<b></b>.org.uk",
        f"x{BOT} {BOT}x {BOT}.uk {BOT}:8448",
    ],
)
def test_what_is_shown_and_not_said_addresses_nobody(html: str) -> None:
    assert not find(f"{BOT} x", html).mentions_self


@pytest.mark.parametrize(
    "html",
    [
        f"<code>x</code>{PILL}",
        f"<blockquote>{PILL}</blockquote>{PILL}",
        f"<span data-mx-spoiler>x</span>{PILL}",
        f"<span data-mx-color='#fff'>{PILL}</span>",
        f"<mx-reply>x</mx-reply><p>{BOT}: and?</p>",
        f"<strong>{BOT}</strong>",
        f"a < b and {PILL}",
        f"<3 {PILL}",
        f"<p>{BOT}</p>",
        "@relay&#58;example.org",
        "<a href=https://matrix.to/#/@relay:example.org>x</a>",
        '<a href="https&colon;//matrix.to/#/&commat;relay:example.org">x</a>',
        f"</code></blockquote></a>{PILL}",
        f"<!-- x -->{PILL}<!-->{BOT}",
        f"<!DOCTYPE html><?x?></ >{PILL}",
    ],
)
def test_what_is_said_beside_it_counts(html: str) -> None:
    assert find("x", html).mentions_self


@pytest.mark.parametrize(
    ("body", "mine", "others"),
    [
        (f"{BOT} ping", True, False),
        (f"{BOT}: ping", True, False),
        (f"hi {BOT}", True, False),
        (f"are you there, {BOT}?", True, False),
        (f"ask {BOT}.", True, False),
        (f"({BOT})", True, False),
        (f"<{BOT}>", True, False),
        (f"cc:{BOT}", True, False),
        (f"{BOT}'s logs", True, False),
        (f"one\n{BOT}\ntwo", True, False),
        (f"{BOT} and {BOB}", True, True),
        (f"{BOB}: ping", False, True),
        (f"{BOB}.", False, True),
        ("ask @dave:relay.example.org", False, True),
        (f"I am {ANN}", False, False),
        ("@Relay:example.org", False, True),
        (f"{BOT}:8448", False, True),
        (f"{BOT}.uk", False, True),
        (f"{BOT}-two", False, True),
        (f"{BOT}x", False, True),
        (f"{BOT}_x", False, False),
        (f"{BOT}/x", False, False),
        (f"x{BOT}", False, False),
        (f"x.{BOT}", False, False),
        (f"@{BOT}", False, False),
        (f"https://matrix.to/#/{BOT}", False, False),
        (f"привет{BOT}", False, False),
        (f"{BOT}привет", False, False),
        ("@relay", False, False),
        ("relay: hello", False, False),
        ("Relay, hello", False, False),
        ("@room hello", False, False),
        ("relay@example.org", False, False),
        ("https://git.example.org/team/relay/7", False, False),
    ],
)
def test_without_a_formatted_body_the_full_id_counts_where_it_stands_alone(body: str, mine: bool, others: bool) -> None:
    assert whom(find(body)) == (mine, others)
    assert whom(find(body, "")) == (mine, others)


@pytest.mark.parametrize(
    "body",
    [
        f"> {BOT} please\nno",
        f">{BOT}\nno",
        f"  > {BOT}",
        f"`{BOT}`",
        f"``a ` {BOT}``",
        f"`a\n{BOT}`",
        f"```\n{BOT}\n```",
        f"```sh\n{BOT}",
        f"~~~\n{BOT}\n```\n{BOT}\n~~~",
        f"````\n```\n{BOT}\n````",
        f"x:\n    {BOT}",
        f"\t{BOT}",
    ],
)
def test_code_and_quotes_of_a_plain_body_address_nobody(body: str) -> None:
    assert whom(find(body)) == (False, False)


@pytest.mark.parametrize(
    "body",
    [
        f"> x\n{BOT}",
        f"`x` {BOT} `y`",
        f"it`s {BOT}",
        f"it`s\n\n{BOT}\n\nisn`t",
        f"```\nx\n```\n{BOT}",
        f"```x``` {BOT}",
        f"`` ` {BOT}",
        f"a > {BOT}",
    ],
)
def test_a_plain_body_counts_beside_code_and_quotes(body: str) -> None:
    assert find(body).mentions_self


def test_an_id_with_a_port_or_an_address_is_an_id() -> None:
    for user_id in ("@relay:example.org:8448", "@relay:[::1]:80", "@re/lay+x=y:example.org"):
        assert whom(find(f"hi {user_id}!", user_id=user_id)) == (True, False)
        assert whom(find(f"hi {user_id}!")) == (False, True)
    assert pill_of("https://matrix.to/#/@re%2Flay+x:example.org") == "@re/lay+x:example.org"


# Commands


def command(found: Addressed) -> tuple[str, Target] | None:
    return None if found.command is None else (found.command.name, found.command.target)


MINE = {"user_ids": [BOT]}


@pytest.mark.parametrize(
    ("body", "html", "mentions", "expected"),
    [
        ("!status", None, {}, ("status", Target.NOBODY)),
        ("/status", None, ABSENT, ("status", Target.NOBODY)),
        ("!STATUS now", None, {}, ("status", Target.NOBODY)),
        ("!status\nnow", None, {}, ("status", Target.NOBODY)),
        ("!status", None, MINE, ("status", Target.SELF)),
        (f"!status {BOT}", None, ABSENT, ("status", Target.SELF)),
        (f"!grant {BOB}", None, ABSENT, ("grant", Target.OTHER)),
        (f"!grant {BOB}", None, {"user_ids": [BOB]}, ("grant", Target.OTHER)),
        ("!grant Bob", f"!grant {OTHER}", {"user_ids": [BOB, BOT]}, ("grant", Target.SELF)),
        ("!status", "<p>!status</p>", {}, ("status", Target.NOBODY)),
        ("!my_cmd_x", "!my<em>cmd</em>x", {}, ("my_cmd_x", Target.NOBODY)),
        (f"{BOT} !status", None, ABSENT, ("status", Target.SELF)),
        (f"{BOT}: !status", None, MINE, ("status", Target.SELF)),
        (f"{BOT}, /status", None, MINE, ("status", Target.SELF)),
        (f"{BOT}：!status", None, MINE, ("status", Target.SELF)),
        (f"{BOT}!status", None, MINE, ("status", Target.SELF)),
        ("Relay: !status", f"{PILL}: !status", MINE, ("status", Target.SELF)),
        ("Relay !my_cmd", f"<p> {PILL} !my_cmd</p>", ABSENT, ("my_cmd", Target.SELF)),
        (f"{BOT}: !status", f"{PILL}: !status", MINE, ("status", Target.SELF)),
        (f"[Relay](https://matrix.to/#/{BOT}): !status", f"{PILL}: !status", MINE, ("status", Target.SELF)),
        (f"{BOT}: !status", f"{BOT}: !status", ABSENT, ("status", Target.SELF)),
        (f"{BOT}: !status", f"{BOT}: <b>!status</b>", MINE, ("status", Target.SELF)),
        ("!status", f"<mx-reply>{OTHER}</mx-reply>!status", {}, ("status", Target.NOBODY)),
        ("Relay: !status", f"<mx-reply><code>x</code></mx-reply>{PILL}: !status", MINE, ("status", Target.SELF)),
    ],
)
def test_a_command_stands_at_the_start_or_after_the_bots_own_address(
    body: str, html: str | None, mentions: Any, expected: tuple[str, Target]
) -> None:
    assert command(find(body, html, mentions)) == expected


@pytest.mark.parametrize(
    ("body", "html", "mentions"),
    [
        ("hello", None, MINE),
        (" !status", None, {}),
        ("x !status", None, MINE),
        ("!", None, MINE),
        ("! status", None, MINE),
        ("!!status", None, MINE),
        ("!status!", None, MINE),
        ("/etc/passwd", None, MINE),
        ("!" + "x" * 33, None, MINE),
        ("!статус", None, MINE),
        ("> !status", None, MINE),
        ("`!status`", None, MINE),
        ("```\n!status\n```", None, MINE),
        ("!status", "<code>!status</code>", MINE),
        ("!status", "<pre><code>!status</code></pre>", {}),
        ("!status", "<blockquote>!status</blockquote>", {}),
        ("!status", "<span data-mx-spoiler>!status</span>", {}),
        ("!status", "hello", {}),
        ("!status", "<!-- !status", {}),
        ("Relay: !status", f"{PILL}: <code>!status</code>", MINE),
        (f"{BOT}: !status", f"{BOT}: <code>!status</code>", MINE),
        (f"{BOT}: !status", f"<code>{BOT}</code>: !status", MINE),
        ("Relay: !status", f"<blockquote>{PILL}</blockquote>: !status", MINE),
        ("Relay: !status", None, MINE),
        ("Relay: !status", f"{PILL}: !status", {}),
        (f"{BOT}: !status", None, {}),
        (f"{BOT}.uk: !status", None, MINE),
        ("Bob: !status", f"{OTHER}: !status", ABSENT),
        ("Bob: !status", f"{OTHER}: !status", {"user_ids": [BOB, BOT]}),
        (f"{BOB}: !status", None, ABSENT),
        ("Hi Relay: !status", f"Hi {PILL}: !status", MINE),
    ],
)
def test_what_only_looks_like_a_command_is_none(body: str, html: str | None, mentions: Any) -> None:
    assert command(find(body, html, mentions)) is None


def test_a_command_in_a_direct_chat_is_for_nobody_else() -> None:
    assert command(find(f"!deny {BOB}", direct=True)) == ("deny", Target.NOBODY)
    assert find("!stop", None, MINE, direct=True).command == Command(name="stop", target=Target.SELF)


# Hostile markup


@pytest.mark.parametrize(
    "piece",
    [
        "<", "<!", "<!--", "<a ", "</", "</a", "<a b='", '<a b="', "<?", "<![", "<![CDATA[", "&", "&#", "&#9", "&amp",
        "<a b=", "<a b", "<script>", "<style></", "<b>", "<a/", "<a\n", "<a href='x' ", "<a <", "x<", "<blockquote>",
        "</blockquote>", "<b></i>", "`", "`` `", "@", "@a", f"{BOT} ", f"{BOT}.", "> \n", "```\n", "\n\n", " ", "=", "!a ",
        PILL, "<code></code>", "\t", "<a  =", "-", "@a:a.", "@a:a.-",
    ],
)  # fmt: skip
def test_hostile_text_is_read_in_a_moment_and_raises_nothing(piece: str) -> None:
    hostile = (piece * (MAX_HTML // len(piece) + 1))[:MAX_HTML]
    started = time.process_time()
    find("x", hostile)
    find(f"{BOT} !x {hostile}", f"{PILL} {hostile}"[:MAX_HTML])
    find(f"{hostile} {BOT} !x")
    find(f"!x {hostile}", None, MINE)
    assert time.process_time() - started < 2.0


def test_markup_that_is_too_large_says_nothing() -> None:
    assert whom(find(f"{BOT} x", PILL + "x" * MAX_HTML)) == (False, False)
    assert command(find("!stop", "!stop " + "x" * MAX_HTML)) is None


def test_a_number_that_python_will_not_read_says_nothing() -> None:
    assert read_markup("&#" + "9" * 5000 + ";") == Markup(text="\ufffc", shown="\ufffc")
    assert pill_of("https://matrix.to/#/" + "%" * 100) is None


@given(
    st.lists(
        st.sampled_from(
            ["<", ">", "/", "!", "-", '"', "'", "=", "a", "code", " ", "&", "#", "1", ";", PILL, BOT, "`", "\n"]
        )
    ).map("".join)
    | st.text()
)
def test_any_text_is_read(text: str) -> None:
    find(text, text)
    find(text)
    find(f"!a {text}", text, MINE)
