#include <charconv>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "hub/fetch.h"
#include "hub/part_file.h"
#include "net/http_client.h"

namespace kvasir::hub {

namespace fs = std::filesystem;
using base::ErrorCode;

namespace {

constexpr int kMaxFailures = 3;  // in a row without a byte
constexpr std::chrono::milliseconds kFirstPause{250};

std::string percent_encode(std::string_view path) {
  std::string text;
  for (const unsigned char c : path) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       std::string_view("-._~/").find(static_cast<char>(c)) != std::string_view::npos;
    if (plain)
      text += static_cast<char>(c);
    else
      text += fmt::format("%{:02X}", c);
  }
  return text;
}

base::Result<net::Url> address_of(const SourcePart& part, const std::string& endpoint) {
  const std::size_t at = part.package.find('@');
  const std::string repository = part.package.substr(0, at);
  const std::string revision = at == std::string::npos ? "main" : part.package.substr(at + 1);
  std::string base = endpoint;
  while (base.ends_with('/')) base.pop_back();
  return net::parse_url(fmt::format("{}/{}/resolve/{}/{}", base, percent_encode(repository),
                                    percent_encode(revision), percent_encode(part.path)));
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || text.empty()) return std::nullopt;
  return value;
}

// Returns the first byte of a range such as "bytes 100-199/200".
std::optional<std::uint64_t> range_start(std::string_view text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  return parse_number(text.substr(6));
}

// The download of one file, over as many connections as it needs.
class Download {
 public:
  Download(net::Url url, const ModelFile& file, PartFile& part, FetchContext& context)
      : url_(std::move(url)), file_(file), part_(part), context_(context), client_(client_options(context)) {}

  // Runs until the file has its size. If a connection breaks, the next one continues where it stopped.
  base::Status run() {
    int num_failures = 0;
    while (part_.size() < file_.size) {
      const std::uint64_t before = part_.size();
      const base::Status status = attempt();
      if (status.ok()) {
        if (part_.size() == file_.size) break;
        return base::error(ErrorCode::corrupt, "{} sent {} of {} bytes and called it whole", url_.authority(),
                           part_.size(), file_.size);
      }
      num_failures = part_.size() > before ? 1 : num_failures + 1;
      if (!worth_retrying(status.error().code) || num_failures > kMaxFailures) return status;
      TRY_OK(pause(kFirstPause * (1 << num_failures)));
    }
    return base::ok();
  }

 private:
  static net::HttpClientOptions client_options(const FetchContext& context) {
    return {.connect_timeout = context.options.connect_timeout,
            .read_timeout = context.options.read_timeout,
            .ca_file = context.options.ca_file};
  }

  // An unavailable host is tried again only if it has sent bytes before. Broken connections and timeouts are
  // always worth a retry.
  bool worth_retrying(ErrorCode code) const {
    if (code == ErrorCode::io || code == ErrorCode::timeout) return true;
    return code == ErrorCode::unavailable && gave_bytes_;
  }

  base::Status pause(std::chrono::milliseconds time) const {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, context_.options.stop, time, [] { return false; });
    if (context_.options.stop.stop_requested()) return base::error(ErrorCode::cancelled, "cancelled");
    return base::ok();
  }

  base::Status attempt() {
    net::HttpCall call{.method = "GET", .url = url_, .headers = {}, .body = {}};
    if (part_.size() > 0) call.headers.push_back({"Range", fmt::format("bytes={}-", part_.size())});
    if (!context_.options.hf_token.empty())
      call.headers.push_back({"Authorization", "Bearer " + context_.options.hf_token});
    net::ReplySink sink;
    sink.head = [&](const net::HttpReply& reply) { return on_head(reply); };
    sink.body = [&](std::string_view bytes) -> base::Status {
      gave_bytes_ = true;
      TRY_OK(part_.append(bytes));
      context_.progress(part_.size());
      return base::ok();
    };
    TRY_OK(client_.call(call, sink, context_.options.stop));
    return base::ok();
  }

  base::Status on_head(const net::HttpReply& reply) {
    if (reply.status == 206) {
      if (range_start(reply.header("content-range")) == part_.size()) return base::ok();
      TRY_OK(part_.restart());
      return base::error(ErrorCode::io, "{} answered with another range than asked", url_.authority());
    }
    if (reply.status == 416) {
      TRY_OK(part_.restart());
      return base::error(ErrorCode::io, "{} has no such range", url_.authority());
    }
    if (reply.status == 200) {
      TRY_OK(part_.restart());
      const auto length = parse_number(reply.header("content-length"));
      if (length && *length != file_.size)
        return base::error(ErrorCode::corrupt, "{} has {} bytes there, not {}", file_.path, *length,
                           file_.size);
      return base::ok();
    }
    return refusal(reply.status);
  }

  base::Error refusal(int status) const {
    if (status == 404)
      return base::error(ErrorCode::not_found, "{} has no such file (404)", url_.authority());
    if (status == 401 || status == 403)
      return base::error(ErrorCode::not_found, "{} wants a token that may read it ({}): set HF_TOKEN",
                         url_.authority(), status);
    if (status == 429 || status >= 500)
      return base::error(ErrorCode::io, "{} answered {}", url_.authority(), status);
    return base::error(ErrorCode::not_found, "{} answered {}", url_.authority(), status);
  }

  net::Url url_;
  const ModelFile& file_;
  PartFile& part_;
  FetchContext& context_;
  net::HttpClient client_;
  bool gave_bytes_ = false;
};

// Downloads to `target` and verifies the file. After an error the file stays only if a later attempt can
// continue it.
base::Status download(const net::Url& url, const ModelFile& file, const fs::path& target,
                      FetchContext& context) {
  TRY(PartFile part, PartFile::resume(target, file));
  const bool resumed = part.size() > 0;
  context.progress(part.size());
  base::Status status = Download(url, file, part, context).run();
  if (status.ok()) status = part.finish();
  if (status.ok() || status.error().code != ErrorCode::corrupt) return status;
  if (!resumed) {
    std::error_code ignored;
    fs::remove(target, ignored);
    return status;
  }
  // The beginning, from an earlier pull, may be wrong, so the download restarts from the first byte.
  TRY_OK(part.restart());
  status = Download(url, file, part, context).run();
  if (status.ok()) status = part.finish();
  if (!status.ok() && status.error().code == ErrorCode::corrupt) {
    std::error_code ignored;
    fs::remove(target, ignored);
  }
  return status;
}

}  // namespace

base::Status fetch_from_hub(const Source& source, const ModelFile& file, const fs::path& target,
                            FetchContext& context) {
  TRY(const net::Url url, address_of(source.parts[0], context.options.hf_endpoint));
  if (context.unreachable.contains(url.authority())) {
    base::Error error = base::error(ErrorCode::unavailable, "cannot reach {}", url.authority());
    error.reason = kKnownUnreachable;
    return error;
  }
  base::Status status = download(url, file, target, context);
  if (!status.ok() && status.error().code == ErrorCode::unavailable)
    context.unreachable.insert(url.authority());
  return status;
}

}  // namespace kvasir::hub
