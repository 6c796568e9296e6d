"""The certificate with which sites answer https: in the browser's own network.

It is made for this process and signed by itself. Browsers here do not check certificates: nothing
but the sites of an episode can answer them.
"""

from __future__ import annotations

import datetime
import ssl
from functools import lru_cache
from pathlib import Path

from agentgym.errors import MissingExtraError
from agentgym.scratch import scratch_folder


@lru_cache(maxsize=1)
def server_context() -> ssl.SSLContext:
    """Return the settings of the sites' end of TLS.

    Raises:
        MissingExtraError: The package cryptography is not installed.
    """
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError:
        raise MissingExtraError("cryptography", "pip install 'agentgym-suite[web]'") from None
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "sites of an episode")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=365))
        .sign(key, hashes.SHA256())
    )
    both = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ) + certificate.public_bytes(serialization.Encoding.PEM)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # `load_cert_chain` reads files only.
    with scratch_folder("tls") as folder:
        path = Path(folder, "site.pem")
        path.touch(mode=0o600)
        path.write_bytes(both)
        context.load_cert_chain(path)
    return context
