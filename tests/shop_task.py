"""A small shop with a customer: an environment of one service, and a task with a user."""

from pathlib import Path

ENV = """\
schema_version = "agentgym.env/1"
title = "A shop"
services = "shop"
surfaces = ["services"]
"""
SCHEMA = """\
CREATE TABLE orders_order (
  id INTEGER PRIMARY KEY,
  email TEXT NOT NULL,
  total INTEGER NOT NULL,
  status TEXT NOT NULL
);
CREATE TABLE orders_mail (id INTEGER PRIMARY KEY, code TEXT NOT NULL);
"""
SERVICE = '''\
import random

from agentgym.services import Service, ServiceError, reads, writes
from typing_extensions import TypedDict


class Order(TypedDict):
    id: int
    email: str
    total: int
    status: str


class Mail(TypedDict):
    code: str


class Orders(Service):
    """What was bought."""

    def fill(self, rng: random.Random) -> None:
        for number in range(1, 40):
            self.db.insert(
                "orders_order", id=number, email=f"p{number}@x.example", total=20, status="paid"
            )

    @reads
    def get(self, order: int) -> Order:
        """Show an order.

        Args:
            order: Its number.
        """
        found = self.db.one("SELECT * FROM orders_order WHERE id = ?", order)
        if found is None:
            raise ServiceError("not_found", f"no order {order}", "order")
        return found

    @writes
    def refund(self, order: int) -> Order:
        """Pay an order back.

        Args:
            order: Its number.
        """
        self.get(order)
        self.db.execute("UPDATE orders_order SET status = 'refunded' WHERE id = ?", order)
        return self.get(order)

    @writes
    def send_code(self, code: str) -> int:
        """Send the customer a code.

        Args:
            code: The code.
        """
        return self.db.insert("orders_mail", code=code)

    @reads
    def inbox(self) -> list[Mail]:
        """Show the customer's own mail; the last first."""
        if self.actor != "user":
            raise ServiceError("forbidden", "it is the customer's own")
        return self.db.all("SELECT code FROM orders_mail ORDER BY id DESC")
'''
TASK = """\
schema_version = "agentgym.task/1"
id = "demo/refund-v1"
title = "Pay an order back to whom it belongs"
difficulty = "easy"
env = "shop"
max_steps = 12

[params]
case = { choice = [
  { order = 17, email = "p17@x.example" },
  { order = 23, email = "p23@x.example" },
  { order = 5, email = "p5@x.example" },
] }

[user]
"""
USER = """\
schema_version = "agentgym.user/1"
name = "Ada Keller"
persona = "Short of time."
goal = "You want order {{case.order}} to be paid back."
behaviour = ["You never accept store credit."]
opening = "Hi, I'd like my money back, please."
own = ["orders_inbox"]
patience = 3

[[fact]]
id = "order_number"
asked = ["order (number|no|id)", "which order"]
say = "It's {{case.order}}."

[[fact]]
id = "email"
asked = ["e-?mail"]
say = ["{{case.email}}", "I told you: {{case.email}}"]

[[fact]]
id = "code"
do = [{ tool = "orders_inbox" }]
say = "The code is {{result.0.code}}."
failing = "There is no code in my mail: {{error}}."

[[state]]
id = "asking"
about = "nothing was paid back yet"
idle = ["I just want my money back."]

[[state.rule]]
row = { table = "orders_order", where = { id = "{{case.order}}", status = "refunded" } }
say = "Great, thank you!"
leave = true

[[state.rule]]
said = ["can('t|not)", "policy", "store credit"]
unsaid = ["cannot wait"]
say = ["I don't want store credit.", "That is not good enough."]
most = 2

[[state.rule]]
said = ["can('t|not)", "policy", "store credit"]
say = "Fine. Then a credit, if there is no other way."
to = "credit"

[[state]]
id = "credit"
about = "you have given in"

[[always]]
said = ["good ?bye"]
say = "Bye."
leave = true
"""
RUBRIC = """\
schema_version = "agentgym.rubric/1"

[[checkpoint]]
id = "paid-back"
use = "checks.paid_back"

[[checkpoint]]
id = "asked"
use = "checks.asked"
phase = "process"
"""
CHECKS = """\
def paid_back(evidence):
    order = evidence.params["case"]["order"]
    others = [r for r in evidence.row_changes if r.table == "orders_order" and r.key != (order,)]
    row = evidence.tables_after.one("orders_order", id=order)
    codes = evidence.tables_after.rows("orders_mail")
    return not others and len(codes) <= 1 and row["status"] == "refunded"


def asked(evidence):
    return any(step.action.tool == "message_user" for step in evidence.steps) and any(
        entry.actor == "user" and entry.tool == "orders_inbox" for entry in evidence.calls
    )
"""
SOLUTION = """\
{"tool": "message_user", "arguments": {"text": "Could you tell me the order number?"}}
{"tool": "orders_send_code", "arguments": {"code": "K-7"}}
{"tool": "message_user", "arguments": {"text": "I've sent you a code. What is the code?"}}
{"tool": "orders_refund", "arguments": {"order": "{{case.order}}"}}
{"tool": "message_user", "arguments": {"text": "It is paid back."}}
"""
FILES = {
    "task.toml": TASK,
    "user.toml": USER,
    "instruction.md": "Help the customer. Only the owner of a code is who they say.\n",
    "solution/actions.jsonl": SOLUTION,
    "checks/rubric.toml": RUBRIC,
    "checks/checks.py": CHECKS,
    "mutants/all.jsonl": (
        "# pays back another order, too\n"
        '{"tool": "orders_refund", "arguments": {"order": "{{case.order}}"}}\n'
        '{"tool": "orders_refund", "arguments": {"order": 3}}\n'
    ),
}


def write_shop(root: Path, **changes: str) -> Path:
    """Write the environment and the task below a root; a change replaces a file of the task."""
    service = root / "envs" / "shop" / "services" / "orders"
    service.mkdir(parents=True, exist_ok=True)
    (root / "envs" / "shop" / "env.toml").write_text(ENV)
    (service / "schema.sql").write_text(SCHEMA)
    (service / "service.py").write_text(SERVICE)
    folder = root / "tasks" / "demo" / "refund"
    for path, text in {**FILES, **changes}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


REPLIES = """
[[user.reply]]
id = "ask_order"
say = "Which order is it?"
[[user.reply]]
id = "ask_name"
say = "What is your name?"
[[user.reply]]
id = "thanks"
say = "Thank you."
[[user.reply]]
id = "cannot"
say = "I cannot do that."
"""
HEARING = """
schema_version = "agentgym.user/1"
name = "Ada"
goal = "You want your money back."
[[fact]]
id = "order"
heard = ["ask_order"]
say = "It's {{case.order}}."
[[state]]
id = "asking"
idle = ["And my money?"]
[[state.rule]]
heard = ["cannot"]
say = "Then I leave."
leave = true
"""
