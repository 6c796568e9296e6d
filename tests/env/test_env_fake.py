"""The fake environment is honest: it plays by the rules of the real one."""

from fake_environment import FakeEnvironment

from agentgym.records import Action, Effect


async def test_it_is_won_by_its_word_only():
    env = FakeEnvironment()
    first = await env.reset(3)
    assert first.text == "Submit plain."
    said = await env.step(Action("say", {"text": "hello"}))
    assert (said.observation.text, said.reward, said.terminated) == ("hello", 0.0, False)
    won = await env.step(Action("submit", {"answer": "plain"}))
    assert (won.reward, won.terminated, won.truncated, won.verdict.outcome) == (
        1,
        True,
        False,
        True,
    )
    await env.reset(3)
    lost = await env.step(Action("submit", {}))
    assert (lost.reward, lost.terminated, lost.verdict.outcome) == (0, True, False)
    await env.close()
    assert env.closed == 1


async def test_illegal_actions_are_observations_and_steps_run_out():
    env = FakeEnvironment(max_steps=2)
    await env.reset(0)
    wrong = await env.step(Action("say", {"text": 5}))
    assert wrong.observation.effect is Effect.ERROR
    assert "arguments.text" in wrong.observation.text
    last = await env.step(Action("nothing", {}))
    assert (last.terminated, last.truncated, last.verdict.score) == (False, True, 0.0)
    assert [step.index for step in env.steps] == [0, 1]
