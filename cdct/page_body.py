"""An executed notebook as a piece of the page: figures inside, code folded, and nothing in it that could run or load.

What stands in outputs was in part written by models, so the finished piece passes an allow-list as the last step.
"""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Mapping
from html import escape
from itertools import accumulate
from pathlib import Path
from typing import Any

import bleach
from bleach.css_sanitizer import CSSSanitizer
from bs4 import BeautifulSoup, Tag
from jinja2 import DictLoader
from markupsafe import Markup

import cdct.execute  # noqa: F401 - before nbformat and nbconvert, whose import it makes 1.7 s shorter
from cdct.parameters import has_tag, read_notebook
from cdct.results import plain

# isort: split
from nbconvert.exporters.html import HTMLExporter
from nbformat import from_dict

TEXT_LINES = 60
"""Lines of a printed text that the page shows; the middle of a longer one is left out, and the page says so."""
MOST_TAGS, MOST_NESTED = 20_000, 100
"""An output with more tags than that, or nested deeper, is left out: parsing it would take minutes."""
SHORT = 24
"""Letters up to which a cell of a table is kept on one line."""
_SHOWN = ("image/svg+xml", "image/png", "image/jpeg", "text/html", "text/markdown", "text/latex", "text/plain")
_HIDDEN_TAGS = ("parameters", "injected-parameters", "remove-cell", "papermill-error-cell-tag")
_READING = "Reading this figure"
_NUMBER = re.compile(r"[-+−]?(\d[\d,  ]*)?\.?\d+(e[-+]?\d+)?\s?%?|nan|NaN|inf|[-–]", re.IGNORECASE)
_INTERVAL = re.compile(r"[\[(]\s*[-+−]?[\d.]+\s?%?\s*[,;–]\s*[-+−]?[\d.]+\s?%?\s*[\])]")
_EMBEDDED = re.compile(r"data:image/(png|jpeg|gif|webp|svg\+xml);base64,")
_DROPPED = ["script", "style", "iframe", "object", "embed", "form", "link", "meta", "base", "template", "noscript"]
_TAGS = {
    *("a", "abbr", "b", "blockquote", "br", "code", "del", "details", "div", "dl", "dt", "dd", "em", "figure"),
    *("figcaption", "h3", "h4", "h5", "h6", "hr", "i", "img", "ins", "kbd", "li", "mark", "ol", "p", "pre", "q", "s"),
    *("samp", "small", "span", "strong", "sub", "summary", "sup", "u", "ul", "var", "table", "caption", "col"),
    *("colgroup", "thead", "tbody", "tfoot", "tr", "th", "td"),
}
_STYLES = CSSSanitizer(
    allowed_css_properties=["color", "background-color", "font-weight", "font-style", "text-align", "text-decoration"]
)
# only the layout of a cell differs from nbconvert's: code is folded, and so is what a library said on stderr
_TEMPLATE = """{% extends 'basic/index.html.j2' %}
{% block input %}<details class="code"><summary>Code</summary>{{ super() }}</details>{% endblock %}
{% block stream_stderr %}<details class="code"><summary>Messages</summary>{{ super() }}</details>{% endblock %}
"""


def notebook_body(path: Path, title: str, whole: str) -> Markup:
    """The notebook's cells as safe HTML with headings from h3 down; `whole` says where the uncut outputs are."""
    notebook = read_notebook(path)
    notebook["metadata"].pop("widgets", None)
    notebook["cells"] = [cell for cell in notebook["cells"] if _shown(cell)]
    figures = _Figures(title)
    for place, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "code":
            after = notebook["cells"][place + 1] if place + 1 < len(notebook["cells"]) else {}
            cell["outputs"] = [_output(one, figures, after, whole) for one in cell["outputs"]]
            cell["outputs"] = [one for one in cell["outputs"] if one is not None]
    html, _ = _exporter().from_notebook_node(from_dict(notebook))
    return Markup(figures.put_into(_clean(html)))  # safe: what the allow-list let through, and our own images


def _shown(cell: Mapping[str, Any]) -> bool:
    return bool(cell["source"].strip()) and not any(has_tag(cell, tag) for tag in _HIDDEN_TAGS)


def _exporter() -> HTMLExporter:
    addresses = ("mathjax_url", "require_js_url", "jquery_url", "widget_renderer_url", "mermaid_js_url")
    return HTMLExporter(
        extra_loaders=[DictLoader({"cdct-body": _TEMPLATE})],
        template_file="cdct-body",
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        exclude_anchor_links=True,
        **dict.fromkeys(addresses, ""),
    )


