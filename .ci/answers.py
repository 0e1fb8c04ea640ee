"""Start a server, `answers.py COMMAND ... --port N`, wait until its page answers with 200, and end it."""

import subprocess
import sys
import time
import urllib.error
import urllib.request

PATIENCE = 240  # seconds

with subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT) as server:
    status, deadline = 0, time.monotonic() + PATIENCE
    while status != 200 and server.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[-1]}/") as answer:
                status = answer.status
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    server.kill()
sys.exit(status != 200)
