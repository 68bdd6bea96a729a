"""Asks Linux which kind of file system a folder lies on."""

import re
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(r"\\([0-7]{3})")


def file_system_of(folder: Path, mounts: Path = _MOUNTS) -> str:
    """The type of the file system, as `nfs4` or `ext4`; empty where the kernel does not tell.

    Source: proc(5), `/proc/[pid]/mountinfo`: field 5 is the mount point, the one after ` - ` the type.
    """
    try:
        text = mounts.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    inside = folder.resolve()
    best, found = -1, ""
    for line in text.splitlines():
        fields, _, rest = line.partition(" - ")
        parts = fields.split(" ")
        if len(parts) < 5 or not rest:  # noqa: PLR2004  see above
            continue
        point = Path(_ESCAPED.sub(lambda match: chr(int(match[1], 8)), parts[4]))
        # Later mounts lie over earlier ones of the same point.
        if (point == inside or point in inside.parents) and len(point.parts) >= best:
            best, found = len(point.parts), rest.split(" ", 1)[0]
    return found
