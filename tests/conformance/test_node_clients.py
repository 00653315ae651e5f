"""The .mjs tests, against both default models."""

import pytest

from conftest import run_node


NODE_TESTS = [("openai.mjs", 6), ("openai_more.mjs", 8), ("tools.mjs", 6), ("anthropic.mjs", 7), ("responses.mjs", 6)]


@pytest.mark.parametrize("name, num_tests", NODE_TESTS)
def test_clients_from_npm(server, tmp_path, name, num_tests):
    run_node(server, tmp_path, name, num_tests)
