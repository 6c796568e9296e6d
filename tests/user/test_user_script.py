"""`user.toml`: what is wrong with one is told with file, line and field."""

import pytest
from shop_task import HEARING, REPLIES, TASK, USER, write_shop

from agentgym.errors import TaskError
from agentgym.task.load import load_task


def load(root, user=USER, **changes):
    return load_task(write_shop(root, **{"user.toml": user, **changes}))


def test_a_sound_one_is_part_of_the_task(tmp_path):
    script = load(tmp_path).user
    assert script.first_state == "asking"
    assert [fact.id for fact in script.fact] == ["order_number", "email", "code"]
    assert script.fact[0].say == ("It's {{case.order}}.",)
    assert script.reach == ("orders_inbox",)


def test_a_fact_is_asked_for_by_its_name(tmp_path):
    script = load(
        tmp_path, USER.replace('asked = ["order (number|no|id)", "which order"]\n', "")
    ).user
    assert script.fact[0].patterns == ("order number",)


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ('to = "credit"', 'to = "credits"', 45, "state.0.rule.2.to: no state named 'credits'; did"),
        ('id = "credit"\n', 'id = "asking"\n', 48, "state.1.id: expected another id, 'asking'"),
        ('to = "credit"\n', "", 47, "state.1.id: no rule leads to state 'credit'"),
        (
            "patience = 3",
            'start = "gone"',
            8,
            "start: no state named 'gone'; known: asking, credit",
        ),
        ('say = "Bye."', "", 51, "always.0.say: required, but absent"),
        ('say = "Bye."', "say = []", 53, "always.0.say: expected at least 1 item, got an empty"),
        ('said = ["good ?bye"]', 'said = ["good("]', 52, "always.0.said.0: expected a regular"),
        ('said = ["good ?bye"]', 'said = ["(a+)+b"]', 52, "always.0.said.0: expected a pattern"),
        ('said = ["good ?bye"]', 'said = ["a*b*c"]', 52, "always.0.said.0: expected a pattern"),
        (
            'said = ["good ?bye"]',
            'told = ["mail"]',
            52,
            "always.0.told.0: no fact named 'mail'; did",
        ),
        ('{{case.email}}",', '{{case.mail}}",', 18, "fact.1.say.0: unknown slot {{case.mail}}"),
        ('say = "Bye."', 'say = "{{result.x}}"', 53, "always.0.say.0: {{result.x}} comes from a"),
        ('say = "Bye."', 'say = "{{error}}"', 53, "always.0.say.0: {{error}} comes from a call"),
        (
            "leave = true\n\n[[state.rule]]",
            'leave = true\nto = "credit"\n\n[[state.rule]]',
            31,
            "state.0.rule.0: expected either to",
        ),
        ("most = 2", "most = 0", 40, "state.0.rule.1.most: "),
        (
            "most = 2",
            "mots = 2",
            40,
            "state.0.rule.1.mots: unknown field 'mots'; did you mean 'most'",
        ),
    ],
)
def test_what_is_wrong_is_told_where_it_stands(tmp_path, old, new, line, told):
    assert old in USER
    with pytest.raises(TaskError) as caught:
        load(tmp_path, USER.replace(old, new, 1))
    assert f"refund/user.toml:{line}: {told}" in str(caught.value)


@pytest.mark.parametrize(
    "pattern",
    ["{{" * 100_000, "(" * 3_000 + ")" * 3_000, "a{99999999999}"],
    ids=["open slots", "deep", "many"],
)
def test_what_is_no_pattern_is_told_in_few_words(tmp_path, pattern):
    with pytest.raises(TaskError, match="always.0.said.0: expected a ") as caught:
        load(tmp_path, USER.replace("good ?bye", pattern))
    assert len(str(caught.value)) < 500


def test_all_that_is_wrong_is_told_at_once(tmp_path):
    broken = USER.replace('to = "credit"', 'to = "x"').replace('say = "Bye."', 'say = "{{y}}"')
    with pytest.raises(TaskError) as caught:
        load(tmp_path, broken)
    assert len(str(caught.value).splitlines()) == 3  # nothing leads to 'credit' any more


def test_a_user_needs_a_table_and_a_table_needs_a_user(tmp_path):
    with pytest.raises(TaskError, match=r"user.toml: unused; expected \[user\] in task.toml"):
        load(tmp_path / "a", **{"task.toml": TASK.replace("[user]\n", "")})
    folder = write_shop(tmp_path / "b")
    (folder / "user.toml").unlink()
    with pytest.raises(TaskError, match="user.toml: cannot be read: No such file"):
        load_task(folder)


def test_a_user_of_saved_replies_listens_to_nothing_else(tmp_path):
    task = TASK.replace("[user]\n", f"[user]\n{REPLIES}")
    assert load(tmp_path / "a", HEARING, **{"task.toml": task}).user.fact[0].heard == ("ask_order",)
    with pytest.raises(TaskError, match="no saved reply named 'cannot'; known: none"):
        load(tmp_path / "b", HEARING)
    wordy = HEARING.replace('heard = ["cannot"]', 'intent = ["refuses"]')
    with pytest.raises(TaskError, match="state.0.rule.0.intent: the user hears only saved replies"):
        load(tmp_path / "c", wordy, **{"task.toml": task})
    with pytest.raises(TaskError, match="did you mean 'ask_order'"):
        load(tmp_path / "d", HEARING.replace("ask_order", "ask_oder"), **{"task.toml": task})
