"""The documents of this project, `docs/*.md`, which the app shows without a network. Their Markdown is our own."""

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import streamlit as st

from rauq.layout import DOCUMENTS

DOCUMENT = "document"
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\((?!https:)([^)]+)\)")


@cache
def titles() -> Mapping[str, str]:
    """The heading of each document, by the name of its file without the ending."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(DOCUMENTS.glob("*.md"))}
    return MappingProxyType({name: text.partition("\n")[0].removeprefix("# ") for name, text in texts.items()})


@cache
def document(name: str) -> str:
    """The Markdown of a document, whose links to other documents open them in the app; other files are only named."""
    text = (DOCUMENTS / f"{name}.md").read_text(encoding="utf-8")
    return _LINK.sub(_in_the_app, _COMMENT.sub("", text))


def _in_the_app(link: re.Match[str]) -> str:
    text, target = link.groups()
    name = target.removesuffix(".md")
    return f"[{text}](help?{DOCUMENT}={name})" if name in titles() else text


def help_link(page: str) -> None:
    """Link, at the top right, to the document of the page with this URL; nothing for a page without one.

    It opens a tab of its own, so that the page stays as it is, what was typed and not yet sent included.
    """
    if page in titles():
        with st.container(key="help"):
            st.link_button("? Help", f"help?{DOCUMENT}={page}")
