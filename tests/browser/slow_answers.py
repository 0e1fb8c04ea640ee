"""Streamlit's own command, in a process whose models rest after each token; it is the `module` of `started`."""

import runpy
import time
from dataclasses import replace

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


if __name__ == "__main__":
    jobs._watch = slowed(jobs._watch)
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
