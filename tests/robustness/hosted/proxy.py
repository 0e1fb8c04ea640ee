"""The real nginx before a host, with the configuration that the host prints, and what reaches the host through it."""

import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.support.server import NAMES, Server, free_port
from pages.ui.host.guarding.nginx import Site, configuration
from rauq.errors import InvalidInput
from tests.robustness.client import NO_HEADERS, Client, connected

NAME = NAMES.split(",")[0]
PATIENCE = 60.0  # seconds
_PAUSE = 0.05
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


@contextmanager
def nginx(folder: Path, *, port: int, workers: int = 1) -> Iterator[int]:
    """The port of an nginx before a host on another one.

    Raises:
        InvalidInput: nginx is not on this machine.
    """
    site = Site(
        name=NAME,
        port=port,
        workers=workers,
        tls_port=free_port(),
        certificate=str(folder / "c.pem"),
        key=str(folder / "k.pem"),
    )
    _prepare(folder, site)
    with subprocess.Popen(_command(folder)) as process:
        try:
            _wait_for(site.tls_port)
            yield site.tls_port
        finally:
            process.terminate()


def _prepare(folder: Path, site: Site) -> None:
    folder.chmod(0o711)  # the workers of nginx have another user, and keep large uploads in it
    openssl = shutil.which("openssl") or "openssl"
    key = ("-newkey", "rsa:2048", "-nodes", "-keyout", site.key, "-out", site.certificate)
    subprocess.run(
        [openssl, "req", "-x509", *key, "-subj", f"/CN={site.name}", "-days", "2"], check=True, capture_output=True
    )
    (folder / "site.conf").write_text(configuration(site), encoding="utf-8")
    (folder / "nginx.conf").write_text(_MAIN.format(folder=folder), encoding="utf-8")
    subprocess.run([*_command(folder), "-t"], check=True, capture_output=True)


def _command(folder: Path) -> list[str]:
    path = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if path is None:
        message = "No nginx was found; `make host-check` installs it."
        raise InvalidInput(message)
    return [path, "-c", str(folder / "nginx.conf")]


def _wait_for(port: int) -> None:
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            time.sleep(_PAUSE)
        else:
            return


@dataclass(frozen=True, kw_only=True)
class Way:
    """How visitors reach a host: at an address of this machine, with TLS where nginx stands before it."""

    address: str

    @property
    def port(self) -> int:
        """The port of the address."""
        return int(self.address.rpartition(":")[2])

    @contextmanager
    def session(
        self,
        source: str,
        *,
        cookies: Mapping[str, str] = NO_HEADERS,
        protocols: Sequence[str] = ("streamlit",),
    ) -> Iterator[Client]:
        """A session of a visitor with an address of its own, of this machine."""
        sock = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE, source_address=(source, 0))
        options: dict[str, Any] = {"sock": sock} | ({"ssl": trusting()} if self.address.startswith("https") else {})
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())} if cookies else {}
        with connected(self.address, headers=headers, protocols=protocols, options=options) as client:
            yield client


@contextmanager
def behind_nginx(server: Server) -> Iterator[Way]:
    """The way to a host through an nginx of its own."""
    with TemporaryDirectory() as folder, nginx(Path(folder), port=int(server.address.rpartition(":")[2])) as outer:
        yield Way(address=f"https://127.0.0.1:{outer}")


def trusting() -> ssl.SSLContext:
    """TLS that accepts our own certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def ask(
    port: int,
    path: str = "/",
    *,
    method: str = "GET",
    host: str = NAME,
    headers: Mapping[str, str] = NO_HEADERS,
    body: bytes | None = None,
    source: str = "127.0.0.1",
) -> tuple[int, bytes, list[str]]:
    """The status of an answer, its body, and the cookies that come with it; `source`: the visitor's address."""
    connection = HTTPSConnection("127.0.0.1", port, timeout=PATIENCE, context=trusting(), source_address=(source, 0))
    try:
        connection.request(method, path, body, {"Host": f"{host}:{port}", **headers})
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers.get_all("Set-Cookie") or []
    finally:
        connection.close()
