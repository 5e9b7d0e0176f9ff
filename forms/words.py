"""Closed lists of words that people answer with, as data. All are folded (:func:`forms.folding.fold`).

Languages: English, Russian, Spanish, Bulgarian, German, and French, Italian and Portuguese where people mix them in.
No word may mean two things within one list; a test holds that.
"""

from typing import Final

# Decisions. The weak ones count only where the question itself is answered (FORM-14).
STRONG_YES: Final = frozenset(
    {
        *("yes", "y", "yep", "yeah", "yup", "true", "on", "1", "correct", "agreed", "approve", "approved", "confirm"),
        *("confirmed", "accept", "accepted", "affirmative", "enable", "enabled"),
        *("да", "д", "ага", "верно", "согласен", "согласна", "подтверждаю", "одобряю", "вкл", "включено", "истина"),
        *("si", "s", "correcto", "confirmo", "de acuerdo", "verdadero", "acepto"),
        *("съгласен", "съгласна", "потвърждавам", "одобрявам", "вярно"),
        *("ja", "j", "jawohl", "stimmt", "richtig", "einverstanden", "wahr", "bestatige", "an", "ein"),
        *("oui", "vrai", "d'accord", "vero", "sim"),
        *("✅", "✔", "☑", "✓", "[x]"),
    }
)
WEAK_YES: Final = frozenset(
    {
        *("ok", "okay", "k", "sure", "fine", "of course", "sounds good", "ок", "окей", "хорошо", "конечно", "ладно"),
        *("разумеется", "vale", "claro", "bueno", "por supuesto", "добре", "разбира се", "gut", "klar", "naturlich"),
        *("bien sur", "va bene", "certo", "\U0001f44d", "\U0001f44c", "\U0001f197", "+", "+1"),
    }
)
STRONG_NO: Final = frozenset(
    {
        *("no", "n", "nope", "nah", "false", "off", "0", "deny", "denied", "decline", "declined", "reject", "rejected"),
        *("refuse", "negative", "disable", "disabled", "disagree"),
        *("нет", "н", "неа", "неверно", "не согласен", "не согласна", "отклоняю", "отказ", "выкл", "выключено", "ложь"),
        *("incorrecto", "falso", "rechazo", "en desacuerdo"),
        *("не", "отхвърлям", "отказвам", "не съм съгласен", "не съм съгласна", "невярно"),
        *("nein", "falsch", "ablehnen", "abgelehnt", "aus", "nicht einverstanden"),
        *("non", "faux", "nao"),
        *("❌", "✖", "✗", "✘", "☐", "❎", "\U0001f6ab", "[ ]", "[]"),
    }
)
WEAK_NO: Final = frozenset({"\U0001f44e", "-1"})
# Strong ones that, as the words of an option, can name a thing of their own: a size, a figure, a state, what is done.
OTHERWISE_MEANT: Final = frozenset(
    {
        *("y", "s", "j", "n", "д", "н", "1", "0", "on", "off", "вкл", "выкл", "включено", "выключено", "an", "ein"),
        *("aus", "enable", "enabled", "disable", "disabled", "correct", "negative"),
    }
)
YES: Final = STRONG_YES | WEAK_YES
NO: Final = STRONG_NO | WEAK_NO
# Words that change nothing beside a yes or a no.
POLITE: Final = frozenset(
    {
        *(
            "please",
            "thanks",
            "thank you",
            "пожалуйста",
            "спасибо",
            "por favor",
            "gracias",
            "моля",
            "благодаря",
            "мерси",
        ),
        *("bitte", "danke", "merci", "grazie", "s'il vous plait", "per favore", "obrigado", "obrigada"),
    }
)
# Whole lines around an answer that are no answer.
GREETINGS: Final = POLITE | frozenset(
    {
        *("hi", "hello", "hey", "good morning", "many thanks", "thanks a lot", "thank you very much", "cheers"),
        *("привет", "здравствуйте", "добрый день", "доброе утро", "добрый вечер", "большое спасибо", "спасибо большое"),
        *(
            "hola",
            "buenos dias",
            "buenas tardes",
            "muchas gracias",
            "здравей",
            "здравейте",
            "добър ден",
            "благодаря ви",
        ),
        *("hallo", "guten tag", "guten morgen", "vielen dank", "danke schon", "bonjour", "ciao", "ola", "moin"),
    }
)
# "Nothing" where null can be chosen, "none of them" where a list may be empty; "all of them".
NOTHING: Final = frozenset(
    {
        *(
            "none",
            "null",
            "nothing",
            "n/a",
            "empty",
            "-",
            "ничего",
            "пусто",
            "не указано",
            "ninguno",
            "ninguna",
            "nada",
        ),
        *(
            "нищо",
            "няма",
            "празно",
            "keine",
            "keiner",
            "keines",
            "nichts",
            "leer",
            "aucun",
            "aucune",
            "rien",
            "nessuno",
        ),
        *("nessuna", "niente", "nenhum", "nenhuma"),
    }
)
ALL: Final = frozenset(
    {
        *("all", "all of them", "everything", "все", "все варианты", "todos", "todas", "todo", "всички"),
        *("всичко", "alle", "alles", "tous", "toutes", "tutti", "tutte"),
    }
)
AND: Final = frozenset({"and", "&", "+", "и", "y", "e", "und", "et"})
# "Option 2": a number that can only be the place in the list.
_PLACE: Final = "# no no. nr nr. option number вариант номер пункт opcion numero опция nummer"  # "№" folds to "no"
PLACE: Final = frozenset(_PLACE.split())

