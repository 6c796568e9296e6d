"""Orders across files, lines behind several includes, and what the commands do as before."""

import os
import subprocess
import sys

import pytest

from tally.amount import Amount
from tally.cli import main


def move(day, amount, payee="x", more=""):
    return f"{day} {payee}\n    a    {amount} EUR{more}\n    b\n"


@pytest.fixture
def run(tmp_path, capsys):
    def run(command, *arguments, code=0, **files):
        for name, text in files.items():
            (tmp_path / f"{name}.tally").write_text(text)
        assert main([command, str(tmp_path / "main.tally"), *arguments]) == code
        seen = capsys.readouterr()
        assert not (seen.err if code == 0 else seen.out)
        return (seen.out if code == 0 else seen.err).replace(f"{tmp_path}/", "").splitlines()

    return run


def test_postings_of_a_day_count_as_they_are_written_whatever_their_lines(run):
    dues = "; dues\n" * 9 + move("2026-01-05", 5)
    main = "include dues.tally\n" + move("2026-01-05", 1, more=" = 6 EUR")
    assert run("check", main=main, dues=dues) == []
    later = move("2026-01-05", 1, more=" = 1 EUR") + "\ninclude dues.tally\n"
    assert run("check", main="\n" * 20 + later, dues=move("2026-01-05", 5, more=" = 6 EUR")) == []


@pytest.mark.parametrize("before", [1, 2, 3, 4])
def test_lines_behind_includes(run, before):
    names = [f"d{number}" for number in range(before)]
    files = {name: move("2026-01-01", 1) * 2 for name in names}
    main = "".join(f"include {name}.tally\n" for name in names) + "what\n"
    (told,) = run("check", code=1, main=main, **{name: files[name].replace("    b\n20", "    b\n\n20") for name in names})
    assert told.startswith(f"main.tally:{before + 1}: ")


@pytest.mark.parametrize("inner", ["    c    1 EUR\n", "    c\n"])
def test_an_included_file_does_not_go_on_with_a_transaction(run, inner):
    (told,) = run("check", code=1, main="2026-01-01 x\n    a    1 EUR\n    b    -1 EUR\ninclude d.tally\n", d=inner)
    assert told.startswith("d.tally:1: ")
    (told,) = run("check", code=1, main=f"include d.tally\n{inner}", d="2026-01-01 x\n    a    1 EUR\n    b    -1 EUR\n")
    assert told.startswith("main.tally:2: ")


def test_all_problems_are_printed_by_every_command(run):
    main = move("2026-01-01", 1, more=" = 2 EUR") + "\n" + move("2026-01-02", 1, more=" = 3 EUR")
    wanted = ["main.tally:2: a holds 1 EUR, expected 2 EUR", "main.tally:6: a holds 2 EUR, expected 3 EUR"]
    for arguments in (("check",), ("balance",), ("register", "a")):
        command, *rest = arguments
        assert run(command, *rest, code=1, main=main) == wanted


def test_the_reports_are_as_before(run):
    main = move("2026-01-02", 2, "late") + "\n" + move("2026-01-01", 1, "zoo") + "\n" + move("2026-01-01", 4, "bar")
    shown = run("register", "a", main=main)
    assert [line.split()[1:] for line in shown] == [["zoo", "1", "EUR", "1", "EUR"], ["bar", "4", "EUR", "5", "EUR"], ["late", "2", "EUR", "7", "EUR"]]
    assert [line.split() for line in run("balance", "--until", "2026-01-01", main=main)] == [["5", "EUR", "a"], ["-5", "EUR", "b"]]
    assert [line.split() for line in run("balance", main=main)] == [["7", "EUR", "a"], ["-7", "EUR", "b"]]


