"""Long contexts: are facts found again in much code, and what does a sparse prefill change in the answers?

Needles go through a URL, so any server can be asked. What a sparse prefill does to the next-token
distribution is computed on the model itself, where the whole distribution can be seen.
"""

from codex.evals.long_context.attention import Attention, parse_attention
from codex.evals.long_context.haystack import Haystack, build_haystack
from codex.evals.long_context.needles import Needle

__all__ = ["Attention", "Haystack", "Needle", "build_haystack", "parse_attention"]
