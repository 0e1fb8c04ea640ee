"""Streamlit's own command, in a process that rests, so that a browser draws what a fast machine would pass over.

It rests after each token and each empty place, below each sign that says what is computed, and while a model is loaded.
It is the `module` of `started`.
"""

import runpy
import time
from contextlib import contextmanager
from dataclasses import replace

import streamlit as st

import rauq
from pages.ui.host import jobs

REST = 0.2  # seconds
LOADING = 2.0  # the page is drawn meanwhile, and says that it cannot count tokens yet


def slowed(watch):
    def watched(*arguments, **options):
        own = watch(*arguments, **options)

        def rest(*token):
            own.on_token(*token)
            time.sleep(REST)

        return replace(own, on_token=rest)

    return watched


def rested(draw):
    def drawn():
        place = draw()
        time.sleep(REST)
        return place

    return drawn


def kept(sign):
    @contextmanager
    def signed(*arguments, **options):
        with sign(*arguments, **options):
            time.sleep(REST)
            yield

    return signed


def delayed(load):
    def loaded(*arguments, **options):
        time.sleep(LOADING)
        return load(*arguments, **options)

    return loaded


if __name__ == "__main__":
    st.empty = rested(st.empty)
    st.spinner = kept(st.spinner)
    rauq.load_model = delayed(rauq.load_model)
    jobs._watch = slowed(jobs._watch)
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
