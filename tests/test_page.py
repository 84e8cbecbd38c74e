"""The report page: whole, honest about what is missing, readable, and harmless whatever models wrote."""

from __future__ import annotations

import base64
import json
import math
import re
import shutil
import subprocess
from collections.abc import Iterator
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from cdct import page
from cdct.page_body import TEXT_LINES, notebook_body
from cdct.report import plan
from cdct.results import Job, prepare, stamp, world, write_record
from cdct.runfile import load_runs

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--enable-logging=stderr"),
    "--host-resolver-rules=MAP * ~NOTFOUND",
]
EVIL = """<script>document.title = "ran"</script><img src="http://evil.invalid/a.png" onerror="document.title='ran'">
<svg onload="document.title='ran'"><script>document.title='ran'</script></svg><iframe src="http://evil.invalid/"></iframe>
<style>@import url(http://evil.invalid/x.css); body { display: none }</style>
<link rel=stylesheet href=//evil.invalid/y.css>
<a href="javascript:document.title='ran'">link</a>
<div style="background: url(http://evil.invalid/b.png); color: red">d</div>
<video src="http://evil.invalid/v.mp4" autoplay></video><object data="http://evil.invalid/o"></object>
<base href="http://evil.invalid">
<form action="http://evil.invalid"><input name=q autofocus onfocus="document.title='ran'"></form>
</div></section></main><h1>fake</h1>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=document.title='ran'&gt;">
<img src="data:text/html;base64,PHNjcmlwdD4=" srcset="http://evil.invalid/c.png 2x">
<meta http-equiv=refresh content="0;url=http://evil.invalid">
"""
PIXEL = base64.b64encode(b"\\x89PNG not a real one").decode()
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="30"><script>document.title = "ran"</script></svg>'
FRAME = (
    '<div><style scoped>.dataframe td {vertical-align: top}</style><table border="1" class="dataframe"><thead>'
    '<tr style="text-align: right;"><th></th><th>model</th><th>estimate</th></tr></thead><tbody>'
    "<tr><th>0</th><td>&lt;b&gt;m&lt;/b&gt;</td><td>-0.25</td></tr><tr><th>1</th><td>[0.1, 0.9]</td><td>1,024</td></tr>"
    "</tbody></table></div>"
)


def markdown(source: str) -> dict:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def code(source: str, *outputs: dict, tags: tuple[str, ...] = ()) -> dict:
    done = {
        "papermill": {"start_time": "2026-11-30T10:00:00", "end_time": "2026-11-30T10:00:01", "status": "completed"}
    }
    metadata = {"tags": list(tags), **done}
    return {"cell_type": "code", "execution_count": 1, "metadata": metadata, "outputs": list(outputs), "source": source}


def shown(**data: str) -> dict:
    return {"output_type": "display_data", "metadata": {}, "data": {k.replace("__", "/"): v for k, v in data.items()}}


def printed(text: str, name: str = "stdout") -> dict:
    return {"output_type": "stream", "name": name, "text": text}


def error(name: str, text: str) -> dict:
    return {"output_type": "error", "ename": name, "evalue": text, "traceback": [f"\x1b[31m{name}\x1b[0m: {text}"]}


def write(path: Path, *cells: dict) -> None:
    metadata = {"papermill": {"end_time": "2026-11-30T10:00:09.000000"}}
    notebook = {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook), encoding="utf-8")


PARAMETERS = code(
    'tables: str = ""  # folder\nseed: int = 7  # of the draw\nnote: str = ""  # any text', tags=("parameters",)
)
RUNS = {
    "overview": "title: All together\nafter: all",
    "dip": "title: Does it dip?\nsummary: Eight concepts at five levels.",
    "dip_at_most": 'title: "Limit: at most"\nparameters: {note: "</code><script>1</script>"}',
    "dip_broken": "title: Broken one",
    "dip_unfinished": "title: Unfinished one",
    "dip_new": "title: Never run",
    "reads_broken": "title: Reads the broken one\nafter: [dip_broken]",
    "long": "title: Fifty steps\nsummary: Only in full.\nprofiles: {full: true}",
}


