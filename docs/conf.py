"""Configuration of the documentation site: ``make docs`` writes ``build/site/index.html``.

The pages are read on the site and in the repository, so they are plain Markdown, and their links are relative paths
that work in both. A link to nothing is an error.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.utils import new_document
from myst_parser.parsers.docutils_ import Parser
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import solvent
from solvent.lab.settings import ParamGroup

sys.path.insert(0, str(Path(__file__).parent))
import parameters

project = "Solvent"
author = "Solvent contributors"
release = solvent.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_nb", "sphinx_external_toc"]
exclude_patterns = ["**/.ipynb_checkpoints"]

# -- pages -----------------------------------------------------------------------------------------------------------

myst_heading_anchors = 4
nb_execution_mode = "off"  # the outputs are stored; tests/test_notebooks.py checks them

# -- docstrings ------------------------------------------------------------------------------------------------------

autoclass_content = "both"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
default_role = "code"
napoleon_numpy_docstring = False
napoleon_use_ivar = True  # an attribute is described once, in its class
python_maximum_signature_line_length = 88
autodoc_type_aliases = {"ArrayLike": "ArrayLike"}
# Names of types stay text: the build reads no other project's index, because it needs no network.
nitpick_ignore_regex = [("py:(class|exc)", ".*")]

# -- site ------------------------------------------------------------------------------------------------------------

html_theme = "furo"
html_title = f"Solvent {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False


class Markdown(SphinxDirective):
    """Shows its content, which is Markdown: the docstrings of modules and the specification in that of ``LabEnv``."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return what MyST makes of the content."""
        document = new_document(self.get_source_info()[0], get_default_settings(Parser))
        Parser().parse("\n".join(self.content), document)
        return list(document.children)


def show_as_markdown(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Wrap a docstring with code blocks, headings or tables of Markdown in the directive."""
    if lines[:1] and lines[0].startswith("Create new instance of "):  # what every NamedTuple says
        lines.clear()
    elif what == "module" or any(line.startswith("## ") for line in lines):
        # Headings can't stand inside the description of a class.
        parts = [re.sub(r"^## (.+)$", r"**\1**\n", line) for line in lines]
        lines[:] = [".. markdown::", "", *(f"    {line}" for part in parts for line in part.split("\n"))]


def skip_aliases(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of a NamedTuple, which its signature and its docstring have already."""
    return True if str(obj.__doc__).startswith("Alias for field number ") else None


def shorten_signature(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Leave out the defaults of groups of settings: `LabParams` alone would fill a screen."""
    if isinstance(obj, type) and issubclass(obj, ParamGroup):
        return "(**changes)", returned
    return signature, returned


def follow_repository(app: Sphinx, docname: str, source: list[str]) -> None:
    """Point links that leave this folder in the repository to the same content on the site."""
    source[0] = re.sub(r"\[([^]]+)\]\(\.\./(notebooks/\w+)\.ipynb\)", r"{doc}`\1 </\2>`", source[0])
    source[0] = re.sub(r"\]\(\.\./([A-Z]+)\.md", lambda link: f"]({link[1].lower()}.md", source[0])
    source[0] = source[0].replace("](../tests/requirements/README.md", "](sources.md")


def fill_parameters(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the tables of all settings into their page."""
    if docname == "parameters":
        source[0] = source[0].replace("<!-- the tables -->", parameters.tables())


def setup(app: Sphinx) -> None:
    """Register what is defined here."""
    app.add_directive("markdown", Markdown)
    app.connect("autodoc-process-docstring", show_as_markdown)
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("autodoc-skip-member", skip_aliases)
    app.connect("source-read", follow_repository)
    app.connect("source-read", fill_parameters)
