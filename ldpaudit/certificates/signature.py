"""Ed25519 signatures of files, by keys in PEM as openssl makes them (extra ``sign``).

A signature is 64 bytes in a file of its own, beside the file whose bytes it signs, so that openssl checks it too::

    openssl pkeyutl -verify -rawin -in c.json -sigfile c.json.sig -pubin -inkey public.pem
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpaudit.core.strict_json import read_bytes
from ldpaudit.errors import DeploymentError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SUFFIX = ".sig"  # what a signature's file has after the name of the file that it signs
_PACKAGE = "cryptography.hazmat.primitives"


def beside(path: Path) -> Path:
    """Where a file's signature stands."""
    return path.with_name(path.name + SUFFIX)


def private_key(path: Path) -> Ed25519PrivateKey:
    """A key to sign with.

    Raises DeploymentError where the file is no private Ed25519 key in PEM, or asks for a password; where
    `cryptography` is missing.
    """
    load = _loader("load_pem_private_key")
    found: Ed25519PrivateKey = _key(lambda pem: load(pem, password=None), path, "private", "Ed25519PrivateKey")
    return found


def public_key(path: Path) -> Ed25519PublicKey:
    """A key to check signatures with.

    Raises DeploymentError where the file is no public Ed25519 key in PEM; where `cryptography` is missing.
    """
    found: Ed25519PublicKey = _key(_loader("load_pem_public_key"), path, "public", "Ed25519PublicKey")
    if _is_of_low_order(found.public_bytes_raw()):
        raise DeploymentError("needs a public Ed25519 key of large order, got one that anybody can forge", str(path))
    return found


def _is_of_low_order(key: bytes) -> bool:
    """Whether eight times the point is the identity, by its y alone: on -x^2 + y^2 = 1 + d x^2 y^2 (RFC 8032, section 5.1).

    y = 0, 1 and -1 are of order 1, 2 and 4; twice a point has y = 0 just where d y^4 + 2 y^2 = 1.
    """
    prime = 2**255 - 19
    y = int.from_bytes(key, "little") % 2**255
    d = -121665 * pow(121666, -1, prime)
    return y * (y**2 - 1) * (d * y**4 + 2 * y**2 - 1) % prime == 0


def require(content: bytes, signature: Path, key: Ed25519PublicKey) -> None:
    """Return where the file holds a signature of these bytes by the key. Raises DeploymentError where it does not."""
    signed = read_bytes(signature)
    try:
        key.verify(signed, content)
    except import_module("cryptography.exceptions").InvalidSignature:
        raise DeploymentError("needs a signature of this certificate by this key, got another", str(signature)) from None


def _loader(name: str) -> Callable[..., Any]:
    try:
        found: Callable[..., Any] = getattr(import_module(f"{_PACKAGE}.serialization"), name)
    except ImportError:
        raise DeploymentError("needs the extra 'sign': pip install 'ldpaudit[sign]'", "signatures") from None
    return found


def _key(load: Callable[[bytes], Any], path: Path, kind: str, wanted: str) -> Any:
    try:
        key = load(read_bytes(path))
    except TypeError:
        raise DeploymentError("needs a key without a password", str(path)) from None
    except (ValueError, import_module("cryptography.exceptions").UnsupportedAlgorithm):
        raise DeploymentError(f"needs a {kind} Ed25519 key in PEM", str(path)) from None
    if not isinstance(key, getattr(import_module(f"{_PACKAGE}.asymmetric.ed25519"), wanted)):
        raise DeploymentError(f"needs a {kind} Ed25519 key, got one of another kind", str(path))
    return key
