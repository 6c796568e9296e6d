"""Write a week of portal logs of two web servers, with a credential-stuffing attack inside.

Honest traffic, the attack and its decoys are all planned here as events; the truth is then
taken from the events by the rule of the instruction and compared with the plan, so a seed
on which a decoy would count by accident fails the setup instead of misgrading an agent.
"""

from __future__ import annotations

import gzip
import json
import os
import random
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

FIRST_NAMES = """adam aisha alba anders anna bela bram carla chen clara dana david diego dora
edith elena emil erik fatima felix frida georg hana hugo ida igor ines ivan jana jonas jorge kai
karin lars lea lena luca luis maja marek maria milan mina nadia nils nora olga omar oscar paula
pavel petra rafael rita rosa samir sara sofia stefan tara tomas vera victor wanda yara
zoe""".split()  # noqa: SIM905
LAST_NAMES = """abel acker alves amann arndt baker bauer berg blanco bohm brandt braun cano castro
costa dahl diaz dietz duarte ebert engel fabre falk faria fiala frank galli garza gerber graf haas
hahn hansen horak huber ibarra jansen jung kaiser keller klein kolar kovac krause lang leal lopez
lorenz marin mayer meier molina moser novak olsen otto pinto popov prado quist reyes ritter roth
rossi sauer silva simon sousa stein suarez torres urban vogel weber wolf
zeman""".split()  # noqa: SIM905
GENERIC_NAMES = """admin administrator backup billing demo guest helpdesk hr info invoice it mail
manager marketing office operator postmaster root sales scan service support sysadmin test user
webmaster""".split()  # noqa: SIM905
BROWSERS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/138.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1.15 Safari/605.1.15",
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148",
)
PAGES = (
    "/dashboard",
    "/api/v2/orders?limit=50",
    "/api/v2/invoices",
    "/api/v2/profile",
    "/static/app.7c1e.js",
    "/api/v2/messages/unread",
    "/tracking",
    "/static/theme.css",
)
EXPORTS = ("customers.csv", "invoices.csv", "contacts.json", "orders.csv", "shipments.csv")
DAYS = 7
ROTATION = timedelta(hours=6, minutes=25)
UTC = timezone(timedelta(0))


@dataclass(frozen=True)
class Line:
    """One log line before its time is written in the server's own offset."""

    time: datetime
    log: str  # "auth" or "access"
    node: int
    fields: dict


@dataclass
class Session:
    """A session as the truth needs it: where it began and what was exported with it."""

    time: datetime
    user: str
    address: str
    sid: str
    bytes: int = 0


