"""What the agent of ``discreet demo`` may have done: commands as an admin lists them in ``config.yaml`` (CMD-1)."""

from collections.abc import Mapping
from typing import Final

from bot.config.commands import Command, CommandRule, HandoverAction, ObjectTable, Readers, TableObject
from policy.decision import Audience

_ANYWHERE: Final = frozenset({Audience.EXTERNAL, Audience.INTERNAL, Audience.OPERATOR})
_CARLA, _CARLOS = (Readers(people=frozenset({name})) for name in ("carla", "carlos"))
_BOOKINGS: Final = {
    "b-20": TableObject(display="Friday at 20:00", readers=_CARLA, fields={"day": "friday"}),
    "b-19": TableObject(display="Tonight at 19:00", readers=_CARLA, fields={"day": "today"}),
    "b-12": TableObject(display="Sunday at 12:00", readers=_CARLOS, fields={"day": "sunday"}),
}
COMMANDS: Final[Mapping[str, Command]] = {
    "call_off": Command(
        name="call_off",
        description="Calls a booking off.",
        input_description="The id of one booking.",
        title={
            "en": "Call the booking off",
            "de": "Reservierung absagen",
            "es": "Anular la reserva",
            "ru": "Отменить бронь",
            "bg": "Отмяна на резервацията",
        },
        audiences=_ANYWHERE,
        objects=ObjectTable(objects=_BOOKINGS),
        rules=(
            CommandRule(
                code="too_late",
                when={"day": frozenset({"today"})},
                reason={
                    "en": "It is too late for today.",
                    "de": "Für heute ist es zu spät.",
                    "es": "Para hoy es demasiado tarde.",
                    "ru": "На сегодня уже поздно.",
                    "bg": "За днес е твърде късно.",
                },
            ),
        ),
        action=HandoverAction(),
    ),
    "person": Command(
        name="person",
        description="Hands the conversation over to a person. The text says what is needed.",
        title={"en": "Call a person"},
        audiences=_ANYWHERE,
        action=HandoverAction(),
    ),
}
