"""An in-toto statement around a certificate: it says of which files the certificate is, by their SHA-256."""

import base64
import hashlib
import json
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from ldpaudit.certificates.certificate import Certificate
from ldpaudit.errors import LdpauditError
from ldpaudit.mechanisms.shared.files import File

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:ldpaudit:certificate:1"  # the type of the predicate, which is the certificate as its JSON file has it
SUFFIX = ".intoto.jsonl"


def statement(certificate: Certificate, deployment: str, code: File | None = None) -> str:
    """The statement, in one line of JSON.

    ``deployment``: name of the deployment file, of which the certificate has the bytes; ``code``: the file whose code was
    audited.
    """
    named = {name: base64.b64decode(content) for name, content in certificate.files.items()}
    subjects = {deployment: certificate.deployment.encode(), **named, **({code.name: code.content} if code else {})}
    data: dict[str, Any] = {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": hashlib.sha256(each).hexdigest()}} for name, each in subjects.items()],
        "predicateType": PREDICATE,
        "predicate": certificate.to_dict(),
    }
    return json.dumps(data, ensure_ascii=False) + "\n"


def code_of(implementation: str, folder: Path) -> File:
    """The file of the module that a deployment names, which is not run.

    ``implementation``: ``module:callable``; ``folder``: where modules are looked for first. Raises LdpauditError where the
    module has no file.
    """
    module = implementation.partition(":")[0]
    places, name, file = [str(folder), *sys.path], "", None
    for part in module.split("."):
        name = f"{name}.{part}".removeprefix(".")
        found = PathFinder.find_spec(name, places)
        places = [*(found.submodule_search_locations or ())] if found else []
        file = found.origin if found else None
    if file is None:
        raise LdpauditError(f"an attestation needs code in a file, got {implementation!r}, whose module has none here")
    path = Path(file)
    below = path.resolve().is_relative_to(folder.resolve())
    return File(str(path.resolve().relative_to(folder.resolve())) if below else path.name, path.read_bytes())
