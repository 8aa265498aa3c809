"""`codex-cli serve`: options over the settings. Knows no server."""

from __future__ import annotations

import re
from typing import Any

import click
from pydantic import ValidationError

from codex.settings import Settings

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class ByteSize(click.ParamType[int]):
    """A size such as 2GB, 512MiB or 1.5g; a kilobyte has 1,024 bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", str(value).strip().lower())
        if found is None:
            self.fail(f"{value!r} is no size: write it like 2GB or 512MB", param, ctx)
        return int(float(found[1]) * _UNITS[found[2]])


def _field(name: str) -> str:
    """The setting's own line of documentation, with its default."""
    field = Settings.model_fields[name]
    return f"{field.description} [default: {field.default}]"


@click.command()
@click.option("--model", help=_field("model"))
@click.option("--host", help=_field("host"))
@click.option("--port", type=int, help=_field("port"))
@click.option("--backend", type=click.Choice(["openvino", "mock"]), help=_field("backend"))
@click.option(
    "--quant-mode", type=click.Choice(["disable", "fp16", "int8", "int4"]), help=_field("quant_mode")
)
@click.option("--preset", type=click.Choice(["single", "throughput"]), help=_field("preset"))
@click.option("--max-concurrent", type=int, help=_field("max_concurrent"))
@click.option("--queue-size", type=int, help=_field("queue_size"))
@click.option("--kv-cache", "kv_cache_bytes", type=ByteSize(), help="Memory for the KV cache. [default: 2GB]")
@click.option(
    "--max_memory", "--max-memory", type=ByteSize(), help="The same as --kv-cache: weights stay as they are."
)
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help=_field("log_level")
)
def serve(max_memory: int | None, **options: Any) -> None:
    """Serve a model over HTTP until Ctrl+C.

    Every option has an environment variable CODEX_<NAME>; an option given here wins.
    """
    if max_memory is not None:
        click.echo(
            f"--max_memory caps the KV cache at {max_memory:,} bytes; the weights come on top.", err=True
        )
        options["kv_cache_bytes"] = max_memory
    settings = _settings(options)
    from codex.serve.server import run

    run(settings)


def _settings(options: dict[str, Any]) -> Settings:
    try:
        return Settings(**{name: value for name, value in options.items() if value is not None})
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
        raise click.UsageError("; ".join(problems)) from error
