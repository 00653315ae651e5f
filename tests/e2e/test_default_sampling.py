"""Where a request says nothing, tokens are drawn as the model's makers recommend, unless a setting says otherwise."""

import json


def sampling_of(server):
    return next(m for m in json.loads(server.get("/v1/models")[1])["data"] if m["id"] == "smollm2")["default_sampling"]


def test_the_catalogue_says_how_to_sample(server):
    assert sampling_of(server) == {"temperature": 0.2, "top_p": 0.9, "top_k": 0, "min_p": 0, "repetition_penalty": 1}
    client = server.client()
    ask = lambda **options: client.responses.create(model="smollm2", input="hi", max_output_tokens=4, **options)  # noqa: E731
    assert (ask().temperature, ask().top_p) == (0.2, 0.9)
    assert (ask(temperature=1).temperature, ask(temperature=1).top_p) == (1, 0.9)
    chat = lambda **options: client.chat.completions.create(  # noqa: E731
        model="smollm2", messages=[{"role": "user", "content": "Tell me a story."}], max_tokens=16, seed=5, **options
    ).choices[0].message.content
    assert chat() == chat(temperature=0.2, top_p=0.9)


def test_a_setting_switches_it_off(small_server):
    server = small_server("--no-model-sampling")
    assert sampling_of(server)["temperature"] == 1
    answer = server.client().responses.create(model="smollm2", input="hi", max_output_tokens=4)
    assert (answer.temperature, answer.top_p) == (1, 1)
