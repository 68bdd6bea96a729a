"""Patterns that operators write: checked against Go's dialect, run by RE2 and nothing else."""

from refloat_common.core.regex.dialect import UnsupportedPatternError, to_re2
from refloat_common.core.regex.patterns import MAX_TEXT_BYTES, Pattern, PatternSet, to_bytes

__all__ = ["MAX_TEXT_BYTES", "Pattern", "PatternSet", "UnsupportedPatternError", "to_bytes", "to_re2"]
