"""Inspect: at which token of an answer did confidence collapse, and which head shows it?"""

from pages.ui.inspect.layout import inspect_page

inspect_page()
