"""Gathers programs with their loader and libraries below one folder, for any root to run.

Interpreter path and library path are written into the programs (patchelf) as a placeholder of
fixed length, which whoever lays the folder down replaces by the place where it puts it.
"""

import importlib.util
import marshal
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile

FOLDER = "/opt/agentgym-verifier"
PLACEHOLDER = "/.agentgym-verifier-" + "0" * 16
PROGRAMS = {
    "python3": os.path.realpath(sys.executable),
    "bash": "/bin/bash",
    "curl": "/usr/bin/curl",
    "awk": "/usr/bin/gawk",
}
# Packages whose programs test scripts compare and search with.
TOOLS = ("coreutils", "diffutils", "findutils", "gawk", "grep", "sed")
# These start another program, or load a library, by a path that is fixed in them.
ROOTED = ("diff3", "sdiff", "stdbuf")
# What wheels link to and nothing above does.
MORE = ("libstdc++.so.6", "libgcc_s.so.1", "librt.so.1", "libdl.so.2", "libpthread.so.0")
LEFT_OUT = re.compile(
    r"(^|/)(test|tests|idlelib|tkinter|turtledemo|lib2to3|ensurepip|__pycache__|config-.*|dist-packages)(/|$)"
)
UNWANTED = re.compile(r"^(_tkinter|_test|_xx|xx)")
# The loader reads this file for every program; a name of the same length that never is there.
PRELOAD = (b"/etc/ld.so.preload\0", b"/proc/self/nothing\0")


def main():
    """Gather everything."""
    for name in ("bin", "shared"):
        os.makedirs(f"{FOLDER}/{name}")
    programs = {**PROGRAMS, **tools()}
    library = sysconfig.get_path("stdlib")
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    extensions = take_library(library, version)
    loader, shared = needs([*programs.values(), *extensions])
    for name in MORE:
        shared.setdefault(name, find(name))
    for name, path in shared.items():
        shutil.copyfile(path, f"{FOLDER}/shared/{name}")
    with open(loader, "rb") as file:
        data = file.read()
    assert PRELOAD[0] in data, "the loader reads no preload file"
    write(f"{FOLDER}/ld.so", data.replace(*PRELOAD))
    for name, path in programs.items():
        shutil.copyfile(path, f"{FOLDER}/bin/{name}")
        os.chmod(f"{FOLDER}/bin/{name}", 0o755)
    subprocess.run(
        [
            "patchelf",
            "--set-interpreter",
            f"{PLACEHOLDER}/ld.so",
            "--force-rpath",
            "--set-rpath",
            f"{PLACEHOLDER}/shared",
            *(f"{FOLDER}/bin/{name}" for name in programs),
        ],
        check=True,
    )
    for name, option in (("egrep", "-E"), ("fgrep", "-F")):
        script = f'#!{PLACEHOLDER}/bin/bash\nexec {PLACEHOLDER}/bin/grep {option} "$@"\n'
        write(f"{FOLDER}/bin/{name}", script.encode())


def tools():
    """Return name to path of the compiled programs in the packages of TOOLS."""
    found = {}
    for package in TOOLS:
        said = subprocess.run(["dpkg", "-L", package], check=True, capture_output=True, text=True)
        for path in said.stdout.splitlines():
            name = os.path.basename(path)
            in_bin = os.path.basename(os.path.dirname(path)) in ("bin", "sbin")
            if in_bin and name not in ROOTED and is_program(path):
                found[name] = path
    return found


def is_program(path):
    """Return whether a path is a regular file in ELF format."""
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def take_library(library, version):
    """Put the standard library into a zip, and its extensions beside it."""
    extensions = []
    dynload = f"{FOLDER}/lib/{version}/lib-dynload"
    os.makedirs(dynload)
    packed = f"{FOLDER}/lib/{version.replace('.', '')}.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder, _, files in sorted(os.walk(library)):
            for name in sorted(files):
                path = os.path.join(folder, name)
                inner = os.path.relpath(path, library)
                if LEFT_OUT.search(inner) or inner == "sitecustomize.py":
                    continue
                if name.endswith(".so"):
                    if not UNWANTED.match(name):
                        extensions.append(path)
                        shutil.copyfile(path, f"{dynload}/{name}")
                elif name.endswith(".py"):
                    with open(path, "rb") as file:
                        source = file.read()
                    put(archive, inner, source)
                    if (code := compiled(inner, source)) is not None:
                        put(archive, f"{inner}c", code)
    shutil.copyfile(f"{library}/os.py", f"{FOLDER}/lib/{version}/os.py")
    return extensions


def compiled(name, source):
    """Return the compiled form of a module, which is valid whatever time it has."""
    try:
        code = compile(source, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None
    flags = (1).to_bytes(4, "little")  # by hash, and not checked
    digest = importlib.util.source_hash(source)
    return importlib.util.MAGIC_NUMBER + flags + digest + marshal.dumps(code)


def put(archive, name, data):
    """Add a file; one time for all, so that what is packed depends on the files alone."""
    info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(info, data)


def needs(programs):
    """Return the dynamic loader of programs, and name to path of the libraries they load."""
    loader, shared = "", {}
    for program in programs:
        said = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
        for line in said.splitlines():
            name, arrow, rest = line.strip().partition(" => ")
            path = (rest if arrow else name).split(" (")[0]
            if arrow and path.startswith("/"):
                shared[os.path.basename(name)] = path
            elif not arrow and path.startswith("/"):
                loader = path
    return loader, shared


def find(name):
    """Return where a library is."""
    said = subprocess.run(
        ["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True
    ).stdout
    for line in said.splitlines():
        if line.split()[:1] == [name]:
            return line.rpartition(" => ")[2]
    raise SystemExit(f"{name} is not there")


def write(path, data):
    """Write an executable file."""
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, 0o755)


main()
