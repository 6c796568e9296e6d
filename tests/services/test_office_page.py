"""docs/office.md says what is so: its lists are those that the services make."""

import importlib.util
from pathlib import Path

import pytest
from office_calls import OFFICE

from agentgym.services import Backend, load_services

_PATH = Path(__file__).parents[2] / "scripts" / "office_page.py"
_SPEC = importlib.util.spec_from_file_location("office_page", _PATH)
office_page = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(office_page)


def test_the_page_is_as_the_script_would_write_it():
    page = office_page.PAGE.read_text(encoding="utf-8")
    assert page == office_page.written(page), "run: python scripts/office_page.py"


def test_a_page_without_a_list_is_told():
    with pytest.raises(ValueError, match="one list named 'tables', got 0"):
        office_page.written("# The office\n")


@pytest.mark.parametrize("seed", [1, 2, 3, 17])
def test_every_kind_of_mess_is_there(seed):
    services = load_services(OFFICE)
    rows = Backend(services, services.template(seed)).state.rows
    lacking = [what for what, sql in office_page.MESS.items() if not rows.value(sql)]
    assert lacking == []
