"""Several threads can import modules of rauq at the same time."""

import subprocess
import sys

SCRIPT = """
import importlib, sys, threading

import analysis
import rauq

sys.setswitchinterval(1e-6)  # threads take turns as often as they can
names = sys.argv[1:]
start = threading.Barrier(len(names))

def load(name):
    start.wait()
    importlib.import_module(name)

threads = [threading.Thread(target=load, args=(name,)) for name in names]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_several_threads_may_import_parts_that_need_transformers():
    parts = ("rauq.checkpoints.checkpoint", "rauq.model.loading", "rauq.capture.tap", "analysis.quality.learned")
    done = subprocess.run([sys.executable, "-c", SCRIPT, *parts], capture_output=True, text=True, check=True)
    assert "Error" not in done.stderr
