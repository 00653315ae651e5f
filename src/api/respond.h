#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "api/answer_keeper.h"
#include "api/generate_params.h"
#include "api/generation.h"
#include "api/response_shape.h"
#include "api/service.h"

namespace kvasir::api {

struct ChatRequest;

// A request whose fields have been read and whose text is still text.
struct ReadRequest {
  using Encode = std::function<base::Result<Job>(const std::stop_token&)>;
  ReadRequest(GenerateParams params_in, MakeShape make_shape_in, Encode encode_in)
      : params(std::move(params_in)), make_shape(std::move(make_shape_in)), encode(std::move(encode_in)) {}

  GenerateParams params;
  MakeShape make_shape;  // called once
  // The work takes long however short the text is: a grammar has to be compiled, or something to be looked
  // up.
  bool takes_long = false;
  // Makes tokens of the text. Called once, on any thread; it owns what it reads.
  Encode encode;
  std::size_t num_other_bytes = 0;                 // of text that did not come with the body
  std::shared_ptr<AnswerKeeper> keeper = nullptr;  // null: the answer is not kept
  // Set: the model may call tools of this server, and the answer goes on behind them.
  std::shared_ptr<const ChatRequest> tool_chat = nullptr;
};

// An endpoint's own part: from the bytes of a body to what the engine is to run. JSON ends in it.
using Read = std::function<base::Result<ReadRequest>(Service& service, std::string_view body)>;

AnswerHead make_head(const GenerateParams& params, const router::Lease& lease, std::string id);

// Asks for the job's place among others', and says whose it is.
base::Result<tenancy::Permit> admit(Service& service, Job& job);

// Reads the request away from the I/O threads where it is large, admits and runs it, and writes its answer in
// the endpoint's shape, streamed or whole. The end of the client is the end of the request, unless that asked
// for a stream that can be resumed.
boost::asio::awaitable<void> respond(Service& service, Exchange& exchange, Read read, const AnswerKind& kind);

}  // namespace kvasir::api
