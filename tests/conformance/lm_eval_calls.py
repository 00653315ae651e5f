"""lm-eval's two models for APIs, with tasks of a few lines, run by test_frameworks.py in an environment of its own."""

import json
import os

import lm_eval

URL = os.environ["KVASIR_URL"] + "/v1"
CAPITALS = [("France", "Paris", "Berlin"), ("Italy", "Rome", "Madrid"), ("Japan", "Tokyo", "Ottawa"), ("Germany", "Berlin", "Paris")]


def rows(tmp_path, lines):
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return {"dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(file)}}, "test_split": "test", "num_fewshot": 0}


def test_choices_are_scored_by_their_logprobs(tmp_path):
    lines = [{"question": f"The capital of {country} is", "choices": [right, wrong], "answer": 0} for country, right, wrong in CAPITALS]
    task = {
        "task": "capitals", **rows(tmp_path, lines), "output_type": "multiple_choice", "doc_to_text": "{{question}}",
        "doc_to_choice": "{{choices}}", "doc_to_target": "answer", "metric_list": [{"metric": "acc"}],
    }  # fmt: skip
    arguments = f"model=smollm2,base_url={URL}/completions,tokenizer_backend=remote,num_concurrent=2,max_retries=1"
    got = lm_eval.simple_evaluate(model="local-completions", model_args=arguments, tasks=[task], bootstrap_iters=0)
    assert got["results"]["capitals"]["acc,none"] == 1


def test_answers_of_a_chat_are_compared(tmp_path):
    lines = [{"question": f"What is the capital of {country}? One word.", "answer": right} for country, right, _ in CAPITALS[:2]]
    task = {
        "task": "words", **rows(tmp_path, lines), "output_type": "generate_until", "doc_to_text": "{{question}}", "doc_to_target": "{{answer}}",
        "generation_kwargs": {"until": ["\n", "."], "max_gen_toks": 8, "temperature": 0}, "metric_list": [{"metric": "exact_match"}],
    }  # fmt: skip
    arguments = f"model=smollm2,base_url={URL}/chat/completions,num_concurrent=2,max_retries=1"
    got = lm_eval.simple_evaluate(model="local-chat-completions", model_args=arguments, tasks=[task], apply_chat_template=True, bootstrap_iters=0)
    assert got["results"]["words"]["exact_match,none"] >= 0
