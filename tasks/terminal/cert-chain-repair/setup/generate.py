"""Issue a small PKI with `openssl ca` and deploy the wrong parts of it.

Everything is deterministic: Ed25519 keys are derived from the seed and their signatures have no
nonce (RFC 8032), serials are drawn, and every date is fixed. What is valid stays so until 2064.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

TLS = Path("/srv/tls")
GOOD, LEAF = ("20240115000000Z", "20741231235959Z"), ("20240301000000Z", "20641231235959Z")
OLD, OLD_LEAF = ("20180601000000Z", "20220531235959Z"), ("20220301000000Z", "20230301000000Z")
CA = "basicConstraints=critical,CA:true\nkeyUsage=critical,keyCertSign,cRLSign\n"
SERVER = "basicConstraints=critical,CA:false\nextendedKeyUsage=serverAuth\n"
CLIENT = "basicConstraints=critical,CA:false\nextendedKeyUsage=clientAuth\n"
CONFIG = """\
[ca]
default_ca=this
[this]
new_certs_dir=.
database=index.txt
serial=serial
default_md=default
policy=any
unique_subject=no
[any]
organizationName=optional
commonName=supplied
[req]
distinguished_name=name
[name]
[extensions]
subjectKeyIdentifier=hash
"""


@dataclass(frozen=True)
class Cert:
    """An issued certificate: its serial in hex, its DER form, and the name of its key."""

    serial: str
    der: bytes
    key: str

    @property
    def pem(self) -> str:
        return armour("CERTIFICATE", self.der)


def armour(label: str, der: bytes) -> str:
    text = base64.b64encode(der).decode()
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""])


class Pki:
    """Issues certificates in a scratch folder."""

    def __init__(self, folder: Path, organisation: str, rng: random.Random) -> None:
        self.folder = folder
        self.organisation = organisation
        self.rng = rng
        self.salt = rng.getrandbits(128).to_bytes(16, "big")

    def key(self, name: str) -> str:
        """Return the PEM of the Ed25519 key of that name (RFC 8410: a fixed prefix, the seed)."""
        secret = hashlib.sha256(self.salt + name.encode()).digest()
        return armour("PRIVATE KEY", bytes.fromhex("302e020100300506032b657004220420") + secret)

    def issue(
        self,
        name: str,
        key: str,
        dates: tuple[str, str],
        extensions: str,
        issuer: Cert | None = None,
    ) -> Cert:
        """Issue a certificate; without an issuer it signs itself."""
        serial = f"{self.rng.getrandbits(62) | 1 << 62:016X}"
        (self.folder / "serial").write_text(serial + "\n")
        (self.folder / "index.txt").write_text("")
        (self.folder / "subject.key").write_text(self.key(key))
        (self.folder / "ca.key").write_text(self.key(issuer.key if issuer else key))
        known = "authorityKeyIdentifier=keyid\n" if issuer else ""
        (self.folder / "ca.cnf").write_text(CONFIG + known + extensions)
        subject = f"/O={self.organisation}/CN={name}"
        self.openssl("req", "-new", "-key", "subject.key", "-subj", subject, "-out", "subject.csr")
        by = ["-selfsign"]
        if issuer:
            (self.folder / "ca.pem").write_text(issuer.pem)
            by = ["-cert", "ca.pem"]
        self.openssl(
            *("ca", "-batch", "-notext", "-in", "subject.csr", "-out", "subject.pem", *by),
            *("-keyfile", "ca.key", "-extensions", "extensions"),
            *("-startdate", dates[0], "-enddate", dates[1]),
        )
        body = (self.folder / "subject.pem").read_text().splitlines()[1:-1]
        return Cert(serial.lower(), base64.b64decode("".join(body)), key)

    def openssl(self, command: str, *arguments: str) -> None:
        argv = ["openssl", command, "-config", "ca.cnf", *arguments]
        done = subprocess.run(argv, cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(argv)}\n{done.stderr}")


def issue_all(pki: Pki, service: str, domain: str) -> dict[str, Cert]:
    """Issue what the pile holds; only leaf - issuing - policy - root2 is a chain that verifies."""
    rng, org = pki.rng, pki.organisation
    host = f"{service}.{domain}"
    policy, issuing = (
        f"{org} Policy CA {rng.randint(2, 9)}",
        f"{org} Issuing CA {rng.randint(2, 9)}",
    )

    def names(*hosts: str) -> str:
        return SERVER + "subjectAltName=" + ",".join(f"DNS:{h}" for h in hosts) + "\n"

    issue = pki.issue
    alias = f"{service}-int.{domain}"
    root1 = issue(f"{org} Root R1", "root1", ("20100101000000Z", GOOD[1]), CA)
    root2 = issue(f"{org} Root R2", "root2", GOOD, CA)
    good_policy = issue(policy, "policy", GOOD, CA, root2)
    by = issue(issuing, "issuing", GOOD, CA, good_policy)
    certs = {
        "root1": root1,
        "root2": root2,
        "partner": issue("Partner Exchange Root", "partner", GOOD, CA),
        "policy": good_policy,
        "policy-cross": issue(policy, "policy", GOOD, CA, root1),
        "policy-old": issue(policy, "policy", OLD, CA, root2),
        "issuing": by,
        "issuing-old": issue(issuing, "issuing", OLD, CA, good_policy),
        "issuing-rekeyed": issue(issuing, "issuing-2", GOOD, CA, good_policy),
        "leaf": issue(host, "server", LEAF, names(host, alias), by),
        "leaf-old": issue(host, "server", OLD_LEAF, names(host, alias), by),
        "leaf-other-key": issue(host, "server-2", LEAF, names(host, alias), by),
        "leaf-staging": issue(
            host, "server", LEAF, names(f"{service}.staging.{domain}", alias), by
        ),
        "leaf-client": issue(host, "server", LEAF, f"{CLIENT}subjectAltName=DNS:{host}\n", by),
    }
    for other in rng.sample(["mail", "vpn", "git", "wiki", "ldap"], 3):
        name = f"{other}.{domain}"
        certs[other] = issue(name, other, LEAF, names(name), by)
    return certs


def main() -> None:
    rng = random.Random(int(os.environ["PARAM_SEED"]))
    service, domain = os.environ["PARAM_SERVICE"], os.environ["PARAM_DOMAIN"]
    organisation = domain.split(".")[0].replace("-", " ").title()
    with tempfile.TemporaryDirectory() as scratch:
        pki = Pki(Path(scratch), organisation, rng)
        certs = issue_all(pki, service, domain)
        key = pki.key("server")

    trust, pile, server = TLS / "trust", TLS / "pki", TLS / service
    for folder in (trust, pile, server):
        folder.mkdir(parents=True)
    (trust / "roots.pem").write_text(certs["partner"].pem + certs["root2"].pem)
    for slot, cert in certs.items():
        if slot not in ("root2", "partner"):
            if rng.random() < 0.4:
                (pile / f"{cert.serial}.cer").write_bytes(cert.der)
            else:
                (pile / f"{cert.serial}.pem").write_text(cert.pem)
    deployed = [
        rng.choice(["leaf-old", "leaf-other-key", "leaf-staging"]),
        rng.choice(["policy-cross", "policy-old"]),
        rng.choice(["issuing-old", "issuing-rekeyed"]),
        "root1",
    ]
    (server / "fullchain.pem").write_text("".join(certs[slot].pem for slot in deployed))
    (server / "privkey.pem").write_text(key)
    (server / "privkey.pem").chmod(0o644)

    chain = ("leaf", "issuing", "policy")
    gold = {
        "chain": [hashlib.sha256(certs[slot].der).hexdigest() for slot in chain],
        "names": {hashlib.sha256(cert.der).hexdigest(): slot for slot, cert in certs.items()},
    }
    (Path(os.environ["AGENTGYM_GOLD"]) / "pki.json").write_text(json.dumps(gold, indent=1))


if __name__ == "__main__":
    main()
