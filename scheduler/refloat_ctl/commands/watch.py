"""`watch QUEUE JOBSET`: a line for each event as it comes."""

from refloat_ctl.adapters.server.events import EventApi
from refloat_ctl.commands.session import Session
from refloat_ctl.core.errors import RefusedError
from refloat_ctl.core.text.json_out import go_json
from refloat_ctl.core.watching import Board


def watch(session: Session) -> None:
    """Print the events of a job set until interrupted, or until all of its jobs are over if that is asked for."""
    options = session.options
    board = Board()

    def broken(error: RefusedError, pause_s: float) -> None:
        session.note(f"{error}; trying again in {pause_s:g}s")

    remedies = {"NOT_FOUND": "see refloatctl get queues; or submit its jobs first"}
    with session.server(f"watching job set {options.job_set}", remedies) as channel:
        session.say(f"Watching job set {options.job_set}\n")
        events = EventApi(channel).follow(
            options.queue, options.job_set, must_exist=options.exit_if_inactive, on_break=broken
        )
        for event in events:
            lines = board.see(event.seen())
            session.say(f"*api.{event.type_name} {go_json(event.raw())}\n" if options.raw else lines)
            if options.exit_if_inactive and board.inactive:
                return
