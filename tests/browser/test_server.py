"""The server is for the person at this machine: its address, its requests, and the data it sends."""

import http.client
from urllib.parse import urlsplit

import pytest
from streamlit import config

SETTINGS = {
    "server.address": "127.0.0.1",
    "server.allowedHosts": ["localhost", "127.0.0.1"],
    "server.enableCORS": True,
    "server.enableXsrfProtection": True,
    "server.enableStaticServing": False,
    "server.maxUploadSize": 64,
    "server.fileWatcherType": "none",
    "browser.gatherUsageStats": False,
    "client.toolbarMode": "minimal",
    "global.developmentMode": False,
}


def test_nothing_is_open_that_need_not_be():
    assert {name: config.get_option(name) for name in SETTINGS} == SETTINGS


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 101),
        ({"Host": "localhost"}, 101),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
    ],
    ids=["own", "by name", "rebound", "rebound under a like name", "another site's page"],
)
def test_a_session_begins_only_for_ones_own_page(headers, status, server):
    place = urlsplit(server)
    handshake = {
        "Host": place.netloc,
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=60)
    connection.putrequest("GET", "/_stcore/stream", skip_host=True)
    for name, value in (handshake | headers).items():
        connection.putheader(name, value)
    connection.endheaders()
    assert connection.getresponse().status == status
    connection.close()
