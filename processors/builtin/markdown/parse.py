"""Markdown read as a tree: CommonMark, with tables and strikethrough, and addresses left as they were written."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

#: The parser drops what is nested deeper, so texts that come near it are not taken apart.
_MAX_NESTING = 60


class _Parser(MarkdownIt):
    """Neither escapes nor unescapes what stands in links."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802 - the parser's name for it
        """Return an address as it was written."""
        return url

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802 - the same
        """Return an address as it was written."""
        return link


def parse(text: str) -> SyntaxTreeNode | None:
    """Return a text's tree, None if it is nested too deeply to be read."""
    # HTML is text to whoever cannot show it; definitions are kept in the tree, or those that nobody uses would be lost.
    options = {"html": False, "inline_definitions": True, "maxNesting": _MAX_NESTING}
    tokens = _Parser("commonmark", options).enable(["table", "strikethrough"]).parse(text)
    if any(token.level >= _MAX_NESTING - 2 for token in tokens):
        return None
    return SyntaxTreeNode(tokens)
