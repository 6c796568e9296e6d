"""Files with more than usual between their records, and files that cannot be read."""

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
