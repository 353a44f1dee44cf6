"""The site that `make docs` builds: every page in a menu, links that lead somewhere, nothing loaded from elsewhere."""

from __future__ import annotations

import posixpath
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from docs.site import LINK, build, pages, turned
from tests.browser import Browser, browser_there
from tests.pages import DOCS, ROOT

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """What a page of HTML loads, what it links to, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        given = dict(attributes)
        self.places |= {given[name] for name in ("id", "name") if given.get(name)}
        if given.get(LOADED.get(tag, "")) and given.get("rel") not in ("canonical", "prev", "next"):
            self.loaded.append(given[LOADED[tag]])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason='the extra `docs` is not installed: pip install "afa[docs]"')
    pytest.importorskip("material", reason='the extra `docs` is not installed: pip install "afa[docs]"')
    out = tmp_path_factory.mktemp("site")
    build(out, api=False)
    return out


def test_every_page_is_in_the_menu_once() -> None:
    """Read without a library, so that it is checked wherever tests run; code blocks of one page are those of the other tests."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    menu = re.findall(r"([\w/.-]+\.md)$", text, re.MULTILINE)
    assert sorted(menu) == sorted(target for target in pages().values() if target.endswith(".md"))
    assert {page for page in pages() if page.startswith("docs/") and page.endswith(".md")} == set(DOCS)


def test_links_of_the_pages_are_turned() -> None:
    known = pages()
    for source, target in known.items():
        if target.endswith(".md"):
            text = turned((ROOT / source).read_text(encoding="utf-8"), source, known)
            for _, _, path, _ in LINK.findall(text):
                assert posixpath.normpath(posixpath.join(posixpath.dirname(target), path)) in known.values(), path


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    found = list(site.rglob("*.html"))
    assert len(found) >= len([target for target in pages().values() if target.endswith(".md")])
    for path in found:
        for address in Page(path.read_text(encoding="utf-8")).loaded:
            assert not re.match(r"(https?:)?//", address), f"{path}: {address}"
            assert (path.parent / unquote(address.partition("?")[0])).exists() or path.name == "404.html", f"{path}: {address}"
    for path in site.rglob("*.css"):
        assert not re.findall(r"url\(['\"]?(?:https?:)?//", path.read_text(encoding="utf-8")), path


def test_links_lead_somewhere(site: Path) -> None:
    read = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    links = 0
    for path, page in read.items():
        for link in page.links if path.name != "404.html" else ():
            if re.match(r"[a-z]+:", link):
                continue
            file, _, place = link.partition("#")
            target = (path.parent / unquote(file)).resolve() if file else path
            if target.is_dir():
                target /= "index.html"
            if "api" in target.relative_to(site).parts:
                continue  # pdoc makes them
            assert target in read, f"{path}: {link}"
            assert not place or unquote(place) in read[target].places, f"{path}: {link}"
            links += 1
    assert links > 500


@browser_there
def test_the_search_works_from_a_disk(site: Path) -> None:
    with Browser() as browser:
        browser.open((site / "guide" / "final.html").as_uri())
        browser.run("document.querySelector('.md-search__input').focus()")
        browser.type(".md-search__input", "lateness")
        browser.wait("return /matching/.test(document.querySelector('.md-search-result__meta').innerText)")
        assert browser.errors() == []


def test_a_link_that_leads_nowhere_stops_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mkdocs", reason='the extra `docs` is not installed: pip install "afa[docs]"')
    from docs import site as made

    right = made.stage

    def wrong(folder: Path) -> None:
        right(folder)
        (folder / "flink.md").write_text("# Flink\n\n[x](guide/none.md)\n", encoding="utf-8")

    monkeypatch.setattr(made, "stage", wrong)
    with pytest.raises(Exception, match="returned non-zero exit status"):
        made.build(tmp_path / "site", api=False)
