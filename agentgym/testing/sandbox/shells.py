"""The part of the sandbox contract about persistent shells."""

from __future__ import annotations

from agentgym.protocols import SandboxProvider
from agentgym.records import Recipe
from agentgym.testing.sandbox.contract import Contract, into, running

CHECKS: list[Contract] = []
check = into(CHECKS)


@check
async def shell_remembers(provider: SandboxProvider, recipe: Recipe) -> None:
    """Working directory, variables, functions and background jobs survive between calls."""
    async with running(provider, recipe) as box:
        shell = await box.open_shell()
        await shell.run("cd /tmp; X=1; export Y=2; f() { echo $X$Y; }; sleep 60 &")
        result = await shell.run("f; pwd; jobs -r | wc -l")
        assert result.output.split() == [b"12", b"/tmp", b"1"], result.output
        assert (result.exit_code, result.cwd) == (0, "/tmp")


@check
async def shell_survives_a_hanging_command(provider: SandboxProvider, recipe: Recipe) -> None:
    """A command over its deadline is interrupted; variables and background jobs survive."""
    async with running(provider, recipe) as box:
        shell = await box.open_shell()
        await shell.run("X=kept; sleep 61 & ")
        for command in ("sleep 60; echo no", "while :; do :; done", "cat | sleep 60"):
            result = await shell.run(command, timeout_s=0.2)
            assert result.timed_out and not result.restarted, (command, result)
            assert b"no" not in result.output
        stubborn = await shell.run("(trap '' INT TERM; sleep 60; sleep 60)", timeout_s=0.2)
        assert stubborn.timed_out and not stubborn.restarted, stubborn
        assert (await shell.run("echo $X")).output == b"kept\n"
        assert any("61" in process.argv for process in await box.processes())


@check
async def shell_never_waits_for_a_person(provider: SandboxProvider, recipe: Recipe) -> None:
    """Reading standard input ends at once, and nothing opens a terminal."""
    async with running(provider, recipe) as box:
        shell = await box.open_shell()
        for command in ("cat", "read line", "bash -c 'read x < /dev/tty'", "less /etc/passwd"):
            result = await shell.run(command, timeout_s=10)
            assert not result.timed_out, command


@check
async def shell_is_replaced_when_it_ends(provider: SandboxProvider, recipe: Recipe) -> None:
    """`exit` returns its code, and the next command runs in a new session in the same folder."""
    async with running(provider, recipe) as box:
        shell = await box.open_shell()
        await shell.run("cd /tmp")
        ended = await shell.run("echo bye; exit 3")
        assert (ended.exit_code, ended.restarted, ended.output) == (3, True, b"bye\n")
        again = await shell.run("pwd")
        assert (again.output, again.restarted) == (b"/tmp\n", False)


@check
async def shell_takes_any_bytes(provider: SandboxProvider, recipe: Recipe) -> None:
    """Binary output, syntax errors, quotes and long commands break nothing."""
    async with running(provider, recipe) as box:
        shell = await box.open_shell()
        assert (await shell.run("printf '\\377\\000\\376'")).output == b"\xff\x00\xfe"
        assert (await shell.run("if then 'oops")).exit_code != 0
        word = "x" * 200_000
        assert (await shell.run(f"echo '{word}' | wc -c")).output.strip() == b"200001"
        assert (await shell.run("echo 'a!b' \"c\\\\\" é")).output == "a!b c\\ é\n".encode()


@check
async def shell_saves_apart_from_its_output(provider: SandboxProvider, recipe: Recipe) -> None:
    """`save` returns the exported variables whatever the session prints, and takes no output."""
    noises = (
        "set -x",
        "(while :; do echo A=noise; sleep 0.001; done) & sleep 0.1",
        "exec > /tmp/log 2>&1",
        "trap 'echo A=trap' DEBUG",
        "PROMPT_COMMAND='echo A=prompt'",
        "env() { echo A=function; }; alias env=false",
        "unset PATH",
        "export LARGE=$(printf %0120000d 0); export LARGER=$LARGE",
    )
    for noise in noises:
        async with running(provider, recipe) as box:
            shell = await box.open_shell()
            plain = (await shell.save())["env"]
            await shell.run(f"export MINE=1; {noise}")
            state = (await shell.save())["env"]
            assert isinstance(plain, dict) and isinstance(state, dict)
            large = {name: len(str(state.pop(name, ""))) for name in ("LARGE", "LARGER")}
            assert set(large.values()) <= {0 if "LARGE" not in noise else 120_000}, (noise, large)
            plain = {**plain, "MINE": "1"}
            if "unset" in noise:
                del plain["PATH"]
            assert state == plain, noise


@check
async def shell_goes_on_as_if_it_was_not_saved(provider: SandboxProvider, recipe: Recipe) -> None:
    """The next command tells its output from before `save`, and that the session ended."""
    async with running(provider, recipe) as box:
        shell = await box.open_shell()
        await shell.run("(sleep 0.2; echo late) & :")
        await shell.run("sleep 0.1")
        await box.exec(["sleep", "0.5"])
        await shell.save()
        assert b"late" in (await shell.run("echo $?")).output
        await shell.run("(sleep 0.2; kill -9 $$) & :")
        await box.exec(["sleep", "0.5"])
        assert (await shell.save())["cwd"] == "/root"
        assert (await shell.run("echo on")).restarted
        assert not (await shell.run("echo on")).restarted


@check
async def shell_saves_what_a_fork_can_restore(provider: SandboxProvider, recipe: Recipe) -> None:
    """`save` returns the working directory and the exported variables."""
    async with running(provider, recipe) as box:
        shell = await box.open_shell(env={"GIVEN": "1"})
        await shell.run("cd /tmp; export MADE='a b'; hidden=1")
        state = await shell.save()
        assert state["cwd"] == "/tmp"
        environment = state["env"]
        assert isinstance(environment, dict)
        assert (environment["GIVEN"], environment["MADE"]) == ("1", "a b")
        assert "hidden" not in environment
