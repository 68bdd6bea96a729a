"""Turns checked rules into tables, so that classifying a pod walks its containers and not the rules.

Each rule has a rank: its place among all rules of all categories, from 0. The lowest rank that matches decides. What
can be known beforehand is: for each container name that some rule mentions, and for all other names together, the
rank that an exit code or an OOM kill gives, and one set of patterns for the message. Events are arranged likewise by
type and reason.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refloat_common.core.categories.config import ErrorCategories, Rule
from refloat_common.core.categories.evidence import REASON_OOM_KILLED
from refloat_common.core.categories.result import Classification, RuleRef
from refloat_common.core.categories.validate import check_categories
from refloat_common.core.regex import Pattern, PatternSet
from refloat_common.core.taxonomy import INTERNAL, Disposition

IN = "In"


@dataclass(frozen=True, slots=True)
class RankedRule:
    """A rule with its rank, its place in the file, and its pattern if it has one."""

    rank: int
    ref: RuleRef
    rule: Rule
    pattern: Pattern | None


@dataclass(frozen=True, slots=True)
class ContainerTable:
    """What the containers of one name, or of every name without a table of its own, can match.

    `exit_codes` holds every code that some rule mentions; `other_exit_code` is the rank of all others.
    """

    exit_codes: dict[int, int]
    other_exit_code: int
    oom_killed: int
    messages: PatternSet | None


@dataclass(frozen=True, slots=True)
class CompiledCategories:
    """Rules ready for use. Build it with `compile_categories`.

    `answers` holds one classification for each rank, and the default after the last, at `no_rank`. Without
    `has_event_rules` the events of a pod need not be fetched.
    """

    enabled: bool
    rules: tuple[RankedRule, ...]
    no_rank: int
    answers: tuple[Classification, ...]
    containers: dict[str, ContainerTable]
    any_container: ContainerTable
    pod_reasons: dict[str, int]
    text: PatternSet | None
    events: dict[tuple[str, str], PatternSet]
    events_of_type: dict[str, PatternSet]
    has_event_rules: bool
    internal_disposition: Disposition | None

    def rank_of(self, ref: RuleRef | None) -> int:
        """The rank of a rule; of None, the rank that stands for "no rule matches"."""
        return next((r.rank for r in self.rules if r.ref == ref), self.no_rank)


def compile_categories(config: ErrorCategories) -> CompiledCategories:
    """Checks the block and builds its tables. A block that is not enabled is not checked and classifies nothing.

    Raises:
        CategoryConfigError: the first thing that Armada would refuse too, in its words.
    """
    if not config.enabled:
        config = ErrorCategories()
    patterns = check_categories(config)
    rules = tuple(
        RankedRule(rank, RuleRef(name, index), rule, patterns.get((name, index)))
        for rank, (name, index, rule) in enumerate(_rules_in_order(config))
    )
    return _Builder(config, rules).build()


def _rules_in_order(config: ErrorCategories) -> Iterator[tuple[str, int, Rule]]:
    for category in config.categories:
        for index, rule in enumerate(category.rules):
            yield category.name, index, rule


class _Builder:
    """Arranges ranked rules by what they look at."""

    def __init__(self, config: ErrorCategories, rules: Sequence[RankedRule]) -> None:
        self._config = config
        self._rules = tuple(rules)
        self._no_rank = len(rules)

    def build(self) -> CompiledCategories:
        dispositions = {c.name: Disposition(c.action or Disposition.RETAIN) for c in self._config.categories}
        answers = [
            Classification(r.ref.category, r.rule.subcategory, r.rule.hint, dispositions[r.ref.category], r.ref)
            for r in self._rules
        ]
        default = Classification(self._config.default_category, self._config.default_subcategory)
        names = {r.rule.container_name: None for r in self._rules if r.rule.container_name}
        events, events_of_type = self._event_tables()
        return CompiledCategories(
            enabled=self._config.enabled,
            rules=self._rules,
            no_rank=self._no_rank,
            answers=(*answers, default),
            containers={name: self._container_table(name) for name in names},
            any_container=self._container_table(""),
            pod_reasons=self._pod_reasons(),
            text=self._pattern_set(r for r in self._rules if r.rule.on_pod_error),
            events=events,
            events_of_type=events_of_type,
            has_event_rules=bool(events or events_of_type),
            internal_disposition=dispositions.get(INTERNAL),
        )

    def _pattern_set(self, rules: Iterator[RankedRule]) -> PatternSet | None:
        ranked = [(r.rank, r.pattern) for r in rules if r.pattern is not None]
        return PatternSet(ranked, self._no_rank) if ranked else None

    def _container_table(self, name: str) -> ContainerTable:
        rules = [r for r in self._rules if r.rule.container_name in {"", name}]
        exit_codes, other = self._exit_codes(rules)
        oom = (r.rank for r in rules if REASON_OOM_KILLED in r.rule.on_conditions)
        messages = self._pattern_set(r for r in rules if r.rule.on_termination_message)
        return ContainerTable(exit_codes, other, min(oom, default=self._no_rank), messages)

    def _exit_codes(self, rules: Sequence[RankedRule]) -> tuple[dict[int, int], int]:
        matchers = [(r.rank, r.rule.on_exit_codes) for r in rules if r.rule.on_exit_codes]
        sets = [(rank, matcher.operator == IN, frozenset(matcher.values)) for rank, matcher in matchers]
        other = min((rank for rank, listed, _ in sets if not listed), default=self._no_rank)
        mentioned = {code for _, _, codes in sets for code in codes}
        return {
            code: min((rank for rank, listed, codes in sets if (code in codes) is listed), default=self._no_rank)
            for code in mentioned
        }, other

    def _pod_reasons(self) -> dict[str, int]:
        reasons: dict[str, int] = {}
        for ranked in self._rules:
            for condition in ranked.rule.on_conditions:
                if condition != REASON_OOM_KILLED:
                    reasons.setdefault(condition, ranked.rank)
        return reasons

    def _event_tables(self) -> tuple[dict[tuple[str, str], PatternSet], dict[str, PatternSet]]:
        """Sets by (type, reason) for each reason that a rule names, and by type for every other reason."""
        matchers = [(r, r.rule.on_pod_events) for r in self._rules if r.rule.on_pod_events]
        by_reason: dict[tuple[str, str], PatternSet] = {}
        by_type: dict[str, PatternSet] = {}
        for kind in dict.fromkeys(m.type for _, m in matchers):
            of_type = [(r, m) for r, m in matchers if m.type == kind]
            for reason in dict.fromkeys(m.reason for _, m in of_type):
                found = self._pattern_set(r for r, m in of_type if m.reason in {"", reason})
                if found is not None:
                    by_reason[kind, reason] = found
            general = by_reason.pop((kind, ""), None)
            if general is not None:
                by_type[kind] = general
        return by_reason, by_type
