"""A program for many sites: what each evaluates at which level, and which matches it sends where.

Sites work level by level. What a site evaluates depends on its own events and on what others sent it at
lower levels; so at every level there is one plan for all that a site has to find.
"""

from weft.codec import from_json, stored, to_json
from weft.plan.nodes import Output, Plan

Origins = tuple[tuple[int, ...], ...]  # for every column, the sites from which its events come

SITE = "\0site"  # the attribute that holds the number of the site at which an event arose


@stored
class Channel:
    """What one site sends another of a projection: its matches.

    `types` and `attributes` tell, for each place of the projection, the type of its events and which of
    their attributes travel. `rate` is how many matches per second are expected.
    """

    projection: str
    source: int
    target: int
    types: tuple[str, ...]
    attributes: tuple[tuple[str, ...], ...]
    rate: float


@stored
class Among:
    """What a row has in some of its columns must be a match that came on one of the channels."""

    channels: tuple[int, ...]
    columns: tuple[int, ...]


@stored
class Finding:
    """What becomes of the rows of one output of a site's plan.

    They are matches of `query`, if it is given, and go out on `channels`, their columns in the order of
    `columns`. Of every group of `among`, one must hold. Rows whose events come from the sites that one of
    `elsewhere` gives for each column are left to other sites; where there are such in `within`, only rows
    of one of these are kept. `serves` are the queries that miss matches without these rows.
    """

    columns: tuple[int, ...]
    query: str | None = None
    channels: tuple[int, ...] = ()
    among: tuple[tuple[Among, ...], ...] = ()
    within: tuple[Origins, ...] = ()
    elsewhere: tuple[Origins, ...] = ()
    serves: tuple[str, ...] = ()


@stored
class SiteWork:
    """What a site evaluates at a level: a plan, and a finding for each of its outputs.

    Work either sends or finds matches of queries; `reads` are the channels whose rows it needs.
    """

    site: int
    level: int
    plan: Plan
    findings: tuple[Finding, ...]
    reads: tuple[int, ...]

    @property
    def sends(self) -> bool:
        """Whether what is found goes to other sites."""
        return any(finding.channels for finding in self.findings)


@stored
class SiteProgram:
    """All the work of all sites.

    Of the queries `repeated`, a match may be found as one of several alternatives, at several sites.
    """

    sites: tuple[str, ...]
    channels: tuple[Channel, ...]
    works: tuple[SiteWork, ...]
    repeated: tuple[str, ...] = ()

    @property
    def n_levels(self) -> int:
        """How many levels there are: at least one, at which events arise."""
        return max((work.level + 1 for work in self.works), default=1)

    @property
    def walked(self) -> dict[str, Output]:
        """The queries whose matches are walked, each with an output that says how."""
        found = (pair for work in self.works for pair in zip(work.plan.outputs, work.findings, strict=True))
        return {
            finding.query: output for output, finding in found if finding.query is not None and output.walk
        }

    @property
    def meeting(self) -> tuple[str, ...]:
        """The queries whose matches meet before they go out: some of them may not."""
        return tuple(dict.fromkeys((*self.repeated, *self.walked)))

    @property
    def n_stages(self) -> int:
        """How many stages there are: the levels, and one more where matches meet.

        >>> SiteProgram(("here",), (), ()).n_stages, SiteProgram(("here",), (), (), ("q",)).n_stages
        (1, 2)
        """
        return self.n_levels + bool(self.meeting)

    def to_json(self) -> str:
        """Return the program as JSON text.

        >>> program = SiteProgram(("here", "there"), (), (SiteWork(0, 0, Plan(()), (Finding((0,)),), ()),))
        >>> SiteProgram.from_json(program.to_json()) == program
        True
        """
        return to_json("site program", self)

    @staticmethod
    def from_json(text: str) -> "SiteProgram":
        """Return the program written by `to_json`."""
        program: SiteProgram = from_json("site program", text)
        return program
