"""Turns what the cluster and the scheduler say into the ledger's news: one synchronous method for each source.

    watch, list ─► pod store ─► detectors ─┐
    answers of the API ────────────────────┼─► ledger ─► records to sync, effects to carry out
    leases, kills, acknowledgements, time ─┘

Whose a pod is, the ledger says: by the uid that it learned when it created the pod. The label with the run's id only
leads to the entry. A pod that says it is of a run which has ended, or which has another pod, is a stray and goes; one
of a run that the journal never knew is somebody else's, counted and left alone, unless the journal is new and this is
the first complete list: then the pods are what the lost journal would have known of, and are adopted.
"""

from collections.abc import Callable, Iterable, Sequence

from refloat_common.core.categories import CompiledCategories
from refloat_common.core.messages import Lease
from refloat_common.core.pods import Pod
from refloat_common.core.taxonomy import LABEL_JOB_ID
from refloat_executor.core.cluster.store import Change, PodStore, run_label
from refloat_executor.core.cluster.wire import WatchEvent
from refloat_executor.core.detectors import Sighting, detect
from refloat_executor.core.judging import judge_by
from refloat_executor.core.ledger.book import Book, Output
from refloat_executor.core.ledger.fold import Books
from refloat_executor.core.ledger.handlers.step import Limits, Moment
from refloat_executor.core.ledger.values.entry import Entry, State
from refloat_executor.core.ledger.values.news import (
    Confirmed,
    KillOrdered,
    News,
    PodCreated,
    PodRead,
    PodUnseen,
)

_WATCHED = frozenset({State.ACTIVE, State.HELD, State.VANISHED, State.KILLING})
"""States in which what a pod does is news."""
_OVER = frozenset({State.REPORTED, State.MARKED})
SWEEP_EVERY_S = 60.0


class Brain:
    """Everything that the executor decides. Mutable, but a function of what it is given."""

    def __init__(
        self,
        books: Books,
        limits: Limits,
        categories: CompiledCategories,
        node_label: Callable[[str], str],
        *,
        max_kept_pods: int = 1000,
        adopts: bool = False,
    ) -> None:
        self.pods = PodStore()
        self.book = Book(books, limits, judge_by(categories, node_label), node_label)
        self.foreign_pods = 0
        """Managed pods of runs that the journal never knew, as of the last complete list and since."""
        self._max_kept_pods = max_kept_pods
        self._adopts = adopts
        self._listed: set[str] = set()
        self._sweep_s = 0.0

    def take(self) -> Output:
        """What must be synced and done since the last call."""
        return self.book.take()

    # ---- the cluster

    def listed(self, namespace: str, pods: Iterable[Pod], at: Moment) -> None:
        """A complete list of one namespace (empty: of all). Runs whose pod it lacks are looked into."""
        for change in self.pods.replace(pods, namespace):
            self._changed(change, at)
        self._listed.add(namespace)
        for entry in list(self.book):
            unseen = entry.uid and not entry.gone and (not namespace or entry.namespace == namespace)
            if unseen and not self._shows(entry):
                self.book.tell(entry.run, PodUnseen(None), at)

    def watched(self, events: Sequence[WatchEvent[Pod]], at: Moment) -> None:
        """Changes, in order."""
        for change in self.pods.watched(events):
            self._changed(change, at)

    def answered(self, run: str, news: News, at: Moment) -> None:
        """The answer to a request of the run's."""
        before = self.book.get(run)
        self.book.tell(run, news, at)
        entry = self.book.get(run)
        if before is None or entry is None:
            return
        if before.state is State.CREATING or before.state is State.VANISHED:
            self._look(entry, news.pod if isinstance(news, PodRead | PodCreated) else None, at)

    def awaits_events(self, run: str) -> bool:
        """Whether a failure of this run still waits for the events of its pod."""
        entry = self.book.get(run)
        return entry is not None and entry.held is not None and entry.held.events is None

    # ---- the scheduler

    def leased(self, leases: Iterable[Lease], at: Moment) -> None:
        """New runs; those that were ever known are passed over."""
        for lease in leases:
            self.book.accept(lease, at)

    def may_start(self, runs: Iterable[str], at: Moment) -> None:
        """Heartbeats that listed these runs were answered without a kill."""
        for run in runs:
            self.book.tell(run, Confirmed(), at)

    def killed(self, runs: Iterable[str], at: Moment) -> None:
        """The scheduler ends these runs; some may not be ours."""
        for run in runs:
            self.book.tell(run, KillOrdered(), at)

    def acknowledged(self, have: int, at: Moment) -> None:
        """The scheduler has committed every report up to `have`."""
        self.book.acknowledge(have, at)

    # ---- time

    def tick(self, at: Moment) -> None:
        """Run what is due. To be called at `due_s`, and at least every second."""
        self.book.tick(at)
        self.book.drop_oldest(self._max_kept_pods, at)
        if at.now_s >= self._sweep_s:
            self._sweep_s = at.now_s + SWEEP_EVERY_S
            self._sweep(at)

    def due_s(self) -> float | None:
        """When the next timer runs out."""
        return self.book.due_s()

    # ---- inside

    def _changed(self, change: Change, at: Moment) -> None:
        before, after = change.before, change.after
        pod = after if after is not None else before
        assert pod is not None
        run = run_label(pod)
        entry = self.book.get(run)
        if entry is None or entry.uid != pod.metadata.uid:
            if after is not None:
                self._unowned(run, entry, change, at)
        elif entry.state in _WATCHED:
            finding = detect(Sighting(before, after, change.last, entry, at.now_s))
            if finding is not None:
                self.book.tell(run, finding, at)
        elif after is None:
            self.book.tell(run, PodUnseen(change.last), at)

    def _unowned(self, run: str, entry: Entry | None, change: Change, at: Moment) -> None:
        """A pod that the ledger does not know by its uid."""
        pod = change.after
        assert pod is not None
        if entry is not None:
            if entry.state in _OVER:
                self.book.stray(run, entry.job, pod, at)
            return
        job = (pod.metadata.labels or {}).get(LABEL_JOB_ID, "")
        if run and self.book.known(run):
            self.book.stray(run, job, pod, at)
        elif run and job and self._adopts and not self._was_listed(pod.metadata.namespace):
            self.book.adopt(run, job, pod, at)
            adopted = self.book.get(run)
            if adopted is not None:
                self._look(adopted, pod, at)
        elif change.before is None:
            self.foreign_pods += 1

    def _look(self, entry: Entry, pod: Pod | None, at: Moment) -> None:
        """Take in what a pod that has just become the run's already shows: the one read, and the one watched."""
        for seen in (pod, self.pods.get(entry.namespace, entry.name)):
            now = self.book.get(entry.run)
            if seen is None or now is None or now.state not in _WATCHED or seen.metadata.uid != now.uid:
                continue
            finding = detect(Sighting(None, seen, None, now, at.now_s))
            if finding is not None:
                self.book.tell(entry.run, finding, at)

    def _sweep(self, at: Moment) -> None:
        """Look at every pod once more: one may have come as a stray while another of its run was being removed."""
        for pod in list(self.pods):
            run = run_label(pod)
            entry = self.book.get(run)
            if self.book.known(run) and (entry is None or entry.uid != pod.metadata.uid):
                self._unowned(run, entry, Change(pod, pod), at)

    def _shows(self, entry: Entry) -> bool:
        pod = self.pods.get(entry.namespace, entry.name)
        return pod is not None and pod.metadata.uid == entry.uid

    def _was_listed(self, namespace: str) -> bool:
        return namespace in self._listed or "" in self._listed
