"""The report: one page that opens offline."""

import html

from .results import summary, verdict

STYLE = """body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1180px;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:.6em 0 1.2em}td,th{padding:.25em .8em;border-bottom:1px solid #ddd;text-align:right}
td:first-child,th:first-child{text-align:left}.pass{color:#22763f}.FAIL{color:#b3261e;font-weight:600}.not{color:#886}
svg{margin:0 1em 1em 0}svg text{font:11px system-ui,sans-serif;fill:#444}svg .title{font-weight:600;font-size:13px;fill:#222}
.grid{stroke:#e6e6e6}caption{text-align:left;font-weight:600}"""


def table_html(table):
    cell = lambda name, text: f'<{name} class="{html.escape(text.split()[0] if text in ("pass", "FAIL", "not measured") else "")}">' \
                              f"{html.escape(text)}</{name}>"
    head = "".join(cell("th", text) for text in table.columns)
    rows = "".join("<tr>" + "".join(cell("td", text) for text in row) + "</tr>" for row in table.rows)
    return f"<table><caption>{html.escape(table.title)}</caption><tr>{head}</tr>{rows}</table>"


def result_html(result):
    parts = [f"<h2>{html.escape(result.name)}</h2>", *(table_html(table) for table in result.tables), *result.plots]
    parts += [f"<p>{html.escape(note)}</p>" for note in result.notes]
    parts += ["<ul>", *(f'<li class="{verdict(check.holds).split()[0]}">{verdict(check.holds)}: {html.escape(check.what)}: '
                        f"{html.escape(check.value)} {html.escape(check.bound and f'({check.bound})')}</li>"
                        for check in result.checks), "</ul>"]
    return "\n".join(parts)


def page(results, about):
    parts = ["<!doctype html><html lang=en><meta charset=utf-8><title>Kvasir under overload</title>", f"<style>{STYLE}</style>",
             "<h1>Kvasir under overload</h1>", *(f"<p>{html.escape(line)}</p>" for line in about), table_html(summary(results)),
             *(result_html(result) for result in results), "</html>"]
    return "\n".join(parts)
