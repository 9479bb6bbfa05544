"""``ldpaudit verify``: certificates, re-checked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from ldpaudit.commands.options import TableFormatOption, files_in, look_here
from ldpaudit.commands.output import note, progress, say, say_table
from ldpaudit.display.visible import visible
from ldpaudit.errors import LdpauditError, in_a_line
from ldpaudit.report.printer import TableFormat

if TYPE_CHECKING:
    from ldpaudit.certificates.certificate import Certificate


def verify(
    certificates: Annotated[
        list[Path], typer.Argument(metavar="CERTIFICATE...", help="Certificates in JSON, or folders of them.", show_default=False)
    ],
    deployment: Annotated[Path | None, typer.Option(help="Deployment file of the certificate, byte for byte.")] = None,
    key: Annotated[Path | None, typer.Option(help="Public Ed25519 key in PEM that must have signed the certificate.")] = None,
    signature: Annotated[Path | None, typer.Option(help="Signature file; by default CERTIFICATE.sig.")] = None,
    resample: Annotated[
        bool, typer.Option("--resample", help="Draw the samples again: this RUNS THE CODE that the certificate names.")
    ] = False,
    proof: Annotated[
        bool, typer.Option("--proof", help="Run verify_certificate.py alone, a program without ours, on the proofs inside.")
    ] = False,
    format: TableFormatOption = TableFormat.text,
) -> None:
    """Re-check certificates, without sampling or running the code that they name unless asked to.

    docs/security.md says what that promises.
    """
    from ldpaudit.core.strict_json import shown
    from ldpaudit.version import __version__

    paths = files_in(certificates, ".json", "verify needs certificates in JSON")
    if proof:
        from ldpaudit.certificates import verify_certificate

        program = [sys.executable, "-I", "-S", verify_certificate.__file__]  # which imports nothing of ours
        done = subprocess.run([*program, *map(str, paths)], stdout=subprocess.PIPE, text=True, check=False)
        say(done.stdout.rstrip("\n"))
        raise typer.Exit(done.returncode)
    if certificates != paths or len(paths) > 1:
        if deployment is not None or signature is not None:
            raise ValueError(f"verify needs a single certificate with --deployment or --signature, got {len(paths)}")
        _verify_several(paths, key, resample, format)
    loaded = _signed(paths[0], key, signature)
    differences = _differences(loaded, deployment, resample)
    if differences and (theirs := loaded.versions.get("ldpaudit")) != __version__:
        note(f"written by ldpaudit {shown(theirs, 20)}, checked by {__version__}: this may explain differences")
    name, word = shown(loaded.id), "stands" if not differences else "does not stand"
    said = f"{name}: {word} ({len(loaded.claims)} claim{'s' * (len(loaded.claims) != 1)}, verdict {loaded.verdict})"
    data = {"certificate": loaded.id, "digest": loaded.digest, "differences": differences}
    say_table(format, ("certificate", "is"), [(name, word)], lambda: data, lambda: say(*differences, said))
    raise typer.Exit(1 if differences else 0)


def _verify_several(paths: list[Path], key: Path | None, resample: bool, format: TableFormat) -> NoReturn:
    """A row for each file; one that cannot be read, or was changed, does not keep the others from being checked."""
    from ldpaudit.core.strict_json import shown

    rows: list[tuple[Path, str, list[str], bool]] = []
    with progress("verifying", len(paths)) as advance:
        for path in paths:
            try:
                loaded = _signed(path, key, None)
                rows.append((path, shown(loaded.id), _differences(loaded, None, resample), True))
            except LdpauditError as error:
                rows.append((path, "-", [in_a_line(error).removeprefix(f"{path}: ")], False))
            advance()
    data = [{"file": str(path), "certificate": name, "read": read, "differences": found} for path, name, found, read in rows]
    told = [("stands" if not found else f"does not stand: {'; '.join(found)}" if read else found[0]) for *_, found, read in rows]
    cells = [(visible(str(path)), visible(name), visible(said)) for (path, name, *_), said in zip(rows, told, strict=True)]
    summary = f"{sum(not found for _, _, found, _ in rows)} of {len(rows)} certificates stand"
    head = ("file", "certificate", "is")
    say_table(format, head, cells, lambda: data, lambda: say(format.written(head, cells), summary))
    raise typer.Exit(2 if not all(row[3] for row in rows) else 1 if any(row[2] for row in rows) else 0)


def _differences(loaded: Certificate, deployment: Path | None, resample: bool) -> list[str]:
    from ldpaudit.certificates import certify
    from ldpaudit.certificates.verification import of_the_source

    found = [] if deployment is None else of_the_source(loaded, deployment)
    found += certify.verify(loaded)
    if resample and not found:
        look_here()
        with progress("drawing again"):
            found = certify.resample(loaded)
    return found


def _signed(path: Path, key: Path | None, signed: Path | None) -> Certificate:
    """The certificate; its signature is checked on the bytes that are read, before anything is made of them."""
    from ldpaudit.certificates import signature
    from ldpaudit.certificates.certificate import Certificate
    from ldpaudit.core.strict_json import decode, read_bytes

    if signed is not None and key is None:
        raise ValueError("verify needs --key, the signer's public key, with --signature")
    content = read_bytes(path)
    if key is not None:
        signature.require(content, signed or signature.beside(path), signature.public_key(key))
    return Certificate.from_json(decode(content, str(path)), str(path))
