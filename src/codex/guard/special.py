"""Special tokens spelled out as plain text: they never leave, they end the answer. Knows no vocabulary."""

from __future__ import annotations

SPELLED_SPECIAL_TOKENS = tuple(
    f"<|{name}|>"
    for name in (
        "endoftext",
        "im_start",
        "im_end",
        "fim_prefix",
        "fim_middle",
        "fim_suffix",
        "fim_pad",
        "repo_name",
        "file_sep",
        "object_ref_start",
        "object_ref_end",
        "box_start",
        "box_end",
        "quad_start",
        "quad_end",
        "vision_start",
        "vision_end",
        "vision_pad",
        "image_pad",
        "video_pad",
    )
)
"""Every control token of the Qwen2.5 vocabulary (ids 151643 to 151664), but for the two tool-call marks,
which are ordinary text."""
