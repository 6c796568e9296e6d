"""Every bundled pack judges its known cases as it says it does, and the reference says so too."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from agentgym.records import Recipe
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.verify.calibration.cases import load_cases
from agentgym.verify.calibration.rates import calibrate, tally
from agentgym.verify.calibration.reference import known_limits, pack_reference, rates_table

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.parent for path in ROOT.glob("verifiers/*/pack.toml"))
REFERENCE = ROOT / "docs" / "verifiers.md"


@pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
def test_every_check_has_cases_on_both_sides(folder: Path) -> None:
    pack, cases = load_cases(folder)
    assert len(cases) >= 12
    assert len({case.name for case in cases}) == len(cases)
    sides = Counter((case.use.partition(".")[2], case.expect) for case in cases)
    for check in pack.checks:
        assert sides[check, "pass"] and sides[check, "fail"], check


@pytest.mark.sampled(3)
@pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
async def test_a_pack_is_as_right_as_the_reference_says(folder: Path, tmp_path: Path) -> None:
    provider = BubblewrapProvider(tmp_path / "store")
    try:
        pack, outcomes = await calibrate(folder, provider, Recipe("host"))
    finally:
        await provider.close()
    surprises = {o.case.name: o.result for o in outcomes if o.surprising}
    assert surprises == {}
    text = REFERENCE.read_text(encoding="utf-8")
    assert pack_reference(pack) in text
    tallies = tally(pack, outcomes)
    for row in (*rates_table(tallies).splitlines(), *known_limits(tallies).splitlines()):
        assert row in text
