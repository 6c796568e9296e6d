"""The fake environment is honest: it plays by the rules of the real one."""

from fake_environment import FakeEnvironment

from agentgym.records import Action, Effect


async def test_it_is_won_by_its_word_only():
    env = FakeEnvironment()
    episode = await env.start(3)
    assert episode.first.text == "Submit plain."
    said = await episode.step(Action("say", {"text": "hello"}))
    assert (said.observation.text, said.reward, said.terminated) == ("hello", 0.0, False)
    won = await episode.step(Action("submit", {"answer": "plain"}))
    assert (won.reward, won.terminated, won.truncated, won.verdict.outcome) == (
        1,
        True,
        False,
        True,
    )
    episode = await env.start(3)
    lost = await episode.step(Action("submit", {}))
    assert (lost.reward, lost.terminated, lost.verdict.outcome) == (0, True, False)
    await env.close()
    assert env.closed == 1


async def test_illegal_actions_are_observations_and_steps_run_out():
    env = FakeEnvironment(max_steps=2)
    episode = await env.start(0)
    wrong = await episode.step(Action("say", {"text": 5}))
    assert wrong.observation.effect is Effect.ERROR
    assert "arguments.text" in wrong.observation.text
    last = await episode.step(Action("nothing", {}))
    assert (last.terminated, last.truncated, last.verdict.score) == (False, True, 0.0)
    assert [step.index for step in episode.steps] == [0, 1]
