"""What an answer is about, and whether somebody has to see it first."""

from datetime import timedelta

import pytest

from policy.autonomy import Assessment, Detectors, assess, declared_as
from policy.content import DRAFT_ONLY, ContentClass, Detector, HardStop
from policy.decision import Audience
from policy.detectors import PACKAGE
from policy.record import Entry, ReferenceFlaw
from policy.ruleset import Access, Autonomy, ChannelPolicy
from tests.unit.policy.builders import NOW

DETECTORS = Detectors(PACKAGE)
C, H = ContentClass, HardStop

RAISED = {
    C.PRICES: [
        "12,50 €", "€12.50", "€ 12", "USD 1 200", "1.234,56 EUR", "1 200,00 EUR", "1'200 CHF", "CHF 12.-", "20 лв.", "20 лв",
        "500 руб.", "500 рублей", "12 тыс. руб.", "5 $", "$5", "US$ 5", "R$ 10", "12 zł", "100 kr", "12 euros", "20 Euro",
        "5 dólares", "3 долара", "40 лева", "1 200,00 лева", "€12k", "5 Mio. €", "₽500", "100 eur", "50 cents", "12,- €",
        "ten euros", "10 % off", "10% Rabatt", "descuento del 10 %", "скидка 10%", "отстъпка 10%", "The price is twelve.",
        "Der Preis beträgt zwölf.", "1\u00a0200\u202f€",
    ],
    C.CONTRACT: [
        "We hereby agree to it.", "Force majeure applies", "the contract shall end", "расторгнуть договор",
        "rescindir el contrato", "прекратяване на договора", "die Vertragsstrafe", "clause 4.2 of the contract",
    ],
    C.LEGAL: [
        "We will take legal action.", "infringement of it", "подать в суд", "acciones legales", "съдебен иск",
        "rechtliche Schritte", "our lawyers say",
    ],
    C.PUBLIC_POST: ["For immediate release", "пресс-релиз", "nota de prensa", "прессъобщение", "Pressemitteilung"],
    C.UNVERIFIED_CLAIM: [
        "We guarantee it.", "It is 100 % safe", "мы гарантируем", "garantizamos", "гарантираме", "wir garantieren",
    ],
    C.TECHNICAL_FIGURE: [
        "It takes 200 ms", "300 Mbps", "99.9 % uptime", "3x faster", "120 мс", "5 kW", "latency is 3", "40 GB/s",
    ],
    H.SIGNING: [
        "I hereby sign it", "signed on behalf of Acme", "/s/ Ann Example", "I've signed the contract", "подписано от имени",
        "я подписал договор", "firmado en nombre de", "he firmado el contrato", "подписано от името на",
        "подписах договора", "hiermit unterzeichnen wir", "ich habe den Vertrag unterschrieben",
    ],
    H.MOVING_MONEY: [
        "I have transferred 500 EUR", "I transferred the money", "We've just refunded 20 of them", "We have refunded you.",
        "I have paid your invoice", "we wired €500", "я перевёл деньги", "мы перевели 500 евро", "he transferido el dinero",
        "We have paid you EUR 20", "I have sent you 20 euros", "I have sent the money", "we wired 500 to your account",
        "мы перевели 5 000 рублей", "мы перевели вам 300.", "преведохме 20 лева", "hemos transferido 300 a su cuenta",
        "Wir haben 20 überwiesen.", "Wir haben 20 CHF erstattet.",
        "преведох сумата", "ich habe überwiesen", "Wir haben Ihnen heute 500 Euro überwiesen.", "платёж проведён",
    ],
    H.ENTERING_CREDENTIALS: [
        "I logged in with your password", "I have entered your password", "Reply with your password", "пришлите пароль",
        "envíeme su contraseña", "изпратете ми паролата", "senden Sie uns Ihr Passwort",
        "Ich habe mich heute mit Ihrem Passwort angemeldet",
    ],
    H.PUBLISHING_PACKAGES: [
        "run npm publish", "I published 1.2 to PyPI", "we have uploaded it to npm", "twine upload dist",
        "wir haben es auf npm veröffentlicht", "я опубликовал пакет в PyPI",
    ],
    H.PASSING_ON_INFORMATION: [
        "another client of ours pays less", "other customers' prices", "другой наш клиент", "otro cliente nuestro",
        "друг наш клиент", "ein anderer Kunde von uns",
    ],
}  # fmt: skip
ROUTINE = [
    "",
    "We are open from 10:00 to 18:00, on 12/10/2026.",
    "I will find out the price and come back to you.",
    "Your contract number is 12345; the meeting is in room 12.",
    "It is 25 °C; the file has 2 MB; bring 3 of them; 5 pounds of flour.",
    "Order 550e8400-e29b-41d4-a716-446655440000, article ACME-2210, EUR-Lex, AMD 5600, PHP 8, ALL 20 of you.",
    "Thank you, it is signed for delivery. Please pay at the desk. Call +49 30 1234567.",
    "Der Vertrag liegt bei, wir melden uns am 12.10. um 9 Uhr mit dem Angebot.",
    "Мы открыты с 10 до 18. Договор отправим завтра, встреча в кабинете 12.",
    "Abrimos de 10 a 18. Le enviamos el contrato mañana, sala 12.",
    "Работим от 10 до 18. Договорът ще изпратим утре, зала 12.",
    "npm publishing is a topic of its own; see https://example.com/prices.pdf",
    "The court is on the left; the judge of the contest is Ann.",
    "1 200 visitors, 99 % of them happy",
    "Er kommt mit 3 Kollegen, Raum 4.",
    "I have transferred you to a colleague and signed you up for the tour; I have paid attention to it.",
    "Once you have entered your password, click OK. The library was published on PyPI in 2020.",
    "Я перевёл текст и подписал вас на рассылку. Введите пароль на сайте.",
    "He transferido su llamada; преведох текста; подписах ви за новини.",
    "I have sent you the invoice by mail. We have sent 3 parcels. We have paid 2 visits to the site. I transferred 4 calls.",
    "We have refunded nobody; we paid 100 % attention. The contract will be sent by post; the agreement will arrive soon.",
    "Мы перевели 5 страниц договора. Я перевёл 3 статьи. Преведох 3 страници.",
    "Hemos pagado 3 visitas. He transferido 2 llamadas.",
    "Wir haben 20 Patienten überwiesen. Ich habe gestern 3 Stunden bezahlt geparkt.",
    "Wir haben Sie an einen Facharzt überwiesen. Haben Sie Ihr Passwort eingegeben?",
]


