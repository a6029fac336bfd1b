"""One question to a configured address, within its time and size. The only module that sends text to a model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Thread
from typing import Any

from pydantic import SecretStr

from cutaway import __version__
from cutaway.errors import ModelUnavailable, SettingsError

try:
    import httpx2
except ImportError as missing:
    raise ModelUnavailable(
        f"the address of a model is set, and the package to reach it is not installed ({missing}). "
        "Install it with: pip install 'cutaway[remote]'"
    ) from None

_MAX_REFUSAL_BYTES, _MAX_MESSAGE_CHARS = 2_000, 400
_Answer = tuple[int, bytes, float | None]
"""Status, body, and the seconds it asks to wait."""
_REPEATED_CHARS, _REPEATED_KEY_CHARS = 16, 6  # so many signs of a text, or a key, in a message are no chance


class NoAnswer(Exception):
    """Why there is no answer: not yet fit to be shown, see ``Address.told``."""

    def __init__(self, said: str, quoted: str = "", status: int | None = None, wait: float | None = None) -> None:
        super().__init__(said)
        self.quoted = quoted
        """What the other side says of it."""
        self.status = status
        self.wait = wait
        """How many seconds it asks to wait."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a model is asked.

    Redirects are not followed: a key goes to no other address than the one configured.
    """

    url: str
    key: str = field(repr=False)
    timeout: float
    kind: str
    """What its settings begin with: ``rerank`` or ``embedder``."""
    most_bytes: int
    """The longest answer that is read."""

    def ask(self, asked: dict[str, Any]) -> Any:
        """What is answered, decoded. Raises NoAnswer."""
        try:
            status, content, wait = _within(self.timeout, lambda: self._answer(asked))
        except TimeoutError:
            raise NoAnswer(f"did not answer within {self.timeout:g} s ({self.kind}_timeout)") from None
        if status != 200:
            quoted = content[:_MAX_REFUSAL_BYTES].decode("utf-8", "replace")
            raise NoAnswer(self._refusal(status), quoted, status, wait)
        try:
            return json.loads(content)
        except (ValueError, RecursionError):  # not JSON, not UTF-8
            raise NoAnswer("did not answer with JSON") from None

    def told(self, failure: NoAnswer, texts: Sequence[str]) -> str:
        """A failure by address, on one line. Servers repeat what they refuse: neither key nor texts are shown."""
        quoted = _one_line(failure.quoted)
        escaped = (json.dumps(text, ensure_ascii=False)[1:-1] for text in texts)
        sent = [_one_line(form) for form in (*texts, *escaped, *(json.dumps(text)[1:-1] for text in texts))]
        for text in sent:
            if len(text) <= _REPEATED_CHARS:
                quoted = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", "…", quoted) if text.strip() else quoted
        line = _one_line(f"{failure} {quoted}")
        if self.key:
            line = _hidden(line.replace(self.key, "…"), self.key, _REPEATED_KEY_CHARS)
        return f"{self.url} {_hidden(line, chr(10).join(sent), _REPEATED_CHARS)}"[:_MAX_MESSAGE_CHARS]

    def _answer(self, asked: dict[str, Any]) -> _Answer:
        """Raises NoAnswer, TimeoutError."""
        headers = {"User-Agent": f"cutaway/{__version__}"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        try:
            with (
                httpx2.Client(timeout=self.timeout) as client,
                client.stream("POST", self.url, json=asked, headers=headers) as response,
            ):
                return response.status_code, self._read(response), _wait(response.headers.get("Retry-After"))
        except httpx2.TimeoutException:
            raise TimeoutError from None
        # A proxy that needs another package, or an address that is none, fails in ways of its own.
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, ImportError, OSError, ValueError) as failure:
            raise NoAnswer(f"could not be reached: {failure or type(failure).__name__}") from None

    def _read(self, response: httpx2.Response) -> bytes:
        """The body within its limit; of a refusal, only the beginning."""
        content = bytearray()
        for part in response.iter_bytes():
            content += part
            if response.status_code != 200 and len(content) > _MAX_REFUSAL_BYTES:
                break
            if len(content) > self.most_bytes:
                raise NoAnswer(f"answered with more than {self.most_bytes:,} bytes")
        return bytes(content)

    def _refusal(self, status: int) -> str:
        model = "reranker" if self.kind == "rerank" else self.kind
        hints = {404: f"check {self.kind}_url and {model}", 429: "it asks to wait"}
        hints |= dict.fromkeys((401, 403), f"check {self.kind}_key")
        hint = f" ({hints[status]})" if status in hints else ""
        return f"answered with status {status}{hint}:"


def endpoint(base: str, path: str, key: SecretStr | str | None, timeout: float, kind: str, most_bytes: int) -> Address:
    """The address of a base and its path, however the base is written. Raises SettingsError for a key that is none."""
    plain = key.get_secret_value() if isinstance(key, SecretStr) else key or ""
    if not (plain.strip().isascii() and plain.strip().isprintable()):
        raise SettingsError(f"{kind}_key holds signs that cannot be sent. Copy it again.")
    bare = base.rstrip("/")
    return Address(bare if bare.endswith(path) else f"{bare}{path}", plain.strip(), timeout, kind, most_bytes)


def _within(seconds: float, work: Callable[[], _Answer]) -> _Answer:
    """A result within so many seconds. Raises TimeoutError.

    The client's own timeout is one of single steps: a slow name server, or headers and bodies that
    trickle in byte by byte, renew it for ever.
    """
    result: Future[_Answer] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as failure:  # noqa: BLE001 - raised again where the result is taken
            result.set_exception(failure)

    Thread(target=run, daemon=True).start()
    return result.result(seconds)


def _wait(asked: str | None) -> float | None:
    """The seconds of a Retry-After: a number, or a date."""
    if not asked:
        return None
    try:
        return max(0.0, float(asked))
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(asked)
        return max(0.0, (when.astimezone(UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return None


def _one_line(said: str) -> str:
    return "".join(sign for sign in " ".join(said.split()) if sign.isprintable())


def _hidden(line: str, secrets: str, size: int) -> str:
    """A line without any run of *size* signs or more that stands in *secrets*."""
    kept: list[str] = []
    place = 0
    while place < len(line):
        end = place + size
        if end > len(line) or line[place:end] not in secrets:
            kept.append(line[place])
            place += 1
            continue
        while end < len(line) and line[place : end + 1] in secrets:
            end += 1
        kept.append("…")
        place = end
    return "".join(kept)
