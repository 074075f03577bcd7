"""Connected components, by union-find."""

from collections.abc import Hashable, Iterable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


def connected_components(keys: Iterable[Key], groups: Iterable[Iterable[Key]]) -> list[list[Key]]:
    """Return keys that are in a group together, directly or through others, in the order of the keys.

    >>> connected_components("abcde", ["ca", "ce", "b"])
    [['a', 'c', 'e'], ['b'], ['d']]
    """
    leader: dict[Key, Key] = {key: key for key in keys}

    def find(key: Key) -> Key:
        while leader[key] != key:
            leader[key] = leader[leader[key]]
            key = leader[key]
        return key

    for group in groups:
        first, *others = group
        for key in others:
            leader[find(key)] = find(first)
    components: dict[Key, list[Key]] = {}
    for key in leader:
        components.setdefault(find(key), []).append(key)
    return list(components.values())
