"""Applies a patch of any form to an object."""

from refloat_fakekube.core.objects import Json
from refloat_fakekube.core.patches.apply import apply_config
from refloat_fakekube.core.patches.jsonpatch import apply_operations
from refloat_fakekube.core.patches.merge import merge, without_nulls
from refloat_fakekube.core.patches.strategic import merge_strategic
from refloat_fakekube.core.refusals import BadRequestError, UnsupportedPatchError
from refloat_fakekube.core.store.requests import Patch

MEDIA_TYPES = {
    "application/json-patch+json": "json",
    "application/merge-patch+json": "merge",
    "application/apply-patch+yaml": "apply",
    "application/strategic-merge-patch+json": "strategic",
}
"""The content types that name a form."""


def patched(request: Patch, old: Json, now_s: float) -> Json:
    """The object after the patch; `old` may be changed.

    Raises:
        RefusalError: the patch can't be applied.
    """
    if request.form == "json":
        return apply_operations(old, request.body)
    if not isinstance(request.body, dict):
        raise BadRequestError("error decoding patch: the patch is not an object")
    match request.form:
        case "merge":
            return merge(old, request.body)
        case "strategic":
            return merge_strategic(old, request.body)
        case "apply":
            body = without_nulls(request.body)
            config = body if isinstance(body, dict) else {}
            options = request.options
            return apply_config(old, config, options.manager, now_s, force=options.force)
        case _:
            raise UnsupportedPatchError
