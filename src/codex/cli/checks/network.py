"""Checks of the address: proxies, who listens there, whether it answers. Knows no engine."""

from __future__ import annotations

import os
import socket
from urllib.request import proxy_bypass

from codex.cli.checks.diagnosis import Diagnosis, broken, ok, warning
from codex.client import CodexClient
from codex.errors import ClientError
from codex.settings import Settings

_PROXIES = ("http_proxy", "https_proxy", "all_proxy")


def proxies(_: Settings) -> Diagnosis:
    """A proxy that catches loopback makes curl and editors fail where the server is fine."""
    found = [name for name in os.environ if name.lower() in _PROXIES and os.environ[name]]
    if not found:
        return ok("proxy", "none in the environment")
    if proxy_bypass("127.0.0.1") and proxy_bypass("localhost"):
        return ok("proxy", f"{', '.join(found)} set, loopback is exempt")
    fix = "export NO_PROXY=localhost,127.0.0.1 (our client ignores proxies for loopback, curl does not)"
    return warning("proxy", f"{', '.join(found)} would catch requests to this machine", fix)


def server(settings: Settings) -> Diagnosis:
    """Who listens at the address: nobody, our server, or someone else."""
    url = address(settings)
    if not _listening(settings):
        return ok("server", f"nothing listens at {url}: the port is free (start with codex-cli serve)")
    with CodexClient(url, timeout=5, max_retries=0) as client:
        health = client.health()
        try:
            models = client.models()
        except ClientError as error:
            fix = "stop what listens there, or choose another port: codex-cli serve --port 8081"
            return broken("server", f"{url} is taken by something else ({error})", fix)
    if not health.ready:
        fix = "wait if it is starting; otherwise read its log and docs/operations.md, The engine is not ready"
        return broken("server", f"{url} answers, its engine is not ready: {health.detail}", fix)
    return ok("server", f"{url} is ready and serves {', '.join(model.id for model in models)}")


def address(settings: Settings) -> str:
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "::", "") else settings.host
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def _listening(settings: Settings) -> bool:
    host = "127.0.0.1" if settings.host in ("0.0.0.0", "::", "") else settings.host
    try:
        with socket.create_connection((host, settings.port), timeout=2):
            return True
    except OSError:
        return False
