#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "api/http/service/service.h"
#include "base/result.h"

namespace kvasir::api {

// Decompresses a gzip file. Before the text grows to a number of bytes, `room` is called with it; an error
// from `room` ends the work. malformed_request: the file is broken.
base::Result<std::string> gunzip(std::string_view file, const std::function<base::Status(std::size_t)>& room);

// Whether the client accepts an answer with "Content-Encoding: gzip".
bool takes_gzip(const net::HttpRequest& request);
// Makes a gzip file of the text, compressed fast rather than well.
std::string gzip(std::string_view text);

// Replaces a body that came with "Content-Encoding: gzip" by its text, which counts against the limit of one
// body and that of all bodies. Any other encoding is an error with the reason unsupported_content_encoding,
// which becomes a 415.
boost::asio::awaitable<base::Status> decompress_body(Service& service, Exchange& exchange);

}  // namespace kvasir::api
