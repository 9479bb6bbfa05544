"""``ldpaudit certify``: deployment files in, certificates out."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ldpaudit.commands import options
from ldpaudit.commands.options import Format, FormatOption, NoImportOption, SeedOption, files_in
from ldpaudit.commands.output import console, note, progress, say_json
from ldpaudit.errors import LdpauditError, in_a_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ldpaudit.certificates.certificate import Certificate
    from ldpaudit.certificates.exhibits import Repair
    from ldpaudit.certificates.parallel import Asked
    from ldpaudit.mechanisms.shared.files import File


def certify(
    files: Annotated[
        list[Path], typer.Argument(help="Deployment files, folders of them, or ids of bundled ones.", show_default=False)
    ],
    output: Annotated[Path | None, typer.Option(help="Folder for the certificates, JSON and HTML.")] = None,
    seed: SeedOption = 0,
    trials: Annotated[int, options.whole_number("Samples per claim.", least=16)] = 200_000,
    confidence: Annotated[float, options.real_number("Confidence of the evidence on each claim.")] = 0.999,
    jobs: Annotated[int | None, options.whole_number("Processes; by default one per core.", least=1)] = None,
    sign: Annotated[Path | None, typer.Option(help="Private Ed25519 key in PEM: signs the JSON files, as NAME.json.sig.")] = None,
    attestation: Annotated[
        bool, typer.Option("--attestation", help="Write an in-toto statement for each certificate, as NAME.intoto.jsonl.")
    ] = False,
    pdf: Annotated[bool, typer.Option("--pdf", help="Write a PDF of each page, too (extra 'pdf').")] = False,
    require_decision: Annotated[bool, typer.Option(help="Exit with code 3 if a claim is undecided.")] = False,
    no_import: NoImportOption = False,
    date: Annotated[
        str | None, typer.Option(help="Date of the certificates; by default that of the files' last commit in git.")
    ] = None,
    issuer: Annotated[str, typer.Option(help="Who issues the certificates; --sign shows it.")] = "",
    previous: Annotated[
        Path | None, typer.Option(help="Folder of earlier certificates: the pages say what has changed since.")
    ] = None,
    patience: Annotated[float, options.real_number("Time limit in seconds for a deployment's own code.", least=0)] = 1800,
    format: FormatOption = Format.text,
) -> None:
    """Account, attack, prove and judge every claim of deployment files.

    Code that a deployment names in a table `implementation` is run, in a process of its own.
    """
    from ldpaudit.certificates import parallel, signature
    from ldpaudit.certificates.certificate import Certificate, day, exit_code
    from ldpaudit.certificates.parallel import last_commit

    if not 0 < confidence < 1:
        raise ValueError(f"certify --confidence: needs a number above 0 and below 1, got {confidence:g}")
    if sign is not None and output is None:
        raise ValueError("certify needs --output, the folder for the signed certificates, with --sign")
    if previous is not None and output is None:
        raise ValueError("certify needs --output, the folder for the pages that list the changes, with --previous")
    if attestation and output is None:
        raise ValueError("certify needs --output, the folder for the statements, with --attestation")
    if pdf and output is None:
        raise ValueError("certify needs --output, the folder for the PDFs, with --pdf")
    if pdf:
        from ldpaudit.report.html import pdf as printed

        printed("")  # what is missing is known before any work is done
    key = None if sign is None else signature.private_key(sign)
    if output is not None and output.exists() and not output.is_dir():  # known before any work is done
        raise ValueError(f"certify --output: needs a folder, got the file {output}")

    paths = files_in(files, ".toml", "certify needs deployment files")
    asked = [parallel.ask(path) for path in paths]
    parallel.require_ids(asked)
    if no_import:
        parallel.require_no_code(asked)
    unreadable = [each for each in asked if not isinstance(each, parallel.Asked)]
    for error in unreadable:  # known before any work is done
        note(in_a_line(error))
    code = _code(asked) if attestation else {}
    before = None if previous is None else _before(previous, asked)
    # The date that is given, or that of the last commit where the file is; never that of a clock.
    made = [{"date": last_commit(path.parent) if date is None else day(date), "issuer": issuer} for path in paths]
    certificates: list[Certificate] = []
    errors: list[LdpauditError] = []
    with progress("certifying", len(asked)) as advance:
        run = parallel.certify_all(asked, seed, trials, confidence, jobs, patience)
        for found, by in zip(run, made, strict=True):
            if isinstance(found, Certificate):
                certificates.append(found.model_copy(update=by))
                if output is not None:
                    _write(output, certificates[-1], key)
                    if attestation:
                        _attest(output, certificates[-1], code[found.id], key)
                advance(found.id)
            else:
                errors.append(found)
                if found not in unreadable:
                    note(in_a_line(found))
    instead: dict[str, Mapping[str, Repair]] = {}
    if certificates and output is not None:
        instead = _write_pages(output, certificates, before, jobs, pdf)
    if certificates:
        _print(certificates, format, instead, len(errors))
    raise typer.Exit(2 if errors else exit_code(certificates, require_decision))


def _before(folder: Path, asked: Sequence[Asked | LdpauditError]) -> dict[str, Certificate]:
    """The certificates before, of those deployments that had one."""
    from ldpaudit.certificates.certificate import Certificate
    from ldpaudit.certificates.parallel import Asked

    if not folder.is_dir():
        raise ValueError(f"certify needs --previous to be a folder of certificates, got {str(folder)!r}")
    names = [each.deployment.id for each in asked if isinstance(each, Asked)]
    return {name: Certificate.load(path) for name in names if (path := folder / f"{name}.json").exists()}


def _code(asked: Sequence[Asked | LdpauditError]) -> dict[str, tuple[str, File | None]]:
    """By their ids, the names of deployment files, and the files of the code that they name; before any of it is run."""
    from ldpaudit.certificates.attestation import code_of
    from ldpaudit.certificates.parallel import Asked

    known = [(Path(each.name).name, each.deployment) for each in asked if isinstance(each, Asked)]
    return {d.id: (name, code_of(d.implementation, Path.cwd()) if d.implementation else None) for name, d in known}


def _attest(output: Path, certificate: Certificate, about: tuple[str, File | None], key: Any) -> None:
    """The statement, and its signature where there is a key."""
    from ldpaudit.certificates.attestation import SUFFIX, statement
    from ldpaudit.certificates.signature import beside
    from ldpaudit.files.whole import write_whole

    path, content = output / f"{certificate.id}{SUFFIX}", statement(certificate, *about).encode()
    write_whole(path, content)
    if key is not None:
        write_whole(beside(path), key.sign(content))


def _write(output: Path, certificate: Certificate, key: Any) -> None:
    """JSON, and its signature where there is a key."""
    from ldpaudit.certificates.certificate import Certificate
    from ldpaudit.certificates.signature import beside
    from ldpaudit.files.whole import write_whole

    path, content = output / f"{certificate.id}.json", certificate.to_json().encode()
    old = certificate.deployment
    with suppress(LdpauditError):  # of what is no certificate, or not there
        old = Certificate.load(path).deployment
    if old != certificate.deployment:
        note(f"{path}: was of another deployment file, or of this one before it was changed, and is replaced")
    write_whole(path, content)
    if key is not None:
        write_whole(beside(path), key.sign(content))


def _write_pages(
    output: Path, certificates: list[Certificate], before: dict[str, Certificate] | None, jobs: int | None, pdf: bool
) -> dict[str, Mapping[str, Repair]]:
    """A page for each deployment, and one over all of them; by deployment and claim, what the pages say would hold instead."""
    from ldpaudit.certificates import parallel
    from ldpaudit.certificates.proof import program
    from ldpaudit.files.whole import write_whole
    from ldpaudit.report import html

    instead: dict[str, Mapping[str, Repair]] = {}
    if any(claim.proof for certificate in certificates for claim in certificate.claims):
        write_whole(output / "verify_certificate.py", program())
    with progress("drawing pages", len(certificates)) as advance:
        for certificate, shown in zip(certificates, parallel.exhibit_all(certificates, jobs), strict=True):
            old = None if before is None else before.get(certificate.id)
            page = html.page(certificate, shown, old)
            write_whole(output / f"{certificate.id}.html", page)
            if pdf:
                write_whole(output / f"{certificate.id}.pdf", html.pdf(page))
            instead[certificate.id] = {name: each.repair for name, each in shown.items() if each.repair is not None}
            advance(certificate.id)
    if any(certificate.id.casefold() == html.INDEX for certificate in certificates):
        note("needs a deployment whose id is not 'index' for a page over all of them: index.html is that deployment's")
    else:
        write_whole(output / f"{html.INDEX}.html", html.index(certificates, before))
    return instead


def _print(certificates: list[Certificate], format: Format, instead: Mapping[str, Mapping[str, Repair]], left: int) -> None:
    """On the screen, with how many files are left without a certificate.

    What would hold instead is found out where no page has said it.
    """
    from rich.text import Text

    from ldpaudit.certificates.exhibits import repairs
    from ldpaudit.display.visible import visible
    from ldpaudit.report import text

    if format is Format.json:
        say_json([c.to_dict() for c in certificates])
        return
    screen = console()
    for certificate in certificates:
        told = instead[certificate.id] if certificate.id in instead else repairs(certificate)
        text.print_certificate(certificate, screen, {name: each.lines for name, each in told.items()})
    missing = [f"{left} of {left + len(certificates)} files gave no certificate, and are not counted."] if left else []
    for line in (*missing, *text.summary(certificates)):
        screen.print(Text(visible(line)))
