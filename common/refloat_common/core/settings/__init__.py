"""What a person writes in a file or an environment variable: merging, reading into models, one clear error."""

from refloat_common.core.settings.durations import Duration, InvalidDurationError, format_go_duration, parse_go_duration
from refloat_common.core.settings.errors import SettingsError
from refloat_common.core.settings.merge import ENVIRONMENT_PREFIX, Tree, merge_trees, overlay_environment
from refloat_common.core.settings.models import FileModel, Flag, Whole, parse_settings
from refloat_common.core.settings.quoting import go_quote

__all__ = [
    "ENVIRONMENT_PREFIX",
    "Duration",
    "FileModel",
    "Flag",
    "InvalidDurationError",
    "SettingsError",
    "Tree",
    "Whole",
    "format_go_duration",
    "go_quote",
    "merge_trees",
    "overlay_environment",
    "parse_go_duration",
    "parse_settings",
]
