"""What Sphinx is told; `python -m benchmarks.site` calls it on these pages and on those that the code prints."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from sphinx.util import logging

from ldpaudit import __version__

# Beforehand: autodoc imports with TYPE_CHECKING on, with which pydantic cannot read the models of files.
import_module("ldpaudit.certificates.certify")

project = "ldpaudit"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4

default_role = "py:obj"  # a name between backticks is a link where we know it, and code where we do not
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the signature in the docstring's own words is enough
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = "ldpaudit"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False

_SIZES = re.compile(r"\\[bB]igg?(?P<side>[lr])\b")


def setup(app: Any) -> None:
    """Formulas as MathML, which browsers draw themselves: a page needs no script from anywhere for them."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("autodoc-process-docstring", _sentence, priority=100)


def _sentence(_app: Any, what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """What an attribute's docstring says before a colon is no type; napoleon takes its first line for one that has words.

    An empty first line is skipped, so there is one that shows nothing: an escaped end of a line.
    """
    if what in ("attribute", "property", "data"):
        lines.insert(0, "\\")


def _inline(writer: Any, node: Any) -> None:
    writer.body.append(f'<span class="math">{_mathml(node, "inline")}</span>')
    raise SkipNode


def _block(writer: Any, node: Any) -> None:
    writer.body.append(f'<div class="math">{_mathml(node, "block")}</div>')
    raise SkipNode


def _growing(size: re.Match[str]) -> str:
    """A bracket that grows by itself: of a fixed size, it is small again where it has an index."""
    return r"\left" if size["side"] == "l" else r"\right"


def _mathml(node: Any, display: str) -> str:
    """The formula; a warning, with which the build fails, where a command of it is left as it was written."""
    found = str(convert(_SIZES.sub(_growing, node.astext()), display=display))
    if left := re.findall(r"\\\w+", found):
        logging.getLogger(__name__).warning("MathML has no %s in %s", ", ".join(left), node.astext(), location=node)
    return found
