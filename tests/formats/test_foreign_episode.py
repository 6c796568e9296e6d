"""Foreign tasks run for real: their images are built, their tests run in the live sandbox."""

import shutil

import pytest
from built_images import keep_builds
from foreign_folder import DOCKERFILE, MANIFEST, classic, harbor, reward

import agentgym
from agentgym.env.environment import Environment
from agentgym.errors import SandboxError
from agentgym.eval.requirements import build_images
from agentgym.records import Action, CheckStatus
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.docker.provider import DockerProvider
from agentgym.task.load import find_task
from agentgym.task.reference_actions import oracle

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
PASS = reward("echo 1 > /logs/verifier/reward.txt")


@pytest.fixture(autouse=True)
def kept_images(monkeypatch):
    """Build in a cache that is kept between sessions: the first time takes minutes."""
    keep_builds(monkeypatch)


@pytest.fixture(params=["bubblewrap"])
async def provider(request, tmp_path):
    # Unpacked images are kept with the built ones; they are large.
    docker = request.param == "docker"
    provider = DockerProvider(tmp_path / "store") if docker else BubblewrapProvider()
    yield provider
    await provider.close()


@pytest.fixture
async def play(provider):
    """Runs a task folder to its verdict: `await play(folder, actions)`, None for the oracle's."""
    opened = []

    async def run(folder, actions=()):
        assert build_images([str(folder)], print) == {}
        task = find_task(str(folder))
        env = Environment(task, provider, offline=True)
        opened.append(env)
        episode = await env.start(0)
        transition = None
        for action in oracle(episode.instance) if actions is None else actions:
            transition = await episode.step(action)
            run.seen.append(transition.observation.text)
        if transition is not None and transition.verdict is not None:
            return transition.verdict
        return await episode.finish()

    run.seen = []
    yield run
    for env in opened:
        await env.close()


def bash(command):
    return Action("bash", {"command": command, "timeout_s": 30})


def by_id(verdict):
    return {checkpoint.id: checkpoint for checkpoint in verdict.checkpoints}


async def test_the_oracle_passes_and_doing_nothing_fails(play, tmp_path):
    folder = harbor(tmp_path / "hello")
    solved = await play(folder, None)
    assert (solved.status, solved.outcome, solved.score) == ("scored", True, 1.0)
    assert list(by_id(solved)) == [
        "test_outputs.py::test_is_there",
        "test_outputs.py::test_says_hello",
        "reward",
    ]
    idle = await play(folder)
    assert (idle.status, idle.outcome, idle.score) == ("scored", False, 0.0)
    assert idle.verifier == solved.verifier != ""
    failed = by_id(idle)["test_outputs.py::test_is_there"]
    assert failed.status is CheckStatus.FAIL
    assert "hello.txt" in failed.message


async def test_neither_tests_nor_solution_are_there_for_the_agent(play, tmp_path):
    look = "ls -d /tests /solution /.agentgym* /opt/agentgym* 2>/dev/null; pwd; echo $GREETING"
    await play(harbor(tmp_path / "hello"), [bash(look)])
    assert play.seen == ["/app\nhello\n"]


async def test_agent_and_verifier_are_who_the_task_says(play, tmp_path):
    users = MANIFEST.replace("[agent]", '[agent]\nuser = "daemon"')
    script = reward('[ "$(id -un)$(stat -c %U /tmp/mine)" = rootdaemon ] && echo 1 > $OUT')
    script = script.replace("$OUT", "/logs/verifier/reward.txt")
    folder = harbor(tmp_path / "hello", **{"task.toml": users, "tests/test.sh": script})
    assert (await play(folder, [bash("id -un; touch /tmp/mine")])).score == 1.0
    assert play.seen == ["daemon\n"]


@pytest.mark.full
async def test_tests_of_an_ordinary_user_may_leave_a_reward_and_a_fifo_stops_nobody(play, tmp_path):
    users = MANIFEST.replace("[verifier]", '[verifier]\nuser = "daemon"')
    script = reward('R=$(id -u); [ "$R" = 1 ] && echo 1 > /logs/verifier/reward.txt')
    folder = harbor(tmp_path / "hello", **{"task.toml": users, "tests/test.sh": script})
    assert (await play(folder)).score == 1.0
    verdict = await play(folder, [bash("rm /etc/passwd; mkfifo /etc/passwd")])
    assert (verdict.status, verdict.score) == ("scored", 0.0)


async def test_a_reward_may_be_a_json_object(play, tmp_path):
    script = reward("""echo '{"speed": 0.5, "style": 1}' > /logs/verifier/reward.json""")
    verdict = await play(harbor(tmp_path / "hello", **{"tests/test.sh": script}))
    assert (verdict.score, verdict.outcome) == (0.75, False)
    assert by_id(verdict)["speed"].score == 0.5


