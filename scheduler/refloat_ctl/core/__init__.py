"""Policy files and printed forms, without I/O."""
