"""Plans and manifests are what they were, and mistakes say as much as they did."""

import os
import subprocess
import sys

import pytest

from hoist.cli import main

MANIFEST = "# name hosts tags\n\nweb 3 front  eu\n  api\t2 back\ndb 0 back\n# end\n"


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Run a command in a folder with files; return the lines that it prints, on stderr for a code of 2."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "manifest.txt").write_text(MANIFEST)

    def run(*words, code=0, **variables):
        assert main(list(words), variables) == code
        seen = capsys.readouterr()
        assert not (seen.err if code == 0 else seen.out)
        return (seen.out if code == 0 else seen.err).splitlines()

    return run


def test_files_are_looked_up_here_and_at_home(run, tmp_path):
    (tmp_path / "home" / ".hoist.toml").write_text("jobs = 2\nregion = 'us'\n")
    (tmp_path / "hoist.toml").write_text("region = 'nz'\n")
    assert run("plan", "live") == [
        "web@live-nz-1 web@live-nz-2 (timeout 30, verified)",
        "web@live-nz-3 api@live-nz-1 (timeout 30, verified)",
        "api@live-nz-2 (timeout 30, verified)",
    ]
    shown = run("settings", "live")
    assert shown[0] == f"jobs     2                {tmp_path / 'home' / '.hoist.toml'}"
    assert shown[2] == "region   nz               hoist.toml"


def test_the_settings_are_a_table(run):
    assert run("settings", "--timeout", "0.5", "--skip", "web", "--skip", "db", "live", HOIST_VERIFY="no") == [
        "jobs     4                default",
        "verify   false            HOIST_VERIFY",
        "region   eu               default",
        "timeout  0.5              --timeout",
        "tags                      default",
        "skip     web, db          --skip",
    ]


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ([], ["web@a-eu-1 web@a-eu-2 web@a-eu-3 api@a-eu-1 (timeout 30, verified)", "api@a-eu-2 (timeout 30, verified)"]),
        (["--jobs", "64"], ["web@a-eu-1 web@a-eu-2 web@a-eu-3 api@a-eu-1 api@a-eu-2 (timeout 30, verified)"]),
        (["--tag", "eu", "--timeout", "1.50"], ["web@a-eu-1 web@a-eu-2 web@a-eu-3 (timeout 1.5, verified)"]),
        (["--tag", "eu", "--tag", "back", "--skip", "web", "--no-verify"], ["api@a-eu-1 api@a-eu-2 (timeout 30)"]),
        (["--tag", "none"], []),
    ],
)
def test_plans(run, words, lines):
    assert [line for line in run("plan", *words, "a") if line] == lines


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("jobs = 65", ("1", "64", "65")),
        ("jobs = 0", ("1 to 64", "0")),
        ("jobs = 'many'", ("'many'",)),
        ("timeout = 1e6", ("seconds", "1000000.0")),
        ("timeout = '5'", ("seconds", "'5'")),
        ("tags = 'x'", ("list", "'x'")),
        ("skip = ['x', 7]", ("list", "7")),
        ("region = ''", ("text", "''")),
        ("region = 1", ("text", "1")),
        ("verify = 'maybe'", ("true", "false", "'maybe'")),
    ],
)
def test_mistakes_say_what_is_expected_and_what_is_there(run, tmp_path, line, parts):
    (tmp_path / "hoist.toml").write_text(line + "\n")
    for command in ("plan", "settings"):
        (told,) = run(command, "live", code=2)
        assert told.startswith(f"hoist.toml: {line.split()[0]}: ") and all(part in told for part in parts)


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        ("jobs", "x", "'x'"),
        ("jobs", "2.5", "'2.5'"),
        ("jobs", "65", "65"),
        ("timeout", "soon", "'soon'"),
        ("timeout", "-1", "-1"),
    ],
)
def test_mistakes_of_variables_and_options_say_what_is_there(run, name, text, part):
    for start, (told,) in (
        (f"HOIST_{name.upper()}: ", run("plan", "live", code=2, **{f"HOIST_{name.upper()}": text})),
        (f"--{name}: ", run("plan", f"--{name}={text}", "live", code=2)),
    ):
        assert told.startswith(start) and "expected" in told and part in told


