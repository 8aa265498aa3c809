"""The engine's own model files out of a GGUF that it can load. The one place that knows how they are made.

Run as a program, in a process of its own: loading a model takes gigabytes that are given back to the system
only when the process ends, and a crash of the native code must not take the caller with it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import cast

from codex.engine.models.progress import Progress
from codex.errors import UnsupportedModel
from codex.settings import QuantMode

MODEL_FILES = ("openvino_model.xml", "openvino_model.bin")


def make_ir(gguf: Path, quant: QuantMode, progress: Progress) -> None:
    """Writes `MODEL_FILES` beside `gguf`; with `int8` its matrices become rows with one scale on the way.

    Raises:
        UnsupportedModel: the engine could not read the file; the message holds its own words.
    """
    progress.stage("build", None)
    command = [sys.executable, "-m", "codex.engine.models.ir", str(gguf), quant]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    missing = [name for name in MODEL_FILES if not (gguf.parent / name).is_file()]
    if done.returncode or missing:
        words = (done.stderr.strip() or done.stdout.strip() or "no output")[-600:]
        raise UnsupportedModel(f"the engine cannot load this model (exit status {done.returncode}): {words}")


def _main(gguf: Path, quant: QuantMode) -> None:
    import openvino_genai

    openvino_genai.LLMPipeline(str(gguf), "CPU", enable_save_ov_model=True)
    if quant == "int8":
        from codex.engine.models.rowwise import compress_rows

        compress_rows(gguf.with_name(MODEL_FILES[0]))


if __name__ == "__main__":
    _main(Path(sys.argv[1]), cast(QuantMode, sys.argv[2]))
