"""Checks the links of the pages of a built site: files and headings in it."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, and what they may lead to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, "str | None"]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ("href", "src") and value and tag in ("a", "img", "script", "link"):
                self.links.append(value)


def main(site: Path) -> int:
    # The reference of the crates is rustdoc's, which checks its own links.
    paths = [path for path in site.rglob("*.html") if path.relative_to(site).parts[0] != "api"]
    pages = {path.resolve(): Page(path.read_text()) for path in paths}
    count, wrong = 0, []
    for path, page in pages.items():
        if path.name in ("print.html", "toc.html", "404.html"):
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            count += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if target.relative_to(site.resolve()).parts[0] == "api" and not (site / "api").exists():
                continue
            if not target.exists():
                wrong.append(f"{path.name}: {link}: there is no such file")
            elif parts.fragment and target in pages:
                if unquote(parts.fragment) not in pages[target].ids:
                    wrong.append(f"{path.name}: {link}: there is no such heading")
    print("\n".join(sorted(set(wrong))), end="\n" if wrong else "")
    print(f"{len(pages)} pages, {count} links, {len(set(wrong))} lead nowhere")
    return int(bool(wrong) or not count)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
