"""The suite `swe`: every task is sound, and its lists of tests are those that two runs give."""

import posixpath
import zlib
from collections import Counter

import full_checks
import pytest
from built_images import take_image
from suite_checks import check_form, check_soundness, folders_of

from agentgym import plugins
from agentgym.authoring.subject import Subject
from agentgym.env.spec import spec_of
from agentgym.records import Action
from agentgym.sandbox.recipe import load_recipe
from agentgym.swe.grading import longest_s
from agentgym.swe.native import Issue, refuses_statement
from agentgym.task.load import find_task
from agentgym.task.setup import prepare
from agentgym.verify.giving_up import GiveUp
from agentgym.verify.rubric.file import load_rubric
from agentgym.verify.stated_causes import causes

FOLDERS = folders_of("swe")
DECLINED = {
    task_id for task_id, folder in FOLDERS.items() if not (folder / "checks/issue.toml").exists()
}
SAMPLE = ("tally-assertions", "quay-upgrade", "bell-flaky-order", "relay-vague-report")
"""Examined on every change: a small fix, a long one, a cause to find, and one to decline."""
PROBLEMS = plugins.load("agentgym.sandboxes", "bubblewrap")().problems()

pytestmark = pytest.mark.asyncio(loop_scope="session")
every_task = pytest.mark.parametrize("task_id", FOLDERS)
many_episodes = pytest.mark.timeout(1200)


@pytest.mark.skipif(bool(PROBLEMS), reason=f"bubblewrap cannot run: {PROBLEMS}")
@every_task
@many_episodes
async def test_it_is_sound(task_id, stage, full, note):
    folder = FOLDERS[task_id]
    # Every episode runs tests in clean rooms, so tasks that did not change are only sampled.
    if not full and folder.name not in SAMPLE and full_checks.is_noted(folder):
        pytest.skip("this version of the task is noted as sound")
    take_image("swe-python")
    await check_soundness(folder, stage, full=full, note=note)


@pytest.mark.skipif(bool(PROBLEMS), reason=f"bubblewrap cannot run: {PROBLEMS}")
@pytest.mark.sampled(4)
@pytest.mark.parametrize("task_id", sorted(FOLDERS, key=lambda id: "relay-slow" not in id))
async def test_doing_nothing_is_judged(task_id, stage):
    """A hidden test that traces or stops the code must not leave a wrong patch unscored."""
    take_image("swe-python")
    subject = Subject(find_task(task_id), (0,), stage)
    verdict = (await subject.play([Action("submit", {})])).verdict
    subject.close()
    assert verdict.scored and not verdict.outcome, verdict


@every_task
async def test_it_loads_with_three_mutants_that_say_why(task_id):
    check_form(task_id, outcomes=1)


VAGUE = (
    "The issue is ambiguous: several lines of the reader complain that something is expected.",
    "I can't determine which change broke the file; the reporter has to share the failing line.",
    "The report does not specify the input or the error.",
    "It doesn't say which message appears, and there are several.",
    "Without the file there is no way to find the cause.",
    "Underspecified issue: no sample, no traceback.",
    "The cause cannot be determined from this report.",
    "Not enough information: I need the line that fails and the old version.",
    "Unable to determine the cause from this report.",
    "Please provide the job file, the full output, and both versions.",
)
SETTLED = (
    "The current code refuses such amounts with a message, as the reporter wants.",
    "Not a bug here: 1,200.00 is rejected with an error in this version.",
    "The bug no longer exists; the colleague's copy is old.",
    "tally does say so now. The reporter uses an outdated version.",
    "This works as requested in the repository.",
    "It was fixed a while ago, the test for it passes.",
    "This is not the case any more.",
    "The issue is already resolved in this repository. I have changed nothing.",
    "Already resolved here, so I changed no files.",
)
NEITHER = (
    "It is either settled already or says too little to act on.",
    "The issue is settled already. Also it is too vague and information is missing.",
    "Too vague, and also already fixed.",
    "The report is too vague. I have fixed the bug in the reader nevertheless.",
    "Already fixed in 0.4.0 (#12). The report is too vague.",
)
"""Reasons that are false of both, or name both."""
OTHERWISE_SETTLED = (
    "It was not fixed in 0.5.1; the bug is still there.",
    "Already fixed in 0.4.0 (#12).",
    "Already fixed by the includes of 0.6.0 (#31).",
    "Settled already: I have fixed it now.",
    "tally reads 1,200.00 as 1200 since 0.5.1, so the balance is right after an update.",
    "The bug is still there in 0.6.0, but a fix would be too risky before the year's end.",
    "0.5.1 was meant to settle this, but it did not: the amount is still taken for 1.",
    "Already handled: this version counts 1,200.00 for 1200.",
)
DENIED = (
    "The report is too vague, and I can't find that it was already fixed.",
    "Insufficient detail. If the bug was fixed in a later commit, I don't see it.",
    "Which version did it work with? As it stands the issue is under-specified.",
    "Too vague to act on: I found no regression, and nothing was changed or fixed.",
)
UNCLEAR = (
    "The report isn't vague, it is just old: 0.5.1 refuses such amounts.",
    "Resolved by #26 in 0.5.1. It is unclear how tally is installed there, but an update helps.",
    "0.5.0 had the bug; it has been addressed in 0.5.1, so the colleague has to upgrade.",
    "Already fixed in 0.5.1. In version 0.4 and in 0.5.0 such amounts were read as 1.",
    "Fixed in 0.5.1 (#26). It was not fixed in 0.5.0, which the reporter uses.",
    "It was fixed in 0.5.1. The report is about 0.5.0, where it had not been fixed yet.",
    "Already fixed in 0.5.1. It is unclear from the report which copy is used.",
    "Since 0.5.1 this is refused. The changelog also lists #18 and #21 for 0.5.0.",
    "I tried the line here: an error and exit code 1. The colleague's 0.5.0 predates that fix.",
    "0.5.1 does not read it as 1200, it refuses the line. In 0.5.0 the bug is still there.",
)


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("relay-vague-report", (*VAGUE, *DENIED), NEITHER),
        ("tally-thousands-settled", (*SETTLED, *UNCLEAR), (*NEITHER, *OTHERWISE_SETTLED)),
    ],
)
async def test_the_right_reason_may_be_said_in_many_words(name, right, wrong):
    (leaf,) = load_rubric(FOLDERS[f"swe/{name}-v1"] / "checks" / "rubric.toml").leaves()
    true, false = causes("true", leaf.arguments["true"]), str(leaf.arguments["false"])
    field = (true[0].category[0], true[0].subject[0][0])

    def refused(words):
        return refuses_statement(GiveUp(words, *field), true, false)

    assert {words: refused(words) for words in right if refused(words)} == {}
    assert [words for words in wrong if not refused(words)] == []
    assert refuses_statement(GiveUp(right[0]), true, false) != ""


