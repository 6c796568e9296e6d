"""A check must be able to say no: every property, over tasks that lack it."""

import json

import pytest
from unsound_tasks import SERVICES, UNSOUND

from agentgym.authoring.check import check_task, check_tasks
from agentgym.authoring.finding import Soundness
from agentgym.authoring.probes import PROBES
from agentgym.authoring.show import reports_to_json

pytestmark = pytest.mark.asyncio(loop_scope="session")
SEEDS = 3


async def test_every_property_has_a_task_that_lacks_it():
    assert {broken.lacks for broken in (*UNSOUND, *SERVICES)} == {probe.name for probe in PROBES}


async def test_the_example_has_every_property(write, stage):
    report = await check_task(write({}), stage, seeds=SEEDS)
    assert report.sound, report.unsound
    found = {finding.property: finding for finding in report.findings}
    assert found.pop("excess").details == ("the environment has no services",)
    assert found.pop("messages").details == (
        "no check of pack messages, and none of the fields of giving up",
    )
    assert {finding.soundness for finding in found.values()} == {Soundness.SOUND}
    assert [finding.property for finding in report.findings] == [probe.name for probe in PROBES]
    assert report.episodes > 20


@pytest.mark.full
async def test_the_example_of_services_has_every_property(write_services, stage):
    report = await check_task(write_services({}), stage, seeds=2)
    assert report.sound, report.unsound
    found = {finding.property: finding for finding in report.findings}
    assert found.pop("messages").details == (
        "no check of pack messages, and none of the fields of giving up",
    )
    assert {finding.soundness for finding in found.values()} == {Soundness.SOUND}


POLICY = """
import re


def solve(view):
    shop = re.search(r"the shop `(\\w+)`", view.instruction)[1]
    yield view.act("bash", command=f"grep ',{shop},' /srv/shop/sales.csv")
    sales = [line.split(",") for line in view.observation.text.split() if line.count(",") == 2]
    total = sum(int(price) for _, _, price in sales)
    yield view.act(
        "bash", command=f"echo {total} >/root/total.txt; echo {COUNT} >/root/count.txt"
    )
"""
RIGHT, WRONG = (POLICY.replace("COUNT", count) for count in ("len(sales)", "len(sales) + 1"))


async def test_a_solution_that_looks_first_has_every_property(write, stage):
    files = {"solution/solve.sh": None, "solution/policy.py": RIGHT, "mutants/one_more.py": WRONG}
    task = write({**files, "mutants/drops_the_others.patch": None})
    report = await check_task(task, stage, seeds=SEEDS)
    assert report.sound, report.unsound


async def test_a_mutant_that_looks_first_must_not_pass(write, stage):
    task = write({"mutants/right.py": RIGHT})
    probes = [probe for probe in PROBES if probe.name in ("schema", "mutants")]
    report = await check_task(task, stage, seeds=1, probes=probes)
    assert "mutant right" in "\n".join(report.unsound[0].details)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "broken", SERVICES, ids=[f"{b.lacks}-{b.told.split(':')[0][:30]}" for b in SERVICES]
)
async def test_it_is_told_what_a_task_of_services_lacks(broken, write_services, stage):
    asked = [PROBES[0], *(p for p in PROBES[1:] if p.name == broken.lacks)]
    report = await check_task(write_services(broken.files), stage, seeds=SEEDS, probes=asked)
    assert [finding.property for finding in report.unsound] == [broken.lacks]
    assert broken.told in "\n".join(report.unsound[0].details)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "broken", UNSOUND, ids=[f"{b.lacks}-{b.told.split(':')[0][:30]}" for b in UNSOUND]
)
async def test_it_is_told_what_a_task_lacks(broken, write, stage):
    asked = [PROBES[0], *(p for p in PROBES[1:] if p.name == broken.lacks)]
    report = await check_task(write(broken.files), stage, seeds=SEEDS, probes=asked)
    assert [finding.property for finding in report.unsound] == [broken.lacks]
    assert broken.told in "\n".join(report.unsound[0].details)


async def test_needs_are_checked_of_a_task_that_was_prepared_before(write, stage):
    folder = write({})
    assert (await check_task(folder, stage, probes=PROBES[:1])).sound
    manifest = folder / "task.toml"
    manifest.write_text(manifest.read_text().replace('needs = ["awk"]', 'needs = ["awkk"]'))
    report = await check_task(folder, stage, probes=PROBES[:1])
    assert "commands that the sandbox does not have: awkk" in report.unsound[0].details[0]


async def test_what_does_not_apply_says_so(write, stage):
    folder = write({})
    manifest = (folder / "task.toml").read_text()
    (folder / "task.toml").write_text(
        manifest.replace("# abstain = true", "abstain = true").partition("[params]")[0]
    )
    for name in ("instruction.md", "setup/setup.sh", "solution/solve.sh"):
        text = (folder / name).read_text()
        for old, new in (("{{shop}}", "north"), ("$PARAM_SHOP", "north"), ("$PARAM_SEED", "1")):
            text = text.replace(old, new)
        (folder / name).write_text(text)
    for mutant in (folder / "mutants").iterdir():
        mutant.unlink()
    asked = [p for p in PROBES if p.name in ("schema", "refusal", "mutants", "template")]
    report = await check_task(folder, stage, probes=asked)
    found = {finding.property: finding for finding in report.findings}
    assert {name for name, f in found.items() if f.soundness is Soundness.NOT_APPLICABLE} == {
        "refusal",
        "mutants",
        "template",
    }
    assert found["template"].details == ("no [params]",)


async def test_a_solution_may_clear_its_scratch_files_away(write, stage):
    tidy = "cp /srv/shop/sales.csv /tmp/mine\n…\nrm /tmp/mine\n"
    asked = [p for p in PROBES if p.name in ("schema", "partial")]
    report = await check_task(write({"solution/solve.sh": tidy}), stage, probes=asked)
    assert [finding.soundness for finding in report.findings] == [Soundness.SOUND] * 2


async def test_a_broken_task_does_not_stop_the_others(write, stage, tmp_path):
    folder = write({})
    nothing = tmp_path / "tasks" / "zoo" / "nothing"
    nothing.mkdir()
    heard = []
    reports = await check_tasks(
        [nothing, folder], stage, seeds=1, on_report=lambda name, report: heard.append(report.task)
    )
    assert [report.sound for report in reports] == [False, True]
    assert len(heard) == 2
    written = json.loads(json.dumps(reports_to_json(reports, 1, 2.5)))
    assert written["schema"] == "agentgym.task-check/1"
    assert [task["sound"] for task in written["tasks"]] == [False, True]
    assert not written["sound"]
    assert "task.toml" in written["tasks"][0]["findings"][0]["details"][0]
