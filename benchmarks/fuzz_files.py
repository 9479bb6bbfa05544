"""Files of other programs, nearly valid: matrices, users' data, keys and signatures. Bytes, after a line with the file's name."""

from __future__ import annotations

import base64
import csv
import io
import json
import zipfile
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any

from benchmarks.fuzz_mutations import EXPRESSIONS, NUMBERS, Tree, broken, changed, junk

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MATRIX = [["3/4", "1/4"], ["1/3", "rest"]]
DTYPES = (
    "<f8", ">f8", "<f2", "<f4", "<f16", "<i8", "|i1", "<u8", "|b1", "<c16", "|O", "|S4", "<U0", "<U4", "<U1000000", "|V0", "<M8[s]",
    "<m8", "<f3", "f8,f8", [("a", "<f8")], "",
)  # fmt: skip
SHAPES: tuple[Any, ...] = (
    (2, 2), (2, 2), (4, 1), (2,), (), (2, 2, 1), (0, 2), (10**9, 0), (0, 10**9), (10**9, 1), (2**62, 4), (-2, 2), (True, 4),
)  # fmt: skip
ENCODINGS = ("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1", "cp037")
COLUMNS = ("input", "report", "users")
USERS = tuple((word, report, 1) for word in ("sun", "moon") for report in ("mars", word, word) for _ in range(100))
READERS = ("run", "counts", "numbered", "compare", "log")
"""What reads users' data: `ldpaudit run` in three ways, the data of `ldpaudit compare`, and a log that is audited."""
SPLIT = b"\n.sig\n"  # between a key and a signature
_LOW_ORDER = (0, 1, 2**255 - 20, 2**255 - 19, 2**255 - 18, 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826)
"""The y of points whose order divides 8; for the second, 1, any signature of that point and the number 0 is one."""


def named(name: str, content: bytes) -> bytes:
    """A file as an input of the fuzz."""
    return name.encode() + b"\n" + content


def unnamed(data: bytes) -> tuple[str, bytes]:
    """Name and content."""
    name, _, content = data.partition(b"\n")
    return name.decode(), content


def matrix(rng: Random) -> bytes:
    """A matrix for a channel: CSV, JSON or NPY, now and then with thousands of different entries."""
    tree = rng.choice((MATRIX, changed(MATRIX, rng))) if rng.random() < 0.99 else _large(rng)
    name = rng.choice(("m.csv", "m.json", "m.npy", "m.npy", "m.NPY"))
    content = _csv(tree, rng) if "c" in name else json.dumps(tree).encode() if "j" in name else _npy(rng)
    return named(name, broken(content, rng) if rng.random() < 0.5 else content)


def _large(rng: Random) -> Tree:
    """Different entries that are each allowed, up to the most that a file may hold."""
    entry = rng.choice((lambda i: f"exp(-{i + 1})", lambda i: f"1/{10**398 + i}", lambda i: f"{i}/100000", lambda i: i / 7))
    columns = rng.choice((1, 2, 300, 10_000))
    return [[entry(row * columns + place) for place in range(columns)] for row in range(10_000 // columns)]


def _npy(rng: Random) -> bytes:
    """A header that says one thing, and entries that are another."""
    fields: Tree = {"descr": "<f8", "fortran_order": False, "shape": (2, 2)}
    if rng.random() < 0.7:
        fields |= {"descr": rng.choice(DTYPES), "fortran_order": rng.choice((False, True, 2)), "shape": rng.choice(SHAPES)}
    header = repr(changed(fields, rng) if rng.random() < 0.3 else fields).encode("utf-8", "surrogatepass") + b"\n"
    version, width = rng.choice(((1, 2), (1, 2), (2, 4), (3, 4), (9, 4)))
    size = (len(header) + rng.choice((0, 0, 0, 1, -1, 60_000))) % 256**width
    entries = rng.choice((b"\x00\x00\x00\x00\x00\x00\xe0?" * 4, bytes(rng.choice((0, 1, 31, 32, 33, 1 << 16)))))
    return _zipped(b"\x93NUMPY" + bytes([version, 0]) + size.to_bytes(width, "little") + header + entries, rng)


def _zipped(content: bytes, rng: Random) -> bytes:
    if rng.random() < 0.95:
        return content
    with zipfile.ZipFile(file := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("arr_0.npy"), content)
    return file.getvalue()


def _csv(rows: Tree, rng: Random) -> bytes:
    """Rows as a spreadsheet writes them, or as somebody does who knows no quotes."""
    ends = rng.choice(("\n", "\n", "\r\n", "\r", "\n\n", "\u2028"))
    lines = [list(row) if isinstance(row, list | tuple | dict) else [row] for row in rows] if isinstance(rows, list) else [[rows]]
    text = io.StringIO()
    try:
        quoting: Any = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONE))
        csv.writer(text, lineterminator=ends, quoting=quoting).writerows(lines)
    except csv.Error:  # what needs quotes
        text = io.StringIO(ends.join(rng.choice(",;\t|").join(map(str, line)) for line in lines))
    return text.getvalue().encode(rng.choice(ENCODINGS), "replace" if rng.random() < 0.5 else "xmlcharrefreplace")


