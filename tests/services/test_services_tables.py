"""The rows of a snapshot as checks read them, in tables and in views over them."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from agentgym.errors import VerifierError
from agentgym.services import Backend, Service, ServiceSet, find_services
from agentgym.services.tables import SnapshotTables

ENVS = Path(__file__).resolve().parents[2] / "envs"


class Farm(Service):
    """Animals in barns."""

    schema = """
    CREATE TABLE farm_animal (name TEXT PRIMARY KEY, barn FREE TEXT, weight INTEGER);
    CREATE VIEW farm_barn (barn, heaviest, animals) AS
      SELECT barn, max(weight), count(*) FROM farm_animal GROUP BY barn ORDER BY max(weight) DESC;
    """

    def fill(self, rng: random.Random) -> None:
        for name, barn, weight in (("pig", "south", 90), ("ox", "south", 700), ("hen", "north", 2)):
            self.db.insert("farm_animal", name=name, barn=barn, weight=weight)


@pytest.fixture
def farm() -> SnapshotTables:
    return SnapshotTables(ServiceSet({"farm": Farm}).template(1))


def test_tables_are_sorted_by_key_and_views_by_all_their_columns(farm):
    assert [row["name"] for row in farm.rows("farm_animal")] == ["hen", "ox", "pig"]
    assert farm.rows("farm_barn") == [
        {"barn": "north", "heaviest": 2, "animals": 1},
        {"barn": "south", "heaviest": 700, "animals": 2},
    ]


def test_rows_of_views_are_found_by_values(farm):
    assert farm.one("farm_barn", animals=2)["barn"] == "south"
    assert farm.one("farm_barn", barn="east") is None
    assert farm.columns("farm_barn") == ["barn", "heaviest", "animals"]


def test_columns_of_free_text_are_those_that_the_schema_declares(farm):
    assert farm.schema("farm_animal").texts == ("barn",)
    assert farm.schema("farm_barn").texts == ()
    with pytest.raises(VerifierError, match="did you mean 'farm_barn'"):
        farm.schema("farm_barns")


CLOSED = (
    r"\w+\.(\w+_(at|on|until)|start|end|until|since|occurrence)",  # times
    r"\w+\.(owner|author|sender|granted_by|updated_by)",  # who did it, as the service writes it
    r"\w+\.(assignee|office|department|timezone|country|handle|secret|code|sku|id)",
    r"shop_file\.(name|mime)|contacts_group\.email|shop_order_line\.title|forum_log\.(what|target)|forum_board\.slug",
    r"(calendar_room|tickets_customer|tickets_agent|knowledge_category|\w+_picture|forms_\w+)\..*",
)
"""Columns of text that no tool writes as it is given, or whose form a service demands."""


def find_schemas(env):
    found = sorted((ENVS / env / "services").glob("*/schema.sql"))
    assert found
    return found


@pytest.mark.parametrize("env", ["office", "web"])
def test_every_column_of_text_is_free_or_known_to_be_closed(env):
    columns = [
        (f"{table}.{column}", rest)
        for schema in find_schemas(env)
        for table, body in re.findall(r"CREATE TABLE (\w+) \((.*?)\n\);", schema.read_text(), re.S)
        for column, rest in re.findall(r"^  (\w+) TEXT(.*)$", body, re.M)
    ]
    undecided = [
        name
        for name, rest in columns
        if not re.search("REFERENCES|CHECK", rest)
        and not any(re.fullmatch(closed, name) for closed in CLOSED)
    ]
    assert not undecided


def test_only_tables_make_up_the_state(farm):
    assert farm.names() == ["farm_animal"]


def test_what_is_mistyped_is_told_with_what_there_is(farm):
    with pytest.raises(VerifierError, match="did you mean 'farm_barn'"):
        farm.rows("farm_barns")
    with pytest.raises(VerifierError, match="did you mean 'heaviest'"):
        farm.rows("farm_barn", heavyest=1)


def test_checks_read_the_views_of_the_office():
    backend = Backend(services := find_services("office"), services.template(1))
    person = backend.state.rows.one("SELECT * FROM contacts_person WHERE id = 1")
    tables = SnapshotTables(backend.snapshot())
    backend.close()
    address = tables.one("contacts_address", email=person["email"])
    assert (address["person_id"], address["name"]) == (1, person["name"])
    cells = tables.rows("sheets_cell", row=1, col=1)
    firsts = [line["a"] for line in tables.rows("sheets_line", row=1)]
    assert sorted(map(str, firsts)) == sorted(str(cell["value"]) for cell in cells)
    assert tables.rows("contacts_firm", customer=1)