def write_tables(job: Job, **tables: str) -> None:
    for name, text in tables.items():
        (job.tables / f"{name}.csv").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A workbench with a run in every state and text from hostile models in every place, and its page."""
    home = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CDCT_HOME", str(home))
        write(home / "notebooks" / "dip.ipynb", PARAMETERS)
        for name, text in RUNS.items():
            path = home / "notebooks" / "runs" / f"{name}.yaml"
            path.parent.mkdir(exist_ok=True)
            text += "" if "profiles" in text else "\nprofiles: {quick: true}"
            path.write_text(f"notebook: dip\n{text}\n", encoding="utf-8")
        jobs = plan(load_runs(), "quick", {}, [])
        for name in ("dip", "dip_at_most", "dip_unfinished", "dip_broken", "reads_broken"):
            fill(jobs[name])
        left = [run for run in load_runs().values() if run.name not in jobs]
        path = page.build("quick", list(jobs.values()), left)
        yield home, path.read_text(encoding="utf-8")


def fill(job: Job) -> None:
    prepare(job)
    job.notebook("partial").unlink()
    if job.name == "dip_broken":
        write(job.notebook("failed"), PARAMETERS, code("score(<b>)", error("KeyError", "'<script>x</script>'")))
        return
    write(
        job.notebook(),
        markdown("# Own title\n\nA *word* <script>alert(1)</script> and [a paper](https://example.org/x).\n\n## Part"),
        PARAMETERS,
        code("injected = 1", tags=("injected-parameters",)),
        code("draw()", shown(image__png=PIXEL, text__plain="<Axes>")),
        markdown(f'**Reading this figure.** Up is {job.name}; *grey* is "published".'),
        code("frame", shown(text__html=FRAME, text__plain="frame"), shown(**{"image__svg+xml": SVG})),
        code(
            "evil()",
            shown(text__html=EVIL),
            shown(text__markdown=EVIL),
            printed(EVIL),
            shown(application__javascript="1"),
        ),
        code("print()", printed("\n".join(f"line {i}" for i in range(1000))), printed("some warning", "stderr")),
        code("w", shown(**{"application__vnd.jupyter.widget-view+json": "{}", "text__plain": "Widget()"})),
        code("latex", shown(text__latex="$x<y$")),
    )
    card = "model,group,label,estimate,low,high,n,n_unscored,method,published,published_label,unit\n"
    if job.name == "dip":
        card += 'local/tiny,CDCT,concepts that dip,0.5,0.2,0.8,8,1,exact,0.972,"paper, nine models",share\n'
        card += 'local/tiny,CDCT,words written,62.84,50,70,40,0,"t, 8 clusters",,,words\n'
        card += "local/tiny,CCB,per-step p,,,,0,40,none,0.93,,\n"
        card += f'"{EVIL.replace(chr(34), chr(34) * 2)}",<i>g</i>,<script>1</script>,1,0,1,3,0,<b>,,<u>,<s>\n'
    else:
        card += "local/tiny,CDCT,concepts that dip,0.25,0.1,0.6,8,0,exact,,,share\n"
    calls = "model,calls,failed,skipped,empty,prompt_tokens,completion_tokens,cost,served_model\n"
    empty = 4 if job.name == "dip" else ""
    calls += f"local/tiny,40,3,2,{empty},1000,500,0.25,tiny-1\n<script>2</script>,1,0,0,,1,1,,\n"
    warnings = "level,text\nwarning,1 of 40 replies could not be scored\nnote,<script>3</script>\n"
    write_tables(job, card=card, calls=calls, warnings=warnings, items="benchmark,items,sha256\ncdct-v1,40,abc123\n")
    write_tables(job, findings="model,text\nlocal/tiny,Nothing dips <script>4</script>.\n,\n")
    write_tables(job, other=f"reply\n{escape(EVIL)}\n")
    told = {"failed": 3, "skipped": 2} if job.name == "dip_unfinished" else {}
    write_record(job, stamp(job, world()), told, 3.0)


class Outline(HTMLParser):
    """Tags, attributes and the visible text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += f" {data}"

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


@pytest.fixture(scope="module")
def outline(site: tuple[Path, str]) -> Outline:
    return Outline(site[1])


def section(html: str, name: str) -> str:
    found = re.search(rf'<section id="{name}">.*?</section>', html, re.DOTALL)
    assert found is not None
    return found[0]


def plain(html: str) -> str:
    return " ".join(Outline(html).text.split())


# ------------------------------------------------------------------------------------------------------------- harmless


def test_nothing_on_the_page_can_run_or_load(outline: Outline) -> None:
    allowed = {"html", "head", "meta", "title", "link", "style", "body", "section", "article", "nav", "main", "header"}
    for tag, attributes in outline.tags:
        assert tag not in {"script", "iframe", "object", "embed", "form", "base", "video", "svg", "math", "input"}
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        assert {"srcset", "poster", "background", "action", "formaction", "ping", "data"}.isdisjoint(attributes)
        if "src" in attributes:
            assert (attributes["src"] or "").startswith("data:image/"), attributes
        if "href" in attributes and tag != "link":
            assert re.match(r"#|https?://example\.org|\.\./\.\./data/", attributes["href"] or ""), attributes
        if "style" in attributes and tag not in allowed:
            assert "url" not in (attributes["style"] or "")
    assert outline.count("style") == 1
    assert outline.count("link") == 1  # the empty icon: without it a browser would ask a server for one


