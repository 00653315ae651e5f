"""The parts of `bench/overload.py` that need no server: figures, the parser of answers, the page."""

import json
import math
import random
import sys

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench"))
from overload import figures, plot  # noqa: E402
from overload.client import Answer  # noqa: E402
from overload.figures import Outcome, Slo  # noqa: E402
from overload.page import page  # noqa: E402
from overload.results import Result, Table, as_text, exit_status  # noqa: E402

SLO = Slo(ttft_s=1.0, tpot_s=0.1)


def answered(sent=0.0, first=0.5, gap=0.05, count=5, **more):
    tokens = [sent + first + i * gap for i in range(count)]
    return Outcome("a", sent=sent, status=200, tokens=tokens, ended=tokens[-1], output_tokens=count, **more)


def test_a_percentile_is_a_value_that_was_seen():
    values = [5, 1, 4, 2, 3]
    assert [figures.percentile(values, share) for share in (0, 0.2, 0.21, 0.5, 0.95, 1)] == [1, 1, 2, 3, 5, 5]
    assert figures.percentile(range(1, 101), 0.95) == 95
    assert figures.percentile(range(1, 1001), 0.99) == 990
    assert math.isnan(figures.percentile([], 0.5))
    assert figures.percentile([1, math.inf], 0.95) == math.inf  # an answer that never came


def test_good_requests_are_whole_and_within_both_slos():
    assert SLO.is_met_by(answered(first=1.0, gap=0.1))
    assert not SLO.is_met_by(answered(first=1.01))
    assert not SLO.is_met_by(answered(gap=0.11))
    assert SLO.is_met_by(answered(count=1))
    assert not SLO.is_met_by(answered(error="cut off"))
    assert not SLO.is_met_by(Outcome("a", status=200, tokens=[0.5]))  # has not ended
    assert not SLO.is_met_by(Outcome("a", status=429, ended=0.1))
    # Three tokens came as one piece of text: the server's count decides.
    assert answered(count=2, gap=0.3).tpot_s == pytest.approx(0.3)
    merged = answered(count=2, gap=0.3)
    merged.output_tokens = 4
    assert merged.tpot_s == pytest.approx(0.1)


def test_goodput_counts_what_was_sent_in_the_window():
    outcomes = [answered(sent=at, first=0.5 if at < 6 else 3) for at in range(10)]
    assert figures.goodput(figures.sent_within(outcomes, 2, 10), SLO, 8) == 4 / 8
    assert figures.share_of(outcomes, SLO.is_met_by) == 0.6


def test_backlogged_window_is_where_both_wait():
    # a waits from 0 to 4 and from 5 to 9, b from 1 to 8.
    a = [answered(sent=0, first=2), answered(sent=1, first=3), answered(sent=5, first=4)]
    b = [answered(sent=1, first=5), answered(sent=6, first=2)]
    assert figures.waiting_intervals(a, 20) == [(0, 4), (5, 9)]
    assert figures.backlogged_window(a, b, 20) == (1, 4)
    assert figures.backlogged_window(a[2:], b, 20) == (5, 8)
    assert figures.backlogged_window(a[:1], [answered(sent=3)], 20) is None
    # One without a first token waits until the end; one that was refused does not wait.
    assert figures.waiting_intervals([Outcome("a", sent=3), Outcome("a", sent=1, status=503, ended=2)], 20) == [(3, 20)]


def test_tokens_count_where_they_came():
    one = answered(sent=0, first=1, gap=1, count=10, prompt_tokens=30, cached_tokens=10)  # at 1 to 10
    assert figures.tokens_within([one], 3, 6) == 3
    assert figures.served_within([one], 3, 6) == 3
    assert figures.served_within([one], 0, 6) == 5 + 20
    one.output_tokens = 20  # two in each piece of text
    assert figures.tokens_within([one], 3, 6) == 6
    assert figures.tokens_within([Outcome("a")], 0, 6) == 0
    assert figures.cached_ratio([one, answered(prompt_tokens=10, cached_tokens=0)]) == 10 / 40


