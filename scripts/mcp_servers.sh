#!/bin/sh
# MCP servers that others wrote, for the tests: in a Python environment of their own, because they
# want an older SDK, which the next clone finds again. Prints where their programs are.
set -eu
packages="mcp-server-git mcp-server-sqlite mcp-server-time mcp<2"

if [ -n "${XDG_CACHE_HOME:-}" ]; then
    cache=$XDG_CACHE_HOME
elif [ "$(id -u)" = 0 ]; then
    cache=/var/cache
else
    cache=$HOME/.cache
fi
name=$(echo "$packages" | sha256sum | cut -c 1-12)
servers=$cache/agentgym-test-servers/$name
mkdir -p "$servers"
exec 9>"$servers/.lock"
flock -w 300 9
if [ ! -f "$servers/.ready" ]; then
    "${PYTHON:-python3}" -m venv --clear "$servers/venv"
    # shellcheck disable=SC2086
    "$servers/venv/bin/pip" install -q --disable-pip-version-check $packages >&2
    touch "$servers/.ready"
fi
echo "$servers/venv/bin"
