"""How is the site built? By Sphinx, from the Markdown beside this file and the docstrings of the package.

`make docs` runs it; a warning is an error, and nothing is downloaded.
"""

from __future__ import annotations

import inspect
import logging
import os
import re
import sys
from enum import Enum
from importlib.metadata import version as version_of
from pathlib import Path

from docutils import nodes
from nbclient import NotebookClient
from sphinx.addnodes import download_reference
from sphinx.pycode import ModuleAnalyzer

project = "drive-env"
author = "the drive-env authors"
version = release = version_of("drive-env")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

# ---- Markdown ----

myst_heading_anchors = 3  # links such as observation.md#kinds, as in the checkout

# ---- tutorials: notebooks, which the build executes; an error in a cell is a warning with its traceback ----

nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 120  # seconds for a cell
nb_execution_show_tb = True
nb_output_stderr = "warn"
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of their kernels: several threads are slow on busy processors
logging.getLogger("traitlets").setLevel(logging.WARNING)  # a line for each notebook, also with --quiet
# A kernel warns that its ports, on this machine alone, are not encrypted. myst-nb has no option for its arguments.
NotebookClient.extra_arguments.default_args = (["--IPKernelApp.log_level=ERROR"],)

# ---- docstrings ----

default_role = "py:obj"  # `Batch` links to Batch; a name without a target is shown as code
napoleon_use_param = False
autodoc_member_order = "bysource"
autodoc_mock_imports = ["stable_baselines3"]  # the base class of an adapter; none of its members are documented
python_maximum_signature_line_length = 100
add_module_names = False

# ---- the site ----

html_theme = "furo"
html_title = f"drive-env {release}"
html_show_copyright = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["drive_env.css"]

REST = "<!-- all other pages -->"
"""The marker in index.md that is replaced by the pages it does not name."""


def list_the_rest(app, page: str, source: list[str]) -> None:
    """Adds pages that index.md does not name to the navigation."""
    if page != "index":
        return
    named = {line.strip() for block in re.findall(r"```{toctree}(.*?)```", source[0], re.DOTALL)
             for line in re.sub(r".*<(\S+)>", r"\1", block).splitlines()}
    rest = sorted(app.env.found_docs - named - {"index"})
    pages = "\n".join(["```{toctree}", ":hidden:", ":caption: More", "", *rest, "```"]) if rest else ""
    source[0] = source[0].replace(REST, pages)


def offer_notebook(app, doctree) -> None:
    """Adds a link to the executed notebook below the title of a tutorial."""
    page = app.env.docname
    if not page.startswith("tutorials/"):
        return
    notebook = Path(app.env.mystnb_config.output_folder, f"{page}.ipynb")
    target = "/" + os.path.relpath(notebook, app.srcdir)  # a leading slash: from the folder of the sources
    link = download_reference("", "", nodes.inline("", "as a Jupyter notebook"), reftarget=target)
    title = next(doctree.findall(nodes.title))
    title.parent.insert(1, nodes.paragraph("", "", nodes.Text("Download this page "), link, nodes.Text(".")))


class AsWritten(str):
    """An annotation that is shown as in the source."""

    __slots__ = ()

    def __repr__(self) -> str:
        return re.sub(r"\b(np|npt|os|spaces)\.", "", self)


def signature_as_written(app, what, name, found, options, arguments, returns):
    """`scenes: Scenes`, where autodoc would expand the alias."""
    function = found.__init__ if inspect.isclass(found) else found
    if arguments in (None, "(**fields)") or not inspect.isfunction(function):
        return None
    signature = inspect.signature(function)
    shown = []
    for argument in signature.parameters.values():
        default = argument.default
        if isinstance(default, Enum):
            default = AsWritten(default)
        shown.append(argument.replace(annotation=AsWritten(argument.annotation), default=default))
    returned = "" if inspect.isclass(found) else repr(AsWritten(signature.return_annotation))
    return str(inspect.Signature(shown[1:] if shown[0].name == "self" else shown)), returned


def docstring_of_data(name: str, found) -> list[str]:
    """The docstring below the definition of a constant, where autodoc takes that of its type for one that is imported
    from another module; [] if there is none."""
    for module in [one for one in sys.modules if one.startswith("drive_env")]:
        if vars(sys.modules[module]).get(name) is found:
            analyzer = ModuleAnalyzer.for_module(module)
            analyzer.analyze()
            if ("", name) in analyzer.attr_docs:
                return analyzer.attr_docs["", name]
    return []


def docstring_as_meant(app, what, name, found, options, lines: list[str]) -> None:
    """Splits `first, removed: meaning` under Attributes, which Napoleon reads as one name and its type, and links
    `docs/page.md`. Data have the docstring of the module that defines them."""
    if what == "data":
        lines[:] = docstring_of_data(name.rpartition(".")[2], found) or lines
    text = re.sub(r"\bdocs/(\w+)\.md\b", r":doc:`\1`", "\n".join(lines))
    head, mark, rest = text.partition("\nAttributes:\n")
    if mark:
        entries, _, tail = rest.partition("\n\n")
        entries = re.sub(r"^ {8}", "      ", entries, flags=re.MULTILINE)
        entries = re.sub(r"^    (\w[\w, ]*): ", lambda names: f"    * **{names[1].replace(', ', '**, **')}** -- ",
                         entries, flags=re.MULTILINE)
        text = f"{head}\n:Attributes:\n{entries}\n\n{tail}"
    lines[:] = text.split("\n")


def setup(app):
    app.connect("autodoc-process-docstring", docstring_as_meant, priority=400)  # before Napoleon's 500
    app.connect("source-read", list_the_rest)
    app.connect("doctree-read", offer_notebook, priority=400)  # before Sphinx collects downloads, at 500
    app.connect("autodoc-process-signature", signature_as_written)
