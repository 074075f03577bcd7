"""Draw gains as lines, as SVG under `benchmarks/results`; needs matplotlib."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from result_tables import RESULTS

try:
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    CAN_DRAW = True
except ImportError:
    CAN_DRAW = False

Series = Mapping[str, Sequence[tuple[float, float]]]

STYLES = {"SH": ":", "RE": ":", "mixed": "-"}  # of what all workloads have; the others are dashed


@dataclass(frozen=True)
class Panel:
    """Lines over named places, evenly spaced; what is NaN is not drawn, nor zero on a logarithmic axis."""

    title: str
    places: str
    values: str
    ticks: tuple[str, ...]
    lines: Mapping[str, Sequence[float]]
    is_logarithmic: bool = False


def plot_gains(name: str, label: str, panels: Mapping[str, Series]) -> str:
    """Draw one panel for each kind of gain; return where the picture is, or why there is none."""
    if not CAN_DRAW:
        return _no_picture(name)
    figure = Figure(figsize=(10, 4), layout="constrained")
    for axes, (kind, series) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
        for method, points in series.items():
            places, gains = zip(*points, strict=True)
            axes.plot(places, gains, STYLES.get(method, "--"), marker="o", markersize=4, label=method)
        axes.set(xscale="log", yscale="log", xlabel=label, ylabel=f"gain over the trivial plan, {kind}")
        ticks = sorted({place for points in series.values() for place, _ in points})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        _plain_ticks(axes)
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize="small")
    return _save(figure, name)


def plot_panels(name: str, panels: Sequence[Panel]) -> str:
    """Draw panels side by side, two in a row; return where the picture is, or why there is none."""
    if not CAN_DRAW:
        return _no_picture(name)
    n_rows = (len(panels) + 1) // 2
    figure = Figure(figsize=(10, 4 * n_rows), layout="constrained")
    places = list(figure.subplots(n_rows, 2).flat)
    for unused in places[len(panels) :]:
        unused.remove()
    for axes, panel in zip(places, panels, strict=False):
        for method, values in panel.lines.items():
            axes.plot(range(len(panel.ticks)), values, marker="o", markersize=4, label=method)
        axes.set(title=panel.title, xlabel=panel.places, ylabel=panel.values)
        if panel.is_logarithmic:
            axes.set_yscale("log")
            _plain_ticks(axes)
        else:
            axes.set_ylim(0, None)
        axes.set_xticks(range(len(panel.ticks)), panel.ticks)
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize="small")
    return _save(figure, name)


def _plain_ticks(axes: "Axes") -> None:
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()


def _no_picture(name: str) -> str:
    return f"{name}: no picture, since matplotlib is missing (it is among the extras `bench`)"


def _save(figure: "Figure", name: str) -> str:
    path = RESULTS / f"{name}.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": name}):  # the same numbers give the same file
        figure.savefig(path, metadata={"Date": None})
    return f"drawn: {path.relative_to(RESULTS.parent)}"
