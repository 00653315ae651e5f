#pragma once

#include "api/answer/tools.h"
#include "tool/toolbox.h"

namespace kvasir::api {

// Puts the tools that `settings.server_tools` names beside the client's own. `toolbox` is null where the
// server has none.
base::Status add_server_tools(const tool::Toolbox* toolbox, ToolSettings& settings);

}  // namespace kvasir::api
