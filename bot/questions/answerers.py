"""Who may answer (FORM-9): by the account that the channel has authenticated, and by nothing else."""

from bot.model.question import Answerer, Question
from policy.ruleset import Access, Policy


def may_answer(policy: Policy, question: Question, account: str | None) -> bool:
    """Whether a person may answer.

    Args:
        policy: in force now.
        question: pending.
        account: of the person; None where nobody can tell (an anonymous admin, PART-16).
    """
    if account is None:
        return question.who.kind is Answerer.ANYONE
    person = policy.person(account)
    if person is not None and person.access is Access.DENY:
        return False
    match question.who.kind:
        case Answerer.ANYONE:
            return True
        case Answerer.OPERATORS:
            return person is not None and person.operator
        case Answerer.PEOPLE:
            return person is not None and person.id in question.who.people
        case Answerer.ASKER:
            if account == question.asker:
                return True
            asker = policy.person(question.asker)
            return asker is not None and person is not None and asker.id == person.id
