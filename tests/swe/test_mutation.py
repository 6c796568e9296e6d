"""Mutation operators: which mistakes they make in a module, and which they leave out."""

import ast

import pytest

from agentgym.swe.mutation.mutants import find_mutants, sampled

BASE = {"box/sums.py": b"def total(values):\n    return len(values)\n"}


def mutants_of(text, path="box/sums.py"):
    return find_mutants(BASE, {path: text.encode()})


def lines_of(text):
    """Return the operator and the changed line of each mutant of a module."""
    before = text.splitlines()
    found = set()
    for one in mutants_of(text):
        after = one.after.decode().splitlines()
        new = [line.strip() for line in after if line not in before]
        found.add((one.operator, " ".join(new)))
    return found


@pytest.mark.parametrize(
    ("body", "operator", "line"),
    [
        ("return a < b", "comparison", "return a <= b"),
        ("return a is None", "truth for None", "return (not (a))"),
        ("return a and b", "connective", "return a or b"),
        ("return a and b", "condition dropped", "return ((b))"),
        ("if a:\n        b()", "negation", "if not (a):"),
        ("if a:\n        b()", "condition dropped", "if True:"),
        ("return a + b", "arithmetic", "return a - b"),
        ("a.count += b", "arithmetic", "a.count -= b"),
        ("return a[1]", "constant", "return a[2]"),
        (
            "return open(a, encoding='utf-8', newline='')",
            "argument dropped",
            "return open(a, newline='')",
        ),
        (
            "return open(a, encoding='utf-8', newline='')",
            "argument dropped",
            "return open(a, encoding='utf-8')",
        ),
        ("return open(a, encoding='utf-8')", "encoding", 'return open(a, encoding="utf-16")'),
        ("return a.get(b, 1)", "argument dropped", "return a.get(b)"),
        ("return a(b, 1)", "arguments swapped", "return a(1, b)"),
        ("a.b = b", "statement removed", "pass"),
        ("raise KeyError(a)", "statement removed", "pass"),
        ("raise KeyError('no')", "text", "raise KeyError('no~')"),
        ("raise KeyError(f'no {a!r}')", "format", "raise KeyError(f'no {a}')"),
        ("raise KeyError(f'no {a!r}')", "text", "raise KeyError(f'no {a!r}~')"),
        ("with a:\n        b()", "context removed", "if True:"),
        (
            "try:\n        b()\n    except KeyError:\n        a()",
            "except widened",
            "except Exception:",
        ),
        ("try:\n        b()\n    except KeyError:\n        a()", "except narrowed", "except ():"),
        (
            "try:\n        b()\n    except (KeyError, OSError):\n        a()",
            "element dropped",
            "except (KeyError):",
        ),
        ("return list(a)", "copy", "return (a)"),
        ("return a[:]", "copy", "return a"),
        ("return a.copy()", "copy", "return a"),
        ("return sorted(a, key=b)", "order", "return list(a)"),
        ("return sorted(a, key=b)", "argument dropped", "return sorted(a)"),
        ("return [x for x in a if x]", "condition dropped", "return [x for x in a]"),
        ("return re.match(r'^\\d+$', b)", "pattern", "return re.match(r'^\\d+', b)"),
        ("return a", "result dropped", "return None"),
    ],
)
def test_a_mistake_is_made(body, operator, line):
    assert (operator, line) in lines_of(f"def total(a, b):\n    {body}\n")


def test_each_mutant_is_python_and_means_something_else():
    head = "def total(a: int = 1, *, b=(1 + 1)):\n    '''Add.'''\n"
    text = f"{head}    return a + (  # ä\n        b\n    )\n"
    found = mutants_of(text)
    assert found
    for one in found:
        assert ast.dump(ast.parse(one.after)) != ast.dump(ast.parse(one.before))
    assert len({one.after for one in found}) == len(found)


@pytest.mark.parametrize(
    "text",
    [
        'def total():\n    """Docs."""\n',
        "LIMIT = 3\n",
        "def total(limit=3):\n    pass\n",
        "def total(a: 'Literal[1, 2]'):\n    pass\n",
    ],
)
def test_what_a_reader_or_the_interface_says_is_left_alone(text):
    assert not mutants_of(text)


def test_private_values_and_defaults_are_not():
    assert ("constant", "_LIMIT = 4") in lines_of("_LIMIT = 3\n")
    assert ("constant", "def _total(limit=4):") in lines_of("def _total(limit=3):\n    pass\n")


def test_decorators_may_go():
    text = "class Box:\n    @property\n    def size(self):\n        return 1\n"
    assert ("decorator", "") in {(m.operator, "") for m in mutants_of(text)}


def test_they_are_told_apart_by_their_distance_from_the_solution():
    base = {
        "a.py": b"def one():\n    return 1\n\n\ndef two():\n    return 2\n",
        "b.py": b"from a import one\n\n\ndef three():\n    return one() + 3\n",
        "c.py": b"def four():\n    return 4\n",
        "d.py": b"def broken(:\n",
    }
    solved = base | {"a.py": base["a.py"].replace(b"return 1", b"return 11")}
    near = {(m.name, m.nearness) for m in find_mutants(base, solved)}
    assert near == {("one", "touched"), ("two", "beside"), ("three", "caller")}
    more = {(m.name, m.nearness) for m in find_mutants(base, solved, everywhere=True)}
    assert more - near == {("four", "elsewhere")}


def test_a_seed_draws_the_same_ones_again():
    found = mutants_of("def total(a, b):\n    return a.get(b, 1) + 2 if a < b else 3\n")
    drawn = sampled(found, 5, 7)
    assert drawn == sampled(found, 5, 7) != sampled(found, 5, 8)
    assert [found.index(one) for one in drawn] == sorted(found.index(one) for one in drawn)
    assert sampled(found, 10**6, 7) == found


def test_a_hunk_shows_the_mistake():
    one = next(
        m for m in mutants_of("def total(a):\n    return a + 1\n") if m.operator == "arithmetic"
    )
    assert "-    return a + 1\n+    return a - 1" in one.hunk() and "b/box/sums.py" in one.hunk()