ONE = "2026-01-01 x\n    a    1 EUR\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2026-01-01 x\n    a\n    b\n", "3: a second posting without an amount"),
        ("2026-01-01 x\n    a\n    b\n    c\n", "3: a second posting without an amount"),
        (f"{ONE}    b    2 USD\n    c    3 BTC\n", "1: does not balance: 3 BTC, 1 EUR, 2 USD left over"),
        ("x y\n", "1: expected a date and a text, got 'x y'"),
        ("2026-02-30 x\n", "1: 2026-02-30 is not a day"),
        ("    a    1 EUR\n", "1: a posting without a transaction"),
        (f"{ONE}    b\n\n    c\n", "5: a posting without a transaction"),
        (f"{ONE}    b 1 EUR\n", "3: expected an account and an amount, got 'b 1 EUR'"),
        (f"{ONE}    b    1 EUR y\n", "3: expected an amount like 12.50 EUR, got '1 EUR y'"),
        (f"{ONE}    b    =  1\n", "3: expected an amount like 12.50 EUR, got '1'"),
        (ONE, "1: a transaction needs two postings"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["check", "balance"])
def test_problems_are_told_in_the_words_of_before(run, command, text, told):
    assert run(command, code=1, main=text) == [f"main.tally:{told}"]


def test_a_problem_does_not_hide_the_next(run):
    text = "2026-01-01 x\n    a\n    b\n\n2026-01-02 y\n    a  1 EUR\n    b  1 EUR\n"
    assert [line.split(": ")[0] for line in run("check", code=1, main=text)] == ["main.tally:3", "main.tally:5"]


def test_a_journal_that_is_not_there_is_a_problem(run):
    (told,) = run("check", code=1)
    assert told.startswith("main.tally") and told.endswith("No such file or directory")


@pytest.mark.parametrize("line", ["include   d.tally", "include a file.tally", "include sub/../d.tally"])
def test_names_after_include(run, tmp_path, line):
    (tmp_path / "sub").mkdir()
    files = {"d": move("2026-01-01", 1), "a file": move("2026-01-01", 1)}
    assert [row.split() for row in run("balance", main=line + "\n", **files)] == [["1", "EUR", "a"], ["-1", "EUR", "b"]]


@pytest.mark.parametrize("name", ["sub/../main.tally", "link.tally"])
def test_a_circle_is_one_by_whatever_name(run, tmp_path, name):
    (tmp_path / "sub").mkdir()
    (tmp_path / "link.tally").symlink_to("main.tally")
    (told,) = run("check", code=1, main=f"\ninclude {name}\n")
    assert told.startswith("main.tally:2: ") and "includes itself" in told


def test_a_line_is_a_posting_by_one_blank(run):
    main = "2026-01-02   a  payee ; and why\n z:b:c  1.50 EUR\n\ta  2 USD\n\tz:b\n"
    assert run("register", "z:b:c", main=main) == [f"2026-01-02 {'a  payee':<24}       1.50 EUR       1.50 EUR"]
    assert run("balance", main=main) == [
        "           2 USD  a",
        "          -2 USD  z",
        "          -2 USD    b",
        "        1.50 EUR      c",
    ]


def test_a_balance_names_its_account_once_and_sorts(run):
    main = "2026-01-02 x\n    z    1 USD\n    z    2 EUR\n    a\n"
    assert run("balance", main=main) == [
        "          -2 EUR  a",
        "          -1 USD",
        "           2 EUR  z",
        "           1 USD",
    ]


@pytest.mark.parametrize(
    "words", [[], ["check"], ["check", "x", "--until", "2026-01-01"], ["balance", "x", "--until", "soon"]]
)
def test_odd_words_are_refused(capsys, words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: tally")


def test_amounts_are_values():
    one = Amount.parse(" 1.50 EUR ")
    assert len({one, Amount.parse("1.50 EUR")}) == 1 and str(-one) == "-1.50 EUR"
    with pytest.raises(AttributeError):
        one.commodity = "USD"


def test_journals_are_read_as_utf_8_wherever(tmp_path):
    (tmp_path / "d.tally").write_text(move("2026-01-01", 1, "Bäcker"), encoding="utf-8")
    (tmp_path / "main.tally").write_text("; ä\ninclude d.tally\n", encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-m", "tally", "register", tmp_path / "main.tally", "a"],
        env={**os.environ, **plain},
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"") and "Bäcker" in done.stdout.decode()