@pytest.mark.parametrize(("package", "score"), [("git", 1.0), ("no-such-package", 0.0)])
async def test_a_package_of_the_image_is_there_for_who_asks_late(play, tmp_path, package, score):
    # Inside other words, so that nothing is prepared for it.
    install = f"bash -c 'apt-get install -y {package}'"
    script = reward(f"{install} && R=1 || R=0; echo $R > /logs/verifier/reward.txt")
    folder = harbor(tmp_path / "hello", **{"tests/test.sh": script})
    assert (await play(folder)).score == score


@pytest.mark.sampled(2)
@pytest.mark.parametrize("said", ["exit 0", "echo much > /logs/verifier/reward.txt"])
async def test_without_a_reward_there_is_no_score(play, tmp_path, said):
    folder = harbor(tmp_path / "hello", **{"tests/test.sh": reward(f"echo so it ends; {said}")})
    verdict = await play(folder, None)
    assert verdict.status == "error:verifier"
    assert "so it ends" in by_id(verdict)["reward"].message


@pytest.mark.full
async def test_what_breaks_the_tests_and_not_those_of_an_untouched_sandbox_is_a_fail(
    play, tmp_path
):
    said = "rm -r /app/out 2>/dev/null || echo 0.5 > /logs/verifier/reward.txt"
    folder = harbor(tmp_path / "hello", **{"tests/test.sh": reward(said)})
    verdict = await play(folder, [bash("mkdir -p /app/out")])
    assert (verdict.status, verdict.score) == ("scored", 0.0)
    assert "the tests broke on what the agent left" in by_id(verdict)["reward"].message
    assert (await play(folder, [])).score == 0.5


@pytest.mark.full
async def test_failing_where_only_passing_leaves_a_reward_is_a_fail(play, tmp_path):
    said = "set -e; grep -q hello /app/hello.txt; echo 1 > /logs/verifier/reward.txt"
    folder = harbor(tmp_path / "hello", **{"tests/test.sh": reward(said)})
    verdict = await play(folder)
    assert (verdict.status, verdict.score) == ("scored", 0.0)
    assert (await play(folder, None)).score == 1.0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("solution", ["", "exit 7\n"], ids=["without", "that fails here"])
async def test_failing_is_a_fail_also_where_no_solution_shows_that_the_tests_work(
    play, tmp_path, solution
):
    said = "set -e; grep -q hello /app/hello.txt; echo 1 > /logs/verifier/reward.txt"
    files = {"tests/test.sh": reward(said), "solution/solve.sh": solution}
    folder = harbor(tmp_path / "hello", **files)
    if not solution:
        shutil.rmtree(folder / "solution")
    verdict = await play(folder)
    assert (verdict.status, verdict.score) == ("scored", 0.0)
    assert (await play(folder, [bash("echo hello > hello.txt")])).score == 1.0


async def test_tests_that_break_without_an_agent_are_nobodys_failure(play, tmp_path):
    said = "echo much > /logs/verifier/reward.txt"
    folder = harbor(tmp_path / "hello", **{"tests/test.sh": reward(said)})
    shutil.rmtree(folder / "solution")
    assert (await play(folder)).status == "error:verifier"


async def test_a_reward_from_before_the_tests_counts_for_nothing(play, tmp_path):
    folder = harbor(tmp_path / "hello", **{"tests/test.sh": reward("true")})
    forged = "mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt"
    assert (await play(folder, [bash(forged)])).status == "error:verifier"


async def test_tests_that_never_end_are_failed(play, tmp_path):
    slow = MANIFEST.replace("timeout_sec = 60.0", "timeout_sec = 1.0")
    files = {"task.toml": slow, "tests/test.sh": reward("sleep 60")}
    verdict = await play(harbor(tmp_path / "hello", **files))
    assert (verdict.status, verdict.score) == ("scored", 0.0)
    assert "within 1 s" in by_id(verdict)["reward"].message


@pytest.mark.full
async def test_services_the_agent_left_are_there_for_the_tests(play, tmp_path):
    serve = (
        "python3 -m http.server 8123 >/dev/null 2>&1 & for i in $(seq 50); do "
        "curl -fs localhost:8123/ >/dev/null && break; sleep 0.1; done"
    )
    script = reward(
        "curl -fs http://localhost:8123/ > /dev/null && echo 1 > /logs/verifier/reward.txt"
        " || echo 0 > /logs/verifier/reward.txt"
    )
    dockerfile = "FROM debian-python\nWORKDIR /app\n"
    files = {"tests/test.sh": script, "environment/Dockerfile": dockerfile}
    folder = harbor(tmp_path / "hello", **files)
    assert (await play(folder, [bash(serve)])).score == 1.0
    assert (await play(folder)).score == 0.0


