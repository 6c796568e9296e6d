import pytest


def test_a_plan(run):
    assert run("plan", "live") == [
        "web@live-eu-1 web@live-eu-2 web@live-eu-3 api@live-eu-1 (timeout 30, verified)",
        "api@live-eu-2 db@live-eu-1 (timeout 30, verified)",
    ]


def test_layers_go_over_each_other(run):
    more = {"user": 'jobs = 2\nregion = "us"\n', "project": "jobs = 3\n[environments.live]\ntimeout = 1.5\n"}
    assert run("plan", "live", **more)[0] == "web@live-us-1 web@live-us-2 web@live-us-3 (timeout 1.5, verified)"
    assert run("plan", "test", **more)[0].endswith("(timeout 30, verified)")
    assert len(run("plan", "live", HOIST_JOBS="1", **more)) == 6
    assert len(run("plan", "live", "--jobs", "6", HOIST_JOBS="1", **more)) == 1


def test_tags_and_skipped_artifacts(run):
    assert run("plan", "--tag", "back", "--skip", "db", "live") == ["api@live-eu-1 api@live-eu-2 (timeout 30, verified)"]


@pytest.mark.parametrize("project", ["jobs = 0", 'tags = "x"', "jobbs = 1", "jobs ="])
def test_mistakes(run, project):
    assert run("plan", "live", project=project, code=2)


def test_settings(run):
    assert run("settings", "live", project="jobs = 7\n")[0] == f"{'jobs':<8} {7:<16} hoist.toml"
