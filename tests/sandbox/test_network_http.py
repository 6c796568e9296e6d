"""The HTTP side of the proxy: requests, answers, and tricks with both."""

import asyncio
import random

import pytest
from proxied import GET, Web, hang_up, proxied, reply, site

from agentgym.records import Connection
from agentgym.sandbox.network import proxy

pytestmark = pytest.mark.usefixtures("nothing_left")

# --- requests in absolute form -----------------------------------------------------------------


async def test_a_request_is_passed_on_in_origin_form_without_what_concerns_the_proxy(names):
    names["site.test"] = ["127.0.0.1"]
    web = Web(
        b"HTTP/1.1 200 Fine\r\nContent-Length: 5\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"
        b"Connection: close, X-Hop\r\nX-Hop: 1\r\n\r\nhello"
    )
    async with site(web) as port, proxied(f"site.test:{port}", f"127.0.0.1:{port}") as guest:
        answer = await guest.say(
            f"GET HTTP://Site.test:{port}/a%20b?c=d HTTP/1.1\r\nHost: site.TEST:{port}\r\n"
            "X-Case: Kept\r\nProxy-Authorization: Basic eA==\r\nProxy-Connection: keep-alive\r\n"
            "Connection: X-Secret, Content-Length\r\nX-Secret: 1\r\nTE: trailers\r\n\r\n".encode()
        )
        expected = (
            f"GET /a%20b?c=d HTTP/1.1\r\nHost: Site.test:{port}\r\nX-Case: Kept\r\n"
            "Connection: close\r\n\r\n"
        )
        (seen,) = web.seen
        assert sorted(seen.split(b"\r\n")) == sorted(expected.encode().split(b"\r\n"))
        assert answer == (
            b"HTTP/1.1 200 Fine\r\nContent-Length: 5\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"
            b"\r\nhello"
        )
        assert guest.audit == (
            Connection("Site.test", port, "http", "open", len(expected), len(web.answer)),
        )


async def test_requests_of_one_connection_are_judged_one_by_one(names):
    names.update({"one.test": ["127.0.0.1"], "two.test": ["127.0.0.1"]})
    one, two = Web(reply(b"one")), Web(reply(b"two"))
    async with site(one) as a, site(two) as b:
        allow = f"one.test:{a}", f"127.0.0.1:{a}", f"two.test:{b}", f"127.0.0.1:{b}"
        async with proxied(*allow) as guest:

            def get(host):
                return f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()

            hosts = [f"one.test:{a}", f"two.test:{b}", f"one.test:{a}", "three.test:81"]
            # Sent in one go: a later request must not pass for part of an earlier one.
            answer = await guest.say(b"".join(map(get, [*hosts, hosts[0]])))
            heads = [part.split(b"\r\n")[0] for part in answer.split(b"HTTP/1.1 ")]
            assert heads == [b"", b"200 OK", b"200 OK", b"200 OK", b"403 Forbidden"]
            assert [body in answer for body in (b"one", b"two")] == [True, True]
            assert [(c.host, c.port, c.outcome[:7]) for c in guest.audit] == [
                ("one.test", a, "open"),
                ("two.test", b, "open"),
                ("one.test", a, "open"),
                ("three.test", 81, "refused"),
            ]
            assert (len(one.seen), len(two.seen)) == (2, 1)
            # Nobody looks up what is refused by its name: a lookup can carry data away.
            assert names["asked"] == ["one.test", "two.test", "one.test"]


async def test_a_refusal_says_why_and_how_to_allow_it():
    async with proxied("pypi.org") as guest:
        request = b"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n"
        head, _, body = (await guest.say(request)).partition(b"\r\n\r\n")
        assert head.split(b"\r\n")[0].split()[1] == b"403"
        reason = 'not in the allowlist; the author of the recipe can add "example.com" to its allow'
        assert body.decode() == f"agentgym: example.com:80 is refused: {reason}\n"
        assert guest.audit == (Connection("example.com", 80, "http", f"refused: {reason}"),)


async def test_a_refusal_reaches_a_guest_that_is_still_sending():
    async with proxied() as guest:
        start = b"POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 900000\r\n\r\n"
        answer = await guest.say(start + bytes(900_000), end=False)
        assert answer.endswith(b'"a.test" to its allow\n')