class Portal:
    """Collects events, and turns logins and requests into the lines both services write."""

    def __init__(self, rng: random.Random, threshold: int, start: datetime) -> None:
        self.rng = rng
        self.threshold = threshold
        self.start = start
        self.lines: list[Line] = []
        self.failures: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.sessions: list[Session] = []

    def auth(self, time: datetime, node: int, event: str, **fields: str) -> None:
        self.lines.append(Line(time, "auth", node, {"event": event, **fields}))

    def request(
        self,
        time: datetime,
        node: int,
        address: str,
        request: str,
        status: int,
        size: int,
        sid: str = "-",
        agent: str = BROWSERS[0],
    ) -> None:
        fields = {"address": address, "request": request, "status": status, "size": size}
        self.lines.append(Line(time, "access", node, {**fields, "sid": sid, "agent": agent}))

    def fail(self, time: datetime, node: int, user: str, address: str, reason: str) -> None:
        self.auth(time, node, "login.failed", user=user, addr=address, reason=reason)
        self.request(time, node, address, "POST /login", 401, self.rng.randint(480, 560))
        self.failures[address, time.date().isoformat()].add(user.lower())

    def may_fail(self, time: datetime, address: str) -> bool:
        """Whether one more failed account keeps an honest address below the threshold."""
        return len(self.failures[address, time.date().isoformat()]) < self.threshold - 1

    def login(
        self, time: datetime, node: int, user: str, address: str, mfa: str = "none"
    ) -> Session | None:
        """A correct password; `mfa` is ``"none"``, ``"ok"`` or ``"failed"``."""
        self.auth(time, node, "password.ok", user=user, addr=address)
        if mfa != "none":
            time += timedelta(seconds=self.rng.randint(4, 25))
            self.auth(time, node, f"mfa.{mfa}", user=user, addr=address, method="totp")
        if mfa == "failed":
            self.request(time, node, address, "POST /login/mfa", 401, 498)
            return None
        sid = f"{self.rng.getrandbits(48):012x}"
        self.auth(time, node, "session.open", user=user, addr=address, sid=sid)
        self.request(time, node, address, "POST /login", 302, 0, sid)
        session = Session(time, user.lower(), address, sid)
        self.sessions.append(session)
        return session

    def browse(self, session: Session, address: str, requests: int) -> datetime:
        time, sid, agent = session.time, session.sid, self.rng.choice(BROWSERS)
        for _ in range(requests):
            time += timedelta(seconds=self.rng.randint(1, 240))
            page, size = self.rng.choice(PAGES), int(self.rng.lognormvariate(8, 1.2))
            status = self.rng.choices((200, 304, 404), (90, 8, 2))[0]
            size = 0 if status == 304 else size
            self.request(time, self.node(), address, f"GET {page}", status, size, sid, agent)
        return time

    def export(self, session: Session, address: str, time: datetime, pages: int) -> None:
        """Download a data set page by page; some answers are refusals and send next to nothing."""
        name = self.rng.choice(EXPORTS)
        for page in range(1, pages + 1):
            time += timedelta(seconds=self.rng.randint(1, 9))
            status = self.rng.choices((200, 429, 403), (85, 12, 3))[0]
            size = self.rng.randint(90_000, 900_000) if status == 200 else self.rng.randint(60, 240)
            path = f"GET /api/v2/export/{name}?page={page}"
            self.request(time, self.node(), address, path, status, size, session.sid)
            session.bytes += size if status == 200 else 0

    def node(self) -> int:
        return self.rng.randint(1, 2)

    def moment(self, day: int, from_hour: float = 0, to_hour: float = 24) -> datetime:
        """A random second of a UTC day."""
        return self.start + timedelta(
            days=day, seconds=self.rng.randint(int(from_hour * 3600), int(to_hour * 3600) - 1)
        )


def spelled(rng: random.Random, user: str) -> str:
    """An account name as a person might type it."""
    return rng.choices((user, user.title(), user.upper()), (80, 15, 5))[0]


def honest_traffic(portal: Portal, users: list[str], office: str) -> None:
    """Customers who log in, mistype, browse, and now and then export their own data."""
    rng = portal.rng
    for user in users:
        home = f"{rng.choice((84, 91, 109, 151, 178))}.{rng.randint(1, 250)}.{rng.randint(0, 255)}"
        home += f".{rng.randint(1, 254)}"
        if rng.random() < 0.15:
            home = f"2a02:{rng.randint(256, 4095):x}:{rng.getrandbits(16):x}::{rng.randint(2, 99)}"
        mfa = rng.choice(("none", "none", "ok"))
        for day in range(DAYS):
            if rng.random() < 0.4:
                continue
            time, node = portal.moment(day, 5, 22), portal.node()
            address = office if rng.random() < 0.35 else home
            if rng.random() < 0.16 and portal.may_fail(time, address):
                for _ in range(rng.choice((1, 1, 2, 3))):
                    portal.fail(time, node, spelled(rng, user), address, "bad_password")
                    time += timedelta(seconds=rng.randint(5, 40))
            session = portal.login(time, node, spelled(rng, user), address, mfa)
            end = portal.browse(session, address, rng.randint(2, 9))
            if rng.random() < 0.04:
                portal.export(session, address, end, rng.randint(1, 4))
            reason = rng.choice(("logout", "timeout", "timeout"))
            end += timedelta(minutes=rng.randint(1, 45))
            portal.auth(end, portal.node(), "session.close", sid=session.sid, reason=reason)