async def test_steps_follow_one_another_in_one_sandbox(play, tmp_path):
    steps = '\n[[steps]]\nname = "one"\nmin_reward = 1.0\n[[steps]]\nname = "two"\n'
    check = (
        "test -f /app/{0} && echo 1 > /logs/verifier/reward.txt"
        " || echo 0 > /logs/verifier/reward.txt"
    )
    folder = harbor(
        tmp_path / "hello",
        **{
            "task.toml": MANIFEST + steps,
            "steps/one/instruction.md": "first\n",
            "steps/one/tests/test.sh": reward(check.format("one")),
            "steps/one/solution/solve.sh": "touch one\n",
            "steps/two/instruction.md": "second\n",
            "steps/two/workdir/setup.sh": "cp one copied\n",
            # It leaves a reward only if it passes, and needs what the first step made.
            "steps/two/tests/test.sh": reward(check.format("two").partition(" || ")[0]),
            "steps/two/solution/solve.sh": "mv copied two\n",
        },
    )
    whole = await play(folder, None)
    assert (whole.score, whole.outcome) == (1.0, True)
    assert "second\n" in play.seen
    half = await play(folder, [bash("touch one"), Action("submit"), Action("submit")])
    assert (half.score, half.outcome) == (0.5, False)
    blocked = await play(folder, [bash("touch one; mkdir setup.sh"), Action("submit")])
    assert (blocked.status, blocked.score) == ("scored", 0.5)
    assert "could not begin" in by_id(blocked)["two: reward"].message
    stopped = await play(folder, [Action("submit")])
    assert stopped.score == 0.0
    assert by_id(stopped)["two: reward"].message == "not reached"


async def test_a_separate_verifier_sees_the_artifacts_alone(play, tmp_path):
    apart = """\
artifacts = ["/app/out", { source = "/srv/log", exclude = ["*.tmp"] }]
[verifier]
environment_mode = "separate"
[[verifier.collect]]
command = "cp /app/secret /logs/artifacts/collected"
"""
    script = reward(
        "cd /; found=$(cat /app/out/result /logs/artifacts/collected; ls /srv/log /app)\n"
        'if [ "$found" = "$(printf \'done\\nkept\\n/app:\\nout\\n\\n/srv/log:\\nlines\')" ]; then'
        ' echo 1; else echo 0; fi > /logs/verifier/reward.txt; echo "$found"; exit 1'
    )
    files = {"task.toml": apart, "tests/test.sh": script}
    folder = harbor(tmp_path / "hello", **files)
    work = (
        "mkdir -p out /srv/log; echo done > out/result; echo kept > secret; "
        "ln -s /nowhere out/link; "
        "touch /srv/log/lines /srv/log/x.tmp; echo evil > /usr/local/bin/cat; "
        "chmod +x /usr/local/bin/cat"
    )
    verdict = await play(folder, [bash(work)])
    assert verdict.score == 1.0, by_id(verdict)["reward"].message
    assert (await play(folder, [bash(work + "; rm secret")])).score == 0.0
    for odd in ("rm -r out; mkfifo out", "truncate -s 65M out/holes"):
        verdict = await play(folder, [bash(f"{work}; {odd}")])
        assert (verdict.status, verdict.score) == ("scored", 0.0), odd


@pytest.mark.full
async def test_a_healthcheck_is_waited_for(play, tmp_path):
    check = (
        '[environment.healthcheck]\ncommand = "test -f /app/a && test -f /app/b || '
        '{ touch /app/a; sleep 0.1; touch /app/b; false; }"\ninterval_sec = 0.1\n'
    )
    folder = harbor(tmp_path / "hello", **{"task.toml": MANIFEST + check, "tests/test.sh": PASS})
    await play(folder, [bash("ls")])
    assert play.seen == ["a\nb\n"]


async def test_a_computer_that_never_is_healthy_is_no_fault_of_the_agent(play, tmp_path):
    check = '[environment.healthcheck]\ncommand = "echo ill; false"\ninterval_sec = 0.1\n'
    folder = harbor(tmp_path / "hello", **{"task.toml": MANIFEST + check})
    with pytest.raises(SandboxError, match="failed 3 times; it last said: ill"):
        await play(folder)


async def test_a_classic_folder_runs(play, tmp_path):
    folder = classic(tmp_path / "hello")
    assert (await play(folder, None)).outcome
    idle = await play(folder)
    assert (idle.status, idle.score) == ("scored", 0.0)


