"""The options that say which matches count, of every command that reads queries."""

from dataclasses import dataclass

from weft.cli.groups import option
from weft.language.policy_words import default_policy
from weft.pattern.policies import Policy


@dataclass(frozen=True, kw_only=True)
class PolicyOptions:
    """Which matches count in queries that do not say."""

    strategy: str | None = option(
        "What a match leaves out, where a query has no STRATEGY: any events, none that could be taken next, "
        "or none at all (strict).",
        metavar="any|next|strict",
        default=None,
    )
    skip: str | None = option(
        "Which matches count after one that does, where a query has no AFTER MATCH SKIP.",
        metavar="none|to-next|past-last",
        default=None,
    )
    suppress: str | None = option(
        "For how long no other match counts after one that does, where a query has no SUPPRESS: 1h, '5 min'.",
        metavar="DURATION",
        default=None,
    )

    def policy(self) -> Policy:
        """Return what the options say; what they cannot say is refused."""
        return default_policy(self.strategy, self.skip, self.suppress, prefix="--")
