"""Foreign task folders as text: what is read, what is refused, what the solution becomes."""

import json
import os
import random
import re

import pytest
from foreign_folder import MANIFEST, classic, harbor, reward

from agentgym import catalogue
from agentgym.errors import NotFoundError, TaskError
from agentgym.formats.harbor.manifest import PASSED, read_harbor
from agentgym.formats.swebench.format import SweBenchFormat
from agentgym.task.load import find_task
from agentgym.task.reference_actions import oracle
from agentgym.verify.grade import failed

NEWER = """\
schema_version = "1.4"
artifacts = ["/app/out", { source = "/var/log/app", exclude = ["*.tmp"] }]
[task]
name = "org/hello"
[environment]
memory_mb = 2048
storage_mb = 10240
network_mode = "no-network"
[environment.env]
WORD = "${NO_SUCH_VARIABLE_HERE:-blue}"
[environment.healthcheck]
command = "test -f /ready"
[verifier]
environment_mode = "separate"
[[verifier.collect]]
command = "true"
"""


def test_older_and_newer_spellings_mean_the_same(tmp_path):
    old = find_task(str(harbor(tmp_path / "old")))
    new = find_task(str(harbor(tmp_path / "new", **{"task.toml": NEWER})))
    assert old.manifest.limits.memory_mb == new.manifest.limits.memory_mb == 2048
    assert old.manifest.limits.disk_mb == new.manifest.limits.disk_mb == 10240
    closed = f"{MANIFEST}allow_internet = false\n"
    shut = find_task(str(harbor(tmp_path / "shut", **{"task.toml": closed})))
    networks = [task.foreign.sandbox.network for task in (old, new, shut)]
    assert networks == ["open", "none", "none"]


def test_a_newer_task_is_read_whole(tmp_path):
    rules = find_task(str(harbor(tmp_path / "new", **{"task.toml": NEWER}))).foreign.rules.rules
    assert [artifact.source for artifact in rules.artifacts] == ["/app/out", "/var/log/app"]
    assert rules.artifacts[1].exclude == ("*.tmp",)
    assert rules.sandbox.env == {"WORD": "blue"}
    assert rules.healthcheck.command == "test -f /ready"
    assert rules.verifier is not None and not rules.verifier_has_tests
    assert [hook.command for hook in rules.collect] == ["true"]


def test_variables_of_this_machine_are_given_only_if_the_user_names_them(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_SECRET_KEY", "sk-1")
    monkeypatch.delenv(PASSED, raising=False)
    asks = MANIFEST + '[solution.env]\nKEY = "${MY_SECRET_KEY}"\nOTHER = "${MY_SECRET_KEY:-none}"\n'
    folder = harbor(tmp_path / "hello", **{"task.toml": asks})
    with pytest.raises(TaskError, match=f"may not use it; add it to {PASSED}"):
        read_harbor(folder)
    harbor(folder, **{"task.toml": asks.replace('KEY = "${MY_SECRET_KEY}"', "")})
    assert read_harbor(folder)[1].solution_env == {"OTHER": "none"}
    monkeypatch.setenv(PASSED, "OTHER_THING,MY_*")
    harbor(folder, **{"task.toml": asks})
    assert read_harbor(folder)[1].solution_env == {"KEY": "sk-1", "OTHER": "sk-1"}
    monkeypatch.delenv("MY_SECRET_KEY")
    with pytest.raises(TaskError, match="which is not set"):
        read_harbor(folder)


OLD = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def test_defaults_are_taken_as_compose_files_write_them(tmp_path):
    draw = random.Random(4)
    pieces = ["${", "A", "_1", "9", ":-", "}", "$", "{", ":", "-", " ", "x", "${B:-", "${C}"]
    texts = ["".join(draw.choices(pieces, k=12)) for _ in range(300)]
    texts = [text for text in texts if all(found[2] is not None for found in OLD.finditer(text))]
    assert len(texts) > 100
    lines = "".join(f"V{number} = {json.dumps(text)}\n" for number, text in enumerate(texts))
    folder = harbor(tmp_path / "hello", **{"task.toml": f"{MANIFEST}[solution.env]\n{lines}"})
    read = read_harbor(folder)[1].solution_env
    assert list(read.values()) == [OLD.sub(lambda found: found[2], text) for text in texts]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("text", ["${A:-", "${A", "${", "${A:-${"])
def test_variables_that_never_end_are_read_in_linear_time(tmp_path, text):
    env = f'[solution.env]\nKEY = "{text * 100_000}"\n'
    folder = harbor(tmp_path / "hello", **{"task.toml": MANIFEST + env})
    assert read_harbor(folder)[1].solution_env == {"KEY": text * 100_000}


def test_what_looks_like_a_slot_is_text_there(tmp_path):
    instance = find_task(str(harbor(tmp_path / "hello"))).instance(3)
    assert "{{slot}}" in instance.instruction
    assert instance.params == {}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("gpus = 1", "no GPU"),
        ('[[steps]]\nname = "a"\n' * 501, "steps: Tuple should have at most 500 items"),
        ('network_mode = "half-open"', "half-open"),
        ('memory = "much"', "expected a size"),
    ],
)
def test_what_cannot_be_given_is_refused_by_name(tmp_path, line, complaint):
    text = MANIFEST.replace('memory = "2G"', line)
    with pytest.raises(TaskError, match=complaint):
        find_task(str(harbor(tmp_path / "hello", **{"task.toml": text})))


