"""The two ends of the link against each other, over a wire that loses, doubles and reorders, while both ends die."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from testkit.link.pair import EXECUTOR, Pair

PICK = st.integers(min_value=0, max_value=1 << 16)
DISASTER = st.sampled_from(["executor", "scheduler", "connection", "cable", "store", "back up", "restore", "poison"])
NEXT = st.sampled_from([0, 0, 0, 0, 1, 2, -1])
"""Which frame on the wire: mostly the oldest."""


class LinkMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair()
        self.backup = self.pair.store.copy()
        self.runs = 0
        self.restored = False

    @initialize()
    def open(self) -> None:
        self.recover()

    @rule()
    def report(self) -> None:
        self.runs += 1
        self.pair.report(f"r{self.runs}")

    @rule()
    def lease(self) -> None:
        self.runs += 1
        self.pair.lease(f"L{self.runs}")

    @rule(pick=PICK)
    @precondition(lambda self: self.pair.store.leased)
    def cancel(self, pick: int) -> None:
        runs = sorted(self.pair.store.leased)
        self.pair.cancel(runs[pick % len(runs)])

    @rule(pick=PICK)
    @precondition(lambda self: self.pair.journal.held)
    def end(self, pick: int) -> None:
        runs = sorted(self.pair.journal.held)
        self.pair.end(runs[pick % len(runs)])

    @rule(upward=st.booleans(), pick=NEXT)
    def arrive(self, upward: bool, pick: int) -> None:  # noqa: FBT001  drawn by hypothesis
        wire = self.pair.up if upward else self.pair.down
        if wire:
            (self.pair.arrive_up if upward else self.pair.arrive_down)(pick % len(wire))

    @rule(upward=st.booleans())
    def arrive_all(self, upward: bool) -> None:  # noqa: FBT001  drawn by hypothesis
        for _ in range(len(self.pair.up if upward else self.pair.down)):
            self.arrive(upward, 0)

    @rule(upward=st.booleans(), pick=NEXT, trouble=st.sampled_from(["lose", "double"]))
    def trouble(self, upward: bool, pick: int, trouble: str) -> None:  # noqa: FBT001  drawn by hypothesis
        wire = self.pair.up if upward else self.pair.down
        if wire and trouble == "lose":
            wire.pop(pick % len(wire))
        elif wire:
            wire.append(wire[pick % len(wire)])

    @rule()
    def settle(self) -> None:
        self.pair.settle()

    @rule(seconds=st.sampled_from([0.1, 1.0, 6.0, 40.0]))
    def pass_time(self, seconds: float) -> None:
        self.pair.pass_time(seconds)

    @rule()
    def next_timer(self) -> None:
        self.pair.next_timer()

    @rule(pick=PICK)
    @precondition(lambda self: self.pair.journal.held)
    def try_start(self, pick: int) -> None:
        runs = sorted(self.pair.journal.held)
        self.pair.try_start(runs[pick % len(runs)])

    @rule(disaster=DISASTER, recover=st.booleans())
    def disaster(self, disaster: str, recover: bool) -> None:  # noqa: FBT001  drawn by hypothesis
        pair = self.pair
        match disaster:
            case "executor":
                pair.start_executor()
            case "scheduler":
                pair.start_scheduler()
            case "connection":
                pair.reconnect()
            case "cable":
                pair.connected = False
            case "store":
                pair.set_store_down(down=True)
            case "back up":
                self.backup = pair.store.copy()
            case "restore":
                pair.restore_store(self.backup)
                self.restored = True
            case _:
                pair.poison.add(len(pair.journal.reports) + 1)
        if recover:
            self.recover()

    @rule()
    def recover(self) -> None:
        pair = self.pair
        pair.connected = True
        pair.set_store_down(down=False)
        for _ in range(3):
            pair.next_timer()
            pair.settle()

    @invariant()
    def applied_once_in_order_and_unchanged(self) -> None:
        seqs = list(self.pair.applied_seqs())
        assert seqs == sorted(set(seqs))
        reports = self.pair.journal.reports
        assert all(run == reports[seq - 1].run for _journal, seq, run in self.pair.store.applied)

    @invariant()
    def acknowledged_means_stored(self) -> None:
        if not self.restored:
            assert self.pair.journal.acked <= self.pair.store.high.get(self.pair.journal.journal, 0)

    @invariant()
    def a_run_starts_once(self) -> None:
        started = self.pair.journal.started
        assert len(started) == len(set(started))

    @invariant()
    def epochs_rise_and_belong_to_one_boot(self) -> None:
        if not self.restored:
            epochs = [epoch for epoch, _boot in self.pair.epochs]
            assert epochs == sorted(set(epochs))

    @invariant()
    def no_more_is_under_way_than_was_allowed(self) -> None:
        session = self.pair.server.sessions.get(EXECUTOR)
        if session is not None:
            assert session.have <= session.received <= max(session.allowed, session.have)

    def teardown(self) -> None:
        pair = self.pair
        pair.heal()
        assert pair.journal.acked == len(pair.journal.reports)
        assert pair.store.high.get(pair.journal.journal, 0) == len(pair.journal.reports)
        skipped = set(range(1, len(pair.journal.reports) + 1)) - set(pair.applied_seqs())
        assert set(pair.journal.dead_letters) <= pair.poison
        assert skipped <= pair.poison
        living = pair.store.leased - pair.store.ended
        assert living <= pair.journal.ever
        assert set(pair.journal.held) - pair.store.leased <= pair.journal.ever
        assert all(pair.journal.held[run].status == "active" for run in living & set(pair.journal.held))


TestLink = LinkMachine.TestCase
TestLink.settings = settings(max_examples=120, stateful_step_count=60, deadline=None)
