"""Draw gains as lines on logarithmic axes, as SVG under `benchmarks/results`; needs matplotlib."""

from collections.abc import Mapping, Sequence

from result_tables import RESULTS

try:
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    CAN_DRAW = True
except ImportError:
    CAN_DRAW = False

Series = Mapping[str, Sequence[tuple[float, float]]]

STYLES = {"SH": ":", "RE": ":", "edge": "-"}  # of what all workloads have; the others are dashed


def plot_gains(name: str, label: str, panels: Mapping[str, Series]) -> str:
    """Draw one panel for each kind of gain; return where the picture is, or why there is none."""
    if not CAN_DRAW:
        return f"{name}: no picture, since matplotlib is missing (it is among the extras `bench`)"
    path = RESULTS / f"{name}.svg"
    figure = Figure(figsize=(10, 4), layout="constrained")
    for axes, (kind, series) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
        for method, points in series.items():
            places, gains = zip(*points, strict=True)
            axes.plot(places, gains, STYLES.get(method, "--"), marker="o", markersize=4, label=method)
        axes.set(xscale="log", yscale="log", xlabel=label, ylabel=f"gain over the trivial plan, {kind}")
        ticks = sorted({place for points in series.values() for place, _ in points})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize="small")
    with mpl.rc_context({"svg.hashsalt": name}):  # the same numbers give the same file
        figure.savefig(path, metadata={"Date": None})
    return f"drawn: {path.relative_to(RESULTS.parent)}"
