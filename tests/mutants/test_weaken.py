"""Weakenings of small functions, and that a run of tests tells those that are noticed from those that are not."""

from __future__ import annotations

import ast
import types

import pytest

from tests.mutants.running import weaken
from tests.mutants.targets import GROUPS
from tests.mutants.weaken import Weakening, weakenings_of


def made(*lines: str) -> list[tuple[str, str]]:
    source = "def f(v, a, b, c, mask, other):\n" + "\n".join(f"    {line}" for line in lines)
    return [(w.was, w.now) for w in weakenings_of(source)]


def test_a_refusal_goes_and_its_conditions_are_dropped_or_moved():
    found = made("if a >= b or c:", "    v.refuse('x')")
    assert found == [
        ("a >= b or c", "c"),
        ("a >= b or c", "a >= b"),
        ("a >= b", "a > b"),
        ("v.refuse('x')", "pass"),
    ]


def test_conditions_that_must_all_hold_are_not_dropped_where_that_would_refuse_more():
    assert made("if a < b and c:", "    raise ValueError") == [
        ("a < b", "a < b - 1"),
        ("raise ValueError", "pass"),
    ]


def test_what_spares_is_made_to_spare_more():
    found = made("for x in a:", "    if x < b and c:", "        continue", "    v.refuse('x')")
    assert ("x < b and c", "x < b") in found
    assert ("x < b and c", "c") in found
    assert ("x < b", "x <= b") in found


def test_names_of_conditions_are_followed_and_negation_turns_them():
    found = made("good = (mask > 0) & (other >= b)", "v.refuse_where(~good, 'x')")
    assert ("(mask > 0) & (other >= b)", "mask > 0") in found
    assert ("mask > 0", "mask >= 0") in found
    assert not any(now == "other > b" for _, now in found)


def test_sides_and_quantifiers():
    found = made("if any(a != b for a in c):", "    v.refuse('x')")
    assert ("any((a != b for a in c))", "all((a != b for a in c))") in found
    assert ("a != b", "a > b") in found
    assert not any("'x' >" in now for _, now in made("if a != 'x':", "    v.refuse('x')"))


def test_nothing_is_one_beyond_what_stands_for_none():
    found = made("return low > NO_LOWER")
    assert ("low > NO_LOWER", "low >= NO_LOWER") in found
    assert not any("+ 1" in now for _, now in found)
    assert ("low > LEAST", "low > LEAST + 1") in made("return low > LEAST")


def test_functions_that_refuse_nothing_are_changed_either_way():
    found = made("return min(a, b) if a <= b and c else 0")
    assert weakenings_of("def f(a, b):\n    return min(a, b)", either=False) == []
    assert {("min(a, b)", "a"), ("min(a, b)", "b"), ("a <= b", "a < b"), ("a <= b and c", "c")} <= set(found)


def test_keys_do_not_depend_on_lines():
    body = "    if a > 1:\n        raise ValueError\n"
    one, two = (weakenings_of(f"{head}def f(a):\n{body}") for head in ("", "# more\n\nX = 1\n"))
    assert [w.key for w in one] == [w.key for w in two]
    assert [w.line for w in one] != [w.line for w in two]


SOURCE = """
class Box:
    @property
    def small(self):
        return self.size < 3 and self.light

    @classmethod
    def of(cls, size):
        if size < 0:
            raise ValueError("less than nothing")
        return size

def limit(a, b):
    return min(a, b)
"""


def module(source: str) -> types.ModuleType:
    result = types.ModuleType("boxes")
    exec(compile(source, "boxes.py", "exec"), vars(result))
    return result


@pytest.mark.parametrize("number", range(len(weakenings_of(SOURCE))))
def test_the_code_of_every_kind_of_function_is_exchanged(number):
    """What the function has now is what its text would have been."""
    chosen = weakenings_of(SOURCE)[number]
    home = module(SOURCE)
    weaken(home, chosen)
    expected = module(ast.unparse(chosen.module()))
    *outer, name = chosen.where.split(".")

    def code(where: types.ModuleType) -> tuple[object, ...]:
        held = vars(where)[outer[0]] if outer else where
        found = vars(held)[name]
        mine = getattr(found, "fget", getattr(found, "__func__", found)).__code__
        return (mine.co_code, mine.co_consts, mine.co_names)

    assert code(home) == code(expected) != code(module(SOURCE))


def test_every_group_has_files_and_tests():
    from tests.mutants.__main__ import ROOT
    from tests.mutants.running import SOURCE as HOUSE

    for group in GROUPS.values():
        assert all(list(HOUSE.glob(pattern)) for pattern in group.files)
        assert all((ROOT / test).exists() for test in group.tests)


def test_a_weakening_says_where_and_what():
    (only,) = (w for w in weakenings_of("def f(a):\n    if a:\n        raise ValueError\n", "x.py") if w.refusal)
    assert isinstance(only, Weakening)
    assert str(only) == "x.py:3 f\n    - raise ValueError\n    + pass"