class _Figures:
    """The images of one notebook, kept outside while its text is cleaned; tokens that no text can know stand in."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._nonce = secrets.token_hex(16)
        self._images: list[str] = []

    def token(self, kind: str, data: str | list[str], alt: str) -> str:
        data = data if isinstance(data, str) else "".join(data)
        if kind == "image/svg+xml":
            data = base64.b64encode(data.encode()).decode()  # in an <img> an SVG neither runs nor loads anything
        else:
            data = re.sub(r"[^A-Za-z0-9+/=]", "", data)
        alt = escape(alt or f"Figure {len(self._images) + 1} of {self.title}")
        self._images.append(f'<img src="data:{kind};base64,{data}" alt="{alt}">')
        return f"{self._nonce}:{len(self._images) - 1}:"

    def put_into(self, html: str) -> str:
        return re.sub(rf"{self._nonce}:(\d+):", lambda found: self._images[int(found[1])], html)


def _output(
    output: Mapping[str, Any], figures: _Figures, after: Mapping[str, Any], whole: str
) -> dict[str, Any] | None:
    if output["output_type"] == "stream":
        return {**output, "text": _cut(output["text"], whole)}
    if output["output_type"] == "error":
        return {**output, "traceback": [_cut(plain("\n".join(output["traceback"])), whole)]}
    data = output["data"]
    kind = next((kind for kind in _SHOWN if kind in data), None)
    if kind is None or any(key.startswith("application/vnd.jupyter.widget") for key in data):
        return None
    content = data[kind] if isinstance(data[kind], str) else "".join(data[kind])
    if kind.startswith("image/"):
        alt = output.get("metadata", {}).get(kind, {}).get("alt") or _reading(after)
        kind, content = "text/html", f'<div class="picture">{figures.token(kind, content, str(alt))}</div>'
    elif kind in ("text/plain", "text/latex"):
        kind, content = "text/plain", _cut(content, whole)
    elif _overgrown(content):
        kind, content = "text/plain", f"(left out here for its size; the whole is in {whole})"
    return {"output_type": "display_data", "metadata": {}, "data": {kind: content}}


def _overgrown(html: str) -> bool:
    steps = [-1 if tag else 1 for tag in re.findall(r"<(/?)(?!br|hr|img|col\b)[a-z]", html, re.IGNORECASE)]
    return len(steps) > MOST_TAGS or max(accumulate(steps), default=0) > MOST_NESTED


def _reading(cell: Mapping[str, Any]) -> str:
    """The beginning of a cell that says how to read the figure before it, as plain text; "" for another cell."""
    text = re.sub(r"[*_`#>]", "", cell.get("source", "")).strip()
    if cell.get("cell_type") != "markdown" or not text.startswith(_READING):
        return ""
    text = " ".join(text.removeprefix(_READING).lstrip(". :").split())
    return text if len(text) <= 300 else text[:300].rsplit(" ", 1)[0] + " …"


def _cut(text: str | list[str], whole: str) -> str:
    lines = [line[:2000] for line in ("".join(text)).splitlines()]
    if len(lines) > TEXT_LINES:
        half = TEXT_LINES // 2
        lines[half:-half] = [f"… {len(lines) - 2 * half:,} lines left out here; the whole is in {whole} …"]
    return "\n".join(lines)


def _clean(html: str) -> str:
    soup = BeautifulSoup(html, "html.parser")
    for tag in soup.find_all(_DROPPED):
        tag.decompose()
    for image in soup.find_all("img"):
        if not _EMBEDDED.match(str(image.get("src"))):
            image.decompose()
    first = soup.find(re.compile(r"h[1-6]"))
    if first is not None and first.name == "h1":
        first.decompose()  # the section has the run's title
    for heading in soup.find_all(re.compile(r"h[1-6]")):
        heading.name = f"h{min(6, int(heading.name[1]) + 2)}"
        cell = heading.find_parent("div", class_="cell")
        if cell is not None and heading.find_next_sibling() is None:
            cell["class"] = "cell heads"  # on paper it stays with what comes next
    for table in soup.find_all("table"):
        if table.find_parent("table") is None:
            table.wrap(soup.new_tag("div", attrs={"class": "scroll", "tabindex": "0"}))
    for cell in soup.find_all("td"):
        text = cell.get_text(strip=True)
        if _NUMBER.fullmatch(text):
            cell["class"] = "num"
        elif _INTERVAL.fullmatch(text):
            cell["class"] = "num interval"
        elif len(text) <= SHORT:
            cell["class"] = "short"
    for table in soup.find_all("table"):
        _align_heads(table)
    for strong in soup.find_all("strong"):
        if strong.get_text().startswith(_READING) and (part := strong.find_parent("div")) is not None:
            part["class"] = "reading"
    protocols = {"https", "http", "mailto", "data"}  # `_allowed` says which of them where
    return bleach.clean(
        str(soup), tags=_TAGS, attributes=_allowed, protocols=protocols, strip=True, css_sanitizer=_STYLES
    )


def _align_heads(table: Tag) -> None:
    """Give the head of a column of numbers the class of its cells."""
    rows = [row.find_all(["th", "td"], recursive=False) for row in table.select("tbody tr")]
    for head in table.select("thead tr"):
        for place, cell in enumerate(head.find_all(["th", "td"], recursive=False)):
            column = [row[place] for row in rows if place < len(row)]
            if column and all("num" in one.get("class", "") for one in column):
                cell["class"] = "num"


def _allowed(tag: str, name: str, value: str) -> bool:
    if name == "src":  # an image that stands in the notebook itself; nothing is fetched
        return tag == "img" and _EMBEDDED.match(value) is not None
    if name == "href":
        return tag == "a" and re.match(r"https?://|mailto:", value) is not None
    if name == "tabindex":
        return tag == "div" and value == "0"
    return name in {"class", "title", "alt", "colspan", "rowspan", "scope", "style", "start"}