def place(audience=Audience.EXTERNAL, **autonomy):
    return ChannelPolicy(audience=audience, access=Access.ALLOW, autonomy=Autonomy(**autonomy))


def look(text="hello", *, declared="", references=(), settings=None, needs=(), entries=(), counterparty=None):
    return assess(
        [text],
        declared=declared,
        references=references,
        settings=settings or place(),
        detectors=DETECTORS,
        needs_reference=frozenset(needs),
        entries={entry.id: entry for entry in entries},
        counterparty=counterparty,
        now=NOW,
    )


@pytest.mark.parametrize(("topic", "text"), [(topic, text) for topic, texts in RAISED.items() for text in texts])
def test_words_raise_the_class_whatever_is_declared(topic, text):
    assessed = look(f"So: {text} Best regards", declared="routine")
    assert topic in assessed.classes | assessed.stops
    assert assessed.draft or assessed.blocked
    assert topic.value in assessed.codes


@pytest.mark.parametrize("text", ROUTINE)
def test_ordinary_words_are_routine(text):
    assert look(text) == Assessment(classes=frozenset({C.ROUTINE}))


def test_everything_that_can_be_raised_to_has_examples():
    assert set(RAISED) == DRAFT_ONLY | set(HardStop)


@pytest.mark.parametrize("topic", [*ContentClass, *HardStop])
def test_an_agent_can_declare_each_class_and_each_hard_stop(topic):
    assert declared_as(topic.value) is topic
    assessed = look(declared=topic.value)
    assert assessed.blocked is (topic in HardStop)
    assert assessed.draft is (topic in DRAFT_ONLY)


