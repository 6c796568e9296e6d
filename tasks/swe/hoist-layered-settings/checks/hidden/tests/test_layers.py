"""Settings of all layers, whatever their values."""

import itertools
import subprocess
import sys

import pytest

from hoist.cli import main
from hoist.settings import DEFAULTS

LAYERS = ["user", "project", "variable", "option"]
SOURCES = {"user": "user.toml", "project": "hoist.toml"}
SAMPLES = {
    "jobs": [("4", 4), ("7", 7), ("1", 1)],
    "region": [("eu", "eu"), ("us", "us")],
    "timeout": [("30", 30.0), ("1.5", 1.5)],
    "verify": [("true", True), ("false", False)],
}


def shown(lines):
    return {line.split()[0]: line[len(line.split()[0]) :].split() for line in lines}


def arguments(key, text, layer):
    if layer == "option":
        return [f"--{'no-' * (text == 'false')}verify"] if key == "verify" else [f"--{key}", text], {}
    if layer == "variable":
        return [], {f"HOIST_{key.upper()}": text}
    return [], {layer: f'{key} = "{text}"\n' if key == "region" else f"{key} = {text}\n"}


def source(key, text, layer):
    names = {"variable": f"HOIST_{key.upper()}", "option": f"--{'no-' * (text == 'false')}{key}"}
    return {**SOURCES, **names}[layer]


@pytest.mark.parametrize("key", SAMPLES)
@pytest.mark.parametrize("lower, upper", list(itertools.combinations(LAYERS, 2)))
def test_the_last_layer_counts(run, key, lower, upper):
    """Whatever is the default, and whatever is like nothing."""
    for (one, _), (other, value) in itertools.product(SAMPLES[key], repeat=2):
        options, more = [], {"user": "", "project": ""}
        for text, layer in ((one, lower), (other, upper)):
            its, given = arguments(key, text, layer)
            options, more = options + its, more | given
        found = shown(run("settings", *options, "live", **more))[key]
        wanted = str(value).lower() if isinstance(value, bool) else str(value)
        assert found == [wanted, source(key, other, upper)]


def test_the_report(run):
    first = run("plan", "--jobs", "4", "live", project="jobs = 8\nverify = false\n", user="verify = true\n")
    assert first[0].endswith("api@live-eu-1 (timeout 30)") and len(first) == 2
    assert run("plan", "--no-verify", "live", project="")[0].endswith("(timeout 30)")
    assert len(run("plan", "live", project="jobs = 8\n", HOIST_JOBS="4")) == 2


@pytest.mark.parametrize("text, value", [("0", "false"), ("no", "false"), ("1", "true"), ("true", "true")])
def test_yes_and_no(run, text, value):
    assert shown(run("settings", "live", project="verify = true\n", HOIST_VERIFY=text))["verify"] == [value, "HOIST_VERIFY"]


def listed(lines, key="tags"):
    (line,) = [line for line in lines if line.startswith(key)]
    return line[9:].strip()


def test_lists_replace_lists(run):
    more = {"user": 'tags = ["front"]\nskip = ["db"]\n', "project": 'tags = ["back"]\n'}
    assert listed(run("settings", "live", **more)) == "back             hoist.toml"
    assert listed(run("settings", "live", **more), "skip") == "db               user.toml"
    assert run("plan", "live", **more) == ["api@live-eu-1 api@live-eu-2 (timeout 30, verified)"]
    assert listed(run("settings", "--tag", "x", "--tag", "y", "live", HOIST_TAGS="z", **more)) == "x, y             --tag"
    assert listed(run("settings", "live", HOIST_TAGS=" z , y", **more)) == "z, y             HOIST_TAGS"


def test_an_empty_list_is_a_value(run):
    more = {"user": 'tags = ["front"]\nskip = ["db"]\n', "project": "skip = []\n"}
    assert listed(run("settings", "live", HOIST_TAGS="", **more)) == "HOIST_TAGS"
    assert listed(run("settings", "live", **more), "skip") == "hoist.toml"
    assert len(run("plan", "live", HOIST_TAGS="", **more)) == 2


def test_lists_that_are_added_to(run):
    more = {
        "user": 'tags = ["a", "b"]\n"skip+" = ["x"]\n',
        "project": '"tags+" = ["b", "c"]\n"skip+" = ["y"]\n[environments.live]\n"tags+" = ["d"]\nskip = ["z"]\n',
    }
    assert listed(run("settings", "live", **more)) == "a, b, c, d       user.toml, hoist.toml"
    assert listed(run("settings", "test", **more)) == "a, b, c          user.toml, hoist.toml"
    assert listed(run("settings", "live", **more), "skip") == "z                hoist.toml"
    assert listed(run("settings", "test", **more), "skip") == "x, y             user.toml, hoist.toml"
    assert listed(run("settings", "live", HOIST_TAGS="q", **more)) == "q                HOIST_TAGS"


def test_an_environment_counts_over_its_own_file_only(run):
    more = {"user": "jobs = 2\n[environments.live]\njobs = 4\n", "project": "timeout = 9\n"}
    assert shown(run("settings", "live", **more))["jobs"] == ["4", "user.toml"]
    assert shown(run("settings", "test", **more))["jobs"] == ["2", "user.toml"]
    assert shown(run("settings", "live", **more | {"project": "jobs = 3\n"}))["jobs"] == ["3", "hoist.toml"]