def users(name: str) -> bytes:
    """Users' data, as they should be."""
    return named(name, "".join(",".join(map(str, row)) + "\n" for row in (COLUMNS, *USERS)).encode())


def data(rng: Random) -> bytes:
    """Users' data: text, CSV or Parquet."""
    rows: Tree = [list(COLUMNS), *map(list, USERS)]
    tree = changed(rows, rng) if rng.random() < 0.6 else rows
    ending = rng.choice((".txt", "", ".csv", ".csv", ".CSV", ".csv", ".parquet", ".parquet"))
    content = _parquet(rng) if ending == ".parquet" else _csv(tree if ending else [row[:1] for row in rows], rng)
    return named(rng.choice(READERS) + ending, broken(content, rng) if rng.random() < 0.6 else content)


def _parquet(rng: Random) -> bytes:
    """Columns of any type that Parquet knows."""
    import polars

    columns: dict[str, Any] = {name: list(each) for name, each in zip(COLUMNS, zip(*USERS, strict=True), strict=True)}
    name = rng.choice(COLUMNS)
    value = rng.choice((junk(rng), rng.choice(NUMBERS), rng.choice(EXPRESSIONS), None, b"\xff", ["a", "b"], [], {"a": 1}))
    columns[name] = [value] * len(USERS) if rng.random() < 0.5 else [*columns[name][:-1], value]
    kinds = (None, polars.Date, polars.Time, polars.Datetime("ms"), polars.Duration, polars.Decimal(9, 2), polars.Categorical)
    try:
        frame = polars.DataFrame(columns, strict=False)
        if (kind := rng.choice((*kinds, polars.Boolean, polars.UInt64, polars.Float32, polars.Binary, polars.Null))) is not None:
            frame = frame.with_columns(polars.col(name).cast(kind, strict=False))
        frame.head(rng.choice((0, 1, 100, 100, 100))).write_parquet(file := io.BytesIO())
    except Exception:  # what Parquet, or polars, does not know
        return json.dumps(columns, default=repr).encode()
    return file.getvalue()


def keyed(rng: Random, content: bytes) -> bytes:
    """A public key and a signature of these bytes: one of them, or both, wrong."""
    own, *others = _keys()
    key = rng.choice((own, own, _pem(rng), rng.choice(others), b"", own * rng.choice((2, 10_000))))
    signature = rng.choice((_own().sign(content), b"\x01" + bytes(63), b"", bytes(1 << 17)))
    key = broken(key, rng) if rng.random() < 0.4 else key
    return key + SPLIT + (broken(signature, rng) if rng.random() < 0.4 else signature)


def right(key: bytes, signature: bytes, content: bytes) -> bool:
    """Whether a key's file holds our key, and the signature is ours."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        found = load_pem_public_key(key)
    except Exception:
        return False
    return isinstance(found, Ed25519PublicKey) and found == _own().public_key() and signature == _own().sign(content)


def _own() -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(bytes(32))


def _pem(rng: Random) -> bytes:
    """The key of any 32 bytes, such as a point of low order, in PEM (RFC 8410), under any name."""
    point = rng.choice(_LOW_ORDER) + rng.choice((0, 2**255)) if rng.random() < 0.7 else rng.getrandbits(256)
    der = bytes.fromhex("302a300506032b6570032100") + point.to_bytes(32, "little")
    label = rng.choice(("PUBLIC KEY", "PUBLIC KEY", "PUBLIC KEY", "PRIVATE KEY", "CERTIFICATE", "RSA PUBLIC KEY", "X"))
    body = base64.encodebytes(broken(der, rng) if rng.random() < 0.3 else der).decode()
    return f"-----BEGIN {label}-----\n{body}-----END {label}-----\n".encode()


@cache
def _keys() -> tuple[bytes, ...]:
    """Keys in PEM: the right one first, those of other kinds, and its private half."""
    from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa, x25519
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    public = (
        _own().public_key(),
        x25519.X25519PrivateKey.from_private_bytes(bytes(32)).public_key(),
        ed448.Ed448PrivateKey.from_private_bytes(bytes(57)).public_key(),
        ec.derive_private_key(7, ec.SECP256R1()).public_key(),
        rsa.RSAPublicNumbers(65537, 2**2047 + 1).public_key(),
    )
    found = [key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo) for key in public]
    return (*found, _own().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
