"""A run without isolation: what is said before it, and what its results and its report show."""

import json

import pytest
from small_task import write_task


def test_a_run_without_isolation_is_marked_as_one(cli, catalogue, tmp_path):
    write_task(catalogue)
    marks = {}
    for name in ("local", "bubblewrap"):
        done = cli("eval", "demo", "-a", "oracle", "--sandbox", name, "-o", name)
        assert done.returncode == 0, done.stderr
        results = json.loads((tmp_path / name / "results.json").read_text())
        assert results["summary"]["oracle"]["mean_score"] == 1.0
        first = done.stderr.splitlines()[1]
        report = (tmp_path / name / "report.html").read_text()
        marks[name] = (
            first.startswith("warning: sandbox 'local' isolates nothing"),
            not results["settings"]["isolated"],
            "local (no isolation)" in report,
        )
    assert marks == {"local": (True,) * 3, "bubblewrap": (False,) * 3}


@pytest.mark.full
def test_doctor_tells_it_from_the_others(cli):
    lines = cli("doctor").stdout.splitlines()
    marked = [line.split()[2] for line in lines if "NO ISOLATION" in line]
    assert marked == ["local"]
