"""Why a command ends without having done what was asked; each is one line that says what to do about it."""


class CommandError(Exception):
    """A command that can't be carried out. `exit_code` is the process's."""

    exit_code = 1


class UsageError(CommandError):
    """The command line itself is wrong."""

    exit_code = 2


class FileError(CommandError):
    """A file that can't be used. `field` is the key it is about, empty if it is about none (`rules[0].onCategory`)."""

    def __init__(self, file: str, problem: str, field: str = "") -> None:
        super().__init__(f"file {file} error: {field + ': ' if field else ''}{problem}")
        self.file = file
        self.problem = problem
        self.field = field


class RefusedError(CommandError):
    """The server refused a request, or could not be asked. `code` is gRPC's name for it (`NOT_FOUND`)."""

    def __init__(self, code: str, details: str) -> None:
        super().__init__(details)
        self.code = code
        self.details = details


class ActionError(CommandError):
    """What was being done (`creating queue q`) when the server refused, why, and the way out, if one is known.

    The server's own text may begin with what was being done; then it stands alone.
    """

    def __init__(self, action: str, cause: RefusedError, remedy: str = "") -> None:
        text = cause.details if cause.details.startswith("error ") else f"error {action}: {cause.details}"
        super().__init__(f"{text}{f'; {remedy}' if remedy else ''}")
        self.cause = cause
