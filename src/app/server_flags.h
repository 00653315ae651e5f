#pragma once

#include "app/chat_client.h"

namespace CLI {
class App;
}

namespace kvasir::app {

// Adds the flags that name a running server to a command. `options` outlives the command.
void add_server_flags(CLI::App& command, ChatClient::Options& options);

}  // namespace kvasir::app
