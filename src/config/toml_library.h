#pragma once

// toml++ without exceptions: its options have to be the same wherever it is included.
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>