def test_several_services_are_refused(tmp_path):
    folder = harbor(tmp_path / "hello", **{"environment/docker-compose.yaml": "services: {}"})
    with pytest.raises(TaskError, match="several services"):
        find_task(str(folder))


def test_without_a_test_script_there_is_no_task(tmp_path):
    folder = harbor(tmp_path / "hello")
    (folder / "tests/test.sh").unlink()
    with pytest.raises(TaskError, match=r"tests/test\.sh: required"):
        find_task(str(folder))


def test_a_size_without_an_end_is_refused_and_tags_of_another_form_are_none(tmp_path):
    endless = harbor(tmp_path / "a", **{"task.toml": '[environment]\nmemory = "infG"\n'})
    with pytest.raises(TaskError, match="cannot convert float infinity"):
        find_task(str(endless))
    tagged = harbor(tmp_path / "b", **{"task.toml": "[metadata]\ntags = 7\n"})
    assert find_task(str(tagged)).manifest.tags == ()


def test_a_path_names_a_task_or_a_folder_of_tasks(tmp_path):
    for name in ("b", "a"):
        harbor(tmp_path / "suite" / name)
    classic(tmp_path / "suite" / "c")
    (tmp_path / "suite" / "README.md").write_text("no task\n")
    found = catalogue.match_tasks(str(tmp_path / "suite"))
    assert [path.rpartition("/")[2] for path in found] == ["a", "b", "c"]
    assert catalogue.match_tasks(f"{tmp_path}/suite/a") == [f"{tmp_path}/suite/a"]
    with pytest.raises(NotFoundError, match="formats: .*terminal-bench"):
        catalogue.match_tasks(str(tmp_path))


def test_a_path_below_here_is_found_again_from_elsewhere(tmp_path, monkeypatch):
    harbor(tmp_path / "hello")
    monkeypatch.chdir(tmp_path)
    (found,) = catalogue.match_tasks("hello")
    assert catalogue.match_tasks("./hello") == [found]
    monkeypatch.chdir("/")
    assert find_task(found).folder == tmp_path / "hello"


def test_the_solution_is_written_then_run_for_as_long_as_the_agent_has(tmp_path):
    text = MANIFEST.replace("timeout_sec = 90.0", "timeout_sec = 1500.0")
    folder = harbor(tmp_path / "hello", **{"task.toml": text})
    (folder / "solution/image").write_bytes(b"\xff\x00\xfe")
    actions = oracle(find_task(str(folder)).instance(0))
    tools = [action.tool for action in actions]
    assert tools == ["write_file", "bash", *["write_file"] * 2, *["bash"] * 3, "submit"]
    assert [a.arguments["timeout_s"] for a in actions[4:7]] == [600, 600, 300]


def test_a_task_without_solution_has_no_solution(tmp_path):
    folder = harbor(tmp_path / "hello")
    (folder / "solution/solve.sh").unlink()
    assert oracle(find_task(str(folder)).instance(0)) == ()


def test_steps_have_their_own_instructions_and_share_tests(tmp_path):
    steps = '\n[[steps]]\nname = "one"\nmin_reward = 0.5\n[[steps]]\nname = "two"\n'
    folder = harbor(
        tmp_path / "hello",
        **{
            "task.toml": MANIFEST + steps,
            "steps/one/instruction.md": "first\n",
            "steps/one/tests/test.sh": reward("echo 1 > /logs/verifier/reward.txt"),
            "steps/two/instruction.md": "second\n",
        },
    )
    rules = find_task(str(folder)).foreign.rules.rules
    assert [stage.instruction for stage in rules.stages] == ["first\n", "second\n"]
    assert [len(stage.tests) for stage in rules.stages] == [2, 1]
    assert [stage.min_reward for stage in rules.stages] == [0.5, None]


def test_a_classic_folder_is_read(tmp_path):
    task = find_task(str(classic(tmp_path / "hello")))
    assert task.manifest.difficulty == "easy"
    assert task.manifest.limits.wall_s == 90.0
    assert task.foreign.sandbox.env == {"COLOUR": "blue", "TEST_DIR": "/tests"}
    assert [action.tool for action in oracle(task.instance(0))] == ["write_file", "bash", "submit"]


def test_typed_keys_of_a_classic_solution_are_refused(tmp_path):
    folder = classic(tmp_path / "hello")
    (folder / "solution.sh").unlink()
    (folder / "solution.yaml").write_text("- command: echo hello > hello.txt\n- command: C-c\n")
    task = find_task(str(folder))
    with pytest.raises(TaskError, match="types keys"):
        oracle(task.instance(0))


def test_a_second_container_of_a_classic_folder_is_refused(tmp_path):
    folder = classic(tmp_path / "hello")
    (folder / "docker-compose.yaml").write_text("services: {client: {}, database: {}}\n")
    with pytest.raises(TaskError, match="client, database"):
        find_task(str(folder))


