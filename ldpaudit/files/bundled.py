"""The deployment files that come with the package, by their ids."""

from pathlib import Path

from ldpaudit.core.nearest import or_rather
from ldpaudit.errors import DeploymentError

FOLDER = Path(__file__).parent.parent / "deployments"


def ids() -> tuple[str, ...]:
    """Of all bundled deployments; a file is named as its id."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.toml")))


def found(path: str | Path) -> Path:
    """The file itself; or where there is none, and its name is a bundled id, the bundled file of this id.

    Raises DeploymentError where there is none, and the name is like a bundled id, or as bare as one.

    Examples
    --------
    >>> found("enpa-notification").name
    'enpa-notification.toml'
    """
    file, name = Path(path), str(path)
    if file.exists():
        return file
    if name in ids():
        return FOLDER / f"{name}.toml"
    if (meant := or_rather(name, ids())) or (file.name == name and not file.suffix):
        raise DeploymentError(f"needs a readable file, or an id that `ldpaudit deployments` lists{meant}", name)
    return file
