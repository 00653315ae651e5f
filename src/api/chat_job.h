#pragma once

#include <functional>

#include "api/chat_request.h"
#include "api/respond.h"
#include "api/response_shape.h"
#include "api/service.h"

namespace kvasir::api {

// Adds what a chat still lacks; it may block.
using CompleteChat = std::function<base::Status(ChatRequest& request)>;

// A chat on its way to the engine, whichever API it came by: picks its model, and fits what it asks for to
// the model's own way of calling tools and of reasoning. `complete` may be empty.
base::Result<ReadRequest> read_chat(Service& service, ChatRequest request, MakeShape make_shape,
                                    CompleteChat complete = {});

// The same for one whose tools are all there: the names in `server_tools` are not looked at.
base::Result<ReadRequest> read_whole_chat(Service& service, ChatRequest request, MakeShape make_shape,
                                          CompleteChat complete = {});

}  // namespace kvasir::api
