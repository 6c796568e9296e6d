"""Pictures go from one service of the office to another, and are still there in another episode."""

import pytest

from agentgym.services import Backend, find_services

OFFICE = find_services("office")


@pytest.fixture
def office():
    backend = Backend(OFFICE, OFFICE.template(1))
    yield backend
    backend.close()


def ask(office, tool, **arguments):
    reply = office.call(tool, arguments)
    assert reply.error is None, (tool, reply.error)
    return reply


def pictured_file(office):
    number = office.state.rows.value(
        "SELECT v.item_id FROM files_version v JOIN files_item i ON i.id = v.item_id"
        " WHERE v.picture IS NOT NULL AND v.number = i.version AND i.trashed_at IS NULL"
        " ORDER BY v.item_id LIMIT 1"
    )
    return ask(office, "files_read", file=number)


def open_ticket(office):
    found = ask(office, "tickets_search", status="open", limit=1).result
    return found["tickets"][0]["id"]


def test_a_picture_goes_from_the_drive_into_a_ticket_and_back(office):
    read = pictured_file(office)
    name = read.result["picture"]
    assert read.images == (name,) and len(office.images) == 1
    ticket = open_ticket(office)
    comment = ask(office, "tickets_comment", ticket=ticket, body="See here.", picture=name)
    assert comment.result["picture"] == name and comment.images == (name,)
    again = ask(office, "tickets_comment", ticket=ticket, body="And here.", picture=name)
    assert again.result["picture"] == name and len(office.images) == 1
    kept = "SELECT count(*) FROM tickets_picture"
    assert office.state.rows.value(kept) == 1
    # Another process knows the picture from the rows alone.
    other = Backend(OFFICE, office.snapshot())
    assert other.picture(name) is None
    shown = ask(other, "tickets_get", ticket=ticket)
    assert shown.images[-1] == name and other.picture(name) == office.picture(name)
    folders = ask(other, "files_search", kind="folder", limit=200).result["items"]
    made = [
        reply.result["id"]
        for folder in folders
        if not (
            reply := other.call(
                "files_create_file", {"name": "x.png", "folder": folder["id"], "picture": name}
            )
        ).error
    ]
    assert made and ask(other, "files_read", file=made[0]).images == (name,)
    other.close()


def test_a_fork_knows_the_names_and_an_unknown_one_is_refused(office):
    name = pictured_file(office).result["picture"]
    fork = office.fork()
    ask(fork, "tickets_comment", ticket=open_ticket(fork), body="x", picture=name)
    before = fork.hash
    for odd, code in (("image:0123456789ab", "not_found"), ("image:x", "invalid"), (7, "invalid")):
        arguments = {"ticket": open_ticket(fork), "body": "x", "picture": odd}
        error = fork.call("tickets_comment", arguments).error
        assert (error.code, error.field) == (code, "picture")
    assert fork.hash == before != office.hash
    fork.close()
