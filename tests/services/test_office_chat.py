"""Chat keeps the contract of services, its own rules, and believable data."""

import pytest
from office_calls import ask, refusal, service

from agentgym.services import Backend
from agentgym.testing.service_contract import ServiceContract


def services():
    return service("chat")


def number(backend, sql):
    return backend.state.rows.value(sql)


MINE = "SELECT max(m.id) FROM chat_message m JOIN chat_channel c ON c.id = m.channel_id" + (
    " WHERE m.author_id = 1 AND NOT c.archived"
)
OUT = (
    "SELECT id FROM chat_channel WHERE kind = 'public' AND NOT archived AND id NOT IN"
    " (SELECT channel_id FROM chat_member WHERE person_id = 1)"
)


class TestChat(ServiceContract):
    examples = {
        "chat_create_channel.name": ["plants", "quiz-night"],
        "chat_create_channel.people": [[2, 3], []],
        "chat_open_direct.people": [[2], [2, 3]],
        "chat_invite.people": [[2], [3]],
        "chat_invite.channel": [1, 3],
        "chat_post.channel": [1, 3],
        "chat_post.thread": [None],
        "chat_post.author": [1],
        "chat_react.emoji": ["tada"],
        "chat_list_channels.text": ["e"],
        "chat_search.text": ["ticket"],
    }

    @property
    def accepted(self):
        backend = Backend(services(), services().template(self.seed))
        mine = number(backend, MINE)
        return {
            "chat_edit": {"message": mine, "text": "New"},
            "chat_delete": {"message": mine},
            "chat_react": {"message": mine, "emoji": "rocket"},
            "chat_join": {"channel": number(backend, OUT)},
            "chat_leave": {"channel": 1},
            "chat_post": {"channel": 1, "text": "Hello"},
        }

    def make(self):
        return services()


@pytest.fixture
def live():
    return Backend(services(), services().template(1))


def test_private_channels_are_not_there_for_others(live):
    hidden = number(live, "SELECT id FROM chat_channel WHERE name = 'salary-round'")
    assert hidden not in [c["id"] for c in ask(live, "chat_list_channels")]
    assert refusal(live, "chat_read", channel=hidden) == ("not_found", "channel")
    assert refusal(live, "chat_join", channel=hidden) == ("not_found", "channel")
    inside = number(live, f"SELECT max(id) FROM chat_message WHERE channel_id = {hidden}")
    assert refusal(live, "chat_get_thread", message=inside) == ("not_found", "message")
    assert ask(live, "chat_search", channel=hidden) == []


def test_members_write_and_archives_are_quiet(live):
    out = number(live, OUT)
    assert refusal(live, "chat_post", channel=out, text="x") == ("forbidden", "channel")
    assert ask(live, "chat_join", channel=out)["member"]
    assert ask(live, "chat_post", channel=out, text="Hello")["author"] == 1
    old = number(live, "SELECT id FROM chat_channel WHERE archived")
    assert refusal(live, "chat_post", channel=old, text="x") == ("conflict", "channel")
    assert refusal(live, "chat_post", channel=1, text="x", author=2) == ("forbidden", "author")
    assert ask(live, "chat_post", "world", channel=1, text="Hi", author=2)["author"] == 2


def test_mentions_follow_the_text(live):
    made = ask(live, "chat_create_channel", name="plants", people=[2], private=True)
    two, three = live.state.rows.column("SELECT handle FROM contacts_person WHERE id IN (2, 3)")
    text = f"@{two} and @{three}, not @nobody-here nor mail@{two}"
    said = ask(live, "chat_post", channel=made["id"], text=text)
    assert (said["mentions"], said["missed"]) == ([2, 3], [3])
    ask(live, "chat_invite", channel=made["id"], people=[3])
    edited = ask(live, "chat_edit", message=said["id"], text=f"@{three}")
    assert (edited["mentions"], edited["missed"]) == ([3], []) and edited["edited_at"]
    taken = {"name": "plants", "people": []}
    assert refusal(live, "chat_create_channel", **taken) == ("conflict", "name")


def test_threads_hold_together_and_only_own_messages_change(live):
    first = ask(live, "chat_post", "world", channel=1, text="Who?", author=2)["id"]
    one = ask(live, "chat_post", channel=1, text="Me.", thread=first)["id"]
    two = ask(live, "chat_post", channel=1, text="And me.", thread=one)["id"]
    assert [m["id"] for m in ask(live, "chat_get_thread", message=two)] == [first, one, two]
    assert ask(live, "chat_read", channel=1, limit=1)[0]["replies"] == 2
    assert refusal(live, "chat_edit", message=first, text="x") == ("forbidden", "message")
    assert refusal(live, "chat_delete", message=first) == ("forbidden", "message")
    ask(live, "chat_delete", message=two)
    assert refusal(live, "chat_react", message=two, emoji="tada") == ("not_found", "message")
    call = {"message": one, "emoji": "tada"}
    assert ask(live, "chat_react", **call)["reactions"] == [{"emoji": "tada", "person": 1}]
    assert ask(live, "chat_react", **call)["reactions"] == []


def test_a_conversation_is_one_for_the_same_people(live):
    made = ask(live, "chat_open_direct", people=[2, 3])
    assert ask(live, "chat_open_direct", people=[3, 1, 2]) == made and made["members"] == 3
    assert refusal(live, "chat_invite", channel=made["id"], people=[4])[0] == "conflict"
    assert refusal(live, "chat_open_direct", people=[1]) == ("invalid", "people")
    gone = number(live, "SELECT id FROM contacts_person WHERE status = 'left'")
    assert refusal(live, "chat_open_direct", people=[gone]) == ("conflict", "people")


@pytest.mark.parametrize("seed", [1, 2])
def test_data_fit_together_and_are_as_messy_as_real_ones(seed):
    live = Backend(services(), services().template(seed))
    rows = live.state.rows
    assert number(live, "SELECT count(*) FROM chat_message") > 400
    named = [t for t in rows.column("SELECT text FROM chat_message") if "ticket #" in t]
    assert len(named) > 30
    for text in named:
        ticket = int("".join(c for c in text.split("#")[1].split(" ")[0] if c.isdigit()))
        assert rows.value("SELECT 1 FROM tickets_ticket WHERE id = ?", ticket)
    strangers = number(
        live,
        "SELECT count(*) FROM chat_message m WHERE NOT EXISTS (SELECT 1 FROM chat_member b"
        " WHERE b.channel_id = m.channel_id AND b.person_id = m.author_id)",
    )
    assert strangers == 0
    assert number(live, f"SELECT count(*) FROM chat_message WHERE sent_at >= '{live.now}'") == 0
    gone = "SELECT count(*) FROM chat_member m JOIN contacts_person p ON p.id = m.person_id"
    assert number(live, f"{gone} WHERE p.status = 'left'") > 0
