#include "host/model_host.h"

#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <new>
#include <stdexcept>

#include "store/temp_folder.h"

namespace kvasir::host {
namespace {

class ToldReports final : public router::HostReports {
 public:
  void tell_state(const std::string&, router::ModelState) override {}
  void tell_fetched(const std::string&, std::int64_t) override {}
  void tell_ready(const std::string&, router::ServedModel, router::ModelMemory, std::string) override {}
  void tell_failed(const std::string&, base::Error error) override { failed.set_value(std::move(error)); }
  void tell_engine_failed(const std::string&, const base::Error&) override {}

  std::promise<base::Error> failed;
};

class NoProgress final : public hub::ProgressSink {
 public:
  void bytes(std::string_view, std::uint64_t, std::uint64_t) override {}
  void note(std::string_view, std::string_view) override {}
};

// A load asks this clock for the time and gets an exception, as from any library.
template <class Exception>
class ThrowingClock final : public base::Clock {
 public:
  base::TimePoint now() const override { throw Exception(); }
};

struct Broken : std::runtime_error {
  Broken() : std::runtime_error("a library is broken") {}
};

template <class Exception>
base::Error error_of_load() {
  const store::TempFolder folder;
  const config::Settings settings;
  ops::ComputePool pool(1);
  obs::Registry registry;
  NoProgress progress;
  const ThrowingClock<Exception> clock;
  ToldReports reports;
  ModelHost host(
      {.name = "m", .path = folder.path()}, reports,
      {.settings = settings, .pool = pool, .registry = registry, .clock = clock, .progress = progress});
  host.load();
  auto failed = reports.failed.get_future();
  CHECK(failed.wait_for(std::chrono::seconds(60)) == std::future_status::ready, "nothing was told");
  return failed.get();
}

TEST(ModelHost, AnExceptionOnItsThreadIsTheFailureOfItsModel) {
  const base::Error broken = error_of_load<Broken>();
  EXPECT_EQ(broken.code, base::ErrorCode::internal);
  EXPECT_NE(broken.message.find("a library is broken"), std::string::npos) << broken.message;
  const base::Error full = error_of_load<std::bad_alloc>();
  EXPECT_NE(full.message.find("not enough memory"), std::string::npos) << full.message;
}

}  // namespace
}  // namespace kvasir::host
