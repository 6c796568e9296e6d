"""Screen and tools, told apart."""

from agentgym.records import Effect
from agentgym.testing.step_grader import step, trajectory
from agentgym.verify.steps.interaction import InteractionGrader


async def test_the_last_step_has_the_shares_of_screen_and_tools():
    episode = trajectory(
        [
            step(0, "click"),
            step(1, "bash"),
            step(2, "zoom", Effect.NO_CHANGE),
            step(3, "type", Effect.NO_CHANGE),
            step(4, "press"),
            step(5, "submit"),
        ]
    )
    grades = await InteractionGrader().grade(episode)
    assert [g.label for g in grades] == ["screen", "tool", "look", "screen", "screen", "end"]
    assert dict(grades[-1].measures) == {
        "screen_steps": 3,
        "look_steps": 1,
        "tool_steps": 1,
        "screen_share": 0.75,
        "switches": 2,
        "without_effect": 1 / 3,
    }


async def test_an_episode_without_a_screen_has_no_grades():
    assert await InteractionGrader().grade(trajectory([step(0), step(1, "submit")])) == []
