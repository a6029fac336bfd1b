"""A real server of a home, on a loopback port and on the home's own socket, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

import httpx2

from cutaway.config import load_settings
from cutaway.faces.http.server import Server, Serving, served

API = "/api/v1"


@contextmanager
def running(home: Path, **how: Any) -> Iterator[Server]:
    """Serve until the end; what is at work then is finished."""
    with served(home, load_settings(home), Serving(port=0, **how)) as server:
        thread = Thread(target=server.run)
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive(), "the server did not start"
                sleep(0.005)
            yield server
        finally:
            server.stop()
            thread.join()


def client_of(server: Server, **more: Any) -> httpx2.Client:
    """Somebody on this machine who asks."""
    return httpx2.Client(base_url=f"http://127.0.0.1:{server.port}{API}", timeout=60, **more)
