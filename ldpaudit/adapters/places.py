"""Where files are: on this machine, or wherever else fsspec opens them; as they are, or compressed."""

import gzip
import io
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import IO, Any, cast

from ldpaudit.errors import DeploymentError, LdpauditError

GZIP, ZSTD = ".gz", ".zst"
_EXTRAS = {"s3": "s3", "gs": "gs", "gcs": "gs", "az": "az", "abfs": "az", "abfss": "az"}
"""Extras by schemes; all others need the extra 'remote', and what fsspec says."""


def place(name: str | Path) -> Path:
    """A file or folder by its name: one with a scheme, such as ``s3://bucket/reports``, is opened by fsspec.

    Raises DeploymentError where a package is missing, or the scheme is none.
    """
    scheme, apart, _ = str(name).partition("://")
    if not apart:
        return Path(name)
    try:
        from upath import UPath

        found = UPath(name)
        found.fs  # noqa: B018 - imports what the scheme needs
    except ImportError:
        extra = _EXTRAS.get(scheme, "remote")
        raise DeploymentError(f"needs a package for {scheme}: install ldpaudit[{extra}]", str(name)) from None
    except ValueError as error:
        raise DeploymentError(f"needs a scheme that fsspec knows: {error}", str(name)) from None
    return cast(Path, found)


def is_here(file: str | Path) -> bool:
    """Whether it is a file of this machine."""
    return "://" not in str(file)


def ending(file: Path) -> str:
    """What a file's name ends in, in small letters, before the ending of its compression."""
    name = PurePath(file.name.lower())
    return (name.with_suffix("") if name.suffix in (GZIP, ZSTD) else name).suffix


@contextmanager
def reached(file: Path) -> Iterator[None]:
    """Whatever a remote file system raises is an OSError: its packages have errors of their own."""
    try:
        yield
    except (LdpauditError, OSError):
        raise
    except Exception as error:
        if is_here(file):
            raise
        raise OSError(f"{type(error).__name__}: {error}") from None


@contextmanager
def opened(file: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, decompressed where its name says so. Raises OSError where it cannot be read."""
    with reached(file), file.open("rb") as raw:
        match file.suffix.lower():
            case ".gz":
                try:
                    with gzip.open(raw) as plain:
                        yield cast(IO[bytes], plain)
                except (EOFError, zlib.error) as error:
                    raise OSError(f"needs a whole gzip file: {error}") from None
            case ".zst":
                zstandard = _zstandard(file)
                try:
                    with io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)) as plain:
                        yield cast(IO[bytes], plain)
                except zstandard.ZstdError as error:
                    raise OSError(f"needs a whole zstd file: {error}") from None
            case _:
                yield raw


@contextmanager
def copied_here(file: Path) -> Iterator[Path]:
    """A file of this machine that holds the same: the file itself, or while it is used a copy, decompressed."""
    if is_here(file) and file.suffix.lower() not in (GZIP, ZSTD):
        yield file
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder, f"copy{ending(file)}")
        with opened(file) as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
        yield copy


def _zstandard(file: Path) -> Any:
    try:
        import zstandard
    except ImportError:
        raise DeploymentError("files that end in .zst need zstandard: install ldpaudit[remote]", str(file)) from None
    return zstandard
