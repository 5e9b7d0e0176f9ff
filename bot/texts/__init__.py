"""What the gateway itself says to people: gettext catalogues in five languages (OPS-5).

English stands in the code, by key (:mod:`bot.texts.sentences`); the other languages in ``locales``. After a change of
a sentence ``python -m bot.texts.catalogues`` brings the catalogues up to date; what it marks fuzzy wants a translator.
"""