async def test_planted_programs_and_hooks_change_nothing(play, tmp_path):
    plant = """
mkdir -p /root/.local/bin /usr/local/bin
for name in curl uv uvx python python3 pytest bash sh apt-get pip; do
  printf '#!/bin/sh\\nmkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt; exit 0\\n' \
    > /usr/local/bin/$name
  chmod +x /usr/local/bin/$name
done
echo 'uvx() { true; }' > /root/.local/bin/env
cat > conftest.py <<'END'
import pytest
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
END
cp conftest.py /conftest.py; cp conftest.py sitecustomize.py; cp conftest.py pytest.py
mkdir -p /tests; cp conftest.py /tests/conftest.py
printf '[pytest]\\naddopts = -p conftest --collect-only\\n' | tee /pytest.ini > pytest.ini
for folder in /usr/lib/python3/dist-packages /usr/local/lib/python3.11/dist-packages \
    /root/.local/lib/python3.11/site-packages; do
  mkdir -p $folder; echo 'import os; os._exit(0)' > $folder/sitecustomize.py
  cp $folder/sitecustomize.py $folder/usercustomize.py
  echo 'import os; os._exit(0)' > $folder/evil.pth
done
echo 'export BASH_ENV=/root/.bashrc PYTHONPATH=/app PYTEST_ADDOPTS=--collect-only' >> /root/.bashrc
echo /app/libevil.so > /etc/ld.so.preload
[ -x /usr/local/bin/uvx -a -f /pytest.ini -a -f /tests/conftest.py ] && echo planted
"""
    verdict = await play(harbor(tmp_path / "hello"), [bash(plant)])
    assert "planted" in play.seen[-1]
    assert (verdict.status, verdict.outcome, verdict.score) == ("scored", False, 0.0)
    by_module = reward(
        "cd /app; pip install pytest==8.4.1\n"
        "python3 -m pytest /tests/test_outputs.py -rA && echo 1 > /logs/verifier/reward.txt"
        " || echo 0 > /logs/verifier/reward.txt"
    )
    folder = harbor(tmp_path / "module", **{"tests/test.sh": by_module})
    verdict = await play(folder, [bash(plant)])
    assert (verdict.status, verdict.outcome, verdict.score) == ("scored", False, 0.0)
    assert (await play(folder, None)).score == 1.0


@pytest.mark.full
async def test_tools_that_root_replaced_are_not_the_ones_that_tests_use(play, tmp_path):
    test = reward(
        "diff -q <(echo hello) /app/hello.txt && cmp /app/hello.txt <(echo hello) &&"
        " grep -qx hello /app/hello.txt && egrep -q '^h' /app/hello.txt &&"
        ' [ "$(sed s/h/j/ /app/hello.txt)" = jello ] &&'
        """ [ "$(awk '{print $1}' /app/hello.txt)" = hello ] &&"""
        ' [ "$(wc -c < /app/hello.txt)" = 6 ] && find /app -name hello.txt | xargs env test -s'
        " && R=1 || R=0; env echo $R > /logs/verifier/reward.txt"
    )
    plant = """
cat > /tmp/yes <<'END'
#!/bin/bash
case $0 in */sed) echo jello;; */wc) echo 6;; */env) exec "$@";; *) echo hello;; esac
END
chmod +x /tmp/yes
for name in awk cmp diff egrep env find grep gawk mawk sed sort test wc xargs; do
  for folder in /usr/bin /usr/local/bin; do cp -f /tmp/yes /tmp/y; mv -f /tmp/y $folder/$name; done
done
echo 'echo 1 > /logs/verifier/reward.txt; exit' > /app/early
diff a b && grep x y && echo planted
"""
    dockerfile = DOCKERFILE + "ENV BASH_ENV=/app/early LD_PRELOAD=/app/early.so\n"
    files = {"tests/test.sh": test, "environment/Dockerfile": dockerfile}
    folder = harbor(tmp_path / "hello", **files)
    assert (await play(folder, [bash(plant)])).score == 0.0
    assert "planted" in play.seen[-1]
    assert (await play(folder, [bash("printf 'hello\\n' > hello.txt")])).score == 1.0


def test_what_the_tests_want_and_nobody_has_is_told_before(tmp_path):
    script = "uvx -w no-such-package-of-anybody==0.0 pytest /tests\n"
    folder = harbor(tmp_path / "hello", **{"tests/test.sh": script})
    failed = build_images([str(folder)], print)
    assert "the tests cannot be prepared" in failed[str(folder)]
    assert "no-such-package-of-anybody" in failed[str(folder)]


def test_make_takes_a_path(tmp_path):
    folder = harbor(tmp_path / "hello", **{"tests/test.sh": PASS})
    env = agentgym.make(str(folder))
    observation, _ = env.reset(seed=0)
    assert "Write hello" in observation["text"]
    _, score, terminated, _, _ = env.step({"tool": "submit", "arguments": {}})
    assert (score, terminated) == (1.0, True)
    env.close()


@pytest.mark.full
@pytest.mark.docker
@pytest.mark.parametrize("provider", ["docker"], indirect=True)
async def test_docker_runs_them_too(play, tmp_path):
    folder = harbor(tmp_path / "hello")
    assert (await play(folder, None)).outcome
    assert (await play(folder)).score == 0.0
