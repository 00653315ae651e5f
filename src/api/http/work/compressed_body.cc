#include "api/http/work/compressed_body.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/zlib/deflate_stream.hpp>
#include <boost/beast/zlib/inflate_stream.hpp>
#include <boost/crc.hpp>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <utility>

#include "api/http/work/body_room.h"
#include "api/http/work/text_task.h"
#include "base/check.h"
#include "net/body_budget.h"

namespace kvasir::api {

namespace asio = boost::asio;
namespace zlib = boost::beast::zlib;
using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t kHeadBytes = 10;
constexpr std::size_t kTailBytes = 8;
constexpr std::size_t kPieceBytes = 64 * 1024;

Error broken_file() {
  return {ErrorCode::invalid_argument,
          "the body is not a gzip file, though its Content-Encoding says so",
          {},
          "malformed_request"};
}

std::uint32_t number_at(std::string_view bytes, std::size_t at, int num_bytes) {
  std::uint32_t number = 0;
  for (int i = num_bytes - 1; i >= 0; --i)
    number = number << 8U | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
  return number;
}

void append_number(std::string& bytes, std::uint32_t number) {
  for (unsigned shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(number >> shift & 0xffU);
}

// The length of the file's header with its optional fields (RFC 1952); 0: the header is broken.
std::size_t head_length(std::string_view file) {
  if (file.size() < kHeadBytes + kTailBytes || !file.starts_with("\x1f\x8b\x08")) return 0;
  const auto flags = static_cast<unsigned char>(file[3]);
  std::size_t at = kHeadBytes;
  if ((flags & 4U) != 0) at += 2 + number_at(file, at, 2);
  for (const unsigned flag : {8U, 16U}) {  // the flags of a name and a comment, which end in a zero
    if ((flags & flag) == 0) continue;
    const std::size_t end = at < file.size() ? file.find('\0', at) : std::string_view::npos;
    if (end == std::string_view::npos) return 0;
    at = end + 1;
  }
  if ((flags & 2U) != 0) at += 2;
  return at + kTailBytes <= file.size() ? at : 0;
}

bool has_sum(std::string_view text, std::string_view tail) {
  boost::crc_32_type sum;
  sum.process_bytes(text.data(), text.size());
  return sum.checksum() == number_at(tail, 0, 4) &&
         static_cast<std::uint32_t>(text.size()) == number_at(tail, 4, 4);
}

// Counts the text against the limit of one body and the limit of all bodies together.
Status make_room(net::BodyShare& share, std::size_t max_bytes, std::size_t num_bytes) {
  if (num_bytes > max_bytes)
    return Error{ErrorCode::too_large,
                 fmt::format("the body has more than {} bytes", max_bytes),
                 {},
                 "request_too_large"};
  if (share.cover(num_bytes)) return base::ok();
  return bodies_overloaded();
}

}  // namespace

Result<std::string> gunzip(std::string_view file, const std::function<Status(std::size_t)>& room) {
  const std::size_t begin = head_length(file);
  if (begin == 0) return broken_file();
  const auto inflater = std::make_unique<zlib::inflate_stream>();
  std::string text;
  zlib::z_params state{};
  state.next_in = file.data() + begin;
  state.avail_in = file.size() - begin - kTailBytes;
  boost::system::error_code ended;
  std::string piece(kPieceBytes, '\0');
  while (!ended) {
    state.next_out = piece.data();
    state.avail_out = piece.size();
    inflater->write(state, zlib::Flush::sync, ended);
    const std::size_t num_bytes = piece.size() - state.avail_out;
    if (!ended && num_bytes == 0) return broken_file();  // the file ends before the text does
    TRY_OK(room(text.size() + num_bytes));
    text.append(piece, 0, num_bytes);
  }
  const bool whole = ended == zlib::error::end_of_stream && state.avail_in == 0;
  if (!whole || !has_sum(text, file.substr(file.size() - kTailBytes))) return broken_file();
  return text;
}

bool takes_gzip(const net::HttpRequest& request) {
  const auto accepted = request.header("accept-encoding");
  return accepted && accepted->find("gzip") != std::string_view::npos &&
         accepted->find("gzip;q=0") == std::string_view::npos;
}

std::string gzip(std::string_view text) {
  constexpr int kFast = 1;
  const auto deflater = std::make_unique<zlib::deflate_stream>();
  deflater->reset(kFast, 15, 8, zlib::Strategy::normal);
  std::string file("\x1f\x8b\x08\0\0\0\0\0\0\xff", kHeadBytes);
  file.resize(kHeadBytes + deflater->upper_bound(text.size()));
  zlib::z_params state{};
  state.next_in = text.data();
  state.avail_in = text.size();
  state.next_out = file.data() + kHeadBytes;
  state.avail_out = file.size() - kHeadBytes;
  boost::system::error_code ended;
  deflater->write(state, zlib::Flush::finish, ended);
  CHECK(ended == zlib::error::end_of_stream, "{} bytes were not compressed: {}", text.size(),
        ended.message());
  file.resize(kHeadBytes + state.total_out);
  boost::crc_32_type sum;
  sum.process_bytes(text.data(), text.size());
  append_number(file, sum.checksum());
  append_number(file, static_cast<std::uint32_t>(text.size()));
  return file;
}

asio::awaitable<Status> decompress_body(Service& service, Exchange& exchange) {
  const std::string_view encoding = exchange.request.header("content-encoding").value_or("");
  if (encoding.empty() || boost::beast::iequals(encoding, "identity")) co_return base::ok();
  if (!boost::beast::iequals(encoding, "gzip") && !boost::beast::iequals(encoding, "x-gzip"))
    co_return Error{ErrorCode::unsupported,
                    "only gzip is read as a Content-Encoding",
                    {},
                    "unsupported_content_encoding"};
  if (exchange.request.body.empty()) co_return base::ok();
  auto file = std::make_shared<const std::string>(std::move(exchange.request.body));
  // A small file may hold a large text, so the I/O thread never decompresses.
  const std::size_t num_bytes = std::max(file->size(), kSmallBody + 1);
  TextTask<std::string>::Work work = [file, share = exchange.request.body_hold,
                                      max_bytes = service.options.max_body_bytes](const std::stop_token&) {
    return gunzip(*file, [&](std::size_t wanted) { return make_room(*share, max_bytes, wanted); });
  };
  Result<std::string> text =
      co_await run_text_work<std::string>(service.reading, exchange, num_bytes, std::move(work));
  if (!text.ok()) co_return std::move(text).error();
  exchange.request.body = std::move(*text);
  co_return base::ok();
}

}  // namespace kvasir::api
