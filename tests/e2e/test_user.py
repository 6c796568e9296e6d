"""A task with a user from the command line: evaluated, proved sound, replayed."""

import json

import pytest
from chat_server import ChatServer, Status, call, says
from shop_task import USER, write_shop

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(catalogue, monkeypatch):
    monkeypatch.delenv("AGENTGYM_USER", raising=False)
    return write_shop(catalogue)


def results(tmp_path):
    return json.loads((tmp_path / "run/results.json").read_text())


def test_a_scripted_user_is_part_of_a_run(cli, folder, tmp_path):
    done = cli("eval", "demo", "-a", "oracle", "-a", "noop", "-k", 2, "-o", "run")
    assert done.returncode == 0, done.stderr
    summary = results(tmp_path)["summary"]
    assert (summary["oracle"]["mean_score"], summary["noop"]["mean_score"]) == (1.0, 0.0)
    assert results(tmp_path)["settings"]["user"] == "scripted"
    done = cli("replay", "run", "1", "--verify")
    assert done.returncode == 0, done.stderr


def test_a_model_may_play_the_user(cli, folder, tmp_path):
    def play(request):
        *_, last = request["messages"]
        if last["role"] == "user" and "code" in last["content"]:
            return says(call("orders_inbox"))
        return says(call("answer", {"text": "Here you are."}))

    with ChatServer(play) as server:
        run = ("eval", "demo", "-a", "oracle", "-o", "run", "--user", "openai:player")
        done = cli(*run, AGENTGYM_USER_BASE_URL=server.url)
    assert done.returncode == 0, done.stderr
    assert results(tmp_path)["summary"]["oracle"]["mean_score"] == 1.0
    assert len(server.requests) == 4
    done = cli("replay", "run", "1", "--verify")
    assert done.returncode == 0, done.stderr


def test_an_outage_of_the_user_scores_nobody(cli, folder, tmp_path):
    with ChatServer([Status(500, "down")]) as server:
        run = ("eval", "demo", "-a", "oracle", "-a", "noop", "-o", "run")
        named = {"AGENTGYM_USER": "openai:player?retries=0", "AGENTGYM_USER_BASE_URL": server.url}
        done = cli(*run, **named)
    assert done.returncode == 3 and "unscored: 1 × error:user" in done.stderr
    (task,) = results(tmp_path)["tasks"]
    assert [e["status"] for e in task["episodes"]] == ["error:user", "scored"]
    assert "down" in task["episodes"][0]["error"]


def test_what_keeps_a_user_from_answering_is_told_before_anything_runs(cli, folder, tmp_path):
    done = cli("eval", "demo", "-a", "noop", "-o", "run", "--user", "openai:player")
    assert done.returncode == 2 and "user 'openai' has no endpoint" in done.stderr
    assert not (tmp_path / "run").exists()
    done = cli("eval", "demo", "-a", "noop", "-o", "run", "--user", "opnai:player")
    assert "no user named 'opnai'; did you mean 'openai'?" in done.stderr


def test_a_task_with_a_user_can_be_proved_sound(cli, folder):
    done = cli("task", "check", str(folder), "--seeds", 3, AGENTGYM_USER="openai:nobody")
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "user.toml").write_text(USER.replace('say = "Bye."', 'say = "{{byte}}"'))
    done = cli("task", "check", str(folder))
    assert done.returncode == 1 and "user.toml:53: always.0.say.0: unknown slot" in done.stdout
