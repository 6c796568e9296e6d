from tally.cli import main

JOURNAL = """2026-01-02 Dues
    assets:bank     30.00 EUR
    income:dues
"""


def test_balance_adds_up(tmp_path, capsys):
    path = tmp_path / "a.tally"
    path.write_text(JOURNAL)
    assert main(["balance", str(path)]) == 0
    assert "30.00 EUR  assets" in capsys.readouterr().out


def test_register_shows_the_running_balance(tmp_path, capsys):
    path = tmp_path / "a.tally"
    path.write_text(JOURNAL + "\n2026-01-03 Coffee\n    e:food  4.00 EUR\n    assets:bank\n")
    assert main(["register", str(path), "assets"]) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith("26.00 EUR")


def test_problems_are_printed(tmp_path, capsys):
    path = tmp_path / "a.tally"
    path.write_text("2026-01-02 Dues\n    a  1 EUR\n")
    assert main(["check", str(path)]) == 1
    assert "needs two postings" in capsys.readouterr().err
