"""Files with more than usual between their records, and files that cannot be read."""

import os
import subprocess
import sys

import pytest

from quay.cli import main

OLD = "berth: A1\nboat: Ida\nlength: 9\nfrom: 2026-03-01\n"
FIELDS = "telephone: 0049 123\nhome-port: 007\nnote: bring keys: two\n"


@pytest.fixture
def run(tmp_path, capsys):
    def run(command, text, *arguments, new=None, code=0):
        (tmp_path / "berths.txt").write_text(text)
        if new is not None:
            (tmp_path / "new.txt").write_text(new)
            arguments = (str(tmp_path / "new.txt"), *arguments)
        assert main([command, str(tmp_path / "berths.txt"), *arguments]) == code
        seen = capsys.readouterr()
        assert not (seen.err if code == 0 else seen.out)
        return (seen.out if code == 0 else seen.err).replace(f"{tmp_path}/", "").splitlines()

    run.file = lambda: (tmp_path / "berths.txt").read_text()
    return run


@pytest.mark.parametrize("gap", ["\n", "\n\n", "\n\n\n", "\n\n\n\n\n"])
def test_the_line_of_a_mistake_is_that_of_the_file(run, gap):
    text = f"{OLD}{gap}{OLD}{gap}what\n"
    line = text.split("\n").index("what") + 1
    assert run("check", text, code=1)[0].startswith(f"berths.txt:{line}: ")
    assert run("list", text, code=1)[0].startswith(f"line {line}: ")


@pytest.mark.parametrize("old, new", [(OLD, "what\n"), ("what\n", OLD), (OLD, f"{OLD}\n\nwhat\n")])
def test_a_file_that_cannot_be_added_changes_nothing(run, old, new):
    told = run("add", old, new=new, code=1)
    line = (old if old == "what\n" else new).split("\n").index("what") + 1
    assert len(told) == 1 and told[0].startswith(f"line {line}: ")
    assert run.file() == old


@pytest.mark.parametrize("boat", ["Ida", "Theo"])
def test_fields_that_are_not_known_are_added(run, boat):
    run("add", OLD, new=f"berth: 12\nboat: {boat}\nfrom: 2026-03-02\n{FIELDS}")
    for line in f"berth: 12\n{FIELDS}".splitlines():
        assert line in run.file().splitlines()
    assert ("length: 9\n" in run.file()) and run.file().count("boat: ") == (1 if boat == "Ida" else 2)


def test_check_finds_what_it_found(run):
    twice = run("check", f"{OLD}boat: Eve\nboat: Eve\nnote: a\nnote: b\n", code=1)
    assert twice == ["berths.txt: boat is there twice", "berths.txt: note is there twice"]
    (told,) = run("check", f"{OLD}until: soon\n", code=1)
    assert told.startswith("berths.txt: ") and "soon" in told
    assert run("check", f"{OLD}until:\n") == []
    missing = run("check", "note: x\n", code=1)
    assert missing == [f"berths.txt: a record without {name}" for name in ("berth", "boat", "from")]
    assert run("check", f"{OLD}until: 2026-03-01\n", code=1) == ["berths.txt: Ida leaves before it comes"]


EVE = "berth: A2\nboat: Eve\nlength: 12\nfrom: 2026-03-02\nuntil: 2026-03-05\n"


def test_the_file_is_written_as_it_is_read(run):
    text = f"{OLD}{FIELDS}\n{EVE}"
    run("add", f"\n{OLD}{FIELDS}\n\n\n{EVE}\n\n", new="\n")
    assert run.file() == text
    run("add", text, new="berth: A3\nboat: Theo\nfrom: 2026-03-03\n")
    assert run.file() == f"{text}\nberth: A3\nboat: Theo\nfrom: 2026-03-03\n"
    run("add", "", new=EVE)
    assert run.file() == EVE


def test_records_that_are_added_may_replace_each_other(run):
    run("add", OLD, new="boat: Theo\nlength: 1\n\nboat: Theo\nlength: 2\n\nboat: Ida\nfrom: 2026-04-01\n")
    assert run.file().count("boat: Theo\n") == run.file().count("boat: Ida\n") == 1
    assert "length: 2\n" in run.file() and "length: 1\n" not in run.file()
    assert "from: 2026-04-01\n" in run.file() and "from: 2026-03-01\n" not in run.file()