LINKED = ("instruction.md", "environment", "tests", "solution", "solution/solve.sh")


@pytest.mark.parametrize(
    "written", ["[1]", "text", "services: [client]", "services: {1: {}, a: {}}"]
)
def test_a_compose_file_of_another_form_is_refused(tmp_path, written):
    folder = classic(tmp_path / "hello")
    (folder / "docker-compose.yaml").write_text(written)
    with pytest.raises(TaskError, match="expected one service, 'client'; found"):
        find_task(str(folder))


@pytest.mark.parametrize("name", LINKED)
def test_a_link_out_of_the_folder_brings_no_file_of_this_machine_in(tmp_path, name):
    outside = harbor(tmp_path / "outside")
    folder = harbor(tmp_path / "hello")
    (folder / name).rename(tmp_path / "taken")
    (folder / name).symlink_to(outside / name)
    with pytest.raises(TaskError, match="leads out of the task's folder"):
        find_task(str(folder))
    (folder / name).unlink()
    (tmp_path / "taken").rename(folder / "within")
    (folder / name).symlink_to(folder / "within")
    assert oracle(find_task(str(folder)).instance(0))


def test_a_file_that_links_out_of_the_folder_is_no_part_of_the_solution(tmp_path):
    folder = harbor(tmp_path / "hello")
    (folder / "solution/word").unlink()
    (folder / "solution/word").symlink_to("/etc/hostname")
    with pytest.raises(TaskError, match="word: leads out of the task's folder"):
        oracle(find_task(str(folder)).instance(0))


@pytest.mark.parametrize("aliases", ["[{0}]", "{{<<: [{0}]}}"], ids=["lists", "merges"])
def test_aliases_that_multiply_are_refused(tmp_path, aliases):
    pytest.importorskip("yaml")
    folder = classic(tmp_path / "hello")
    lines = ["a: &a {x: 1}"]
    for name, before in zip("bcdefghij", "abcdefghi", strict=True):
        lines.append(f"{name}: &{name} " + aliases.format(",".join([f"*{before}"] * 10)))
    (folder / "task.yaml").write_text("\n".join([*lines, "instruction: hi", "tags: *j", ""]))
    with pytest.raises(TaskError, match="is not usable YAML"):
        find_task(str(folder))


@pytest.mark.timeout(30)
@pytest.mark.parametrize("kind", ["FIFO", "brackets", "key", "instance"])
def test_a_folder_made_to_stop_its_reader_is_no_instance(tmp_path, kind):
    manifest = tmp_path / "task.toml"
    if kind == "FIFO":
        os.mkfifo(manifest)
    elif kind == "instance":
        manifest.write_text('schema_version = "agentgym.swebench/1"\nid = "a/b-v1"\n')
        os.mkfifo(tmp_path / "instance.json")
        assert SweBenchFormat().detect(tmp_path)
        with pytest.raises(TaskError):
            SweBenchFormat().load(tmp_path)
        return
    else:
        text = "[" * 100_000 if kind == "brackets" else ".".join("a" * 30_000) + " = 1"
        manifest.write_text(f'schema_version = "agentgym.swebench/1"\na = 1\n{text}\n')
    assert not SweBenchFormat().detect(tmp_path)


@pytest.mark.parametrize("seconds", ["1e12", "1e300", "inf", "nan", "-1.0"])
@pytest.mark.parametrize(
    "place",
    [
        "[agent]\ntimeout_sec",
        "[verifier]\ntimeout_sec",
        '[environment.healthcheck]\ncommand = "false"\ninterval_sec',
        '[[verifier.collect]]\ncommand = "true"\ntimeout_sec',
    ],
)
def test_times_that_end_nothing_are_refused(tmp_path, place, seconds):
    # The calls that wait for a solution once took all memory of this machine.
    text = 'version = "1.0"\n[environment]\nmemory = "2G"\n' + f"{place} = {seconds}\n"
    with pytest.raises(TaskError, match="expected|finite"):
        find_task(str(harbor(tmp_path / "t", **{"task.toml": text})))


@pytest.mark.parametrize("field", ["timeout_sec", "start_period_sec", "interval_sec"])
def test_a_healthcheck_has_no_time_after_which_it_is_ended_anyway(tmp_path, field):
    check = f'[environment.healthcheck]\ncommand = "false"\n{field} = '
    text = 'version = "1.0"\n[environment]\nmemory = "2G"\n' + check
    find_task(str(harbor(tmp_path / "hour", **{"task.toml": text + "3600.0\n"})))
    with pytest.raises(TaskError, match="3,600 s, got 7200"):
        find_task(str(harbor(tmp_path / "two", **{"task.toml": text + "7200.0\n"})))


def test_an_end_that_cannot_be_examined_is_a_failed_one(tmp_path):
    instance = find_task(str(harbor(tmp_path))).instance(0)
    verdict = failed(instance, "its actions break the episode")
    assert (verdict.status, verdict.outcome, verdict.score) == ("scored", False, 0.0)
    assert verdict.checkpoints[0].message == "its actions break the episode"
    assert verdict.verifier