def test_what_models_wrote_stays_text(site: tuple[Path, str], outline: Outline) -> None:
    assert "<script" not in site[1]
    assert "evil.invalid" in outline.text  # it was not lost either: printed text and table cells show it as it is
    assert "<script>1</script>" in plain(section(site[1], "cards"))


def test_one_title_and_no_level_skipped_above_the_notebooks(outline: Outline) -> None:
    assert outline.count("h1") == 1
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {
        attributes["href"]
        for tag, attributes in outline.tags
        if tag == "a" and (attributes.get("href") or "").startswith("#")
    }
    assert targets <= {f"#{name}" for name in ids}


# --------------------------------------------------------------------------------------------------------------- honest


def test_a_failed_run_is_shown_with_its_cell_and_error(site: tuple[Path, str]) -> None:
    text = plain(section(site[1], "run-dip_broken"))
    assert "This run failed in code cell 2. KeyError: '<script>x</script>'" in text
    assert "score(<b>)" in text
    assert "notebooks/executed/quick/dip_broken.failed.ipynb" in text


def test_failures_come_first_and_each_warning_once(site: tuple[Path, str]) -> None:
    notices = section(site[1], "notices")
    kinds = re.findall(r'<li class="(\w+)">', notices)
    assert kinds == ["failure", "missing", "missing", "missing", "missing", "warning", "note"]
    text = plain(notices)
    assert text.count("1 of 40 replies could not be scored") == 1
    assert "( Does it dip? , Limit: at most , Unfinished one )" in text
    assert "3 model calls failed and 2 were not made; the same command asks them again." in text
    assert "Not run: it reads the tables of a run that has none (Broken one). ( Reads the broken one )" in text
    assert "Not run yet in this profile. ( Never run )" in text


def test_results_that_rest_on_a_failed_run_are_not_shown(site: tuple[Path, str]) -> None:
    text = plain(section(site[1], "run-reads_broken"))
    assert text == "Reads the broken one Not run, because it reads the tables of: Broken one."
    assert "reads_broken/" not in section(site[1], "tables")


