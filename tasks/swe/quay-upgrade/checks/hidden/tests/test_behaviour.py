"""quay behaves over fieldkit 2 as it did over fieldkit 1."""

import subprocess
import sys

import pytest

from quay.cli import main

BERTHS = """\
berth: A1
boat: Ida
length: 9
from: 2026-03-01
until: 2026-03-08
note: 2 keys

berth: 12
boat: Theo
length: 12
from: 2026-02-02

berth: 7
boat: 1984
from: 2026-03-01
until: 2026-03-02
phone: 0171 2345

berth: A1
boat: Ida
length: 9
from: 2026-01-01
until: 2026-01-03
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="berths.txt"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def path(write):
    return write(BERTHS)


@pytest.fixture
def run(capsys):
    def run(*arguments, code=0):
        assert main([*map(str, arguments)]) == code
        seen = capsys.readouterr()
        return (seen.out if code == 0 else seen.err).splitlines()

    return run


def test_the_list(run, path):
    assert run("list", path) == [
        "A1   Ida          2026-01-01 2026-01-03",
        "12   Theo         2026-02-02",
        "A1   Ida          2026-03-01 2026-03-08",
        "7    1984         2026-03-01 2026-03-02",
    ]


def test_the_list_of_days_that_are_none(run, write):
    days = ("soon", "2026-03-01", "12", "007")
    path = write("\n".join(f"berth: A{n}\nboat: b{n}\nfrom: {day}\n" for n, day in enumerate(days)))
    assert [line.split()[-1] for line in run("list", path)] == sorted(days)


def test_on_a_day(run, path):
    assert run("on", path, "2026-03-01") == ["12   Theo", "7    1984", "A1   Ida"]
    assert run("on", path, "2026-03-08") == ["12   Theo"]


def test_free_berths(run, path):
    assert run("free", path, "2026-03-09", 9) == ["A1"]
    assert run("free", path, "2026-01-05", 0) == ["12", "7", "A1"]
    assert run("free", path, "2026-03-05", 9) == [""]


def test_bills(run, path):
    assert run("bill", path, "Ida") == ["A1: 7 nights, 126 EUR", "A1: 2 nights, 36 EUR", "Ida: 162 EUR"]
    assert run("bill", path, "1984") == ["7: 1 nights, 0 EUR", "1984: 0 EUR"]
    assert run("bill", path, "Theo") == ["Theo: 0 EUR"]


def test_adding_replaces_fields(run, path, write):
    new = write("boat: Theo\nuntil: 2026-03-03\nlength: 13\n\nberth: B1\nboat: Uma\nfrom: 2026-03-04\n", "new.txt")
    assert run("add", path, new) == []
    assert "12   Theo         2026-02-02 2026-03-03" in run("list", path)
    assert run("bill", path, "Theo") == ["12: 29 nights, 754 EUR", "Theo: 754 EUR"]
    assert run("on", path, "2026-03-04") == ["A1   Ida", "B1   Uma"]


def test_the_first_record_of_a_boat_is_replaced(run, path, write):
    run("add", path, write("boat: 1984\nuntil: 2026-03-04\n", "new.txt"))
    assert run("bill", path, "1984") == ["7: 3 nights, 0 EUR", "1984: 0 EUR"]


def test_what_is_not_known_is_kept_as_it_is_written(run, write):
    text = "berth: 007\nboat: Ida\nfrom: 2026-03-01\ncolour: 0x00\nphone: 0171 2345\nempty: \n"
    path = write(text)
    run("add", path, write("boat: Uma\nberth: B1\nfrom: 2026-03-01\n", "new.txt"))
    with open(path, encoding="utf-8") as file:
        assert file.read() == text + "\nboat: Uma\nberth: B1\nfrom: 2026-03-01\n"
    assert run("list", path)[0] == "007  Ida          2026-03-01"


def test_a_sound_file(run, path):
    assert run("check", path) == []


def test_a_line_that_is_no_field(run, write):
    path = write(BERTHS + "\n\nberth: B1\nwhat is this\n")
    (problem,) = run("check", path, code=1)
    assert problem == f"{path}:{BERTHS.count(chr(10)) + 4}: expected NAME: VALUE, got 'what is this'"
    (told,) = run("list", path, code=1)
    assert told.startswith(f"line {BERTHS.count(chr(10)) + 4}: expected NAME")


def test_problems_of_records(run, write):
    path = write(
        "berth: A1\nboat: Ida\nfrom: 2026-03-05\nuntil: 2026-03-05\n\n"
        "berth: A1\nboat: 1984\nboat: Uma\nfrom: soon\nuntil: 2026-03-09\n\nboat: Theo\nuntil: 2026-01-01\n"
    )
    found = run("check", path, code=1)
    assert found[0] == f"{path}: Ida leaves before it comes"
    assert f"{path}: boat is there twice" in found
    assert f"{path}: a record without berth" in found and f"{path}: a record without from" in found
    assert any("soon" in problem for problem in found)
    assert len(found) == 4 + 1


def test_days_that_are_none(run, write):
    path = write("berth: A1\nboat: Ida\nfrom: 2026-03-01\nuntil: 2026-02-30\n")
    (problem,) = run("check", path, code=1)
    assert problem.startswith(f"{path}: ")


def test_an_empty_until_is_a_boat_that_stays(run, write):
    path = write("berth: A1\nboat: Ida\nlength: 9\nfrom: 2026-03-01\nuntil: \n")
    assert run("on", path, "2027-01-01") == ["A1   Ida"]
    assert run("bill", path, "Ida") == ["Ida: 0 EUR"]
    assert run("check", path) == []


def test_the_module_is_a_command(path):
    done = subprocess.run([sys.executable, "-m", "quay", "check", path], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


BONDS = (
    "berth: 007\nboat: 007\nlength: 9\nfrom: 2026-03-01\nuntil: 2026-03-02\n\n"
    "berth: 7\nboat: 7\nlength: 9\nfrom: 2026-03-01\nuntil: 2026-03-03\n"
)


def test_texts_that_are_the_same_number_are_not_the_same(run, write):
    path = write(BONDS)
    assert run("on", path, "2026-03-01") == ["007  007", "7    7"]
    assert run("free", path, "2026-03-09", 9) == ["007", "7"]
    assert run("bill", path, "007") == ["007: 1 nights, 18 EUR", "007: 18 EUR"]
    assert run("bill", path, "7") == ["7: 2 nights, 36 EUR", "7: 36 EUR"]
    run("add", path, write("boat: 7\nlength: 10\n", "new.txt"))
    assert run("bill", path, "007")[-1] == "007: 18 EUR" and run("bill", path, "7")[-1] == "7: 40 EUR"


def test_a_field_that_is_there_twice_is_kept(run, write):
    text = "berth: A1\nboat: Ida\nphone: 0171\nphone: 0172\nfrom: 2026-03-01\n"
    path = write(text)
    run("add", path, write("boat: Uma\nberth: B1\nfrom: 2026-03-01\n", "new.txt"))
    with open(path, encoding="utf-8") as file:
        assert file.read().startswith(text)