def test_the_rate_is_found_between_those_that_held_and_those_that_did_not():
    tried, rate = [], 4.0
    for _ in range(9):
        tried.append((rate, rate <= 11))
        rate = figures.next_rate(tried)
    assert figures.sustained_rate(tried) == pytest.approx(11, abs=0.3)
    assert figures.next_rate([(4, False)]) == 2
    assert figures.sustained_rate([(4, False), (2, True), (8, True)]) == 2  # 8 held by luck
    assert figures.sustained_rate([(4, False)]) == 0


def test_arrivals_and_lengths_are_as_drawn():
    arrivals = figures.poisson_arrivals(random.Random(1), 50, 100)
    assert arrivals == sorted(arrivals) and 0 < arrivals[0] and arrivals[-1] < 100
    assert len(arrivals) == pytest.approx(5000, rel=0.05)
    assert figures.even_arrivals(2, 2) == [0, 0.5, 1, 1.5]
    lengths = sorted(figures.lognormal_length(random.Random(i), 40, 0.5, 4, 160) for i in range(999))
    assert lengths[499] == pytest.approx(40, rel=0.1) and lengths[0] >= 4 and lengths[-1] <= 160
    assert figures.lognormal_length(random.Random(1), 40, 0, 4, 160) == 40


def chunked(*events):
    texts = [b"data: " + (json.dumps(event, separators=(",", ":")).encode() if event else b"[DONE]") + b"\n\n" for event in events]
    body = b"".join(b"%x\r\n%s\r\n" % (len(text), text) for text in texts)
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body + b"0\r\n\r\n"


@pytest.mark.parametrize("piece", [1, 7, 100_000])
def test_a_stream_is_read_however_it_is_cut(piece):
    delta = lambda text: {"choices": [{"delta": {"content": text}}], "usage": None}
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}
    data = chunked(delta(""), delta("a"), delta('"'), {"choices": [], "usage": usage, "kvasir": {"predicted_ttft_ms": 12.5}}, None)
    outcome = Outcome("a")
    answer = Answer(outcome)
    ends = [answer.take(data[i:i + piece], i) for i in range(0, len(data), piece)]
    assert ends == [False] * (len(ends) - 1) + [True] and answer.keeps_open
    assert len(outcome.tokens) == 2 and outcome.is_answered
    assert (outcome.prompt_tokens, outcome.cached_tokens, outcome.output_tokens) == (9, 4, 3)
    assert outcome.predicted_ttft_ms == 12.5


def test_a_refusal_and_an_error_in_a_stream():
    outcome = Outcome("a")
    answer = Answer(outcome)
    head = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 2\r\n\r\n"
    assert not answer.take(head + b"{", 1)
    assert answer.take(b"}", 2)
    assert outcome.is_refused and outcome.has_retry_after and outcome.ended == 2 and not answer.keeps_open
    broken = Outcome("a")
    assert Answer(broken).take(chunked({"choices": [{"delta": {"content": "a"}}]}, {"error": {"code": "engine_failed"}}), 1)
    assert not broken.is_answered and "engine_failed" in broken.error


def test_the_page_has_all_of_it():
    result = Result("Overload <1>")
    result.at_most("refusals' p99, ms", 3.2, 10)
    result.at_least("goodput", math.nan, 0.9)
    result.skip("predicted", "no receipt")
    result.tables.append(Table("Rates", ["rate", "good/s"], [["1x", "7.5"]]))
    result.plots.append(plot.lines("Goodput", "x", "y", [("on", [(1, 2), (3, 4)]), ("off", [])]))
    result.plots.append(plot.scatter("Predicted", "x", "y", [(1, 1.1)], 0.25))
    assert [check.holds for check in result.checks] == [True, False, None]
    assert exit_status([result], is_quick=True) == 1
    result.checks.pop(1)
    assert exit_status([result], is_quick=True) == 0
    assert exit_status([result], is_quick=False) == 1, "what was not measured does not hold"
    text = page([result], ["2 cores"])
    assert text.count("<svg") == 2 and "Overload &lt;1&gt;" in text and "http" not in text.replace("</html>", "")
    assert as_text(result.tables[0]) == "Rates\n  rate  good/s\n  1x       7.5"
