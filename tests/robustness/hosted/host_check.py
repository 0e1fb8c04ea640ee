"""A host behind the real nginx, with the configuration that it prints: `make host-check`, which installs nginx.

Attacks that nginx stops before the host sees them, and what has to pass: pages, sessions, uploads.
"""

import re
import shutil
import socket
import ssl
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPSConnection
from itertools import chain, cycle, islice

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from benchmarks.support.server import NAMES, hosting
from pages.ui.host import hosting as rules
from pages.ui.host.guarding.nginx import HEADER, Site, configuration

NAME = NAMES.split(",")[0]
PATIENCE = 60.0
_MAIN = """
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def nginx(folder, site):
    key = ("-newkey", "rsa:2048", "-nodes", "-keyout", site.key, "-out", site.certificate)
    subprocess.run(["openssl", "req", "-x509", *key, "-subj", f"/CN={site.name}", "-days", "2"], check=True)
    (folder / "site.conf").write_text(configuration(site))
    (folder / "nginx.conf").write_text(_MAIN.format(folder=folder))
    command = [shutil.which("nginx") or "/usr/sbin/nginx", "-c", str(folder / "nginx.conf")]
    subprocess.run([*command, "-t"], check=True)
    with subprocess.Popen(command) as process:
        try:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", site.tls_port), timeout=1).close()
                    break
                except ConnectionRefusedError:
                    time.sleep(0.05)
            yield
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return tmp_path_factory.mktemp("log") / "host.log"


@pytest.fixture(scope="module")
def port(tmp_path_factory, log):
    folder = tmp_path_factory.mktemp("nginx")
    with log.open("wb") as written, hosting("--proxy-header", HEADER, log=written) as server:
        inner = int(server.address.rpartition(":")[2])
        files = {"certificate": str(folder / "c.pem"), "key": str(folder / "k.pem")}
        site = Site(name=NAME, port=inner, tls_port=free_port(), **files)
        with nginx(folder, site):
            yield site.tls_port


def trusting():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # our own certificate
    return context


def ask(port, path="/", *, method="GET", host=NAME, headers=(), body=None):
    connection = HTTPSConnection("127.0.0.1", port, timeout=PATIENCE, context=trusting())
    try:
        connection.request(method, path, body, {"Host": f"{host}:{port}", **dict(headers)})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def status(connection, port, path):
    connection.request("GET", f"/{path}", headers={"Host": f"{NAME}:{port}"})
    answer = connection.getresponse()
    answer.read()
    return answer.status


def session(port, **headers):
    return connect(
        f"wss://{NAME}:{port}/_stcore/stream",
        sock=socket.create_connection(("127.0.0.1", port), timeout=PATIENCE),
        ssl=trusting(),
        subprotocols=["streamlit"],
        origin=f"https://{NAME}:{port}",
        additional_headers=headers,
        max_size=None,
    )


def test_pages_and_sessions_pass(port):
    assert ask(port)[0] == 200
    with session(port) as opened:
        assert opened.subprotocol == "streamlit"


def test_another_name_is_answered_by_nobody(port):
    with pytest.raises((ConnectionError, OSError)):
        ask(port, host="evil.example")


def test_the_visitor_is_whom_nginx_sees_and_not_what_he_says(port, log):
    with session(port, **{HEADER: "6.6.6.6", "X-Forwarded-For": "7.7.7.7"}):
        pass
    ask(port, "/_stcore/host-config", headers={HEADER: "6.6.6.6", "X-Rauq-Visitor": "6.6.6.6"})
    lines = [line for line in log.read_text().splitlines() if "visitor=" in line]
    assert lines
    assert not [line for line in lines if "6.6.6.6" in line or "7.7.7.7" in line]
    assert 'visitor="127.0.0.1"' in lines[-1]


def test_metrics_are_told_to_nobody(port):
    assert ask(port, "/metrics")[0] == ask(port, "/_stcore/metrics")[0] == 404


def test_an_upload_beyond_the_limit_is_refused_before_the_host_sees_it(port):
    length = {"Content-Length": str(rules.HOST.uploads_each + 2**20)}
    assert ask(port, "/_stcore/upload_file/a/b", method="PUT", headers=length)[0] == 413


def test_one_address_has_a_bounded_number_of_connections_and_the_rest_of_a_class_has_room(port):
    with ExitStack() as stack:
        for _ in range(rules.HOST.sessions_each):
            stack.enter_context(session(port))
        with pytest.raises(InvalidStatus):
            stack.enter_context(session(port))
        assert ask(port)[0] == 200


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: "], ids=["silent", "half a request"])
def test_a_connection_without_a_request_is_closed(port, sent):
    begun = time.monotonic()
    with trusting().wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)) as silent:
        silent.sendall(sent)
        assert silent.recv(1_000)[:1] in {b"", b"H"}  # at most nginx's own 408
    assert time.monotonic() - begun < 30


def test_a_class_behind_one_address_loads_the_app_at_once(port):
    files = re.findall(r'"\./(static/[^"]+)"', ask(port)[1].decode())
    assert files

    def load(_):  # on one connection, as a browser does; the first load asks for a hundred files
        with closing(HTTPSConnection("127.0.0.1", port, timeout=PATIENCE, context=trusting())) as connection:
            return {status(connection, port, path) for path in ["", *islice(cycle(files), 100)]}

    with ThreadPoolExecutor(30) as pupils:
        assert set(chain(*pupils.map(load, range(30)))) == {200}


def test_many_requests_of_one_address_are_refused_and_later_answered(port):
    statuses = [ask(port, "/_stcore/health")[0] for _ in range(20)]
    assert set(statuses) == {200}
    context, request = trusting(), f"GET /_stcore/health HTTP/1.1\r\nHost: {NAME}:{port}\r\n\r\n".encode()
    with context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)) as flood:
        found = b""
        for _ in range(1_500):
            flood.sendall(request)
            found += flood.recv(4_096)
            if b" 429 " in found:
                break
        assert b" 429 " in found
    deadline = time.monotonic() + PATIENCE
    while ask(port, "/_stcore/health")[0] != 200:
        assert time.monotonic() < deadline
