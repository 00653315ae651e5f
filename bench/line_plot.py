"""Lines over a common axis, as a picture for documents."""

COLOURS = ("#c2410c", "#1d4ed8", "#15803d", "#7e22ce", "#525252")
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 640, 320, 62, 16, 44, 110


def ticks(most):
    """Round numbers from 0 to a little more than `most`."""
    size = 10.0 ** (len(str(int(max(most, 1)))) - 1)
    step = next(s for s in (size / 5, size / 2, size, 2 * size, 5 * size) if most / s <= 6)
    return [i * step for i in range(int(most / step) + 2)]


def line_plot(lines, x_label, y_label):
    """`lines`: name -> [(x, y)]."""
    points = [point for line in lines.values() for point in line]
    xs, ys = ticks(max(x for x, _ in points)), ticks(max(y for _, y in points))

    def at(x, y):
        return (LEFT + x / xs[-1] * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y / ys[-1] * (HEIGHT - TOP - BOTTOM))

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>']
    for y in ys:
        out.append(f'<path d="M{LEFT} {at(0, y)[1]:.1f}H{WIDTH - RIGHT}" stroke="#e5e5e5"/>'
                   f'<text x="{LEFT - 8}" y="{at(0, y)[1] + 4:.1f}" text-anchor="end">{y:g}</text>')
    for x in xs:
        out.append(f'<text x="{at(x, 0)[0]:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{x:g}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{x_label}</text>')
    out.append(f'<text transform="translate(14 {(HEIGHT - BOTTOM + TOP) / 2}) rotate(-90)" text-anchor="middle">{y_label}</text>')
    for (name, line), colour in zip(lines.items(), COLOURS):
        path = " ".join("{:.1f},{:.1f}".format(*at(x, y)) for x, y in line)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += ['<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="{}"/>'.format(*at(x, y), colour) for x, y in line]
        end = at(*line[-1])
        out.append(f'<text x="{end[0] + 8:.1f}" y="{end[1] + 4:.1f}" fill="{colour}">{name}</text>')
    return "\n".join([*out, "</svg>\n"])
