"""Streamlit's own command, in a process that rests after each token and each empty place, so that a browser draws both.

It is the `module` of `started`.
"""

import runpy
import time
from dataclasses import replace

import streamlit as st

from pages.ui.host import jobs

REST = 0.2  # seconds


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


if __name__ == "__main__":
    st.empty = rested(st.empty)
    jobs._watch = slowed(jobs._watch)
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