_MONTHS: Final = (
    "january jan январь января янв enero ene януари яну januar janner janvier janv gennaio gen janeiro",
    "february feb февраль февраля фев февр febrero февруари februar fevrier fev fevr febbraio fevereiro",
    "march mar март марта мар marzo marz mars marco mrz",
    "april apr апрель апреля апр abril abr април avril avr aprile",
    "may май мая mayo mai maggio mag maio",
    "june jun июнь июня июн junio юни juni juin giugno giu junho",
    "july jul июль июля июл julio юли juli juillet juil luglio lug julho",
    "august aug август августа авг agosto ago aout",
    "september sep sept сентябрь сентября сен сент septiembre setiembre септември септ septembre settembre set",
    "october oct октябрь октября окт octubre октомври oktober okt octobre ottobre ott outubro",
    "november nov ноябрь ноября ноя нояб noviembre ноември ноем novembre novembro",
    "december dec декабрь декабря дек diciembre dic декември dezember dez decembre dicembre dezembro",
)
MONTHS: Final = {word: place for place, words in enumerate(_MONTHS, 1) for word in words.split()}
_WEEKDAYS: Final = (  # Monday is 0, as in datetime
    "monday mon понедельник пн lunes lun понеделник montag mo lundi lunedi",
    "tuesday tue tues вторник вт martes dienstag di mardi martedi",
    "wednesday wed среда среду ср miercoles mie сряда mittwoch mi mercredi mercoledi mer",
    "thursday thu thur thurs четверг чт jueves jue четвъртък donnerstag do jeudi jeu giovedi gio",
    "friday fri пятница пятницу пт viernes vie петък freitag fr vendredi ven venerdi",
    "saturday sat суббота субботу сб sabado sab събота samstag sonnabend sa samedi sam sabato",
    "sunday sun воскресенье вс domingo dom неделя нд sonntag so dimanche dim domenica",
)
WEEKDAYS: Final = {word: place for place, words in enumerate(_WEEKDAYS) for word in words.split()}
DAYS_FROM_TODAY: Final = {
    **dict.fromkeys(("today", "сегодня", "hoy", "днес", "heute", "aujourd'hui", "oggi", "hoje"), 0),
    **dict.fromkeys(("tomorrow", "завтра", "manana", "утре", "morgen", "demain", "domani", "amanha"), 1),
    **dict.fromkeys(("yesterday", "вчера", "ayer", "gestern", "hier", "ieri", "ontem"), -1),
    **dict.fromkeys(
        ("day after tomorrow", "the day after tomorrow", "послезавтра", "pasado manana", "вдругиден", "ubermorgen"), 2
    ),
    **dict.fromkeys(
        (
            "day before yesterday",
            "the day before yesterday",
            "позавчера",
            "anteayer",
            "завчера",
            "онзи ден",
            "vorgestern",
        ),
        -2,
    ),
}
# Words inside a written date that carry nothing: "the 3rd of April", "3 de abril", "3 апреля 2026 г."
DATE_FILLERS: Final = frozenset(
    [
        "the",
        "of",
        "on",
        "st",
        "nd",
        "rd",
        "th",
        "de",
        "del",
        "el",
        "dia",
        "г",
        "года",
        "год",
        "г.",
        "am",
        "den",
        "der",
        "er",
        "le",
        "la",
        "il",
    ]
)
BEFORE_TIME: Final = frozenset(["at", "um", "в", "во", "a", "alle", "las", "la", "las", "в", "gegen", "om"]) - {"gegen"}
HOUR_WORDS: Final = frozenset(
    [
        "uhr",
        "h",
        "hrs",
        "hr",
        "hours",
        "hour",
        "o'clock",
        "oclock",
        "час",
        "часа",
        "часов",
        "ч",
        "horas",
        "hora",
        "часа",
        "heures",
        "heure",
    ]
)
MINUTE_WORDS: Final = frozenset(["min", "mins", "minutes", "минут", "минуты", "мин", "minuten", "minutos", "минути"])
# Parts of the day, in which an hour of twelve falls; "дня" and "afternoon" begin at noon, "ночи" spans midnight.
_FORENOON: Final = "forenoon"
_AFTERNOON: Final = "afternoon"
_NIGHT: Final = "night"
DAY_PARTS: Final = {
    **dict.fromkeys(("am", "a.m", "a. m", "in the morning", "утра", "de la manana", "сутринта", "morgens"), _FORENOON),
    **dict.fromkeys(("vormittags", "du matin", "преди обяд"), _FORENOON),
    **dict.fromkeys(("pm", "p.m", "p. m", "in the afternoon", "дня", "de la tarde", "следобед"), _AFTERNOON),
    **dict.fromkeys(("nachmittags", "de l'apres-midi"), _AFTERNOON),
    **dict.fromkeys(("in the evening", "вечера", "вечерта", "abends", "du soir"), _AFTERNOON),
    **dict.fromkeys(("at night", "ночи", "de la noche", "през нощта", "nachts"), _NIGHT),
}
NOON: Final = frozenset({"noon", "midday", "полдень", "mediodia", "al mediodia", "пладне", "mittag", "mittags", "midi"})
MIDNIGHT: Final = frozenset({"midnight", "полночь", "medianoche", "полунощ", "mitternacht", "minuit"})
# Words around and between the ends of a range.
RANGE_FROM: Final = frozenset(
    [
        "from",
        "between",
        "since",
        "start",
        "begin",
        "с",
        "со",
        "от",
        "начало",
        "de",
        "del",
        "desde",
        "inicio",
        "von",
        "vom",
        "ab",
        "zwischen",
        "beginn",
        "du",
        "dal",
    ]
)
RANGE_TO: Final = frozenset(
    [
        "to",
        "till",
        "til",
        "until",
        "through",
        "thru",
        "end",
        "and",
        "до",
        "по",
        "и",
        "конец",
        "a",
        "al",
        "hasta",
        "y",
        "fin",
        "край",
        "bis",
        "und",
        "ende",
        "au",
        "jusqu'au",
        "fino",
    ]
)

