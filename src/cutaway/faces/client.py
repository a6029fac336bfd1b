"""Asking a server of the same home that is running already: its models are loaded, ours would have to be."""

from __future__ import annotations

import json
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from socket import AF_UNIX, SOCK_STREAM, socket
from typing import Any
from urllib.parse import urlencode

from cutaway.config import Settings
from cutaway.faces.agreement import AGREEMENT, agreement
from cutaway.faces.local import running, socket_file

_PATIENCE = 120.0


def ask(home: Path, settings: Settings, view: str, asked: dict[str, Any], reads: bool = False) -> bytes | None:
    """A view's JSON from the server of this home; None where there is none, or it would not answer just as we do.

    It is not asked again then: whatever is wrong with the request is said by who runs it here.
    """
    file = socket_file(home)
    if file is None or not running(home):
        return None
    values = {name: value for name, value in asked.items() if value is not None}
    connection = _Connection(file)
    try:
        headers = {AGREEMENT: agreement(settings), "Content-Type": "application/json", "Accept": "application/json"}
        if reads:
            connection.request("GET", f"/api/v1/{view}?{urlencode(values, doseq=True)}", headers=headers)
        else:
            connection.request("POST", f"/api/v1/{view}", json.dumps(values), headers)
        answer = connection.getresponse()
        return answer.read() if answer.status == 200 else None
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()


class _Connection(HTTPConnection):
    """HTTP over a socket in the file system."""

    def __init__(self, file: Path) -> None:
        super().__init__("localhost", timeout=_PATIENCE)
        self._file = file

    def connect(self) -> None:
        self.sock = socket(AF_UNIX, SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._file))
