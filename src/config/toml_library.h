#pragma once

// Includes toml++ without exceptions. Its options must be the same wherever it is included.
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>
