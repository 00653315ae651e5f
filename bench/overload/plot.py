"""Plots as SVG that stands in the page itself. Axes begin at 0."""

import html
import math

WIDTH, HEIGHT = 560, 300
LEFT, RIGHT, TOP, BOTTOM = 60, 16, 30, 44
COLOURS = ("#2563a8", "#c8502d", "#3a8f5c", "#8a5bb0")


def tick_step(most):
    """A round distance between ticks, for about five of them."""
    raw = most / 5
    power = 10 ** math.floor(math.log10(raw))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= raw)


class Axes:
    def __init__(self, title, x_name, y_name, x_most, y_most):
        self.x_most = (x_most or 1) * 1.04
        self.y_most = (y_most or 1) * 1.25  # room for the names
        self.parts = [f'<text x="{LEFT}" y="18" class="title">{html.escape(title)}</text>',
                      f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 6}" text-anchor="end">{html.escape(x_name)}</text>',
                      f'<text x="{LEFT}" y="{TOP + 2}" dx="6" class="axis">{html.escape(y_name)}</text>']
        self.num_named = 0
        self.draw_ticks()

    def x(self, value):
        return LEFT + (WIDTH - LEFT - RIGHT) * min(value, self.x_most) / self.x_most

    def y(self, value):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(value, self.y_most) / self.y_most

    def draw_ticks(self):
        for most, is_x in ((self.x_most, True), (self.y_most, False)):
            step = tick_step(most)
            for i in range(int(most / step) + 1):
                at = i * step
                if is_x:
                    self.parts.append(f'<text x="{self.x(at):.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{at:g}</text>')
                else:
                    self.parts.append(f'<path d="M{LEFT} {self.y(at):.1f}H{WIDTH - RIGHT}" class="grid"/>'
                                      f'<text x="{LEFT - 6}" y="{self.y(at) + 4:.1f}" text-anchor="end">{at:g}</text>')

    def name(self, text, colour):
        y = TOP + 14 + 15 * self.num_named
        self.num_named += 1
        self.parts.append(f'<rect x="{WIDTH - RIGHT - 190}" y="{y - 8}" width="10" height="10" fill="{colour}"/>'
                          f'<text x="{WIDTH - RIGHT - 175}" y="{y + 1}">{html.escape(text)}</text>')

    def svg(self):
        return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">{"".join(self.parts)}</svg>'


def lines(title, x_name, y_name, curves, marks=True):
    """`curves`: (name, points); each point is (x, y)."""
    points = [point for _, curve in curves for point in curve]
    axes = Axes(title, x_name, y_name, max((x for x, _ in points), default=1), max((y for _, y in points), default=1))
    for (name, curve), colour in zip(curves, COLOURS):
        path = " ".join(f"{'L' if i else 'M'}{axes.x(x):.1f} {axes.y(y):.1f}" for i, (x, y) in enumerate(curve))
        axes.parts.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        if marks:
            axes.parts += [f'<circle cx="{axes.x(x):.1f}" cy="{axes.y(y):.1f}" r="3.5" fill="{colour}"/>' for x, y in curve]
        axes.name(name, colour)
    return axes.svg()


def scatter(title, x_name, y_name, points, slack):
    """Points beside the diagonal, with the band in which y is within `slack` of x."""
    most = max((max(point) for point in points), default=1)
    axes = Axes(title, x_name, y_name, most, most)
    far = most
    for factor in (1 - slack, 1, 1 + slack):
        end = far / max(1, factor)
        style = "" if factor == 1 else ' stroke-dasharray="4 4"'
        axes.parts.append(f'<path d="M{axes.x(0):.1f} {axes.y(0):.1f}L{axes.x(end):.1f} {axes.y(end * factor):.1f}" stroke="#888"{style}/>')
    axes.parts += [f'<circle cx="{axes.x(x):.1f}" cy="{axes.y(y):.1f}" r="2.5" fill="{COLOURS[0]}" fill-opacity="0.6"/>'
                   for x, y in points]
    return axes.svg()
