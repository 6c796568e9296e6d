"""Orders across files, lines behind several includes, and what the commands do as before."""

import pytest

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
