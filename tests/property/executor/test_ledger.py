"""The executor's ledger under any order of news, with a crash at any point."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from testkit.executor.world import BrainWorld

PICK = st.integers(min_value=0, max_value=1 << 10)
HOW = st.integers(min_value=0, max_value=12)


class LedgerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = BrainWorld()

    @precondition(lambda self: len(self.world.leased) < 5)
    @rule(job=st.sampled_from(("j1", "j2")))
    def lease(self, job: str) -> None:
        self.world.lease(job)

    @precondition(lambda self: self.world.leased)
    @rule(pick=PICK)
    def offer_again(self, pick: int) -> None:
        self.world.offer(f"r{pick % len(self.world.leased) + 1}")

    @rule()
    def confirm(self) -> None:
        self.world.confirm()

    @precondition(lambda self: self.world.leased)
    @rule(pick=PICK)
    def kill(self, pick: int) -> None:
        self.world.kill(f"r{pick % len(self.world.leased) + 1}")

    @precondition(lambda self: self.world.waiting)
    @rule()
    def commit(self) -> None:
        self.world.commit()

    @precondition(lambda self: self.world.waiting)
    @rule()
    def commit_all(self) -> None:
        while self.world.waiting:
            self.world.commit()

    @precondition(lambda self: self.world.asked)
    @rule(pick=PICK, how=HOW)
    def answer(self, pick: int, how: int) -> None:
        self.world.answer(pick, how)

    @precondition(lambda self: self.world.asked)
    @rule()
    def answer_well(self) -> None:
        self.world.answer(0, 0)

    @precondition(lambda self: self.world.cluster.pods)
    @rule(pick=PICK, outcome=PICK)
    def pod_goes_on(self, pick: int, outcome: int) -> None:
        pods = list(self.world.cluster.pods.values())
        self.world.cluster.advance(pods[pick % len(pods)], outcome)

    @precondition(lambda self: self.world.cluster.pods)
    @rule(pick=PICK, at_once=st.booleans())
    def somebody_deletes(self, pick: int, at_once: bool) -> None:  # noqa: FBT001  drawn
        pods = list(self.world.cluster.pods.values())
        self.world.cluster.remove(pods[pick % len(pods)], at_once=at_once)

    @precondition(lambda self: self.world.cluster.pods)
    @rule(pick=PICK)
    def finalizer(self, pick: int) -> None:
        self.world.hold(pick)

    @precondition(lambda self: self.world.cluster.pods)
    @rule(pick=PICK)
    def label_off_and_on(self, pick: int) -> None:
        pods = list(self.world.cluster.pods.values())
        self.world.cluster.blink(pods[pick % len(pods)])

    @rule(count=st.integers(1, 4))
    def watch(self, count: int) -> None:
        self.world.watch(count)

    @rule()
    def relist(self) -> None:
        self.world.relist()

    @precondition(lambda self: self.world.flying)
    @rule()
    def create_lands(self) -> None:
        self.world.land()

    @precondition(lambda self: self.world.reports)
    @rule(pick=PICK)
    def acknowledge(self, pick: int) -> None:
        self.world.acknowledge(max(self.world.brain.book.acked_seq, pick % len(self.world.reports) + 1))

    @rule(seconds=st.sampled_from((0.1, 1.0, 4.0, 20.0, 61.0)))
    def pass_time(self, seconds: float) -> None:
        self.world.pass_time(seconds)

    @rule(seconds=st.sampled_from((6.0, 120.0)))
    def stand_still(self, seconds: float) -> None:
        self.world.stand_still(seconds)

    @rule()
    def next_timer(self) -> None:
        self.world.next_timer()

    @rule()
    def crash(self) -> None:
        self.world.crash()

    @invariant()
    def journal_is_what_a_crash_would_leave(self) -> None:
        self.world.check_journal()

    def teardown(self) -> None:
        self.world.heal()


TestLedger = LedgerMachine.TestCase
TestLedger.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