def spray(
    portal: Portal, address: str, accounts: list[str], start: datetime, *, pause_s: int
) -> datetime:
    """Try one password per account, alternating between the servers as the balancer does."""
    time = start
    for turn, account in enumerate(accounts):
        reason = "unknown_user" if account in GENERIC_NAMES else "bad_password"
        portal.fail(time, 1 + turn % 2, spelled(portal.rng, account), address, reason)
        time += timedelta(seconds=portal.rng.randint(pause_s // 2, pause_s))
    return time


def attack(portal: Portal, users: list[str], botnet: list[str], exits: list[str]) -> list[str]:
    """Quiet addresses that get in, one loud one that does not; returns the accounts taken over."""
    rng, threshold = portal.rng, portal.threshold
    victims = rng.sample(users, rng.randint(5, 7))
    held = rng.sample([user for user in users if user not in victims], 2)
    for address in botnet[:-1]:
        tried = rng.sample(users, rng.randint(threshold - 3, threshold)) + rng.sample(
            GENERIC_NAMES, 4
        )
        rng.shuffle(tried)
        spray(portal, address, tried, portal.moment(rng.randint(1, 4), 0, 16), pause_s=1300)
    loud = rng.sample(GENERIC_NAMES, 24) + rng.sample(users, 40)
    spray(portal, botnet[-1], loud, portal.moment(2, 1, 20), pause_s=6)

    for position, victim in enumerate(victims):
        address = botnet[position % (len(botnet) - 1)]
        # Not tied to the day of the spraying: a password found early is often used late.
        time = portal.moment(rng.randint(1, 5), 0, 20)
        portal.fail(time, portal.node(), victim, address, "bad_password")
        for visit in range(rng.choice((1, 1, 2))):
            time += timedelta(minutes=rng.randint(2, 50))
            # The very first session is on the server with local time, spelled with capitals.
            node, name = (2, victim.title()) if position == 0 else (portal.node(), victim)
            session = portal.login(time, node, name, address, rng.choice(("none", "ok")))
            source = rng.choice(exits) if (position + visit) % 2 == 0 else address
            end = portal.browse(session, source, rng.randint(1, 4))
            if position != 1:
                portal.export(session, source, end, rng.randint(4, 18))
    for account in held:
        address = rng.choice(botnet[:-1])
        time = portal.moment(rng.randint(2, 5))
        for _ in range(rng.randint(1, 3)):
            portal.login(time, portal.node(), account, address, "failed")
            time += timedelta(seconds=rng.randint(31, 90))
    return victims


def decoys(portal: Portal, users: list[str], slow: str, spelling: str, midnight: str) -> None:
    """Addresses that a careless reading of the rule would call attacking; all have sessions."""
    rng, threshold = portal.rng, portal.threshold
    for day in range(DAYS):  # many accounts in the week, never enough on one day
        accounts = rng.sample(users, threshold - 2)
        spray(portal, slow, accounts, portal.moment(day, 8, 12), pause_s=900)
    typed = [form for user in rng.sample(users, 4) for form in (user, user.title(), user.upper())]
    time = portal.moment(3, 9, 11)
    for position, form in enumerate(typed):  # few accounts, each in three spellings
        portal.fail(time, 1 + position % 2, form, spelling, "bad_password")
        time += timedelta(seconds=rng.randint(20, 90))
    accounts = rng.sample(users, threshold + 2)
    half = len(accounts) // 2
    for side, part in ((-1, accounts[:half]), (1, accounts[half:])):  # a night shift over midnight
        for account in part:
            time = portal.start + timedelta(days=4, seconds=side * rng.randint(60, 5000))
            portal.fail(time, 2, account, midnight, "bad_password")
    for address in (slow, spelling, midnight):
        session = portal.login(portal.moment(4, 6, 20), portal.node(), rng.choice(users), address)
        end = portal.browse(session, address, 4)
        portal.export(session, address, end, 3)


def truth(portal: Portal) -> dict:
    """Apply the instruction's rule to the events."""
    attacking = {
        address
        for (address, _), accounts in portal.failures.items()
        if len(accounts) >= portal.threshold
    }
    taken: dict[str, dict] = {}
    for session in sorted(portal.sessions, key=lambda s: s.time):
        if session.address in attacking:
            first = session.time.strftime("%Y-%m-%dT%H:%M:%SZ")
            new = {
                "account": session.user,
                "address": session.address,
                "first_session": first,
                "exported_bytes": 0,
            }
            taken.setdefault(session.user, new)["exported_bytes"] += session.bytes
    return {
        "attacking_addresses": sorted(attacking),
        "taken_over": sorted(taken.values(), key=lambda entry: entry["account"]),
    }


def background(portal: Portal) -> None:
    """Add the login service's own messages and the balancer's probes."""
    for day in range(DAYS):
        for _ in range(60):
            time, node = portal.moment(day), portal.node()
            busy = portal.rng.randint(0, 15)
            portal.auth(time, node, "ldap.pool", busy=str(busy), size="16")
        for minute in range(0, 1440, 10):
            time = portal.start + timedelta(
                days=day, minutes=minute, seconds=portal.rng.randint(0, 59)
            )
            probe = "balancer-probe/3.1"
            portal.request(time, portal.node(), "10.20.0.5", "GET /healthz", 200, 15, agent=probe)


def render(line: Line, host: str, zone: timezone, pids: dict[int, int]) -> str:
    local, fields = line.time.astimezone(zone), dict(line.fields)
    if line.log == "auth":
        event = fields.pop("event")
        rest = " ".join(f"{key}={value}" for key, value in fields.items())
        stamp = local.isoformat(timespec="seconds")
        return f"{stamp} {host} authd[{pids[line.node]}]: {event} {rest}\n"
    stamp = local.strftime("%d/%b/%Y:%H:%M:%S %z")
    return (
        f'{fields["address"]} - - [{stamp}] "{fields["request"]} HTTP/1.1" {fields["status"]}'
        f' {fields["size"]} "-" "{fields["agent"]}" sid={fields["sid"]}\n'
    )


def write_logs(
    portal: Portal, folder: Path, hosts: dict[int, str], zones: dict[int, timezone]
) -> None:
    """Sort each server's lines and cut them where logrotate did, at 06:25 local time."""
    pids = {node: portal.rng.randint(600, 1900) for node in hosts}
    files: dict[tuple[int, str, int], list[Line]] = defaultdict(list)
    newest = {node: max(x.time for x in portal.lines if x.node == node) for node in hosts}
    for line in sorted(portal.lines, key=lambda x: x.time):
        zone = zones[line.node]
        age = (newest[line.node].astimezone(zone) - ROTATION).date() - (
            line.time.astimezone(zone) - ROTATION
        ).date()
        files[line.node, line.log, age.days].append(line)
    for (node, log, age), lines in files.items():
        path = folder / hosts[node] / f"{log}.log{'' if age == 0 else f'.{age}'}"
        path.parent.mkdir(parents=True, exist_ok=True)
        data = "".join(render(line, hosts[node], zones[node], pids) for line in lines).encode()
        if age >= 2:
            path = path.with_name(path.name + ".gz")
            data = gzip.compress(data, 6, mtime=0)
        path.write_bytes(data)
        os.utime(path, (lines[-1].time.timestamp(),) * 2)


def main() -> None:
    params = json.loads(os.environ["AGENTGYM_PARAMS"])
    rng = random.Random(f"log-forensics {params['seed']}")
    start = datetime.fromisoformat(params["first_day"]).replace(tzinfo=UTC)
    portal = Portal(rng, params["threshold"], start)
    everybody = [f"{first}.{last}" for first in FIRST_NAMES for last in LAST_NAMES]
    users = rng.sample(everybody, 420)
    public = [
        f"{net}.{last}" for net in ("198.51.100", "203.0.113", "192.0.2") for last in range(2, 254)
    ]
    office, slow, spelling, midnight, *rest = rng.sample(public, 13)
    botnet, exits = rest[: rng.randint(4, 6)], rest[-2:]

    honest_traffic(portal, users, office)
    victims = attack(portal, users, botnet, exits)
    decoys(portal, users, slow, spelling, midnight)
    background(portal)

    found = truth(portal)
    assert found["attacking_addresses"] == sorted(botnet), "a decoy counts or an attacker does not"
    assert [entry["account"] for entry in found["taken_over"]] == sorted(victims)

    zone = datetime.strptime(params["offset"], "%z").tzinfo
    hosts = {node: f"{params['site']}-web-{node}" for node in (1, 2)}
    write_logs(portal, Path("/srv/incident"), hosts, {1: UTC, 2: zone})
    (Path(os.environ["AGENTGYM_GOLD"]) / "incident.json").write_text(json.dumps(found, indent=2))


main()