BODIES = {
    "length": (b"Content-Length: 5\r\n", b"12345"),
    "chunks": (b"Transfer-Encoding: chunked\r\n", b"2\r\n12\r\n3;x=y\r\n345\r\n0\r\nX: y\r\n\r\n"),
    "none": (b"", b""),
}
ANSWERS = {
    "length": (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", b"abc"),
    "chunks": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
        b"abc",
    ),
    "until the end": (b"HTTP/1.0 200 OK\r\n\r\nabc", b"abc"),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    "early hints": (b"HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b""),
}


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize(
    ("version", "body"),
    [("1.0", "length"), ("1.0", "none"), *(("1.1", body) for body in BODIES)],
)
async def test_bodies_arrive_whole_however_they_are_framed(body, answer, version):
    header, content = BODIES[body]
    raw, expected = ANSWERS[answer]
    seen = bytearray()

    async def serve(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        if b"chunked" in head:
            while (size := int((await reader.readline()).split(b";")[0], 16)) > 0:
                seen.extend((await reader.readexactly(size + 2))[:-2])
            await reader.readline()
        elif b"Content-Length" in head:
            seen.extend(await reader.readexactly(5))
        writer.write(raw)
        await writer.drain()

    async with site(serve) as port, proxied(f"127.0.0.1:{port}") as guest:
        start = f"POST http://127.0.0.1:{port}/ HTTP/{version}\r\nHost: 127.0.0.1:{port}\r\n"
        answered = await guest.say(start.encode() + header + b"\r\n" + content)
        assert bytes(seen) == (b"" if body == "none" else b"12345")
        if version == "1.0":
            assert answered.rpartition(b"\r\n\r\n")[2] == expected
            assert b"103" not in answered and b"chunked" not in answered
        else:
            assert joined(answered) == expected
            assert (b"103" in answered) is (answer == "early hints")


def joined(answer):
    """The body of the last answer, its chunks put together."""
    head, _, body = answer.partition(b"\r\n\r\n")
    if head.startswith(b"HTTP/1.1 103"):
        return joined(body)
    if b"chunked" not in head.lower():
        return body
    found = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        found, body = found + body[: int(size, 16)], body[int(size, 16) + 2 :]
    return found


async def test_ipv6_addresses_are_written_in_brackets():
    web = Web()
    async with site(web, "::1") as port, proxied(f"[::1]:{port}") as guest:
        request = f"GET http://[::1]:{port}/ HTTP/1.1\r\nHost: [0:0::1]:{port}\r\n\r\n".encode()
        assert (await guest.say(request)).endswith(b"hello")
        assert f"\r\nHost: [::1]:{port}\r\n".encode() in web.seen[0]
        tunnel = f"CONNECT [::1]:{port} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        assert (await guest.say(tunnel + b"GET / HTTP/1.1\r\n\r\n")).endswith(b"hello")
        assert [(c.host, c.port, c.outcome) for c in guest.audit] == [("::1", port, "open")] * 2
        bare = await guest.say(f"CONNECT ::1:{port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert bare.startswith(b"HTTP/1.1 400 ")


async def test_an_answer_framed_twice_is_framed_once():
    web = Web(
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3\r\nabc\r\n0\r\n\r\n"
    )
    async with site(web) as port, proxied(f"127.0.0.1:{port}") as guest:
        answer = await guest.say(GET % (port, port) + b"\r\n")
        assert b"99" not in answer and joined(answer) == b"abc"


async def test_a_head_request_has_no_body_and_the_connection_goes_on():
    web = Web(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n")
    async with site(web) as port, proxied(f"127.0.0.1:{port}") as guest:
        request = f"HEAD http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
        answer = await guest.say(request.encode() * 2)
        assert answer == b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" * 2


async def test_who_expects_to_be_told_to_continue_is_told():
    async def serve(reader, writer):
        assert b"100-continue" in await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        writer.write(reply(await reader.readexactly(5)))
        await writer.drain()

    async with site(serve) as port, proxied(f"127.0.0.1:{port}") as guest:
        reader, writer = await asyncio.open_connection("127.0.0.1", guest.port)
        writer.write(
            f"PUT http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n".encode()
        )
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
        writer.write(b"12345")
        assert (await reader.readuntil(b"12345")).startswith(b"HTTP/1.1 200")
        await hang_up(writer)


async def test_a_host_may_answer_before_it_has_the_whole_request():
    web = Web(reply(b"too large", "413 Too Large"))
    async with site(web) as port, proxied(f"127.0.0.1:{port}") as guest:
        start = f"PUT http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        answer = await guest.say(f"{start}Content-Length: 9\r\n\r\n123".encode(), end=False)
        assert answer.endswith(b"too large")


async def test_half_an_answer_does_not_look_like_a_whole_one():
    web = Web(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhalf")
    async with site(web) as port, proxied(f"127.0.0.1:{port}") as guest:
        request = f"GET http://127.0.0.1:{port}/ HTTP/1.0\r\n\r\n".encode()
        with pytest.raises(ConnectionResetError):
            await guest.say(request, end=False)


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK\r\nA B: c\r\n\r\n"])
async def test_what_is_no_answer_is_a_bad_gateway(answer):
    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)

    async with site(serve) as port, proxied(f"127.0.0.1:{port}") as guest:
        request = f"GET http://127.0.0.1:{port}/ HTTP/1.0\r\n\r\n".encode()
        assert (await guest.say(request)).startswith(b"HTTP/1.1 502 ")


# --- tricks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "request_",
    [
        GET + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        GET + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n12345",
        GET + b"Content-Length: +5\r\n\r\n12345",
        GET + b"Content-Length : 5\r\n\r\n12345",
        GET + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        GET + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        GET + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"A http://127.0.0.1:%d/ HTTP/1.0\r\nX: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        GET + b"Host: other.test\r\n\r\n",
        GET + b"A\rB: c\r\n\r\n",
        GET + b"A: \0\r\n\r\n",
        b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: other.test:%d\r\n\r\n",
        b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nX: %d\r\n\r\n",
        b"GET http://user@127.0.0.1:%d/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
        b"GET http://other.test@127.0.0.1:%d/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
        b"GET https://127.0.0.1:%d/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
        b"GET ftp://127.0.0.1:%d/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
        b"GET http:127.0.0.1:%d/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
        b"GET http://127.0.0.1:%d/#x HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
        b"GET /%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
        b"GET http://127.0.0.1:0%d0/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
        b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n",
        b"CONNECT http://127.0.0.1:%d/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
        b"CONNECT 127.0.0.1 HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX: %d\r\n\r\n",
        b"GET http://127.0.0.1:%d/ HTTP/2.0\r\nHost: 127.0.0.1:%d\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM %d %d\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01 %d %d",
        b"\x04\x01 %d %d",
    ],
)
async def test_what_can_be_read_in_two_ways_is_refused(request_):
    web = Web()
    async with site(web) as port, proxied(f"127.0.0.1:{port}") as guest:
        answer = await guest.say(request_ % (port, port))
        assert answer.split()[1] in (b"400", b"403", b"501", b"505"), answer
        assert answer.count(b"HTTP/1.1 ") == 1
        assert web.seen == []


async def test_a_broken_body_ends_the_request():
    web_saw_end = asyncio.Event()

    async def serve(reader, writer):
        await reader.read()
        web_saw_end.set()

    async with site(serve) as port, proxied(f"127.0.0.1:{port}") as guest:
        request = GET % (port, port) + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"
        assert (await guest.say(request, end=False)).startswith(b"HTTP/1.1 400 ")
        await web_saw_end.wait()


async def test_noise_is_answered_or_hung_up_on(monkeypatch):
    monkeypatch.setattr(proxy, "HEAD_S", 5.0)
    chance = random.Random(1)
    words = [
        b"GET ",
        b"CONNECT ",
        b"http://",
        b"a.test",
        b":80",
        b" HTTP/1.1",
        b"\r\n",
        b"\r\n\r\n",
    ]
    words += [b"Host: ", b"\x05", b"\x01", b"\x00", b"\xff", b"Content-Length: 9", b"chunked"]
    async with proxied(network="open") as guest:
        for _ in range(300):
            noise = b"".join(chance.choices(words, k=chance.randrange(1, 12)))
            try:
                await guest.say(noise)
            except ConnectionResetError:
                continue


async def test_a_name_is_resolved_once_and_what_was_judged_is_what_is_used(names):
    first, second = Web(reply(b"first")), Web(reply(b"second"))
    async with site(first) as port, site(second, "127.0.0.2", port):
        names["site.test"] = [["127.0.0.1"], ["127.0.0.2"], ["127.0.0.2", "127.0.0.1"]]
        async with proxied(f"site.test:{port}", f"127.0.0.1:{port}") as guest:
            request = f"GET http://site.test:{port}/ HTTP/1.0\r\n\r\n".encode()
            answers = [await guest.say(request) for _ in range(3)]
            assert [answer.split()[1] for answer in answers] == [b"200", b"403", b"200"]
            assert names["asked"] == ["site.test"] * 3
            assert (len(first.seen), len(second.seen)) == (2, 0)
            assert "not a public address" in guest.audit[1].outcome


@pytest.mark.parametrize("network", ["open", "allowlist"])
async def test_the_host_and_its_networks_are_out_of_reach(names, network):
    names["inside.test"] = ["127.0.0.1"]
    names["metadata.test"] = ["169.254.169.254"]
    names["mapped.test"] = ["::ffff:127.0.0.1"]
    names["scoped.test"] = ["fe80::1%lo"]
    web = Web()
    async with site(web) as port, proxied(f"*.test:{port}", network=network) as guest:
        hosts = ["inside.test", "metadata.test", "mapped.test", "scoped.test", "127.0.0.1"]
        hosts += ["[::1]", "[::ffff:127.0.0.1]", "localhost", "2130706433", "127.1", "0.0.0.0"]
        for host in hosts:
            answer = await guest.say(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert answer.split()[1] in (b"403", b"502"), host
        assert web.seen == []
        assert len(guest.audit) == len(hosts)
        assert not any(connection.outcome == "open" for connection in guest.audit)


async def test_a_refused_head_request_gets_a_head_and_no_fault(names, caplog):
    async with proxied("site.test") as guest:
        answer = await guest.say(b"HEAD http://other.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n")
        head, _, body = answer.partition(b"\r\n\r\n")
        assert (head.split()[1], body) == (b"403", b"")
    assert caplog.records == []
