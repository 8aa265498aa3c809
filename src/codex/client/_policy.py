"""What both clients agree on: addresses, time limits, when to try again, names of failures.

Knows no request.
"""

from __future__ import annotations

import ipaddress
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypedDict

import httpx2
from tenacity import AsyncRetrying, RetryCallState, Retrying, retry_if_exception
from tenacity.stop import stop_after_attempt, stop_base, stop_before_delay
from tenacity.wait import wait_base, wait_exponential_jitter

from codex._version import __version__
from codex.client import _wire
from codex.errors import ClientError, ConnectionFailed, ResponseTimeout

CONNECT_TIMEOUT_S = 5.0
LONGEST_WAIT_S = 20.0
"""A server that asks for a longer pause than this is not tried again: its refusal goes to the caller."""

_PASSING_STATUS = frozenset({429, 503})
_BACKOFF = wait_exponential_jitter(multiplier=0.25, max=LONGEST_WAIT_S, jitter=0.25)


@dataclass(frozen=True, slots=True)
class Policy:
    """`timeout_s`: for one whole answer. `chunk_timeout_s`: longest wait inside one step of a stream."""

    base_url: str
    api_key: str | None
    timeout_s: float
    chunk_timeout_s: float
    max_retries: int

    def __post_init__(self) -> None:
        if self.timeout_s <= 0 or self.chunk_timeout_s <= 0:
            raise ValueError("timeout (s) and chunk_timeout (ms) must be above 0")
        if self.max_retries < 0:
            raise ValueError("max_retries counts further tries: 0 or more")

    @property
    def http_timeout(self) -> httpx2.Timeout:
        return httpx2.Timeout(self.timeout_s, connect=min(CONNECT_TIMEOUT_S, self.timeout_s))

    def within(self, timeout_s: float | None) -> Policy:
        return self if timeout_s is None else replace(self, timeout_s=timeout_s)


class SecurityLevelIgnored(UserWarning):
    """A security level was asked for and the server does not say that it applied it."""


class HttpOptions(TypedDict):
    base_url: str
    headers: dict[str, str]
    timeout: httpx2.Timeout
    trust_env: bool


def http_options(policy: Policy) -> HttpOptions:
    """Proxies from the environment are for other machines: an address of this one is called directly."""
    headers = {"user-agent": f"codex-client/{__version__}"}
    if policy.api_key is not None:
        headers["authorization"] = f"Bearer {policy.api_key}"
    base_url = policy.base_url.rstrip("/").removesuffix("/v1")
    return HttpOptions(
        base_url=base_url,
        headers=headers,
        timeout=policy.http_timeout,
        trust_env=not _is_loopback(httpx2.URL(base_url).host),
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_passing(error: BaseException) -> bool:
    """True where nothing of an answer was received and the same request may succeed in a moment."""
    if isinstance(error, ConnectionFailed):
        return True
    passing = isinstance(error, ClientError) and error.status in _PASSING_STATUS
    return passing and (error.retry_after_s or 0.0) <= LONGEST_WAIT_S  # type: ignore[attr-defined]


class _WaitAsAsked(wait_base):
    """The server's Retry-After where it sent one, else a growing pause with jitter."""

    def __call__(self, retry_state: RetryCallState) -> float:
        error = retry_state.outcome.exception() if retry_state.outcome else None
        asked = error.retry_after_s if isinstance(error, ClientError) else None
        return _BACKOFF(retry_state) if asked is None else asked


def _stop(policy: Policy) -> stop_base:
    """Pauses count towards the answer's time limit: a try that could not end in time is not begun."""
    return stop_after_attempt(policy.max_retries + 1) | stop_before_delay(policy.timeout_s)


def tries(policy: Policy) -> Retrying:
    return Retrying(
        retry=retry_if_exception(is_passing),
        stop=_stop(policy),
        wait=_WaitAsAsked(),
        reraise=True,
    )


def async_tries(policy: Policy) -> AsyncRetrying:
    return AsyncRetrying(
        retry=retry_if_exception(is_passing),
        stop=_stop(policy),
        wait=_WaitAsAsked(),
        reraise=True,
    )


@contextmanager
def failures_before_the_answer(policy: Policy) -> Iterator[None]:
    """Names what goes wrong while nothing of the answer is here yet. Generating changes nothing on the
    server, so a connection that ended without an answer may be tried again like one that was refused."""
    try:
        yield
    except httpx2.ConnectTimeout as error:
        raise ConnectionFailed(_nothing_at(policy), code="connection_failed") from error
    except httpx2.TimeoutException as error:
        raise too_slow(policy.timeout_s) from error
    except httpx2.UnsupportedProtocol as error:
        raise ClientError(f"{policy.base_url} is not an http(s) address", code="bad_address") from error
    except httpx2.TransportError as error:
        raise ConnectionFailed(f"{_nothing_at(policy)} ({error})", code="connection_failed") from error


@contextmanager
def failures_in_the_answer(policy: Policy) -> Iterator[None]:
    """Names what goes wrong once the answer has begun: the caller may have part of it, so never retried."""
    try:
        yield
    except httpx2.TimeoutException as error:
        raise too_slow(policy.timeout_s) from error
    except httpx2.TransportError as error:
        raise interrupted(str(error)) from error


def too_slow(timeout_s: float) -> ResponseTimeout:
    return ResponseTimeout(
        f"no whole answer within {timeout_s:g} s: raise timeout, or ask for fewer max_tokens",
        code="timeout",
    )


def interrupted(cause: str) -> ClientError:
    return ClientError(
        f"the connection ended before the answer was complete ({cause}): ask again", code="interrupted"
    )


def check_status(response: httpx2.Response) -> None:
    """Raises ClientError for an answer that is no success. The body must have been read."""
    if not response.is_success:
        raise _wire.refusal(response.status_code, response.content, response.headers.get("retry-after"))


def check_security_level(fields: _wire.Json | None, response: httpx2.Response) -> None:
    """OpenAI-compatible servers drop fields that they do not know, and silence here would pass for safety."""
    asked = (fields or {}).get("security_level")
    if asked is not None and response.headers.get(_wire.SECURITY_LEVEL_HEADER) != asked:
        warnings.warn(
            f"the server does not confirm security_level={asked!r}: take this answer as unchecked",
            SecurityLevelIgnored,
            stacklevel=2,
        )


def _nothing_at(policy: Policy) -> str:
    return f"nothing answers at {policy.base_url}: start a server with codex-cli serve, or check the address"