def test_older_results_are_marked(site: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "copy"
    shutil.copytree(site[0], home)
    monkeypatch.setenv("CDCT_HOME", str(home))
    (home / "requirements.lock").write_text("", encoding="utf-8")
    html = page.build("quick", list(plan(load_runs(), "quick", {}, []).values())).read_text(encoding="utf-8")
    assert "Made from other code, data or parameters than are here now" in plain(section(html, "run-dip"))


def test_what_the_profile_leaves_out_is_named(site: tuple[Path, str]) -> None:
    text = plain(section(site[1], "left-out"))
    assert "long Fifty steps Only in full. full" in text
    assert "make report PROFILE=full" in text


def test_overviews_first_then_baseline_then_ablations(site: tuple[Path, str]) -> None:
    runs = re.findall(r'<section id="run-(\w+)">', site[1])
    assert runs == ["overview", "dip", "dip_at_most", "dip_broken", "dip_new", "dip_unfinished", "reads_broken"]


# ---------------------------------------------------------------------------------------------------------------- cards


def test_cards_show_estimate_interval_counts_and_the_published_value(site: tuple[Path, str]) -> None:
    text = plain(section(site[1], "cards"))
    assert "concepts that dip 50.0 % Does it dip? [20.0, 80.0] · n = 8, 1 not scored paper, nine models: 97.2 %" in text
    assert "words written 62.8 words [50, 70] · n = 40 in 8 clusters" in text
    assert "per-step p – n = 0, 40 not scored published: 0.93" in text
    assert (
        "concepts that dip 25.0 % Limit: at most [10.0, 60.0] · n = 8" in text
    )  # the ablation's line, once though two runs wrote it
    assert text.count("25.0 %") == 1


def test_findings_are_sentences_with_a_way_to_their_figures(site: tuple[Path, str]) -> None:
    html = section(site[1], "findings")
    assert "Nothing dips &lt;script&gt;4&lt;/script&gt;." in html
    assert html.count("<li>") == html.count('href="#run-dip') > 0  # rows without a text are none


def test_calls_are_summed_over_runs(site: tuple[Path, str]) -> None:
    row = re.search(r'<tr><td class="short"><code>local/tiny</code>.*?</tr>', section(site[1], "provenance"), re.DOTALL)
    assert row is not None
    cells = re.findall(r"<td[^>]*>(.*?)</td>", row[0])
    assert cells[1:] == ["subject", "120", "9", "6", "–", "–", "–", "≥ 4", "3,000", "1,500", "0.7500"]


def header(html: str) -> str:
    found = re.search(r"<header>.*?</header>", html, re.DOTALL)
    assert found is not None
    return plain(found[0])


def test_the_header_counts_whole_runs_answers_and_what_has_no_price(site: tuple[Path, str]) -> None:
    text = header(site[1])
    assert "2 of 7 runs with results 1 unfinished 1 failed 2 models 108 of 123 calls answered" in text
    assert "at least $0.75 ; 3 calls without a price" in text
    assert "a reply that several runs use counts in each" in text


def test_a_page_without_any_reply_does_not_look_fine(
    site: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(site[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("CDCT_HOME", str(tmp_path))
    job = plan(load_runs(), "quick", {}, [])["dip"]
    write_tables(job, calls="model,calls,failed,skipped,cost\nlocal/tiny,40,3,37,0\n")
    write_record(job, stamp(job, world()), {"failed": 3, "skipped": 37}, 1.0)
    html = page.build("quick", [job]).read_text(encoding="utf-8")
    assert "0 of 1 runs with results 1 unfinished 1 model 0 of 40 calls answered $0.00" in header(html)
    assert "Failed. Not one of 40 model calls has an answer: nothing in this run was measured." in plain(html)


def test_a_cost_that_leaves_calls_out_is_a_lower_bound(
    site: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(site[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("CDCT_HOME", str(tmp_path))
    job = plan(load_runs(), "quick", {}, [])["dip"]
    write_tables(job, calls="model,calls,failed,skipped,cost,unpriced\nm,40,0,0,1,5\nn,9,0,0,0.5,0\n")
    write_record(job, stamp(job, world()), {}, 1.0)
    html = page.build("quick", [job]).read_text(encoding="utf-8")
    assert "49 of 49 calls answered at least $1.50 ; 5 calls without a price" in header(html)
    assert "≥ 1.0000" in plain(section(html, "provenance"))


@pytest.mark.parametrize(
    ("cells", "text"),
    [([], "0"), ([""], "–"), (["", "x"], "–"), (["1200", ""], "≥ 1,200"), (["0", "0"], "0"), (["1.5", "2.5"], "4")],
)
def test_sums_say_what_they_lack(cells: list[str], text: str) -> None:
    total = page.Total()
    for cell in cells:
        total.add(page.to_number(cell))
    assert page.total(total) == text


def test_the_run_card_says_what_was_run(site: tuple[Path, str]) -> None:
    text = plain(section(site[1], "provenance"))
    for part in (
        "Profile quick",
        "2026-11-30 10:00 UTC",
        "cdct-v1 40 abc123",
        "seed 7 (Does it dip?)",
        "pandas ",
        "cores",
    ):
        assert part in text


def test_tables_are_listed_with_relative_paths(site: tuple[Path, str]) -> None:
    assert 'href="../../data/tables/quick/dip/card.csv"' in section(site[1], "tables")
    assert str(site[0]) not in site[1]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.97234, "share", "97.2"), (-0.584, "points", "−58.4"),
        (1.0, "share", "100"), (-0.2451, "", "−0.245"), (62.84, "words", "62.8"),
        (1234.5, "", "1,234"), (0.0, "", "0"), (1e-5, "", "1e−05"), (math.nan, "share", "–"),
    ],
)  # fmt: skip
def test_numbers(value: float, unit: str, text: str) -> None:
    assert page.number(value, unit) == text


@pytest.mark.parametrize(
    ("value", "unit", "place"),
    [(0.25, "share", "25.00"), (-0.5, "share", "0.00"), (0.0, "points", "50.00"), (-1.0, "points", "0.00")],
)
def test_a_difference_has_its_zero_in_the_middle(value: float, unit: str, place: str) -> None:
    assert page.share(value, unit) == place


# --------------------------------------------------------------------------------------------------------------- bodies


def test_the_body_of_a_run(site: tuple[Path, str]) -> None:
    body = section(site[1], "run-dip")
    assert "Own title" not in body  # the section has the run's title
    assert re.search(r"<h4[^>]*>Part</h4>", body)
    assert f'<img src="data:image/png;base64,{PIXEL}"' in body
    assert 'alt="Up is dip; grey is &quot;published&quot;."' in body
    assert '<div class="reading">' in body
    assert "injected = 1" not in body
    assert "Widget()" not in body
    assert "$x&lt;y$" in body
    assert f"{1000 - TEXT_LINES} lines left out here; the whole is in notebooks/executed/quick/dip.ipynb" in body
    assert '<th class="num">estimate</th>' in body
    assert '<td class="num">-0.25</td>' in body
    assert '<td class="num interval">[0.1, 0.9]</td>' in body
    assert "&lt;b&gt;m&lt;/b&gt;" in body
    assert "<style" not in body
    assert base64.b64encode(SVG.encode()).decode() in body  # as an image, where it can neither run nor load
    assert re.search(r'<details class="code"><summary>Messages</summary>\s*<div[^>]*>\s*<pre>some warning', body)


def test_parameters_are_shown_with_their_meaning(site: tuple[Path, str]) -> None:
    text = plain(section(site[1], "run-dip_at_most"))
    assert 'note "</code><script>1</script>" any text' in text


@pytest.mark.parametrize(
    "text",
    [
        "<table><tr><td>" * 500,
        "<table><tr><td>" * 30,
        "<div>" * 99,
        "<div>" * 60_000,
        "</div>" * 50,
        "<!-- " * 9,
        "\0<b",
        "&#0;&#x110000;",
    ],
)
def test_broken_html_stays_in_its_box(tmp_path: Path, text: str) -> None:
    write(tmp_path / "n.ipynb", code("x", shown(text__html=text)), markdown("# After it"))
    body = str(notebook_body(tmp_path / "n.ipynb", "T", "n.ipynb"))
    assert len(re.findall(r"<div\b", body)) == len(re.findall("</div>", body))


def test_a_page_without_results_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDCT_HOME", str(tmp_path))
    text = plain(page.build("smoke", []).read_text(encoding="utf-8"))
    assert "No run of this profile has written a card yet." in text
    assert "There are none yet." in text


# -------------------------------------------------------------------------------------------------------------- browser

needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on this machine (Debian: apt install chromium)"
)


def browse(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    return subprocess.run(
        [str(CHROMIUM), *QUIET, profile, *arguments], capture_output=True, text=True, timeout=120, check=True
    )


def asked_for(tmp_path: Path, path: Path) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """What a browser printed for a page, and the addresses that the page (not the browser itself) made it ask for."""
    log = tmp_path / "net.json"
    done = browse(tmp_path, f"--log-net-log={log}", "--dump-dom", path.as_uri())
    events = [event.get("params", {}) for event in json.loads(log.read_text(encoding="utf-8"))["events"]]
    own = [event["url"] for event in events if event.get("initiator", "not an origin") != "not an origin"]
    return done, [url for url in own if not url.startswith("data:")]


@pytest.mark.browser
@needs_browser
def test_a_browser_asks_for_nothing_and_complains_of_nothing(site: tuple[Path, str], tmp_path: Path) -> None:
    done, asked = asked_for(tmp_path, site[0] / page.PAGE)
    assert "<title>cdct report, profile quick</title>" in done.stdout  # no script ran
    assert "CONSOLE" not in done.stderr
    assert asked == []


@pytest.mark.browser
@needs_browser
def test_the_same_text_bare_would_run_and_ask(tmp_path: Path) -> None:
    (tmp_path / "bare.html").write_text(f"<html><body>{EVIL.split('<meta')[0]}", encoding="utf-8")
    done, asked = asked_for(tmp_path, tmp_path / "bare.html")
    assert "<title>ran</title>" in done.stdout
    assert "http://evil.invalid/a.png" in asked


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize("width", [390, 820, 1280])
def test_no_page_scrolls_sideways(site: tuple[Path, str], tmp_path: Path, width: int) -> None:
    frame = f'<iframe style="width:{width}px;height:800px;border:0" srcdoc="{escape(site[1])}"></iframe>'
    measure = "const inner = document.querySelector('iframe').contentDocument.documentElement;"
    measure += "document.title = `width ${inner.scrollWidth} of ${inner.clientWidth}`"
    (tmp_path / "frame.html").write_text(f"{frame}<script>onload = () => {{ {measure} }}</script>", encoding="utf-8")
    done = browse(tmp_path, "--window-size=1400,900", "--dump-dom", (tmp_path / "frame.html").as_uri())
    found = re.search(r"<title>width (\d+) of (\d+)</title>", done.stdout)
    assert found is not None
    assert int(found[1]) <= int(found[2])
