"""The scripted user: what they answer, do, and put up with."""

import asyncio
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shop_task import HEARING, REPLIES, TASK, USER, write_shop

from agentgym.errors import ConfigError, TaskError
from agentgym.records import SentReply, UserCall, UserMessage
from agentgym.services import Backend, load_services
from agentgym.task.load import load_task
from agentgym.user.scripted import ScriptedUser
from agentgym.user.service_access import UserServiceAccess


class Meeting:
    """A user with live services; `says` writes to them and returns their turn."""

    def __init__(self, folder, seed=0):
        task = load_task(folder)
        self.instance = task.instance(seed)
        services = load_services(folder.parents[2] / "envs/shop/services/orders")
        self.shop = Backend(services, services.template(1))
        self.user = ScriptedUser("", task.user, self.instance)
        self.opening = asyncio.run(self.user.start(UserServiceAccess(self.shop)))

    def says(self, message):
        return asyncio.run(self.user.reply(UserMessage(message)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture
def ada(folder):
    return Meeting(folder)


def meet(tmp_path, old, new):
    assert old in USER
    return Meeting(write_shop(tmp_path, **{"user.toml": USER.replace(old, new, 1)}))


def test_they_open_and_tell_what_they_are_asked_for(ada):
    order = ada.instance.params["case"]["order"]
    assert ada.opening == "Hi, I'd like my money back, please."
    turn = ada.says("Sorry to hear that! Please provide:\n- your email\n- the order number")
    assert turn.text == f"It's {order}. p{order}@x.example"
    assert (turn.left, turn.calls, turn.state) == (False, (), "asking")


def test_a_fact_is_told_in_any_state_and_again_with_other_words(ada):
    ada.says("Which order?")
    for _ in range(3):
        ada.says("We have a policy.")
    assert ada.user.state == "credit"
    order = ada.instance.params["case"]["order"]
    assert ada.says("Which order was it?").text == f"As I said: It's {order}."
    mail = ada.instance.params["case"]["email"]
    assert ada.says("What is your e-mail?").text == mail
    assert ada.says("And your email again?").text == f"I told you: {mail}"


@pytest.mark.parametrize(
    "doubt",
    [
        "Any chance the number is slightly different?",
        "Could you check the number once more?",
        "Are you sure that this is your order number?",
    ],
)
def test_a_fact_that_is_doubted_is_told_again(ada, doubt):
    ada.says("Which order?")
    order = ada.instance.params["case"]["order"]
    turn = ada.says(doubt)
    assert (turn.text, turn.understood) == (f"As I said: It's {order}.", True)


def test_what_is_only_recognised_gets_a_line_and_counts_as_understood(ada):
    turn = ada.says("Hello! Let me have a look.")
    assert (turn.text, turn.understood) == ("I just want my money back.", True)


def test_they_push_back_before_they_change_their_mind(ada):
    answers = [ada.says("I'm afraid our policy does not allow it.") for _ in range(3)]
    assert [turn.text for turn in answers] == [
        "I don't want store credit.",
        "That is not good enough.",
        "Fine. Then a credit, if there is no other way.",
    ]
    assert [turn.state for turn in answers] == ["asking", "asking", "credit"]


def test_what_speaks_against_a_rule_keeps_it_from_applying(ada):
    assert ada.says("I cannot wait to help.").state == "credit"  # by the rule after it


def test_they_do_something_themselves_before_they_answer(ada):
    ada.shop.call("orders_send_code", {"code": "K-7"})
    turn = ada.says("I sent you a code. What is the code?")
    assert (turn.text, turn.calls) == ("The code is K-7.", (UserCall("orders_inbox"),))
    assert [(e.actor, e.tool) for e in ada.shop.audit][-1] == ("user", "orders_inbox")


def test_what_fails_is_told_and_tried_again(ada):
    told = "There is no code in my mail: there is no '0' in the result."
    assert ada.says("What is the code?").text == told
    ada.shop.call("orders_send_code", {"code": "K-8"})
    assert ada.says("Now, what is the code?").text == "The code is K-8."


def test_a_service_that_refuses_is_quoted(tmp_path):
    call = '{ tool = "orders_get", with = { order = 99 } }'
    ada = meet(tmp_path, '{ tool = "orders_inbox" }', call)
    turn = ada.says("What is the code?")
    assert turn.text == "There is no code in my mail: no order 99."
    assert turn.calls == (UserCall("orders_get", {"order": 99}),)


def test_a_result_can_be_passed_on_with_its_type(tmp_path):
    calls = """do = [
  { tool = "orders_get", with = { order = "{{case.order}}" } },
  { tool = "orders_refund", with = { order = "{{result.id}}" } },
]
say = "It is {{result.status}}.\""""
    ada = meet(tmp_path, 'say = "Bye."', calls)
    order = ada.instance.params["case"]["order"]
    turn = ada.says("Goodbye!")
    assert turn.text == "It is refunded." and turn.left
    assert turn.calls[1] == UserCall("orders_refund", {"order": order})


def test_what_the_agent_did_is_seen_in_the_rows(ada):
    ada.shop.call("orders_refund", {"order": ada.instance.params["case"]["order"]})
    turn = ada.says("Have a look.")
    assert turn.text == "Great, thank you!" and turn.left


@pytest.mark.parametrize(
    ("condition", "needed"),
    [
        ('{ tool = "orders_get" }', 1),
        ('{ tool = "orders_get", times = 2 }', 2),
        ('{ tool = "orders_get", with = { order = "{{case.order}}" } }', 1),
    ],
)
def test_what_the_agent_did_is_seen_in_its_calls(tmp_path, condition, needed):
    row = 'row = { table = "orders_order", where = { id = "{{case.order}}", status = "refunded" } }'
    ada = meet(tmp_path, row, f"called = {condition}")
    order = ada.instance.params["case"]["order"]
    ada.shop.call("orders_get", {"order": 999})  # refused, so it counts for nothing
    ada.shop.call("orders_get", {"order": order}, "user")
    for _ in range(needed):
        assert not ada.says("Have a look: e-mail?").left
        ada.shop.call("orders_get", {"order": order})
    assert ada.says("Have a look.").left


def test_rules_may_wait_for_turns_and_for_what_was_told(tmp_path):
    rules = 'said = ["good ?bye"]\ntold = ["email"]\nturns = 3'
    ada = meet(tmp_path, 'said = ["good ?bye"]', rules)
    assert not ada.says("Goodbye").left
    assert not ada.says("What is your email? Goodbye").left
    assert ada.says("Which order? Goodbye").left


def test_patience_ends_where_nothing_leads_on(ada):
    turns = [ada.says("Hmm.") for _ in range(3)]
    assert [turn.left for turn in turns] == [False, False, True]
    assert turns[0].text == "Sorry, I don't follow. What do you mean?"
    assert [turn.understood for turn in turns] == [False] * 3
    assert turns[2].text == "This is getting us nowhere. I'll stop here."


def test_what_leads_on_restores_patience(ada):
    for message in ("Hmm.", "Hmm.", "Which order?", "Hmm.", "Which order?"):
        assert not ada.says(message).left
    assert ada.says("Which order?").text.endswith("nowhere. I'll stop here.")


def test_what_they_do_not_know_they_do_not_make_up(ada):
    assert ada.says("What is your date of birth?").text == "I'm afraid I don't know that."


def test_without_idle_lines_they_do_not_follow(tmp_path):
    ada = meet(tmp_path, 'idle = ["I just want my money back."]\n', "")
    assert ada.says("Blue.").text == "Sorry, I don't follow. What do you mean?"
    assert ada.says("Green.").text == "I still don't understand what you are telling me."


def test_a_fact_may_be_another_one_in_another_state(tmp_path):
    lie = (
        '[[fact]]\nid = "email"\nsay = "x@y.example"\nstates = ["credit"]\n\n[[fact]]\nid = "email"'
    )
    ada = meet(tmp_path, '[[fact]]\nid = "email"', lie)
    assert ada.says("Your email?").text == ada.instance.params["case"]["email"]
    for _ in range(3):
        ada.says("policy")
    assert ada.says("Your email?").text.endswith("x@y.example")


def test_slots_in_patterns_stand_for_themselves(tmp_path):
    ada = meet(tmp_path, '"good ?bye"', '"mail to {{case.email}} sent"')
    mail = ada.instance.params["case"]["email"]
    assert not ada.says(f"mail to {mail.replace('.', 'x')} sent").left
    assert ada.says(f"Mail to\n{mail} sent.").left


def test_a_script_needs_the_services_that_it_looks_at(folder):
    task = load_task(folder)
    user = ScriptedUser("", task.user, task.instance(0))
    asyncio.run(user.start(UserServiceAccess(None)))
    with pytest.raises(TaskError, match="the environment has no services"):
        asyncio.run(user.reply(UserMessage("Hello")))
    with pytest.raises(ConfigError, match="takes no argument, got 'x'"):
        ScriptedUser("x", task.user, task.instance(0))


MESSAGE = st.one_of(
    st.text(string.printable, max_size=60),
    st.sampled_from(["Which order?", "Our policy.", "What is the code?", "Goodbye", "E-mail?"]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(MESSAGE, max_size=12))
def test_the_same_messages_get_the_same_answers(folder, messages):
    def talk():
        ada, turns = Meeting(folder), []
        for message in messages:
            turns.append(ada.says(message))
            if turns[-1].left:
                break
        return turns, ada.shop.hash

    first = talk()
    assert first == talk()
    assert all(turn.text.strip() for turn in first[0])


@settings(max_examples=60, deadline=None)
@given(st.lists(MESSAGE, max_size=6), st.text(string.ascii_letters + " ,.\n", max_size=80))
def test_a_question_for_a_fact_is_always_answered(folder, before, around):
    ada = Meeting(folder)
    for message in before:
        if ada.says(message).left:
            return
    order = ada.instance.params["case"]["order"]
    assert str(order) in ada.says(f"{around}\nWhat is your order number? {around}").text


@settings(max_examples=60, deadline=None)
@given(st.text(string.ascii_lowercase.replace("y", "") + " ", min_size=1, max_size=40))
def test_nobody_listens_to_noise_for_ever(folder, noise):
    ada = Meeting(folder)
    turns = [ada.says(noise)]
    while not turns[-1].left:
        turns.append(ada.says(noise))
        assert len(turns) <= 30


def test_saved_replies_are_known_by_their_ids_and_not_read(tmp_path):
    task = TASK.replace("[user]\n", f"[user]\n{REPLIES}")
    ada = Meeting(write_shop(tmp_path, **{"user.toml": HEARING, "task.toml": task}))

    def hears(*ids):
        message = UserMessage("I can't find your order?", tuple(map(SentReply, ids)))
        turn = asyncio.run(ada.user.reply(message))
        assert turn.understood
        return turn.text, turn.left

    assert hears("thanks") == ("And my money?", False)
    assert hears("thanks", "ask_order") == (f"It's {ada.instance.params['case']['order']}.", False)
    assert hears("ask_name") == ("I'm afraid I don't know that.", False)
    assert hears("cannot") == ("Then I leave.", True)
