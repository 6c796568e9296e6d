"""The pack `data`: hostile documents end in time, and mistakes of the author are found first."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import GuestFileError, VerifierError
from agentgym.records import CheckResult, CheckStatus
from agentgym.testing.checks import evidence
from agentgym.verify.rubric.dry_run import dry_run
from agentgym.verify.rubric.packs import load_pack

pytest.importorskip("yaml")
PACK = load_pack(Path(__file__).parents[2] / "verifiers" / "data")


def run(check: str, content: str | bytes, name: str = "f.json", **arguments: Any) -> CheckResult:
    try:
        found = PACK.checks[check](evidence({f"/{name}": content}), path=f"/{name}", **arguments)
    except GuestFileError as error:
        return CheckResult(CheckStatus.FAIL, str(error))
    assert isinstance(found, CheckResult)
    return found


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("check", "name", "content", "arguments"),
    [
        ("valid", "f.json", "[" + "{}," * 60_000 + "{}]", {"schema": {"uniqueItems": True}}),
        ("valid", "f.json", "[" * 900_000, {"schema": {}}),
        ("valid", "f.json", "1" * 1_000, {"schema": {"multipleOf": 0.5}}),
        ("equals", "f.json", '{"a":' * 100_000, {"value": 1, "at": "/a" * 20_000}),
        ("rows", "f.csv", "a\n" + "1\n" * 150_000, {"rows": [[1]] * 150_000, "any_order": True}),
        ("column_types", "f.csv", "a\n" + "1" * 100_000, {"types": {"a": "integer"}}),
        ("column_types", "f.csv", "a\n" + "9" * 90 + "e999\n", {"types": {"a": "number"}}),
        ("rows", "f.csv", "a\n1e99999\n", {"rows": [[1]]}),
        ("rows", "f.csv", "a,a\n1,1\n", {"rows": [[1, 1]]}),
        ("lacks", "f.xml", "<a>" * 10_000, {"at": "/b"}),
    ],
)
def test_hostile_documents_are_judged_in_time(
    check: str, name: str, content: str, arguments: dict[str, Any]
) -> None:
    found = run(check, content, name, **arguments)
    assert len(found.message) < 600
    if arguments.get("any_order") is None:
        assert found.status is CheckStatus.FAIL


@pytest.mark.parametrize(
    ("check", "arguments", "says"),
    [
        ("equals", {"path": "/f.txt", "value": 1}, "format of /f.txt"),
        ("equals", {"path": "/f.json", "value": 1, "at": "a"}, "JSON Pointer"),
        ("equals", {"path": "/f.json", "value": 1, "tolerance": -1}, "tolerance"),
        ("equals", {"path": "/f.json", "value": 1, "format": "jsn"}, "did you mean"),
        ("lacks", {"path": "/f", "at": "/a"}, "format of /f"),
        ("valid", {"path": "/f.json", "schema": {"type": "strin"}}, "schema"),
        ("rows", {"path": "/f.json", "rows": []}, "csv or tsv"),
        ("rows", {"path": "/f.csv", "rows": [1]}, "list of lists"),
        ("rows", {"path": "/f.csv", "rows": [[1]], "columns": ["a", "b"]}, "expected 2 cells"),
        ("column_types", {"path": "/f.csv", "types": {"a": "int"}}, "types.a"),
        ("row_count", {"path": "/f.csv", "at_least": 3, "at_most": -1}, "at_most"),
        ("row_count", {"path": "/f.csv", "at_least": "3"}, "at_least"),
    ],
)
def test_mistakes_of_the_author_are_found_before_any_episode(
    check: str, arguments: Mapping[str, Any], says: str
) -> None:
    with pytest.raises(VerifierError, match=says):
        dry_run(f"data.{check}", PACK.checks[check], arguments)


@pytest.mark.parametrize(
    ("gold", "says"),
    [(b"{", "gold file 'g.json': is not usable JSON"), (b"{}", "has nothing at '/a'")],
)
def test_a_gold_file_that_cannot_be_read_is_no_fault_of_the_agents(gold: bytes, says: str) -> None:
    seen = evidence({"/f.json": "{}"}, gold={"g.json": gold})
    with pytest.raises(VerifierError, match=says):
        PACK.checks["gold_equals"](seen, path="/f.json", gold="g.json", at="/a")


def test_a_schema_that_refers_elsewhere_fetches_nothing() -> None:
    with pytest.raises(Exception, match="Unresolvable"):
        run("valid", "{}", schema={"$ref": "http://127.0.0.1:9/schema.json"})


CELLS = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1, max_size=5)


@given(st.lists(st.tuples(CELLS, st.integers(-99, 99)), max_size=6), st.randoms())
def test_rows_survive_a_shuffle_and_not_a_change(rows: list[tuple[str, int]], random: Any) -> None:
    def written(some: list[tuple[str, int]]) -> str:
        out = io.StringIO(newline="")
        csv.writer(out).writerows([("name", "n"), *some])
        return out.getvalue()

    wanted = [list(row) for row in rows]
    shuffled = random.sample(rows, len(rows))
    assert run("rows", written(shuffled), "f.csv", rows=wanted, any_order=True).status == "pass"
    if rows:
        changed = [*rows[:-1], (rows[-1][0], rows[-1][1] + 1)]
        assert run("rows", written(changed), "f.csv", rows=wanted).status == "fail"


@given(st.lists(st.one_of(st.none(), st.integers(0, 2), st.booleans(), st.sampled_from("ab"))))
def test_what_is_there_twice_is_found(items: list[Any]) -> None:
    tagged = [(type(item) is bool, item) for item in items]
    found = run("valid", json.dumps(items), schema={"uniqueItems": True})
    assert (found.status == "pass") is (len(set(tagged)) == len(tagged))