def test_a_class_that_nobody_knows_is_an_unverified_claim():
    assert declared_as("harmless") is C.UNVERIFIED_CLAIM
    assert declared_as("") is C.ROUTINE
    assert look(declared="harmless").draft


def test_what_is_declared_is_never_lowered():
    assert look("hello", declared="legal").classes == {C.LEGAL}
    assert look("12 €", declared="legal").classes == {C.LEGAL, C.PRICES}


def test_inside_words_raise_nothing_and_a_declared_hard_stop_holds():
    inside = place(Audience.INTERNAL)
    assert not look("12 €", settings=inside).draft
    assert not look("12 €", declared="prices", settings=inside).draft
    assert not look("I hereby sign", settings=inside).blocked
    assert look(declared="signing", settings=inside).blocked


@pytest.mark.parametrize("audience", list(Audience))
def test_where_every_answer_is_a_draft_it_is_one_for_any_reader(audience):
    assert look(settings=place(audience, automatic=False)).draft
    assert look(settings=place(audience, draft_only=DRAFT_ONLY | {C.ROUTINE})).draft


FACT = Entry(id="hours")
ACMES = Entry(id="price", counterparties=frozenset({"acme"}), classes=frozenset({C.PRICES}))
OLD = Entry(id="old", expires_at=NOW)
YOUNG = Entry(id="young", expires_at=NOW + timedelta(seconds=1))


@pytest.mark.parametrize(
    ("references", "counterparty", "flaw"),
    [
        (["hours", "young"], None, None),
        (["price"], "acme", None),
        (["nothing"], None, ReferenceFlaw.UNKNOWN),
        (["old"], None, ReferenceFlaw.EXPIRED),
        (["price"], None, ReferenceFlaw.FOREIGN),
        (["hours", "price"], "other", ReferenceFlaw.FOREIGN),
    ],
)
def test_an_unknown_expired_or_foreign_source_blocks(references, counterparty, flaw):
    assessed = look(references=references, counterparty=counterparty, entries=[FACT, ACMES, OLD, YOUNG])
    assert assessed.flaws == ({flaw} if flaw else set())
    assert assessed.blocked is (flaw is not None)
    assert assessed.codes == ((flaw.value,) if flaw else ())


def test_an_answer_of_a_class_that_needs_a_source_and_has_none_is_an_unverified_claim():
    assessed = look(needs=[C.ROUTINE])
    assert assessed.classes == {C.UNVERIFIED_CLAIM}
    assert assessed.draft
    assert not assessed.blocked
    assert not look(needs=[C.ROUTINE], references=["hours"], entries=[FACT]).draft


def test_a_source_counts_for_its_own_classes():
    assessed = look(needs=[C.ROUTINE], references=["price"], entries=[ACMES], counterparty="acme")
    assert assessed.flaws == {ReferenceFlaw.MISSING}
    told = look("12 €", needs=[C.PRICES], references=["price"], entries=[ACMES], counterparty="acme")
    assert told.flaws == set()
    assert told.classes == {C.PRICES}


def test_detectors_add_up_and_their_words_are_found_whole_or_with_any_ending():
    detectors = Detectors(
        (
            Detector(raises=C.PRICES, words=("Sonder-Tarif", "rebate*", "C++")),
            Detector(raises=C.PRICES, patterns=("offer [0-9]+",), words=("  ", "*")),
            Detector(raises=C.LEGAL, words=("rebate",), amounts=True),
        )
    )
    assert detectors.found("our SONDER-TARIF!") == {C.PRICES}
    assert detectors.found("rebates") == {C.PRICES}
    assert detectors.found("a rebate") == {C.PRICES, C.LEGAL}
    assert detectors.found("prerebate") == set()
    assert detectors.found("we know C++.") == {C.PRICES}
    assert detectors.found("OFFER 12") == {C.PRICES}
    assert detectors.found("5 €") == {C.LEGAL}
    assert Detectors(()).found("5 €") == set()
