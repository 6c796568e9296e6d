import pytest

from quay.cli import main

BERTHS = """\
berth: A1
boat: Ida
length: 9
from: 2026-03-01
until: 2026-03-08

berth: A2
boat: Theo
length: 12
from: 2026-02-02
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "berths.txt"
    path.write_text(BERTHS)
    return str(path)


def test_stays_are_listed_by_day(path, capsys):
    assert main(["list", path]) == 0
    assert capsys.readouterr().out == (
        "A2   Theo         2026-02-02\nA1   Ida          2026-03-01 2026-03-08\n"
    )


def test_who_lies_here(path, capsys):
    assert main(["on", path, "2026-03-05"]) == 0
    assert capsys.readouterr().out == "A1   Ida\nA2   Theo\n"


def test_a_bill(path, capsys):
    assert main(["bill", path, "Ida"]) == 0
    assert capsys.readouterr().out == "A1: 7 nights, 126 EUR\nIda: 126 EUR\n"


def test_a_command_without_a_file_is_refused():
    with pytest.raises(SystemExit):
        main(["list"])
