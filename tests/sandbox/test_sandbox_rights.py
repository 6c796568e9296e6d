"""A guest that takes every right from its own root is judged like any other."""

CODE = """
import asyncio, sys
from pathlib import Path
from agentgym.records import Recipe
from agentgym.sandbox.bubblewrap import BubblewrapProvider

async def main():
    provider = BubblewrapProvider(Path(sys.argv[1]))
    sandbox = await provider.start(Recipe("host"))
    await sandbox.exec(["sh", "-c", "echo x > /srv/f; chmod 000 / /srv"])
    live = await sandbox.snapshot()
    after = await sandbox.seal()
    again = await provider.start(Recipe("host"), after)
    seen = await again.exec(["sh", "-c", "stat -c %a / /srv; cat /srv/f"])
    print(seen.stdout.decode().split())
    await again.close()
    await provider.discard(live)
    await provider.discard(after)
    await provider.close()

asyncio.run(main())
"""


def test_a_root_without_rights_is_sealed_and_goes_on(as_somebody):
    # The root of a new sandbox is its own; everything below is as it was left.
    assert as_somebody(CODE) == "['755', '0', 'x']\n"
