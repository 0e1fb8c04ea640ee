"""The configuration of nginx that stands before a host: TLS, slow clients, and how much one address may ask for.

It has the limits of this host, so that both agree.
"""

import re
from dataclasses import dataclass
from string import Template

from pages.ui.host import hosting
from pages.ui.host.guarding import places
from rauq.errors import InvalidInput

HEADER = "X-Real-IP"  # nginx writes it itself, whatever the visitor sends
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
_EXTRA_CONNECTIONS = 24  # of an address, for what is no session
_OF_A_BROWSER = 7  # connections while it loads the app: six for files, and its session
_REQUESTS = 30  # a second, of an address, without the files of the app
_AT_ONCE = 300

_TEMPLATE = Template("""\
# nginx 1.22 or later, before: rauq host --names $name --port $port --proxy-header $header$option
# Put it into /etc/nginx/conf.d/ and give the certificate.

limit_conn_zone $$binary_remote_addr zone=rauq_connections:10m;
limit_req_zone $$binary_remote_addr zone=rauq_requests:10m rate=${requests}r/s;

map $$http_upgrade $$rauq_connection {
    default upgrade;
    "" "";
}
$workers
server {
    listen $tls_port ssl default_server;
    server_name _;
    ssl_certificate $certificate;
    ssl_certificate_key $key;
    client_header_timeout ${patience}s;  # holds until the name is known
    return 444;
}

server {
    listen $tls_port ssl;
    server_name $name;
    ssl_certificate $certificate;
    ssl_certificate_key $key;
    ssl_protocols TLSv1.2 TLSv1.3;
    server_tokens off;

    client_header_timeout ${patience}s;
    client_body_timeout ${patience}s;
    send_timeout 60s;
    keepalive_timeout 30s;
    client_max_body_size $upload;
    limit_conn_status 429;
    limit_req_status 429;

    proxy_http_version 1.1;
    proxy_set_header Host $$http_host;
    proxy_set_header $header $$remote_addr;
    proxy_set_header X-Forwarded-For "";
    proxy_set_header Upgrade $$http_upgrade;
    proxy_set_header Connection $$rauq_connection;
    proxy_cookie_flags ~ secure;
    proxy_connect_timeout 5s;
    proxy_read_timeout 1h;

    location / {
        proxy_pass http://$host;
        limit_conn rauq_connections $connections;
        limit_req zone=rauq_requests burst=$at_once nodelay;
    }

    location ^~ /static/ {  # files of the app: a class loads them at once
        proxy_pass http://$host;
        limit_conn rauq_connections $class_connections;
    }

    location = /metrics {
        return 404;
    }
}
""")


# A browser stays at the worker that its cookie names. Where that one has ended, all its requests go to the next, which
# then names itself. A browser without cookies stays where its address leads.
_WORKERS = Template("""
map $$cookie_$cookie $$rauq_worker {
    default rauq_any;
$named
}

upstream rauq_any {
    hash $$remote_addr consistent;
$servers
}
""")
_WORKER = Template("""
upstream rauq_$number {
    server 127.0.0.1:$port max_fails=0;
    server 127.0.0.1:$next backup;
}
""")


@dataclass(frozen=True, kw_only=True)
class Site:
    """A host behind nginx: its name, where it listens, and where nginx does, with the files of a certificate.

    `workers`: how many processes it has, each on the port after that of the one before.
    """

    name: str
    port: int = 8501
    workers: int = 1
    tls_port: int = 443
    certificate: str = ""
    key: str = ""


def configuration(site: Site) -> str:
    """Return the configuration for a site; without files, the certificate is where certbot puts it.

    Raises:
        InvalidInput: its name is not that of a host.
    """
    if not _NAME.fullmatch(site.name):
        message = f"Got {site.name!r}, which is no name of a host; give one such as rauq.example.org."
        raise InvalidInput(message)
    most, folder = hosting.HOST, f"/etc/letsencrypt/live/{site.name}"
    return _TEMPLATE.substitute(
        name=site.name,
        port=site.port,
        option=f" --workers {site.workers}" if site.workers > 1 else "",
        workers=_workers(site) if site.workers > 1 else "",
        host="$rauq_worker" if site.workers > 1 else f"127.0.0.1:{site.port}",
        tls_port=site.tls_port,
        certificate=site.certificate or f"{folder}/fullchain.pem",
        key=site.key or f"{folder}/privkey.pem",
        header=HEADER,
        requests=_REQUESTS,
        at_once=_AT_ONCE,
        connections=most.sessions_each + _EXTRA_CONNECTIONS,
        class_connections=_OF_A_BROWSER * most.sessions_each,
        upload=most.uploads_each,
        patience=20,
    )


def _workers(site: Site) -> str:
    numbers = range(1, site.workers + 1)
    any_of_them = _WORKERS.substitute(
        cookie=places.COOKIE,
        named="\n".join(f"    {number} rauq_{number};" for number in numbers),
        servers="\n".join(f"    server 127.0.0.1:{_port(site, number)};" for number in numbers),
    )
    each = [
        _WORKER.substitute(number=number, port=_port(site, number), next=_port(site, number % site.workers + 1))
        for number in numbers
    ]
    return "".join([any_of_them, *each])


def _port(site: Site, number: int) -> int:
    return site.port + number - 1
