#include "hub/pull.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>

#include "hub/digest.h"
#include "hub/library.h"
#include "hub/pull_lock.h"
#include "hub/stamp.h"

namespace kvasir::hub {
namespace {

namespace fs = std::filesystem;

std::string sha256(std::string_view text) {
  Sha256 digest;
  digest.update(text);
  return digest.finish();
}

class Notes final : public ProgressSink {
 public:
  void bytes(std::string_view, std::uint64_t done, std::uint64_t total) override {
    const std::lock_guard lock(mutex_);
    EXPECT_LE(done, total);
    last_done_ = done;
  }
  void note(std::string_view, std::string_view sentence) override {
    const std::lock_guard lock(mutex_);
    text_ += std::string(sentence) + "\n";
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  std::uint64_t last_done() {
    const std::lock_guard lock(mutex_);
    return last_done_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
  std::uint64_t last_done_ = 0;
};

class PullTest : public testing::Test {
 protected:
  void SetUp() override {
    static int counter = 0;
    root_ = fs::temp_directory_path() / fmt::format("kvasir_pull_test_{}_{}", ::getpid(), counter++);
    fs::create_directories(root_);
    options_.model_dir = root_ / "models";
    options_.hf_endpoint = "http://127.0.0.1:1";
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string write(const std::string& name, std::string_view text) {
    std::ofstream(root_ / name, std::ios::binary) << text;
    return (root_ / name).string();
  }
  std::string read(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static ModelFile file(const std::string& path, std::string_view text,
                        const std::vector<std::string>& sources) {
    ModelFile file{path, text.size(), sha256(text), {}};
    for (const std::string& source : sources) file.sources.push_back(parse_source(source).value());
    return file;
  }
  static Entry entry(std::vector<ModelFile> files) {
    return {"thing", "A thing", "For tests", "MIT", std::move(files)};
  }
  // Returns all files in the model folder except locks and stamps.
  std::vector<std::string> left_over() {
    std::vector<std::string> paths;
    if (!fs::exists(options_.model_dir)) return paths;
    for (const auto& at : fs::recursive_directory_iterator(options_.model_dir))
      if (at.is_regular_file() && at.path().extension() != ".lock" && at.path().filename() != ".verified")
        paths.push_back(fs::relative(at.path(), options_.model_dir).string());
    return paths;
  }

  fs::path root_;
  PullOptions options_;
  Notes notes_;
};

TEST_F(PullTest, OneFileGivesItsPath) {
  const Entry thing = entry({file("m.gguf", "content", {"file:" + write("m", "content")})});
  const auto path = pull(thing, options_, notes_);
  ASSERT_TRUE(path.ok()) << path.error().message;
  EXPECT_EQ(*path, options_.model_dir / "thing" / "m.gguf");
  EXPECT_EQ(read(*path), "content");
  EXPECT_EQ(notes_.last_done(), 7u);
  EXPECT_TRUE(all_verified(options_.model_dir / "thing", thing));
  EXPECT_EQ(left_over(), std::vector<std::string>{"thing/m.gguf"});
}

TEST_F(PullTest, SeveralFilesGiveTheirFolder) {
  const Entry thing = entry({file("config.json", "{}", {"file:" + write("c", "{}")}),
                             file("sub/model.bin", "weights", {"file:" + write("w", "weights")})});
  const auto path = pull(thing, options_, notes_);
  ASSERT_TRUE(path.ok()) << path.error().message;
  EXPECT_EQ(*path, options_.model_dir / "thing");
  EXPECT_EQ(read(*path / "sub/model.bin"), "weights");
}

TEST_F(PullTest, PartsAreJoinedAndRangesCut) {
  write("p1", "abc");
  write("p2", "def");
  const std::string parts = "file:" + (root_ / "p{1..2}").string();
  const Entry thing = entry({file("whole", "abcdef", {parts}), file("middle", "cde", {parts + "#2+3"})});
  const auto path = pull(thing, options_, notes_);
  ASSERT_TRUE(path.ok()) << path.error().message;
  EXPECT_EQ(read(*path / "whole"), "abcdef");
  EXPECT_EQ(read(*path / "middle"), "cde");
}

TEST_F(PullTest, WrongContentLeavesNothing) {
  for (const char* wrong : {"contenT", "conten", "content and more", ""}) {
    const Entry thing = entry({file("m.gguf", "content", {"file:" + write("m", wrong)})});
    const auto path = pull(thing, options_, notes_);
    ASSERT_FALSE(path.ok()) << wrong;
    EXPECT_NE(path.error().message.find("cannot pull thing: no source has m.gguf"), std::string::npos)
        << path.error().message;
    EXPECT_EQ(left_over(), std::vector<std::string>{}) << wrong;
    EXPECT_FALSE(fs::exists(options_.model_dir / "thing"));
    EXPECT_FALSE(fs::exists(options_.model_dir / ".partial" / "thing"));
  }
}

TEST_F(PullTest, AModelOfSeveralFilesAppearsWholeOrNotAtAll) {
  const Entry thing = entry({file("good", "good", {"file:" + write("g", "good")}),
                             file("bad", "bad", {"file:" + (root_ / "missing").string()})});
  EXPECT_FALSE(pull(thing, options_, notes_).ok());
  EXPECT_FALSE(fs::exists(options_.model_dir / "thing"));
  write("missing", "bad");
  EXPECT_TRUE(pull(thing, options_, notes_).ok());
}

TEST_F(PullTest, GoesToTheNextSource) {
  const Entry thing =
      entry({file("m", "content",
                  {"hf:org/repo:m", "file:" + (root_ / "missing").string(),
                   "file:" + write("wrong", "CONTENT"), "file:" + write("right", "content")})});
  const auto path = pull(thing, options_, notes_);
  ASSERT_TRUE(path.ok()) << path.error().message;
  EXPECT_EQ(read(*path), "content");
  EXPECT_NE(notes_.text().find("passing over hf:org/repo:m: cannot reach 127.0.0.1:1"), std::string::npos)
      << notes_.text();
}

TEST_F(PullTest, TheErrorNamesEverySource) {
  const Entry thing =
      entry({file("m", "content", {"hf:org/repo:m", "file:" + (root_ / "missing").string()})});
  const auto path = pull(thing, options_, notes_);
  ASSERT_FALSE(path.ok());
  EXPECT_NE(path.error().message.find("hf:org/repo:m: cannot reach"), std::string::npos);
  EXPECT_NE(path.error().message.find("missing: cannot read"), std::string::npos);
}

TEST_F(PullTest, OfflineAsksNobody) {
  options_.offline = true;
  const Entry thing = entry({file("m", "content", {"hf:org/repo:m", "pip:x==1:m"})});
  const auto path = pull(thing, options_, notes_);
  ASSERT_FALSE(path.ok());
  EXPECT_NE(path.error().message.find("'offline' is set"), std::string::npos);
}

TEST_F(PullTest, ASecondPullReadsNothing) {
  const Entry thing = entry({file("m", "content", {"file:" + write("m", "content")})});
  ASSERT_TRUE(pull(thing, options_, notes_).ok());
  fs::remove(root_ / "m");
  fs::permissions(options_.model_dir / "thing" / "m", fs::perms::none);
  const auto path = pull(thing, options_, notes_);
  EXPECT_TRUE(path.ok());
  EXPECT_EQ(notes_.text(), "");
}

TEST_F(PullTest, AFilePutThereByHandIsVerifiedAndNotFetched) {
  const Entry thing = entry({file("m", "content", {"file:" + (root_ / "missing").string()})});
  fs::create_directories(options_.model_dir / "thing");
  std::ofstream(options_.model_dir / "thing" / "m") << "content";
  EXPECT_EQ(file_state(options_.model_dir / "thing", thing.files[0]), FileState::unknown);
  EXPECT_TRUE(pull(thing, options_, notes_).ok());
  EXPECT_EQ(file_state(options_.model_dir / "thing", thing.files[0]), FileState::verified);
  EXPECT_EQ(notes_.text(), "verifying m\n");
}

TEST_F(PullTest, ADamagedFileIsFetchedAgain) {
  const Entry thing = entry({file("m", "content", {"file:" + write("m", "content")})});
  const auto path = pull(thing, options_, notes_);
  ASSERT_TRUE(path.ok());
  std::ofstream(*path) << "CONTENT";
  fs::last_write_time(*path, fs::last_write_time(*path) + std::chrono::seconds(5));
  ASSERT_TRUE(pull(thing, options_, notes_).ok());
  EXPECT_EQ(read(*path), "content");
  std::ofstream(*path) << "cut";
  ASSERT_TRUE(pull(thing, options_, notes_).ok());
  EXPECT_EQ(read(*path), "content");
}

TEST_F(PullTest, StopsWhenAsked) {
  const auto halt = std::make_unique<std::stop_source>();
  halt->request_stop();
  options_.stop = halt->get_token();
  const Entry thing = entry({file("m", "content", {"file:" + write("m", "content")})});
  const auto path = pull(thing, options_, notes_);
  ASSERT_FALSE(path.ok());
  EXPECT_EQ(path.error().code, base::ErrorCode::cancelled);
  EXPECT_EQ(left_over(), std::vector<std::string>{});
}

TEST_F(PullTest, ManyPullsOfOneModelGiveOneModel) {
  const std::string big(3'000'000, 'x');
  const Entry thing = entry({file("m", big, {"file:" + write("m", big)})});
  std::vector<std::jthread> threads;
  std::atomic<int> num_good = 0;
  for (int i = 0; i < 8; i++)
    threads.emplace_back([&] {
      Notes notes;
      if (pull(thing, options_, notes).ok()) num_good++;
    });
  threads.clear();
  EXPECT_EQ(num_good, 8);
  EXPECT_EQ(left_over(), std::vector<std::string>{"thing/m"});
}

TEST_F(PullTest, WaitsForTheHolderOfTheLock) {
  const Entry thing = entry({file("m", "content", {"file:" + write("m", "content")})});
  fs::create_directories(options_.model_dir / ".partial");
  auto lock = std::make_unique<base::Result<PullLock>>(
      PullLock::acquire(options_.model_dir / ".partial" / "thing.lock", [] {}, {}));
  ASSERT_TRUE(lock->ok());
  std::atomic<bool> done = false;
  std::jthread puller([&] {
    EXPECT_TRUE(pull(thing, options_, notes_).ok());
    done = true;
  });
  while (notes_.text().find("another process is pulling it") == std::string::npos) std::this_thread::yield();
  EXPECT_FALSE(done);
  EXPECT_FALSE(fs::exists(options_.model_dir / "thing"));
  lock.reset();
  puller.join();
  EXPECT_TRUE(done);
}

TEST_F(PullTest, AFolderThatCannotBeMadeIsNamed) {
  write("models", "a file where the folder should be");
  const Entry thing = entry({file("m", "content", {"file:" + write("m", "content")})});
  const auto path = pull(thing, options_, notes_);
  ASSERT_FALSE(path.ok());
  EXPECT_NE(path.error().message.find((root_ / "models").string()), std::string::npos)
      << path.error().message;
}

TEST_F(PullTest, AModelLargerThanTheDiskIsRefusedAtOnce) {
  ModelFile huge = file("m", "content", {"file:" + write("m", "content")});
  huge.size = 1ull << 60;
  const auto path = pull(entry({huge}), options_, notes_);
  ASSERT_FALSE(path.ok());
  EXPECT_EQ(path.error().code, base::ErrorCode::exhausted);
  EXPECT_NE(path.error().message.find("MB free"), std::string::npos);
}

// A write to /dev/full fails as it does on a full disk.
TEST_F(PullTest, AFullDiskIsAClearError) {
  const Entry thing = entry({file("m", "content", {"file:" + write("m", "content"), "file:/never/tried"})});
  fs::create_directories(options_.model_dir / ".partial/thing/joined");
  fs::create_symlink("/dev/full", options_.model_dir / ".partial/thing/joined/m");
  const auto path = pull(thing, options_, notes_);
  ASSERT_FALSE(path.ok());
  EXPECT_EQ(path.error().code, base::ErrorCode::exhausted);
  EXPECT_NE(path.error().message.find("the disk is full"), std::string::npos) << path.error().message;
}

class LibraryTest : public PullTest {};

TEST_F(LibraryTest, TellsWhatIsThereAndWhatCanBeHad) {
  const std::string toml = fmt::format(
      "[[model]]\nname='thing'\ntitle='T'\ndescription='D'\nlicence='MIT'\n[[model.file]]\npath='m.gguf'\n"
      "size=7\nsha256='{}'\nsources=['file:{}']\n",
      sha256("content"), write("m", "content"));
  const Library library(Catalogue::parse(toml, "test").value(), options_.model_dir);
  EXPECT_EQ(library.find("thing")->state, ModelState::absent);
  ASSERT_TRUE(pull(*library.find("thing")->entry, options_, notes_).ok());
  const auto ready = library.find("thing");
  EXPECT_EQ(ready->state, ModelState::ready);
  EXPECT_EQ(read(ready->path), "content");
  fs::resize_file(ready->path, 3);
  EXPECT_EQ(library.find("thing")->state, ModelState::partial);

  std::ofstream(options_.model_dir / "own.gguf") << "x";
  fs::create_directories(options_.model_dir / "checkpoint");
  std::ofstream(options_.model_dir / "checkpoint" / "config.json") << "{}";
  fs::create_directories(options_.model_dir / "empty");
  const auto models = library.list();
  ASSERT_EQ(models.size(), 3u);
  EXPECT_EQ(models[0].name, "thing");
  EXPECT_EQ(models[1].name, "checkpoint");
  EXPECT_EQ(models[1].path, options_.model_dir / "checkpoint");
  EXPECT_EQ(models[2].name, "own");
  EXPECT_EQ(models[2].state, ModelState::own);
  EXPECT_EQ(library.find("own")->path, options_.model_dir / "own.gguf");
}

TEST_F(LibraryTest, NamesAloneAreNeverPaths) {
  fs::create_directories(options_.model_dir);
  std::ofstream(options_.model_dir / "own.gguf") << "x";
  const std::string elsewhere = write("elsewhere.gguf", "x");
  const Library library(Catalogue::load("").value(), options_.model_dir);
  EXPECT_EQ(library.find_named("own")->state, ModelState::own);
  EXPECT_NE(library.find_named("smollm2")->entry, nullptr);
  for (const std::string& name :
       {elsewhere, options_.model_dir.string() + "/own.gguf", std::string("../elsewhere"),
        std::string("own.gguf"), std::string("own/"), std::string("./own"), std::string("own\0", 4),
        std::string(), std::string(100'000, 'x')}) {
    const auto found = library.find_named(name);
    ASSERT_FALSE(found.ok()) << name;
    EXPECT_EQ(found.error().reason, "model_not_found");
    EXPECT_LT(found.error().message.size(), 1000u);
  }
  EXPECT_NE(library.find_named("smolm2").error().message.find("'smollm2'"), std::string::npos);
  EXPECT_NE(library.find_named("owm").error().message.find("'own'"), std::string::npos);
}

TEST_F(LibraryTest, TakesPathsAndRefusesWhatIsNoModel) {
  const Library library(Catalogue::load("").value(), options_.model_dir);
  const std::string path = write("My Model.Q4.gguf", "x");
  const auto model = library.find(path);
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->name, "My Model.Q4");
  EXPECT_EQ(model->state, ModelState::own);
  EXPECT_EQ(library.find(root_.string() + "/")->path, path);

  EXPECT_NE(library.find("/no/such/file.gguf").error().message.find("/no/such/file.gguf"), std::string::npos);
  EXPECT_NE(library.find("smolm2").error().message.find("did you mean 'smollm2'?"), std::string::npos);
  EXPECT_FALSE(library.find("").ok());
  EXPECT_FALSE(library.find("..").ok());
  EXPECT_FALSE(library.find(".partial").ok());
}

}  // namespace
}  // namespace kvasir::hub
