#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <memory>

#include "api/answer/admit/start.h"
#include "api/answer/question/question.h"
#include "api/answer/write/outlet.h"

namespace kvasir::api {

// A job that may start: it is tokenized and admitted, and its worker can serve it in time.
struct Seat {
  Job job;
  Place place;
  std::shared_ptr<const ChatRequest> tool_chat;  // the chat if it may call tools of this server; else null
};

// What happens to a request whose model would be late: it waits or is refused, as its tier says, or it is
// refused at once, since an upstream can take it.
enum class WhenFull : std::uint8_t { wait, refuse };

// Tokenizes the question, admits it and waits for its turn. If its model would be late and the question may
// be downgraded, it goes to the next smaller model that is in time. `num_bytes` is the size of its text.
boost::asio::awaitable<base::Result<Seat>> find_seat(Service& service, Outlet& out, const Asker& asker,
                                                     std::shared_ptr<const QuestionText> text,
                                                     std::size_t num_bytes, WhenFull when_full);

}  // namespace kvasir::api
