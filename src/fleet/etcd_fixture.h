#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "fleet/etcd_client.h"

extern char** environ;

namespace kvasir::fleet {

// A program that a test starts. The destructor kills it.
class TestProcess {
 public:
  explicit TestProcess(const std::vector<std::string>& argv) {
    std::vector<char*> arguments;
    for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    for (const int fd : {1, 2}) ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
    if (::posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) pid_ = -1;
    ::posix_spawn_file_actions_destroy(&actions);
  }
  ~TestProcess() { kill(); }
  TestProcess(const TestProcess&) = delete;
  TestProcess& operator=(const TestProcess&) = delete;

  bool started() const { return pid_ > 0; }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }

 private:
  pid_t pid_ = -1;
};

inline std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  CHECK(::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0, "no port");
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return ntohs(address.sin_port);
}

inline bool eventually(const std::function<bool()>& condition,
                       std::chrono::milliseconds within = std::chrono::seconds(30)) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// A real etcd on free ports, with its data in a folder of the test.
class EtcdTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "kvasir-etcd-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    client_port_ = free_port();
    peer_port_ = free_port();
    start_etcd();
  }
  void TearDown() override {
    etcd_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(client_port_); }
  void start_etcd() {
    const std::string client = url();
    const std::string peer = "http://127.0.0.1:" + std::to_string(peer_port_);
    etcd_ = std::make_unique<TestProcess>(std::vector<std::string>{
        "etcd", "--data-dir", folder_ / "data", "--listen-client-urls", client, "--advertise-client-urls",
        client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster",
        "default=" + peer, "--unsafe-no-fsync"});
    ASSERT_TRUE(etcd_->started()) << "is etcd-server installed?";
    EtcdClient client_now(options());
    ASSERT_TRUE(eventually([&] { return client_now.range({}).ok(); }));
  }
  void stop_etcd() { etcd_.reset(); }
  void lose_data() { std::filesystem::remove_all(folder_ / "data"); }

  EtcdOptions options() const {
    EtcdOptions options;
    options.endpoints = {net::parse_url(url()).value()};
    return options;
  }

  std::filesystem::path folder_;
  std::uint16_t client_port_ = 0;
  std::uint16_t peer_port_ = 0;
  std::unique_ptr<TestProcess> etcd_;
};

}  // namespace kvasir::fleet
