"""Text into prompts: FIM and chat templates, budgets. Knows no engine."""

from codex.prompt.build import build_prompt
from codex.prompt.template import SPECIAL_NAMES, Template

__all__ = ["SPECIAL_NAMES", "Template", "build_prompt"]
