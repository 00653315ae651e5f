#pragma once

#include "api/answer/question/tools.h"
#include "tool/toolbox.h"

namespace kvasir::api {

// Adds the tools that `settings.server_tools` names to the client's own tools. `toolbox` is null if the
// server has none.
base::Status add_server_tools(const tool::Toolbox* toolbox, ToolSettings& settings);

}  // namespace kvasir::api
