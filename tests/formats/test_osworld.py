"""OSWorld's tasks: what they need is named, and those that can run are played and judged."""

import io
import json
import os
import zipfile
from pathlib import Path

import pytest
from built_images import take_image
from osworld_files import book
from typer.testing import CliRunner

from agentgym import catalogue
from agentgym.cli.app import app
from agentgym.env.environment import Environment
from agentgym.errors import TaskError
from agentgym.formats.osworld.applications import lacking, opener, programs
from agentgym.formats.osworld.checkout import open_checkout
from agentgym.formats.osworld.environment import Offered
from agentgym.formats.osworld.files import LocalFiles
from agentgym.formats.osworld.getters import browser, stored
from agentgym.formats.osworld.getters.registry import GETTERS
from agentgym.formats.osworld.grading import Score, joined
from agentgym.formats.osworld.metrics.registry import INFEASIBLE, MODULES
from agentgym.formats.osworld.model import SetupStep, read_task
from agentgym.formats.osworld.needs import Kind, missing
from agentgym.formats.osworld.steps import STEPS, Stage, take
from agentgym.records import Action, ExecResult
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.task.load import find_task
from agentgym.task.reference_actions import oracle

ONLINE = "https://files.example/datasets/all/resolve/main/calc/t1/sum.xlsx"
GOLD = "https://files.example/datasets/all/resolve/main/calc/t1/gold.xlsx"
OFFICE = Offered(("libreoffice-calc", "mousepad", "python3"), False, True, "user")
CHECKOUT = os.environ.get("AGENTGYM_OSWORLD", "")


def task(name="t1", **given):
    """The JSON of a task that asks for a workbook, or of another one."""
    evaluator = {
        "func": "compare_table",
        "result": {"type": "vm_file", "path": "/root/sum.xlsx", "dest": "sum.xlsx"},
        "expected": {"type": "cloud_file", "path": GOLD, "dest": "gold.xlsx"},
        "options": {"rules": [{"type": "sheet_data", "sheet_idx0": 0, "sheet_idx1": "EI0"}]},
    }
    files = [{"url": ONLINE, "path": "/root/sum.xlsx"}]
    said = {
        "id": name,
        "instruction": "Add the numbers.",
        "related_apps": [],
        "config": [{"type": "download", "parameters": {"files": files}}],
        "evaluator": evaluator,
        "source": "here",
    }
    return {**said, **given}


def words(func, expected, command="cat /root/said", **more):
    """An evaluator of what a command prints."""
    result = {"type": "vm_command_line", "command": command, "shell": True}
    return {"func": func, "result": result, "expected": {"type": "rule", "rules": expected}, **more}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Writes tasks of one domain into a checkout, and returns it."""
    monkeypatch.setattr(catalogue, "imported_dir", lambda: tmp_path / "imported")

    def write(*tasks, domain="calc"):
        folder = tmp_path / "OSWorld/evaluation_examples/examples" / domain
        folder.mkdir(parents=True, exist_ok=True)
        for one in tasks:
            (folder / f"{one['id']}.json").write_text(json.dumps(one))
        return tmp_path / "OSWorld"

    return write


@pytest.fixture
def files(tmp_path):
    """A folder as a clone of the files' repository lies on a disk."""
    folder = tmp_path / "files/calc/t1"
    folder.mkdir(parents=True)
    (folder / "sum.xlsx").write_bytes(book({"S": [[1], [2]]}).data)
    (folder / "gold.xlsx").write_bytes(book({"S": [[1], [2], [3]]}).data)
    return tmp_path / "files"