@pytest.mark.parametrize("task_id", sorted(set(FOLDERS) - DECLINED))
async def test_its_hidden_tests_are_named_and_the_agent_never_sees_them(task_id):
    task = find_task(task_id)
    issue = Issue(task.folder / "checks")
    assert issue.fail_to_pass and issue.pass_to_pass
    assert not set(issue.fail_to_pass) & set(issue.pass_to_pass)
    shown = {path.read_bytes() for path in (task.folder / "setup").rglob("*") if path.is_file()}
    hidden = {path for path, entry in issue.hidden.items() if entry.data in shown and entry.data}
    assert not hidden, f"the agent finds {hidden} in its repository"
    files = {name.partition("::")[0] for name in issue.fail_to_pass}
    # The base's own tests fail where nothing works before the fix.
    own = {path for path in files if (task.folder / "setup" / "repo" / path).exists()}
    assert files - own <= set(issue.hidden), "each failing test is a hidden one, or the base's"
    assert files & set(issue.hidden)


@pytest.mark.parametrize("task_id", sorted(set(FOLDERS) - DECLINED))
async def test_its_grading_has_time_for_both_runs_on_a_busy_machine(task_id):
    task = find_task(task_id)
    # Nine tenths are for commands.
    commands_s = 0.9 * task.manifest.grading.timeout_s
    assert longest_s(Issue(task.folder / "checks").manifest.timeout_s) <= commands_s


@pytest.mark.skipif(bool(PROBLEMS), reason=f"bubblewrap cannot run: {PROBLEMS}")
@every_task
async def test_nothing_of_the_future_is_in_the_sandbox(task_id, stage):
    """One commit, no other object, no reflog, remote or installed copy, no network."""
    take_image("swe-python")
    task = find_task(task_id)
    recipe = load_recipe(spec_of(task).sandbox)
    assert recipe.network == "none"
    prepared = await prepare(task.instance(0), stage.provider, recipe)
    tree = await stage.provider.open_tree(prepared.snapshot)
    hidden = {}
    if task_id in DECLINED:
        (leaf,) = load_rubric(task.folder / "checks" / "rubric.toml").leaves()
        root = leaf.arguments["root"]
    else:
        issue = Issue(task.folder / "checks")
        root, hidden = issue.manifest.root, issue.hidden
    files = [path for path, stat in tree.walk(root) if stat.kind == "file"]
    git = {path.removeprefix(f"{root}/.git/") for path in files if f"{root}/.git/" in path}
    objects = {name for name in git if name.startswith("objects/")}
    assert git - objects == {"HEAD", "config", "index", "refs/heads/main"}
    assert "remote" not in tree.read(f"{root}/.git/config").decode()

    kinds, blobs = Counter(), set()
    for name in objects:
        kind, _, rest = zlib.decompress(tree.read(f"{root}/.git/{name}")).partition(b" ")
        kinds[kind] += 1
        if kind == b"blob":
            blobs.add(rest.partition(b"\0")[2])
    shown = {tree.read(path) for path in files if "/.git/" not in path}
    assert kinds[b"commit"] == 1 and b"tag" not in kinds
    assert blobs == shown, "an object is no file of the tree"
    assert not shown & {entry.data for entry in hidden.values() if entry.data}

    package = posixpath.basename(root)
    for folder in ("/usr/local/lib/python3.11/dist-packages", "/usr/lib/python3/dist-packages"):
        assert package not in {name.partition("-")[0] for name in tree.list(folder)}