def test_environments_know_nothing_of_each_other(run):
    more = {
        "user": 'skip = ["db"]\n',
        "project": '[environments.a]\n"skip+" = ["api"]\n[environments.b]\n"skip+" = ["web"]\n"tags+" = ["back"]\n[environments.d]\n"tags+" = ["front"]\n',
    }
    single = {each: run("plan", each, **more) for each in "abcd"}
    assert single["a"] == ["web@a-eu-1 web@a-eu-2 web@a-eu-3 (timeout 30, verified)"]
    assert single["b"] == ["api@b-eu-1 api@b-eu-2 (timeout 30, verified)"]
    for order in itertools.permutations("abcd"):
        assert run("plan", *order, **more) == [line for each in order for line in single[each]]


def test_defaults_stay_what_they_are(run):
    before = {key: list(value) if isinstance(value, list) else value for key, value in DEFAULTS.items()}
    run("plan", "--tag", "back", "live", user='"tags+" = ["front"]\n"skip+" = ["db"]\n')
    assert dict(DEFAULTS) == before
    assert listed(run("settings", "live", user="")) == "default"


def test_all_mistakes_are_told_at_once(run):
    found = run(
        "plan", "--timeout", "soon", "a", "b",
        user='jobs = "many"\ntimeout = 5\n', project='jobbs = 3\ntags = "x"\n[environments.b]\nverify = 1\n"jobs+" = [1]\n',
        HOIST_JOBS="x", HOIST_VERIFY="maybe", HOIST_REGION="", code=2,
    )
    starts = ["user.toml: jobs: ", "hoist.toml: jobbs: ", "hoist.toml: tags: ", "HOIST_JOBS: ", "HOIST_VERIFY: ", "HOIST_REGION: ", "--timeout: "]
    for start in starts:
        assert sum(line.startswith(start) for line in found) == 1, start
    rest = [line for line in found if not line.startswith(tuple(starts))]
    assert len(rest) == 2 and all(line.startswith("hoist.toml: ") for line in rest)
    assert any("verify" in line for line in rest) and any("jobs+" in line for line in rest)


def test_nothing_is_planned_if_a_later_environment_is_wrong(run, tmp_path, capsys):
    found = run("plan", "a", "b", project="[environments.b]\njobs = 0\n", code=2)
    assert len(found) == 1 and found[0].startswith("hoist.toml: ") and "jobs" in found[0]
    files = ["--user-file", tmp_path / "none", "--file", tmp_path / "hoist.toml", "--manifest", tmp_path / "manifest.txt"]
    assert main(["plan", *map(str, files), "a", "b"], {}) == 2
    assert capsys.readouterr().out == ""


def test_broken_files_and_other_mistakes_are_told_together(run):
    found = run("settings", "--jobs", "65", "live", user="jobs =\n", project="environments = 3\n", code=2)
    assert [line.split(":")[0] for line in found] == ["user.toml", "hoist.toml", "--jobs"]


@pytest.mark.parametrize("option, text", [("--jobs", "0"), ("--jobs", "2.5"), ("--timeout", "nan"), ("--timeout", "-1"), ("--region", "")])
def test_mistakes_of_options(run, option, text):
    (line,) = run("plan", f"{option}={text}", "live", code=2)
    assert line.startswith(f"{option}: ")


def test_a_mistake_in_a_manifest(run, tmp_path):
    (tmp_path / "manifest.txt").write_text("web 3\napi many\n")
    assert run("plan", "live", code=2) == ["manifest.txt:2: expected NAME HOSTS [TAG]..."]


def test_the_module_is_a_command(tmp_path):
    files = ["--user-file", tmp_path / "none", "--file", tmp_path / "none"]
    done = subprocess.run([sys.executable, "-m", "hoist", "settings", *files, "live"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("jobs ")


def test_a_broken_file_hides_no_mistake_of_another(run):
    found = run("settings", "live", user='jobs = "many"\n', project="jobs =\n", HOIST_JOBS="x", code=2)
    assert [line.split(":")[0] for line in found] == ["user.toml", "hoist.toml", "HOIST_JOBS"]


def test_what_is_added_twice_is_there_once(run):
    more = {"user": 'tags = ["a"]\n', "project": '"tags+" = ["b", "a", "b"]\n'}
    assert listed(run("settings", "live", **more)) == "a, b             user.toml, hoist.toml"


@pytest.mark.parametrize("line", ["jobs = 5", "region = 'us'", "timeout = 3", "verify = true"])
def test_only_lists_are_added_to(run, line):
    key, _, value = line.partition(" = ")
    (told,) = run("plan", "live", project=f'"{key}+" = {value}\n', code=2)
    assert told.startswith(f"hoist.toml: {key}+: ")


@pytest.mark.parametrize("line", ["jobs = true", "jobs = 4.0", "jobs = 65", "timeout = true", "timeout = 0", "verify = 1", "region = ''", "skip = [1]"])
def test_values_of_another_kind_are_mistakes_as_before(run, line):
    (told,) = run("plan", "live", project=line + "\n", code=2)
    assert told.startswith(f"hoist.toml: {line.split()[0]}: ")
