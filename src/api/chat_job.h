#pragma once

#include "api/chat_request.h"
#include "api/respond.h"
#include "api/response_shape.h"
#include "api/service.h"

namespace kvasir::api {

// A chat on its way to the engine, whichever API it came by: picks its model, and fits what it asks for to
// the model's own way of calling tools and of reasoning.
base::Result<ReadRequest> read_chat(Service& service, ChatRequest request, MakeShape make_shape);

// The same for one whose tools are all there: the names in `server_tools` are not looked at.
base::Result<ReadRequest> read_whole_chat(Service& service, ChatRequest request, MakeShape make_shape);

}  // namespace kvasir::api
