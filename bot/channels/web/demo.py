"""The stage of ``discreet demo``: rooms, people, and things to try."""

from importlib.resources import files

from bot.channels.web.people import Member, Room
from bot.channels.web.views import Try

DESK = "demo"
BOT_NAME = "desk"

MEMBERS = (
    Member(id="carla", name="Carla (customer)"),
    Member(id="carlos", name="Carlos (customer)", language="es"),
    Member(id="olga", name="Olga (operator)", operator=True),
    Member(id="otto", name="Otto (colleague)", language="de"),
)

ROOMS = (
    Room(id="customer", title="Customer room", audience="external", members=("carla", "carlos", "olga")),
    Room(id="operators", title="Operators' room", audience="internal", members=("olga", "otto")),
    Room(id="private", title="Private chat", audience="external", members=("carla",), direct=True),
)

THINGS_TO_TRY = (
    Try(
        title="Talk among people",
        hint="Nobody asks the desk, so nothing happens: no model, no typing sign. The badge says why.",
        room="customer",
        person="carla",
        text="Shall we meet at noon? The place by the river is nice.",
    ),
    Try(
        title="Ask the desk",
        hint="A mention is consent. In the customer room people read the answer and nothing else.",
        room="customer",
        person="carla",
        text="@desk what are your opening hours?",
    ),
    Try(
        title="Book a table",
        hint="The answer is a card. Tap a button: the desk gets its value, not its words.",
        room="customer",
        person="carlos",
        text="@desk book a table",
    ),
    Try(
        title="Ask inside",
        hint="In the operators' room progress and operational facts come along. Ask the same in the customer room.",
        room="operators",
        person="olga",
        text="@desk status",
    ),
    Try(
        title="Be asked back",
        hint="The desk asks with a form: fill in the card, or reply with lines such as version: 1.2.3.",
        room="customer",
        person="carla",
        text="@desk release",
    ),
    Try(
        title="Let it break",
        hint="The agent crashes. The customer reads one plain sentence; operators get a report; nobody sees the error.",
        room="customer",
        person="carla",
        text="@desk break",
    ),
    Try(
        title="Ask for a price",
        hint="Nothing goes to the customer. The draft stands in the operators' room: look at it and approve as Olga.",
        room="customer",
        person="carla",
        text="@desk what does a wedding for 40 cost?",
    ),
    Try(
        title="Ask for another price",
        hint="While the draft waits, this changes it: the buttons of the one before are void.",
        room="customer",
        person="carla",
        text="@desk and a wedding for 60?",
    ),
    Try(
        title="Tempt the desk",
        hint="The agent tells another customer's secret. It is stopped; operators get a report without the secret.",
        room="customer",
        person="carlos",
        text="@desk who celebrates with you?",
    ),
    Try(
        title="Be understood",
        hint="Two questions that build on each other. Change your mind: reply to the first once you have answered it.",
        room="customer",
        person="carla",
        text="@desk a tasting menu, please",
    ),
)


def policy_text() -> str:
    """The demo's policy file."""
    return files(__package__).joinpath("demo_policy.yaml").read_text(encoding="utf-8")