@pytest.mark.parametrize("timeout", ["0.001", "999999"])
@pytest.mark.parametrize("jobs", ["1", "64", " 8 "])
def test_values_at_the_ends(run, timeout, jobs):
    shown = run("settings", "live", HOIST_JOBS=jobs, HOIST_TIMEOUT=timeout)
    assert shown[0].split() == ["jobs", jobs.strip(), "HOIST_JOBS"]
    assert shown[3].split() == ["timeout", str(float(timeout)), "HOIST_TIMEOUT"]


@pytest.mark.parametrize("line", ["api", "api many", "api -1", "api 1.5 x"])
def test_mistakes_of_manifests_keep_their_words(run, tmp_path, line):
    (tmp_path / "manifest.txt").write_text(f"# x\n\nweb 1\n{line}\n")
    assert run("plan", "live", code=2) == ["manifest.txt:4: expected NAME HOSTS [TAG]..."]
    assert len(run("settings", "live")) == 6


def test_a_manifest_that_is_not_there(run, tmp_path):
    (told,) = run("plan", "--manifest", "none.txt", "live", code=2)
    assert "No such file or directory" in told and "none.txt" in told
    (tmp_path / "other.txt").write_text("x 1\n")
    assert run("plan", "--manifest", "other.txt", "live") == ["x@live-eu-1 (timeout 30, verified)"]


def test_a_file_that_is_not_toml(run, tmp_path):
    (tmp_path / "mine.toml").write_text("jobs =\n")
    (told,) = run("settings", "--user-file", "mine.toml", "live", code=2)
    assert told.startswith("mine.toml: ") and "line 1" in told
    (tmp_path / "mine.toml").write_bytes(b"region = '\xff'\n")
    (told,) = run("settings", "--file", "mine.toml", "live", code=2)
    assert told.startswith("mine.toml: ") and "utf-8" in told


@pytest.mark.parametrize(
    "words",
    [[], ["plan"], ["settings"], ["settings", "a", "b"], ["show", "a"], ["plan", "--job", "a"], ["plan", "--speed", "1", "a"]],
)
def test_odd_words_are_refused(capsys, words):
    with pytest.raises(SystemExit) as ended:
        main(words, {})
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: hoist")


def test_files_are_utf_8_and_variables_those_of_the_process(tmp_path):
    (tmp_path / "hoist.toml").write_text("region = 'süd'\n", encoding="utf-8")
    (tmp_path / "manifest.txt").write_text("größe 1\n", encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "utf-8"}
    files = ["--file", tmp_path / "hoist.toml", "--manifest", tmp_path / "manifest.txt", "--user-file", tmp_path / "none"]
    done = subprocess.run(
        [sys.executable, "-m", "hoist", "plan", *files, "live"],
        env={**os.environ, **plain, "HOIST_TIMEOUT": "7"},
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == "größe@live-süd-1 (timeout 7, verified)\n"


@pytest.mark.parametrize(("text", "value"), [("yes", "true"), ("true", "true"), ("1", "true"), ("no", "false"), ("false", "false"), ("0", "false")])
def test_all_words_for_yes_and_no(run, text, value):
    option = "--no-verify" if value == "true" else "--verify"
    assert run("settings", "live", HOIST_VERIFY=text)[1].split() == ["verify", value, "HOIST_VERIFY"]
    assert run("settings", option, "live", HOIST_VERIFY=text)[1].split()[2] == option


def test_what_is_no_tag_and_no_artifact(run, tmp_path):
    (tmp_path / "manifest.txt").write_text("#web 3 a\n#\napi 2 a\nlast# 1 b\n")
    assert run("plan", "--tag", "2", "--tag", "api", "--tag", "b", "x") == ["last#@x-eu-1 (timeout 30, verified)"]
    assert run("plan", "--tag", "a", "x") == ["api@x-eu-1 api@x-eu-2 (timeout 30, verified)"]


def test_a_comma_in_an_option_belongs_to_its_text(run, tmp_path):
    (tmp_path / "manifest.txt").write_text("web 1 a,b\napi 1 a\ndb,old 1 b\n")
    assert run("plan", "--tag", "a,b", "live") == ["web@live-eu-1 (timeout 30, verified)"]
    assert run("plan", "--jobs", "9", "--skip", "db,old", "--skip", "web", "live") == ["api@live-eu-1 (timeout 30, verified)"]