@pytest.mark.parametrize(
    ("day", "there"),
    [
        ("2026-02-28", []),
        ("2026-03-01", ["A1   Ida"]),
        ("2026-03-02", ["A1   Ida", "A2   Eve"]),
        ("2026-03-04", ["A1   Ida", "A2   Eve"]),
        ("2026-03-05", ["A1   Ida"]),
        ("2027-03-05", ["A1   Ida"]),
    ],
)
def test_who_lies_here(run, day, there):
    assert [line for line in run("on", f"{EVE}\n{OLD}", day) if line] == there


@pytest.mark.parametrize(
    ("day", "metres", "there"),
    [
        ("2026-03-05", "12", ["A2"]),
        ("2026-03-05", "13", []),
        ("2026-03-04", "12", []),
        ("2026-02-28", "9", ["A1", "A2"]),
        ("2026-02-28", "10", ["A2"]),
        ("2026-02-28", "0", ["A1", "A2", "B"]),
        ("2026-02-28", "1", ["A1", "A2"]),
    ],
)
def test_which_berths_are_free(run, day, metres, there):
    short = "berth: A2\nboat: Pea\nlength: 3\nfrom: 2027-01-01\n"
    unknown = "berth: B\nboat: Bud\nfrom: 2027-01-01\n"
    assert [line for line in run("free", f"{unknown}\n{EVE}\n{OLD}\n{short}", day, metres) if line] == there


def test_bills_are_of_stays_that_are_over(run):
    later = EVE.replace("2026-03-02", "2026-02-26").replace("2026-03-05", "2026-03-01").replace("A2", "7").replace("12", "10")
    assert run("bill", f"{EVE}\n{OLD}\n{later}", "Eve") == ["A2: 3 nights, 72 EUR", "7: 3 nights, 60 EUR", "Eve: 132 EUR"]
    assert run("bill", f"{EVE}\n{OLD}", "Ida") == ["Ida: 0 EUR"] and run("bill", OLD, "None") == ["None: 0 EUR"]
    assert run("bill", EVE.replace("length: 12\n", ""), "Eve") == ["A2: 3 nights, 0 EUR", "Eve: 0 EUR"]


def test_the_list_has_columns_and_sorts_by_the_day(run):
    wide = EVE.replace("A2", "A2345").replace("Eve", "Evangelista II")
    assert run("list", f"{EVE}\n{OLD}\n{wide}\n{OLD.replace('Ida', 'Bo')}") == [
        "A1   Ida          2026-03-01",
        "A1   Bo           2026-03-01",
        "A2   Eve          2026-03-02 2026-03-05",
        "A2345 Evangelista II 2026-03-02 2026-03-05",
    ]


@pytest.mark.parametrize("words", [[], ["sell"], ["on", "f"], ["on", "f", "soon"], ["free", "f", "2026-03-01", "x"], ["list", "f", "x"]])
def test_odd_words_are_refused(capsys, words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: quay")


def test_several_problems_have_a_line_each(run):
    text = f"{OLD}until: 2026-02-01\n\nboat: Eve\nnote: a\nnote: b\nfrom: 2026-03-01\nuntil: 2026-03-02\n"
    assert run("check", text, code=1) == [
        "berths.txt: Ida leaves before it comes",
        "berths.txt: a record without berth",
        "berths.txt: note is there twice",
    ]


def test_files_are_utf_8_wherever(tmp_path):
    names = [tmp_path / "berths.txt", tmp_path / "new.txt"]
    names[0].write_text(OLD.replace("Ida", "Möwe"), encoding="utf-8")
    names[1].write_text("boat: Möwe\nnote: größer\n", encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = subprocess.run([sys.executable, "-m", "quay", "add", *names], env={**os.environ, **plain}, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    text = names[0].read_text(encoding="utf-8")
    assert text.count("boat: Möwe\n") == 1 and "note: größer\n" in text


@pytest.mark.parametrize("note", ["two spaces at the end  ", "a\ttab\t", "007 ", "2026-03-01 "])
def test_spaces_at_the_end_of_a_note_stay(run, note):
    text = f"{OLD}note: {note}\n"
    run("add", text, new="berth: B1\nboat: Other\nfrom: 2026-05-01\nphone: 12  \n")
    assert f"note: {note}\n" in run.file() and run.file().endswith("phone: 12  \n")
