"""What the pages say, in English, by key: what the catalogues translate (OPS-5).

A sentence may hold names in braces. Limits stand after a colon, so that no language has to count them.
"""

from typing import Final

from bot.pages.passkey_words import APPROVE, ENROL, PASSKEY, PASSKEY_NOTICES

FORM: Final[dict[str, str]] = {
    "page.title": "A question for you",
    "page.title_wrong": "Please look again: {title}",
    "page.required": "required",
    "page.optional_none": "No answer",
    "page.choose": "Please choose",
    "page.yes": "Yes",
    "page.no": "No",
    "page.none": "None",
    "page.several": "You can choose several.",
    "page.from": "From",
    "page.to": "To",
    "page.example": "For example: {example}",
    "page.zone": "Time zone: {zone}",
    "page.masked": "It is not shown while you type, and it is never shown again.",
    "page.retype": "For your safety this has to be typed again.",
    "page.which": "Which of these do you mean?",
    "page.send": "Send",
    "page.until": "Please answer by {time}.",
    "page.problems": "Please look at this again",
    "page.unsent": "Your answer could not be saved just now. Everything you wrote is still here: "
    "please send it again in a minute.",
    "page.kept": "This has already been filled in here. Please check it and send it.",
}

LIMITS: Final[dict[str, str]] = {
    "page.limit.at_least": "At least: {limit}",
    "page.limit.at_most": "At most: {limit}",
    "page.limit.between": "From {low} to {high}",
    "page.limit.more_than": "More than: {limit}",
    "page.limit.less_than": "Less than: {limit}",
    "page.limit.step": "In steps of: {limit}",
    "page.limit.places": "Decimal places: at most {limit}",
    "page.limit.longest": "Characters: at most {limit}",
    "page.limit.shortest": "Characters: at least {limit}",
    "page.limit.length": "Characters: exactly {limit}",
    "page.limit.fewest": "Choices: at least {limit}",
    "page.limit.most": "Choices: at most {limit}",
    "page.limit.exactly": "Choices: exactly {limit}",
}

ERRORS: Final[dict[str, str]] = {
    "page.error.missing_required": "An answer is needed here.",
    "page.error.not_an_integer": "Please write a whole number.",
    "page.error.not_a_number": "Please write a number.",
    "page.error.not_a_boolean": "Please choose one of the two.",
    "page.error.not_a_choice": "Please choose from the list.",
    "page.error.below_minimum": "This is too small. The smallest is: {limit}",
    "page.error.above_maximum": "This is too large. The largest is: {limit}",
    "page.error.not_above_minimum": "This is too small. It has to be more than: {limit}",
    "page.error.not_below_maximum": "This is too large. It has to be less than: {limit}",
    "page.error.not_a_multiple": "This does not fit. It goes in steps of: {limit}",
    "page.error.too_short": "This is too short. Characters, at least: {limit}",
    "page.error.too_long": "This is too long. Characters, at most: {limit}",
    "page.error.pattern_mismatch": "This does not have the form that is asked for.",
    "page.error.invalid_date": "Please give a date that exists.",
    "page.error.invalid_time": "Please give a time.",
    "page.error.invalid_datetime": "Please give a date and a time.",
    "page.error.invalid_email": "Please give an e-mail address, such as name@example.org",
    "page.error.invalid_uri": "Please give a web address that begins with https://",
    "page.error.too_few": "Please choose more. At least: {limit}",
    "page.error.too_many": "Please choose fewer. At most: {limit}",
    "page.error.duplicate_item": "Please choose each one only once.",
    "page.error.duplicate_field": "There are two answers here. Please give one.",
    "page.error.wrong_order": "The beginning has to come before the end.",
    "page.error.incomplete_range": "Please give both the beginning and the end.",
    "page.error.ambiguous_number": "This can be read in two ways. Please say which one you mean.",
    "page.error.ambiguous_date": "This can be more than one date. Please say which one you mean.",
    "page.error.ambiguous_time": "This can be more than one time. Please say which one you mean.",
    "page.error.ambiguous_datetime": "This can be more than one time. Please say which one you mean.",
    "page.error.ambiguous_local_time": "The clocks are put back then, and this time comes twice. "
    "Please say which one you mean.",
    "page.error.nonexistent_local_time": "The clocks are put forward then, and there is no such time. "
    "Please choose another one.",
    "page.error.unknown_timezone": "The time zone of this question is not known here. "
    "Please add the offset, such as 10:00+01:00",
    "page.error.other": "This can't be taken as it is.",
}

CONFIRM: Final[dict[str, str]] = {
    "page.confirm.title": "Please confirm",
    "page.confirm.sentence": "This question is important. Nothing is sent until you confirm it.",
    "page.confirm.nothing": "You say yes to what is asked above.",
    "page.confirm.changed": "The answer has been changed since you saw it. Please look at it again.",
    "page.confirm.button": "Confirm and send",
    "page.confirm.change": "Change the answer",
    "page.confirm.masked": "hidden",
    "page.confirm.unanswered": "not answered",
}

NOTICES: Final[dict[str, str]] = {
    "page.taken.title": "Thank you",
    "page.taken.sentence": "Your answer has been sent. You can close this page.",
    "page.taken.what": "What you sent",
    "page.taken.close": "Close",
    "page.lost.title": "Somebody was faster",
    "page.lost.sentence": "Another answer came first and counts. What you have just sent was not used.",
    "page.answered.title": "Already answered",
    "page.answered.sentence": "This question has its answer, and there is nothing left to do. Thank you.",
    "page.expired.title": "Too late for this one",
    "page.expired.sentence": "The time for this question is over. If it still matters, please write in the chat.",
    "page.cancelled.title": "No longer needed",
    "page.cancelled.sentence": "This question was taken back, so no answer is needed. Thank you all the same.",
    "page.unknown.title": "Nothing here",
    "page.unknown.sentence": "There is no question behind this link. "
    "Please check that it is complete, or ask in the chat for a new one.",
    "page.not_yours.title": "This one is for somebody else",
    "page.not_yours.sentence": "Another person is asked here, so your answer was not used.",
    "page.unproven.title": "Please open it again",
    "page.unproven.sentence": "Telegram could not vouch for you any more. "
    "Please go back to the chat and open the form from there once more.",
    "page.hasty.title": "One moment, please",
    "page.hasty.sentence": "That was a lot at once. Please try again in a minute.",
    "page.too_large.title": "That is too much",
    "page.too_large.sentence": "The answer is larger than can be taken here. Please go back and shorten it.",
    "page.malformed.title": "That did not work",
    "page.malformed.sentence": "What was sent could not be understood. Please open the link again and try once more.",
    "page.unavailable.title": "Not just now",
    "page.unavailable.sentence": "This page can't be shown at the moment. Please try again in a minute.",
}

ENGLISH: Final[dict[str, str]] = {
    **FORM,
    **LIMITS,
    **ERRORS,
    **CONFIRM,
    **NOTICES,
    **PASSKEY,
    **APPROVE,
    **ENROL,
    **PASSKEY_NOTICES,
}
