"""The configuration of nginx has the name and the limits of this host; `make host-check` tries it with the real one."""

import re
import subprocess
import sys
from dataclasses import replace

import pytest

from benchmarks.support.server import HOST
from pages.ui.host import hosting
from pages.ui.host.guarding.nginx import HEADER, Site, configuration
from rauq.errors import InvalidInput


def test_it_has_the_limits_of_the_host(monkeypatch):
    before = configuration(Site(name="rauq.example.org"))
    assert f"client_max_body_size {hosting.HOST.uploads_each};" in before
    monkeypatch.setattr(hosting, "HOST", replace(hosting.HOST, sessions_each=7, uploads_each=123))
    after = configuration(Site(name="rauq.example.org"))
    assert "client_max_body_size 123;" in after
    assert min(map(int, re.findall(r"limit_conn rauq_connections (\d+);", after))) > 7
    assert after != before


def test_every_block_is_closed_and_nothing_is_left_to_fill():
    text = configuration(Site(name="rauq.example.org", port=9001, certificate="/c.pem", key="/k.pem"))
    assert text.count("{") == text.count("}")
    assert set(re.findall(r"\$(\w+)", text)) == {
        *("binary_remote_addr", "http_upgrade", "rauq_connection", "http_host", "remote_addr")
    }
    assert text.count("proxy_pass http://127.0.0.1:9001;") == 2
    assert f"proxy_set_header {HEADER} $remote_addr;" in text
    assert text.count("/c.pem;") == text.count("/k.pem;") == 2


@pytest.mark.parametrize("name", ["", "a b", "a;}", "a\nb", "$host", "ä.example"])
def test_a_name_that_would_be_more_than_a_name_is_refused(name):
    with pytest.raises(InvalidInput, match="name of a host"):
        configuration(Site(name=name))


def test_the_command_prints_it_and_ends():
    command = [sys.executable, "-m", HOST, "--names", "rauq.example.org,b.example", "--port", "9000", "--print-nginx"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert found == configuration(Site(name="rauq.example.org", port=9000))


def test_several_workers_have_a_place_each_and_one_that_takes_over():
    text = configuration(Site(name="rauq.example.org", port=9001, workers=3))
    assert text.count("{") == text.count("}")
    assert text.count("proxy_pass http://$rauq_worker;") == 2
    assert re.findall(r"^    (\S+) (rauq_\w+);$", text, re.MULTILINE)[:4] == [
        ("default", "rauq_any"),
        *((str(number), f"rauq_{number}") for number in (1, 2, 3)),
    ]
    servers = {
        name: re.findall(r"server 127.0.0.1:(\d+)", inside)
        for name, inside in re.findall(r"upstream (\w+) \{([^}]*)\}", text)
    }
    assert servers.pop("rauq_any") == ["9001", "9002", "9003"]
    assert servers == {"rauq_1": ["9001", "9002"], "rauq_2": ["9002", "9003"], "rauq_3": ["9003", "9001"]}
    assert "--workers 3" in text.splitlines()[0]
    assert "upstream" not in configuration(Site(name="rauq.example.org"))
