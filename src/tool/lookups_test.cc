#include "tool/lookups.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace kvasir::tool {
namespace {

namespace asio = boost::asio;

// The fixture's lookup of "slow" never ends; any other name is found at once.
class LookupsTest : public testing::Test {
 protected:
  static net::Url url(const std::string& host) { return net::parse_url("http://" + host + "/").value(); }
  // Puts the result or the error into `told`.
  asio::awaitable<void> ask(std::string host, base::Duration timeout, std::string& told) {
    Lifeline line(io_.get_executor(), timeout);
    Lookups::Found found = co_await lookups_.find(url(host), line);
    told = found.ok() ? (*found)->url.host : found.error().message;
  }
  void start(const std::string& host, base::Duration timeout, std::string& told) {
    asio::co_spawn(io_, ask(host, timeout, told), asio::detached);
  }
  Lookups::Found find(const net::Url& asked, const std::stop_token& stop) {
    ++num_lookups_;
    num_lookups_.notify_all();
    if (asked.host == "slow") {
      std::mutex mutex;
      std::condition_variable_any never;
      std::unique_lock lock(mutex);
      never.wait(lock, stop, [] { return false; });
      return base::error(base::ErrorCode::cancelled, "cancelled");
    }
    auto origin = std::make_shared<net::Origin>();
    origin->url = asked;
    return std::shared_ptr<const net::Origin>(std::move(origin));
  }

  std::atomic<int> num_lookups_{0};
  asio::io_context io_;
  Lookups lookups_{io_.get_executor(),
                   [this](const net::Url& asked, const std::stop_token& stop) { return find(asked, stop); }};
};

TEST_F(LookupsTest, ASlowNameHoldsUpNobodyElse) {
  // These are more lookups than any pool of threads would have threads.
  std::string slow[20];
  for (std::string& told : slow) start("slow", std::chrono::hours(1), told);
  std::string quick[3];
  for (std::string& told : quick) start("quick", std::chrono::hours(1), told);
  while (quick[0].empty() || quick[1].empty() || quick[2].empty()) io_.run_one();
  for (const std::string& told : quick) EXPECT_EQ(told, "quick");
  for (const std::string& told : slow) EXPECT_EQ(told, "");
  EXPECT_LE(num_lookups_, 4);  // one lookup of the slow name, however many callers ask
}

TEST_F(LookupsTest, WhoeverAsksWaitsNoLongerThanItsOwnTime) {
  std::string patient;
  std::string hasty;
  start("slow", std::chrono::hours(1), patient);
  start("slow", std::chrono::milliseconds(1), hasty);
  while (hasty.empty()) io_.run_one();
  EXPECT_EQ(hasty, "no result within 0.001 s");
  EXPECT_EQ(patient, "");
  num_lookups_.wait(0);  // the thread of the lookup may begin later
  EXPECT_EQ(num_lookups_, 1);
}

}  // namespace
}  // namespace kvasir::tool