# Units and currencies: a group is one thing by its many names. A unit is dropped only where the field itself names it.
UNITS: Final = tuple(
    frozenset(group.split())
    for group in (
        "€ eur euro euros евро",
        "$ usd us$ dollar dollars доллар доллара долларов долар долара dolares",
        "£ gbp pound pounds sterling фунт фунтов libras pfund",
        "₽ rub rur руб рубль рубля рублей rubles rublos rubel р",
        "лв bgn lev leva лев лева lew",
        "¥ jpy yen иена иен",
        "chf franken fr. sfr",
        "₴ uah грн гривна гривен",
        "zł pln zloty",
        "% percent per cent pct процент процента процентов prozent porcentaje",
        "kg kgs kilogram kilograms kilogramm kilo kilos кг килограмм килограмма килограммов килограма kilogramos",
        "g gram grams gramm г грамм граммов грама gramos",
        "t ton tons tonne tonnes т тонн тонны tonnen toneladas",
        "km kilometer kilometers kilometre kilometres км километр километров километра kilometros",
        "m meter meters metre metres м метр метров метра metros",
        "cm centimeter centimeters centimetre centimetres см сантиметр сантиметров zentimeter centimetros",
        "mm millimeter millimeters мм миллиметр миллиметров milimetros",
        "l liter liters litre litres л литр литров литра litros",
        "h hr hrs hour hours ч час часа часов stunde stunden std hora horas",
        "min mins minute minutes мин минута минуты минут minuten minuto minutos минути",
        "s sec secs second seconds сек секунда секунды секунд sekunde sekunden segundo segundos секунди",
        "day days день дня дней tag tage tagen dia dias ден дни",
        "week weeks неделя недели недель woche wochen semana semanas седмица седмици",
        "month months месяц месяца месяцев monat monate monaten mes meses месец месеца месеци",
        "year years год года лет jahr jahre jahren ano anos година години",
        "kb kilobyte kilobytes кб",
        "mb megabyte megabytes мб",
        "gb gigabyte gigabytes гб",
        "tb terabyte terabytes тб",
        "pcs pc piece pieces шт штук штука штуки stuck stk unidades броя бр",
        "people persons person человек людей personen personas души",
    )
)
