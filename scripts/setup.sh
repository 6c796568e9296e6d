#!/bin/sh
# Make this machine ready: setup.sh demo | train | web | swe | desktop | test. Does nothing when nothing changed.
# Installs system packages where it may, else prints the one line to type. Where bubblewrap cannot
# be had and Docker answers, demo and train use Docker; .venv/.sandbox names what it uses.
set -eu
cd "$(dirname "$0")/.."
goal=${1:?usage: scripts/setup.sh demo, train, web, swe, desktop or test}
venv=.venv
stamp=$venv/.ready-$goal
# What bubblewrap sandboxes need, then what the bundled tasks use inside them.
packages="bubblewrap mount util-linux python3 python3-venv
acl coreutils findutils gawk git gzip make openssl perl sed sqlite3 tar tzdata"
bubblewrap_commands="bwrap unshare mount prlimit setpriv"
# Recipes are built with these; where they cannot be had, their tests say so and are skipped.
build_packages="debootstrap skopeo uidmap"
build_commands="debootstrap skopeo newuidmap"
# Environments with web sites are played in a browser; without one, their tests are skipped.
browser_package=chromium-headless-shell
task_commands="setfacl awk git gzip make openssl perl sqlite3 tar"
sandbox=bubblewrap

say() { printf '%s\n' "$*" >&2; }

find_python() {
    for name in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11; do
        [ -n "$name" ] || continue
        if "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
}

missing() {
    for command in "$@"; do
        PATH="$PATH:/usr/sbin:/sbin" command -v "$command" >/dev/null 2>&1 || echo "$command"
    done
}

missing_commands() {
    # shellcheck disable=SC2086
    missing $task_commands
    # shellcheck disable=SC2086
    [ $sandbox = docker ] || missing $bubblewrap_commands
    # shellcheck disable=SC2086
    builds_recipes && may_install && missing $build_commands
    [ -x /usr/bin/python3 ] || echo /usr/bin/python3
    [ -n "$(find_python)" ] || echo "python3 with venv"
}

builds_recipes() {
    [ "$goal" = test ] || [ "$goal" = swe ] || [ "$goal" = desktop ]
}

may_install() {
    command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }
}

apt_install() {
    as_root=
    [ "$(id -u)" = 0 ] || as_root="sudo -n"
    export DEBIAN_FRONTEND=noninteractive
    $as_root apt-get update -qq &&
        $as_root apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# Whether the demo can do without bubblewrap. Only root may read Docker's layers.
docker_instead() {
    # shellcheck disable=SC2086
    [ "$goal" != test ] && [ "$(id -u)" = 0 ] && [ -n "$(missing $bubblewrap_commands)" ] &&
        docker version >/dev/null 2>&1
}

use_docker() {
    say "bubblewrap is not here and cannot be installed; Docker answers, so $goal uses Docker."
    sandbox=docker
}

install_packages() {
    missing=$(missing_commands)
    [ -n "$missing" ] || return 0
    ! builds_recipes || packages="$packages $build_packages"
    line="apt-get install -y $(echo $packages)"
    if ! command -v apt-get >/dev/null; then
        say "Missing on this machine: $(echo $missing). Install, with your package manager: $(echo $packages)"
        exit 1
    fi
    if ! may_install; then
        say "Missing on this machine: $(echo $missing). Type this, then the same make again:"
        say "  sudo $line"
        exit 1
    fi
    say "Installing system packages (missing: $(echo $missing)) ..."
    # shellcheck disable=SC2086
    apt_install $packages && return 0
    docker_instead || exit 1
    use_docker
    missing=$(missing_commands)
    if [ -n "$missing" ]; then
        say "Still missing: $(echo $missing)"
        exit 1
    fi
}

# Where no daemon answers, tests run by root start one; without Docker they skip what needs it.
install_docker() {
    if [ "$goal" != test ] || [ -z "$(missing dockerd)" ] || ! may_install; then
        return 0
    fi
    say "Installing docker.io, for the tests that need it ..."
    apt_install docker.io || say "docker.io cannot be installed; tests that need it will be skipped."
}

# Playwright's own build is the way out where the system has no package of the browser.
install_browser() {
    case $goal in test | web) ;; *) return 0 ;; esac
    [ -n "$(missing $browser_package)" ] || return 0
    if may_install; then
        say "Installing $browser_package, for environments with web sites ..."
        apt_install $browser_package && return 0
    fi
    $venv/bin/playwright install --only-shell chromium >/dev/null 2>&1 && return 0
    say "No browser can be installed. Type: sudo apt-get install $browser_package"
    [ "$goal" != web ] || exit 1
}

install_python() {
    python=$(find_python)
    if [ -z "$python" ]; then
        say "agentgym needs Python 3.11 or newer with venv; set PYTHON=/path/to/python3.11"
        exit 1
    fi
    [ -x $venv/bin/python ] || { say "Making $venv with $python ..."; "$python" -m venv $venv; }
    # This distribution was called agentgym once; a copy under that name offers everything twice.
    $venv/bin/python -m pip uninstall -q -y --disable-pip-version-check agentgym 2>/dev/null || true
    say "Installing Python packages for '$goal' (a few minutes the first time) ..."
    if [ "$goal" = test ]; then
        $venv/bin/python -m pip install -q --disable-pip-version-check --upgrade 'pip>=25.1'
        # Python compiles a module when it is first imported; most are never imported, and pip would
        # take half a minute for all. The CPU build of this release of torch is the one that a
        # package mirror for Python 3.11 may carry.
        install="$venv/bin/pip install -q --disable-pip-version-check --no-compile"
        $install "${TORCH:-torch==2.13.0}"
        $install -e . --group test
        PYTHON=$python scripts/mcp_servers.sh >/dev/null ||
            say "MCP servers of others cannot be installed; tests that need them will be skipped."
    else
        extras=
        [ $sandbox = bubblewrap ] || extras=docker
        [ "$goal" != web ] || extras="${extras:+$extras,}miniwob"
        [ "$goal" != desktop ] || extras="${extras:+$extras,}office"
        if [ "$goal" = train ]; then
            extras="${extras:+$extras,}train"
            $venv/bin/pip install -q --disable-pip-version-check "${TORCH:-torch==2.13.0}"
        fi
        $venv/bin/pip install -q --disable-pip-version-check -e ".${extras:+[$extras]}"
    fi
}

if ! may_install && docker_instead; then
    use_docker
fi
state=$(cat pyproject.toml scripts/*.sh | sha256sum)$sandbox
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$state" ] && [ -z "$(missing_commands)" ]; then
    exit 0
fi
install_packages
install_docker
install_python
install_browser
# Repositories are worked on in a Debian of their own. Tests that need it say how to build it.
if [ "$goal" = swe ]; then
    $venv/bin/agentgym sandbox build swe-python
elif [ "$goal" = desktop ]; then
    $venv/bin/agentgym sandbox build desktop
elif [ "$goal" = test ]; then
    $venv/bin/agentgym sandbox build swe-python >/dev/null 2>&1 ||
        say "The recipe swe-python cannot be built; tests that need it will be skipped."
fi
[ "$goal" = test ] || echo $sandbox > $venv/.sandbox
echo "$state" > "$stamp"
