"""A preprocessor of mdBook: links that leave the folder docs lead to the repository."""

import json
import posixpath
import re
import sys

REPOSITORY = "https://github.com/trazar/trazar/blob/main/"
LINK = re.compile(r"\]\(([^)\s]+)\)")


def changed(content: str, path: str) -> str:
    """A page's text; ``path`` is the page's, in the folder docs."""

    def link(found: re.Match) -> str:
        target = found[1]
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        place = posixpath.normpath(posixpath.join("docs", posixpath.dirname(path), target))
        if place.startswith("docs/"):
            # A folder's first page is index.html there.
            return "](" + re.sub(r"\bREADME\.md", "index.md", target) + ")"
        return f"]({REPOSITORY}{place})"

    return LINK.sub(link, content)


def walk(items: list) -> None:
    for item in items:
        if isinstance(item, dict) and "Chapter" in item:
            chapter = item["Chapter"]
            if path := chapter.get("source_path") or chapter.get("path"):
                chapter["content"] = changed(chapter["content"], path)
            walk(chapter["sub_items"])


def main() -> None:
    if sys.argv[1:2] == ["supports"]:
        return
    _, book = json.load(sys.stdin)
    # mdBook 0.5 says "items", 0.4 "sections".
    walk(book.get("items") or book.get("sections"))
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
