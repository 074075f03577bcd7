"""A network of sites at which events arise, and what it costs to send a row from one to another."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Network:
    """Sites, and for every kind of events their rate at each site; zero where none arise.

    A kind is a type of events, or those events of a type that meet the conditions of an item. `links` holds
    the cost of a row from site to site; None: 1 between any two sites, the complete and uniform network.

    >>> robots = Network(("R1", "R2"), {"C": np.array([9.0, 9.0]), "F": np.array([1.0, 0.0])})
    >>> robots.emitters("F"), robots.emitters("C")
    (1, 3)
    """

    sites: tuple[str, ...]
    rates: Mapping[str, Numbers]
    links: Numbers | None = None

    def emitters(self, kind: str) -> int:
        """Return the sites at which events of a kind arise, as a set of bits."""
        return self._emitters[kind]

    @cached_property
    def totals(self) -> dict[str, float]:
        """The rate of every kind of events, at all sites together."""
        return {kind: float(np.sum(rates)) for kind, rates in self.rates.items()}

    @cached_property
    def distances(self) -> Numbers:
        """The cost of a row from site to site, zero on the diagonal."""
        n_sites = len(self.sites)
        return np.ones((n_sites, n_sites)) - np.eye(n_sites) if self.links is None else self.links

    @cached_property
    def _emitters(self) -> dict[str, int]:
        return {
            kind: sum(1 << int(site) for site in np.flatnonzero(np.asarray(rates) > 0))
            for kind, rates in self.rates.items()
        }


def bits(sites: int) -> list[int]:
    """Return the members of a set of bits.

    >>> bits(0b1101)
    [0, 2, 3]
    """
    return [number for number in range(sites.bit_length()) if sites >> number & 1]


def mask_of(sites: int, n_sites: int) -> NDArray[np.bool_]:
    """Return a set of bits as a mask.

    >>> mask_of(0b101, 4).tolist()
    [True, False, True, False]
    """
    packed = np.frombuffer(sites.to_bytes((n_sites + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(packed, count=n_sites, bitorder="little").view(np.bool_)


def bits_of(mask: NDArray[np.bool_]) -> int:
    """Return a mask as a set of bits.

    >>> bits_of(np.array([True, False, True, False]))
    5
    """
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")