def run(*words):
    result = CliRunner().invoke(app, ["suite", "import", "osworld", *map(str, words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, " ".join(result.output.split())


@pytest.fixture
async def play():
    """Plays an imported task: `await play(name, *actions)`."""
    provider = BubblewrapProvider()

    async def played(name, *actions):
        environment = Environment(find_task(name), provider, offline=True)
        try:
            episode = await environment.start(0)
            transition = None
            for action in actions or oracle(episode.instance):
                transition = await episode.step(action)
            assert transition is not None and transition.verdict is not None
            return transition.verdict
        finally:
            await environment.close()

    yield played
    await provider.close()


def bash(command):
    return Action("bash", {"command": command, "timeout_s": 30})


SUBMIT = Action("submit")


# --- what a task needs ---


def needs(raw, environment=OFFICE, folder=None):
    found = missing(read_task(json.dumps(raw).encode(), "calc"), LocalFiles(folder), environment)
    return {(str(one.kind), one.name) for one in found}


def test_a_task_needs_its_files(files):
    assert needs(task()) == {("file", ONLINE), ("file", GOLD)}
    assert needs(task(), folder=files) == set()
    (files / "calc/t1/gold.xlsx").unlink()
    assert needs(task(), folder=files) == {("file", GOLD)}


def test_a_file_is_found_in_several_layouts(tmp_path):
    url = "https://host.example/a/b%20c.txt"
    for number, place in enumerate(("host.example/a/b c.txt", "a/b c.txt", "t1/b c.txt")):
        path = tmp_path / str(number) / place
        path.parent.mkdir(parents=True)
        path.write_text(place)
        assert LocalFiles(tmp_path / str(number)).read(url, "t1") == place.encode()
    (tmp_path / "secret").write_text("no")
    outside = LocalFiles(tmp_path / "0")
    assert outside.find("https://host.example/../../secret", "t1") is None
    assert outside.find("https://host.example/%2e%2e/%2e%2e/secret", "..") is None
    with pytest.raises(TaskError, match="no local copy of https://host.example/x"):
        outside.read("https://host.example/x", "t1")
    with pytest.raises(TaskError, match="because no folder is given"):
        LocalFiles(None).read(url, "t1")


def test_everything_that_is_missing_is_named():
    raw = task(
        related_apps=["libreoffice_calc", "Chrome", "os"],
        config=[
            {"type": "launch", "parameters": {"command": ["google-chrome", "--x"]}},
            {"type": "chrome_open_tabs", "parameters": {"urls_to_open": []}},
            {"type": "execute", "parameters": {"command": "pip install x; gimp &", "shell": True}},
            {"type": "open", "parameters": {"path": "/home/user/a.pdf"}},
        ],
        evaluator={
            "func": ["exact_match", "compare_audios"],
            "conj": "or",
            "result": [{"type": "active_tab_info"}, {"type": "vm_file", "path": "/a", "dest": "a"}],
            "expected": [{"type": "rule", "rules": {"expected": 1}}, None],
        },
    )
    assert needs(raw) == {
        ("application", "google-chrome"),
        ("application", "gimp"),
        ("application", "pip"),
        ("application", "atril"),
        ("step", "chrome_open_tabs"),
        ("network", "packages from the internet"),
        ("getter", "active_tab_info"),
        ("metric", "compare_audios"),
    }
    terminal = Offered(("libreoffice-calc",), False, False, "")
    shown = task(
        config=[{"type": "open", "parameters": {"path": "/a.xlsx"}}], evaluator={"func": INFEASIBLE}
    )
    assert needs(shown, terminal) == {("application", "a screen")}


@pytest.mark.parametrize(
    ("command", "shell", "expected"),
    [
        (["ls", "|", "gimp"], False, set()),
        ("cd /a && FOO=1 vlc --x", True, {"vlc"}),
        (["/bin/bash", "-c", "killall x; soffice &"], False, {"libreoffice"}),
        ("echo gimp", True, set()),
        ("echo x | sudo -S apt-get install y", True, {"sudo"}),
        ("nautilus /home", False, {"thunar"}),
        ("echo 'unbalanced", True, set()),
    ],
)
def test_the_programs_of_a_command(command, shell, expected):
    assert programs(command, shell=shell) == expected


def test_programs_come_with_packages_or_with_the_machine():
    assert lacking(["vlc", "thunar"], ["thunar"]) == ("vlc",)
    assert lacking(["python", "vlc-that-is-nowhere"], [], host=True) == ("vlc-that-is-nowhere",)
    assert [opener(path) for path in ("/a/b.XLSX", "/a/b", "/a.d/", "x.pdf")] == [
        "libreoffice",
        "thunar",
        "mousepad",
        "atril",
    ]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (b"{", "not JSON"),
        (b"[]", "valid"),
        (b"[" * 100_000, "not JSON"),
        ({"instruction": ""}, "instruction"),
        ({"config": [{"parameters": {}}]}, "config.0.type"),
        ({"evaluator": {"func": ["a", "b"], "result": [None]}}, "2 metrics, but result has 1"),
        ({"evaluator": {"func": "a", "conj": "xor"}}, "evaluator.conj"),
        ({"evaluator": {"func": "a", "result": {"path": "/x"}}}, "type"),
    ],
)
def test_a_broken_task_is_refused(broken, said):
    data = broken if isinstance(broken, bytes) else json.dumps(task(**broken)).encode()
    with pytest.raises(TaskError, match=said):
        read_task(data, "calc")


ODD = (None, 0, -1.5, "", "x" * 70_000, "http://[", "a\0b", [], {}, [None], [[1]], {"url": 5}, True)


def places(value, path=()):
    """Yield the path of everything in a JSON value."""
    yield path
    if isinstance(value, list):
        value = dict(enumerate(value))
    for key, part in value.items() if isinstance(value, dict) else ():
        yield from places(part, (*path, key))


def test_odd_values_anywhere_in_a_task_are_named_in_a_few_words(files):
    """A checkout of a stranger neither ends an import nor fills the terminal."""
    steps = [
        {"type": "launch", "parameters": {"command": ["soffice", "/root/a"]}},
        {"type": "execute", "parameters": {"command": "ls", "shell": True, "stdout": "a"}},
        {"type": "open", "parameters": {"path": "/root/a"}},
    ]
    honest = task(postconfig=[], related_apps=["libreoffice_calc"])
    honest["config"] += steps
    for path in list(places(honest))[1:]:
        for odd in ODD:
            raw = json.loads(json.dumps(honest))
            inner = raw
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = odd
            try:
                found = missing(read_task(json.dumps(raw).encode(), "calc"), files, OFFICE)
            except TaskError as error:
                assert len(str(error)) < 1_000, (path, odd)
                continue
            broken = [each.name for each in found if each.kind is Kind.TASK]
            assert all(len(name) < 1_000 for name in broken), (path, odd)


@pytest.mark.parametrize(
    ("values", "conj", "expected"),
    [([1, 0.5], "and", 0.75), ([1, 0], "and", 0), ([0.2, 0], "or", 0.2), ([1], "and", 1)],
)
def test_scores_are_joined(values, conj, expected):
    assert joined([Score("m", value) for value in values], conj) == pytest.approx(expected)


# --- the import ---


def test_the_import_reports_and_writes_what_can_run(checkout, files, tmp_path):
    needy = task("t2", related_apps=["gimp"])
    folder = checkout(task(), needy, task("t3", evaluator={"func": INFEASIBLE}, config=[]))
    (folder / "evaluation_examples/examples/calc/t4.json").write_text("{")
    report = tmp_path / "report.json"
    code, said = run(folder, "--env", "terminal", "--files", files, "--dry-run", "--json", report)
    assert code == 0 and "calc 4 2 1 1 0" in said, said
    assert "missing application: gimp (1)" in said and "broken:" in said
    assert not (tmp_path / "imported").exists()
    by_name = {one["task"]: one for one in json.loads(report.read_text())["tasks"]}
    assert [by_name[name]["runs"] for name in ("t1", "t2", "t3", "t4")] == [
        True,
        False,
        True,
        False,
    ]
    assert by_name["t2"]["missing"] == [{"kind": "application", "name": "gimp"}]
    assert by_name["t3"]["infeasible"]
    code, said = run(folder, "--env", "terminal", "--files", files)
    assert code == 0 and "2 tasks imported" in said
    assert catalogue.match_tasks("osworld") == ["osworld/calc-t1-v1", "osworld/calc-t3-v1"]
    (files / "calc/t1/gold.xlsx").unlink()
    with pytest.raises(TaskError, match="missing: file https://files.example.*gold.xlsx"):
        find_task("osworld/calc-t1-v1")


def test_the_import_refuses_what_it_cannot_read(checkout, tmp_path):
    with pytest.raises(TaskError, match="expected a checkout of OSWorld"):
        run(tmp_path)
    folder = checkout(task())
    code, said = run(folder, "--env", "terminal", "--dry-run")
    assert code == 1 and "missing files: 2" in said
    with pytest.raises(TaskError, match="--files"):
        run(folder, "--files", tmp_path / "absent")
    (folder / "evaluation_examples/test_all.json").write_text('{"calc": ["../../secret"]}')
    code, said = run(folder, "--env", "terminal", "--dry-run")
    assert code == 1 and "expected plain names" in said


# --- episodes ---


async def test_a_workbook_is_judged(checkout, files, play, tmp_path):
    run(checkout(task()), "--env", "terminal", "--files", files)
    assert (await play("osworld/calc-t1-v1", SUBMIT)).score == 0
    gold = (files / "calc/t1/gold.xlsx").read_bytes().hex()
    write = f"python3 -c \"open('/root/sum.xlsx','wb').write(bytes.fromhex('{gold}'))\""
    right = await play("osworld/calc-t1-v1", bash(write), SUBMIT)
    assert (right.score, right.outcome) == (1.0, True)
    for harm in ("rm /root/sum.xlsx", "head -c 99 /dev/urandom > /root/sum.xlsx"):
        assert (await play("osworld/calc-t1-v1", bash(harm), SUBMIT)).scored
    assert (
        await play("osworld/calc-t1-v1", bash(write), Action("give_up", {"reason": "no"}))
    ).score == 0


async def test_steps_conjunctions_and_post_actions(checkout, play):
    step = {"type": "execute", "parameters": {"command": "echo start > /root/said", "shell": True}}
    listed = {"type": "command", "parameters": {"command": ["ls", "/root"], "stdout": "names"}}
    pieces = [words("check_include_exclude", {"include": [one]}) for one in ("alpha", "beta")]

    def several(conj):
        joint = {key: [one[key] for one in pieces] for key in ("func", "result", "expected")}
        return {**joint, "conj": conj}

    kept = {
        "postconfig": [listed],
        "func": "check_list",
        "result": {"type": "cache_file", "path": "names"},
        "expected": {"type": "rule", "rules": {"expect": ["^done$"]}},
    }
    tasks = [
        task("all", config=[step], evaluator=several("and")),
        task("any", config=[step], evaluator=several("or")),
        task("kept", config=[{"type": "sleep", "parameters": {"seconds": 0.1}}], evaluator=kept),
    ]
    run(checkout(*tasks), "--env", "terminal")
    half = bash("grep -q start /root/said && echo alpha >> /root/said")
    assert [
        (await play(f"osworld/calc-{name}-v1", half, SUBMIT)).score for name in ("all", "any")
    ] == [0, 1]
    both = bash("echo alpha beta > /root/said")
    verdict = await play("osworld/calc-all-v1", both, SUBMIT)
    assert verdict.score == 1 and [one.id for one in verdict.checkpoints][0].startswith("1-")
    assert (await play("osworld/calc-kept-v1", SUBMIT)).score == 0
    assert (await play("osworld/calc-kept-v1", bash("touch /root/done"), SUBMIT)).score == 1


async def test_what_the_agent_leaves_breaks_no_judging(checkout, files, play):
    """A getter or a post-action that fails by the agent's doing is no broken task."""
    profile = "/home/user/.config/google-chrome/Default"
    font = {
        "func": "check_font_size",
        "result": {"type": "chrome_font_size"},
        "expected": {"type": "rule", "rules": {"type": "value", "value": 16}},
    }
    again = {"files": [{"url": ONLINE, "path": "/srv/a/sum.xlsx"}]}
    post = {"postconfig": [{"type": "download", "parameters": again}]}
    tasks = [
        task("font", evaluator=font),
        task("post", evaluator={**words("exact_match", {"expected": "x"}, "echo x"), **post}),
    ]
    run(checkout(*tasks), "--env", "terminal", "--files", files)
    sizes = '{"webkit": {"webprefs": %s}}'
    for said, score in (('{"default_font_size": 16}', 1), ("[1]", 0)):
        left = bash(f"mkdir -p {profile}; echo '{sizes % said}' > {profile}/Preferences")
        verdict = await play("osworld/calc-font-v1", left, SUBMIT)
        assert (verdict.status, verdict.score) == ("scored", score)
    assert "broke on what the agent left" in verdict.checkpoints[0].message
    assert (await play("osworld/calc-post-v1", SUBMIT)).status == "scored"
    verdict = await play("osworld/calc-post-v1", bash("touch /srv/a"), SUBMIT)
    assert (verdict.status, verdict.score) == ("scored", 0)


class Saying:
    """A computer on which each command prints its words."""

    async def run(self, command, *, shell=False):
        return ExecResult(0, command.encode(), b"")

    async def settle(self):
        pass


@pytest.mark.parametrize("place", ["{0}/x", "../x", "a/../../x", "x"])
async def test_what_a_command_prints_is_kept_under_a_plain_name(tmp_path, place):
    """A task of a stranger could otherwise write any file of this machine."""
    stage = Stage("t", Saying(), LocalFiles(None))
    given = {"command": "evil", "stdout": place.format(tmp_path)}
    await take(stage, SetupStep(type="execute", parameters=given))
    assert stage.kept == {"x": b"evil"}
    for odd in ("..", "/", "a\0b", "x" * 300, ""):
        with pytest.raises(TaskError, match="no name of a file"):
            stage.keep(odd, b"")


@pytest.mark.parametrize(
    "data",
    [b"[" * 100_000, b"[" + b"[]," * 500_000 + b"[]]", b" " * 10_000_000 + b"{}", b"\xff"],
    ids=["deep", "rich", "large", "no text"],
)
def test_a_profile_that_no_browser_writes_has_no_value(data):
    assert browser._parsed(data) is None


RELATIONS = b'<R><R Type="x/image" Target="../media/i.png"/></R>'


def presentation(relations=RELATIONS):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ppt/slides/_rels/slide1.xml.rels", relations)
        archive.writestr("ppt/media/i.png", b"picture")
    return made.getvalue()


def with_bytes(data, places):
    """Write two bytes after each signature of an entry."""
    for signature, at, value in places:
        where = data.index(signature) + at
        data = data[:where] + value + data[where + 2 :]
    return data


def test_a_medium_of_a_damaged_presentation_is_absent():
    assert stored._medium(presentation(), 1, "/image") == b"picture"
    for at, value in ((0, b"\x63\0"), (-2, b"\1\0"), (-2, b"\x40\0")):
        places = ((b"PK\3\4", 8 + at, value), (b"PK\1\2", 10 + at, value))
        assert stored._medium(with_bytes(presentation(), places), 1, "/image") is None
    for name in (b"nope", b"utf-7", b"idna", b"hex"):
        relations = b'<?xml version="1.0" encoding="%s"?>' % name + RELATIONS
        assert stored._medium(presentation(relations), 1, "/image") is None
    many = presentation() + b"PK\1\2" * 100_000
    assert stored._medium(many, 1, "/image") is None


async def test_giving_up_solves_what_cannot_be_done(checkout, play):
    run(checkout(task("t3", evaluator={"func": INFEASIBLE}, config=[])), "--env", "terminal")
    assert (await play("osworld/calc-t3-v1")).outcome
    assert (await play("osworld/calc-t3-v1", SUBMIT)).score == 0


@pytest.mark.full
@pytest.mark.timeout(900)
async def test_a_workbook_is_edited_on_the_screen(session_cache, checkout, files, play):
    """The document is opened, the agent types, and the post-action saves it by a key."""
    take_image("desktop")
    document, title = "/home/user/sum.xlsx", "sum.xlsx - LibreOffice Calc"
    save = "import pyautogui; import time; pyautogui.hotkey('ctrl', 's'); time.sleep(0.5);"
    raw = task(related_apps=["libreoffice_calc"])
    raw["config"][0]["parameters"]["files"][0]["path"] = document
    raw["config"].append({"type": "open", "parameters": {"path": document}})
    raw["evaluator"]["result"]["path"] = document
    raw["evaluator"]["postconfig"] = [
        {"type": "activate_window", "parameters": {"window_name": title, "strict": True}},
        {"type": "sleep", "parameters": {"seconds": 0.5}},
        {"type": "execute", "parameters": {"command": ["python", "-c", save]}},
    ]
    run(checkout(raw), "--files", files)
    keys = [Action("press", {"keys": one}) for one in ("Control+Home", "ArrowDown", "ArrowDown")]
    for text, score in (("4", 0), ("3", 1)):
        typed = Action("type", {"text": text}), Action("press", {"keys": "Enter"})
        assert (await play("osworld/calc-t1-v1", *keys, *typed, SUBMIT)).score == score


# --- the benchmark itself ---


@pytest.mark.skipif(not CHECKOUT, reason="AGENTGYM_OSWORLD names no checkout of OSWorld")
def test_everything_in_a_checkout_runs_or_is_named():
    found, named = open_checkout(Path(CHECKOUT)), {kind: set() for kind in Kind}
    for domain, name in found.chosen(None):
        one = found.read(domain, name)
        lacks = missing(one, LocalFiles(None), OFFICE)
        for each in lacks:
            named[each.kind].add(each.name)
        for measure in one.measures:
            assert (measure.metric in MODULES) != (measure.metric in named[Kind.METRIC])
            for getter in measure.getters:
                assert (getter.type in GETTERS) != (getter.type in named[Kind.GETTER])
        for step in (*one.config, *one.postconfig):
            assert (step.type in STEPS) != (step.type in named[Kind.STEP])
    assert named[Kind.METRIC] and not named[Kind.TASK]
