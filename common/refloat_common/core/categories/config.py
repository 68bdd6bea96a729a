"""What an operator writes under `application.errorCategories`; keys and defaults are Armada's.

The models say which keys there are and which type each has. Whether the block makes sense is decided in
`validate`, in Armada's order and words.
"""

from typing import Annotated

from pydantic import ConfigDict, Field

from refloat_common.core.settings import FileModel, Flag, Whole

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1

ExitCode = Annotated[Whole, Field(ge=INT32_MIN, le=INT32_MAX)]
"""A container's exit code as Kubernetes stores it; negative codes come from Windows."""


class ExitCodeMatcher(FileModel):
    """`onExitCodes`: the exit code is one of `values` (`In`), or none of them (`NotIn`)."""

    operator: str = ""
    values: tuple[ExitCode, ...] = ()


class TextMatcher(FileModel):
    """`onTerminationMessage` and `onPodError`: `pattern` is found somewhere in the text."""

    pattern: str = ""


class EventMatcher(FileModel):
    """`onPodEvents`: one event of this `type`, of this `reason` if one is given, whose message contains `regexp`."""

    regexp: str = ""
    reason: str = ""
    type: str = ""


class Rule(FileModel):
    """One rule: exactly one matcher, and what a match adds to the category.

    `container_name` narrows the matchers on containers to that container; the matchers on the pod ignore it.
    """

    container_name: str = ""
    on_conditions: tuple[str, ...] = ()
    on_exit_codes: ExitCodeMatcher | None = None
    on_termination_message: TextMatcher | None = None
    on_pod_error: TextMatcher | None = None
    on_pod_events: EventMatcher | None = None
    subcategory: str = ""
    hint: str = ""


class Category(FileModel):
    """One category: its name, what becomes of a pod in it (`action`, empty means Retain), and its rules."""

    name: str = ""
    action: str = ""
    rules: tuple[Rule, ...] = ()


class ErrorCategories(FileModel):
    """The whole block. While `enabled` is false nothing is classified and nothing else in it is looked at."""

    enabled: Flag = False
    default_category: str = ""
    default_subcategory: str = ""
    categories: tuple[Category, ...] = ()


class _Application(FileModel):
    model_config = ConfigDict(extra="ignore")

    error_categories: ErrorCategories = ErrorCategories()


class RulePackFile(FileModel):
    """A file of which only `application.errorCategories` is read: a rule pack, or a whole executor's file."""

    model_config = ConfigDict(extra="ignore")

    application: _Application = _Application()
