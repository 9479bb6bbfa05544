"""``ldpaudit verify``: a certificate, re-checked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldpaudit.commands.options import Format, FormatOption
from ldpaudit.commands.output import note, progress, say, say_json

if TYPE_CHECKING:
    from ldpaudit.certificate import Certificate


def verify(
    certificate: Annotated[Path, typer.Argument(help="A certificate in JSON.")],
    deployment: Annotated[Path | None, typer.Option(help="The deployment file that it must be of, to the byte.")] = None,
    key: Annotated[Path | None, typer.Option(help="Public Ed25519 key in PEM that must have signed it.")] = None,
    signature: Annotated[Path | None, typer.Option(help="The signature; by default CERTIFICATE.sig.")] = None,
    resample: Annotated[
        bool, typer.Option("--resample", help="Draw its samples again, too: this RUNS THE CODE that it names.")
    ] = False,
    format: FormatOption = Format.text,
) -> None:
    """Re-check a certificate: without sampling, and without running what it names, unless asked to.

    docs/security.md says what that promises.
    """
    from ldpaudit.certify import verify as check
    from ldpaudit.verification import of_the_source

    loaded = _signed(certificate, key, signature)
    differences = [] if deployment is None else of_the_source(loaded, deployment)
    differences += check(loaded)
    if resample and not differences:
        differences += _resampled(loaded)
    _print(loaded, differences, format)
    raise typer.Exit(1 if differences else 0)


def _signed(path: Path, key: Path | None, signed: Path | None) -> Certificate:
    """The certificate; its signature is checked on the bytes that are read, before anything is made of them."""
    from ldpaudit import signature
    from ldpaudit.certificate import Certificate
    from ldpaudit.strict_json import decode, read_bytes

    if signed is not None and key is None:
        raise ValueError("verify needs --key, the public key of whoever signed, where --signature is given")
    content = read_bytes(path)
    if key is not None:
        signature.require(content, signed or signature.beside(path), signature.public_key(key))
    return Certificate.from_json(decode(content, str(path)), str(path))


def _resampled(loaded: Certificate) -> list[str]:
    from ldpaudit.certify import resample

    sys.path.insert(0, str(Path.cwd()))  # where the code that it names may stand
    with progress("drawing again"):
        return resample(loaded)


def _print(loaded: Certificate, differences: list[str], format: Format) -> None:
    from ldpaudit.strict_json import shown
    from ldpaudit.version import __version__

    if differences and (theirs := loaded.versions.get("ldpaudit")) != __version__:
        note(f"written by ldpaudit {shown(theirs, 20)}, re-checked by {__version__}: differences may come from that")
    if format is Format.json:
        say_json({"certificate": loaded.id, "digest": loaded.digest, "differences": differences})
        return
    for line in differences:
        say(line)
    say(f"{shown(loaded.id)}: {'stands' if not differences else 'does not stand'} ({len(loaded.claims)} claims)")
