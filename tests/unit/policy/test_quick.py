"""Fast frozen dataclasses are dataclasses like any other."""

from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from policy.quick import quick


@quick
@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    first: int
    second: str = "two"
    made: list[int] = field(default_factory=list)
    hidden: int = field(default=7, init=False)


def test_defaults_factories_and_fields_outside_of_init_are_kept():
    one, other = Sample(first=1), Sample(first=1)
    assert (one.first, one.second, one.made, one.hidden) == (1, "two", [], 7)
    assert one == other
    assert one.made is not other.made
    assert Sample(first=1, made=[3]).made == [3]
    assert replace(one, second="x").second == "x"


def test_it_stays_frozen_and_strict():
    with pytest.raises(FrozenInstanceError):
        Sample(first=1).first = 2
    with pytest.raises(TypeError):
        Sample(second="x")
    with pytest.raises(TypeError):
        Sample(1)


def test_a_class_without_fields_and_a_factory_outside_of_init_work():
    @quick
    @dataclass(frozen=True, kw_only=True, slots=True)
    class Empty:
        pass

    @quick
    @dataclass(frozen=True, kw_only=True, slots=True)
    class Made:
        items: list[int] = field(default_factory=list, init=False)

    assert Empty() == Empty()
    assert Made().items == []


def test_a_class_that_checks_itself_afterwards_is_refused():
    @dataclass(frozen=True, kw_only=True, slots=True)
    class Checked:
        first: int

        def __post_init__(self) -> None:
            raise ValueError

    with pytest.raises(TypeError, match="__post_init__"):
        quick(Checked)
