#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <thread>

#include "obs/log.h"
#include "tool/child_process.h"
#include "tool/mcp.h"
#include "tool/toolbox.h"

namespace kvasir::tool {
namespace {

using config::ToolConfig;

// A small MCP server in Python. Each tool is named after what it does.
constexpr const char* kServer = R"py(
import json, os, sys, time
tools = ["echo", "fail", "hang", "big", "die", "env", "ping", "more", "image", "pid", "files", "lists"]
num_lists = 0
def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()
def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}
def call(id, name, arguments):
    if name == "hang":
        return None
    if name == "die":
        print("giving up", file=sys.stderr, flush=True)
        sys.exit(3)
    if name == "ping":
        send({"id": "p", "method": "ping"})
        return text(sys.stdin.readline().strip())
    if name == "more":
        tools.append("extra")
        send({"method": "notifications/tools/list_changed"})
    if name == "image":
        return {"content": [{"type": "image", "data": "", "mimeType": "image/png"}]}
    if name == "fail":
        return text("it is broken", isError=True)
    if name == "big":
        return text("x" * 3000000)
    if name == "files":
        paths = ["/proc/self/fd/" + fd for fd in os.listdir("/proc/self/fd")]
        return text(" ".join(os.readlink(path) for path in paths if os.path.lexists(path)))
    if name == "pid":
        return text(str(os.getpid()))
    if name == "lists":
        return text(str(num_lists))
    return text(os.environ.get("TOKEN", "") if name == "env" else json.dumps(arguments))
for line in sys.stdin:
    message = json.loads(line)
    id, params = message.get("id"), message.get("params", {})
    if message["method"] == "initialize":
        assert params["clientInfo"]["name"] == "kvasir"
        send({"id": id, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                                   "serverInfo": {"name": "test", "version": "1"}}})
    elif message["method"] == "tools/list":
        # One tool a page.
        at = int(params.get("cursor", "0"))
        num_lists += at == 0
        if "--restless" in sys.argv:
            send({"method": "notifications/tools/list_changed"})
        page = {"tools": [{"name": tools[at], "description": "does " + tools[at],
                           "inputSchema": {"type": "object"}}]}
        if at + 1 < len(tools):
            page["nextCursor"] = str(at + 1)
        send({"id": id, "result": page})
    elif message["method"] == "tools/call":
        if params["name"] == "unknown":
            send({"id": id, "error": {"code": -32602, "message": "no such tool"}})
            continue
        result = call(id, params["name"], params["arguments"])
        if result is not None:
            send({"id": id, "result": result})
)py";

class McpStdioTest : public testing::Test {
 protected:
  static ToolConfig row(const std::string& script = kServer) {
    ToolConfig row;
    row.kind = ToolConfig::Kind::mcp_stdio;
    row.name = "s";
    row.command = "python3";
    row.args = {"-c", script};
    row.env = {{"TOKEN", "secret"}};
    row.timeout_s = 20;
    row.max_output_bytes = 1024;
    return row;
  }
  void open(const ToolConfig& config) { box_ = Toolbox::open({config}).value(); }
  static bool eventually(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }
  bool ready() {
    return eventually([&] { return box_->find("s").ok(); });
  }
  Outcome call(const std::string& tool, json::object arguments = {}, std::stop_token stop = {}) {
    auto promise = std::make_shared<std::promise<Outcome>>();
    box_->start({"s__" + tool, std::move(arguments)}, std::move(stop),
                [promise](Outcome outcome) { promise->set_value(std::move(outcome)); });
    return promise->get_future().get();
  }

  std::unique_ptr<Toolbox> box_;
};

TEST_F(McpStdioTest, ToolsOfAllPagesAreOfferedAndCalled) {
  open(row());
  ASSERT_TRUE(ready());
  const auto all = box_->find("s");
  ASSERT_EQ(all->size(), 12u);
  EXPECT_EQ(all->front().name, "s__echo");
  EXPECT_EQ(all->front().description, "does echo");
  EXPECT_EQ(box_->find("s__fail")->size(), 1u);
  EXPECT_FALSE(box_->find("s__nothing").ok());
  const Outcome echo = call("echo", {{"a", 1}});
  EXPECT_FALSE(echo.failed);
  EXPECT_EQ(echo.text, R"({"a": 1})");
  EXPECT_EQ(call("env").text, "secret");
}

TEST_F(McpStdioTest, FailuresAreOutcomes) {
  open(row());
  ASSERT_TRUE(ready());
  const Outcome failed = call("fail");
  EXPECT_TRUE(failed.failed);
  EXPECT_EQ(failed.text, "it is broken");
  const Outcome unknown = call("unknown");
  EXPECT_TRUE(unknown.failed);
  EXPECT_EQ(unknown.text, "The tool failed: the tool server refused: no such tool (-32602)");
  EXPECT_EQ(call("image").text, "[image left out: only text is read]");
}

TEST_F(McpStdioTest, MegabytesAreCut) {
  open(row());
  ASSERT_TRUE(ready());
  EXPECT_EQ(call("big").text, std::string(1024, 'x') + "\n[cut off: the result is longer than 1024 bytes]");
}

TEST_F(McpStdioTest, ACallThatHangsEndsAndOthersGoOn) {
  ToolConfig slow = row();
  slow.timeout_s = 2;
  open(slow);
  ASSERT_TRUE(ready());
  std::stop_source stop;
  auto hanging = std::async(std::launch::async, [&] { return call("hang", {}, stop.get_token()); });
  EXPECT_FALSE(call("echo").failed);
  stop.request_stop();
  EXPECT_EQ(hanging.get().text, "The tool failed: given up");
  EXPECT_EQ(call("hang").text, "The tool failed: no result within 2 s");
  EXPECT_FALSE(call("echo").failed);
}

TEST_F(McpStdioTest, TheServerMayAskForALifeSign) {
  open(row());
  ASSERT_TRUE(ready());
  const std::string answer = call("ping").text;
  EXPECT_EQ(base::parse_json(answer).value().at("id"), "p") << answer;
  EXPECT_TRUE(base::parse_json(answer).value().at("result").is_object());
}

TEST_F(McpStdioTest, NewToolsAreSeen) {
  open(row());
  ASSERT_TRUE(ready());
  EXPECT_FALSE(box_->find("s__extra").ok());
  call("more");
  EXPECT_TRUE(eventually([&] { return box_->find("s__extra").ok(); }));
}

TEST_F(McpStdioTest, AServerThatDiesIsStartedAgain) {
  open(row());
  ASSERT_TRUE(ready());
  const std::string first = call("pid").text;
  const Outcome died = call("die");
  EXPECT_TRUE(died.failed);
  EXPECT_EQ(died.text, "The tool failed: the tool server is gone: its process ended");
  ASSERT_TRUE(eventually([&] {
    const Outcome again = call("pid");
    return !again.failed && again.text != first;
  }));
}

TEST_F(McpStdioTest, NoSocketOfTheServerIsThePrograms) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_GE(listener, 0);
  open(row());
  ASSERT_TRUE(ready());
  const Outcome files = call("files");
  ::close(listener);
  EXPECT_FALSE(files.failed) << files.text;
  EXPECT_EQ(files.text.find("socket:"), std::string::npos) << files.text;
}

TEST_F(McpStdioTest, AServerThatLeavesSomethingBehindIsStartedAgain) {
  ToolConfig shell = row();
  shell.command = "sh";
  shell.args = {"-c", "sleep 60 & exec python3 -c \"$0\"", kServer};
  open(shell);
  ASSERT_TRUE(ready());
  const std::string first = call("pid").text;
  EXPECT_TRUE(call("die").failed);
  EXPECT_TRUE(eventually([&] {
    const Outcome again = call("pid");
    return !again.failed && again.text != first;
  }));
}

TEST_F(McpStdioTest, StoppingLeavesNoProcess) {
  // This server does not end when its input ends.
  open(row(std::string(kServer) + "\nwhile True: time.sleep(1)"));
  ASSERT_TRUE(ready());
  const pid_t pid = std::stoi(call("pid").text);
  EXPECT_EQ(::kill(pid, 0), 0);
  box_->stop();
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST_F(McpStdioTest, AServerThatCannotBeUsedIsReported) {
  struct Case {
    const char* script;
    const char* reason;
  };
  const Case cases[] = {
      {"print('hello')", "it sent what is no message"},
      {"import sys; sys.exit('no licence')", "its process ended"},
      {"import sys; sys.stdout.write('x' * (17 << 20)); sys.stdout.flush(); sys.stdin.read()",
       "it sent a message that is too long"},
      {"import json, sys; m = json.loads(sys.stdin.readline())\n"
       "print(json.dumps({'id': m['id'], 'result': {'protocolVersion': '1999-01-01'}}), flush=True)\n"
       "sys.stdin.read()",
       "speaks version '1999-01-01'"},
  };
  for (const Case& c : cases) {
    open(row(c.script));
    std::string reason;
    EXPECT_TRUE(eventually([&] {
      reason = box_->find("s").error().message;
      return reason.find(c.reason) != std::string::npos;
    })) << reason;
    EXPECT_TRUE(call("echo").failed);
  }
  ToolConfig missing = row();
  missing.command = "kvasir-no-such-program";
  open(missing);
  EXPECT_TRUE(eventually([&] {
    return box_->find("s").error().message.find("cannot run kvasir-no-such-program") != std::string::npos;
  }));
}

TEST_F(McpStdioTest, AServerThatAlwaysSaysItsToolsHaveChangedIsAskedNowAndThen) {
  ToolConfig restless = row();
  restless.args.emplace_back("--restless");
  const auto started = std::chrono::steady_clock::now();
  open(restless);
  ASSERT_TRUE(ready());
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(call("echo").failed);
  const int num_lists = std::stoi(call("lists").text);
  const auto passed = std::chrono::steady_clock::now() - started;
  EXPECT_LE(num_lists, 1 + passed / std::chrono::seconds(1));
}

TEST_F(McpStdioTest, LastWordsAreForTheLogAlone) {
  std::mutex mutex;
  std::string log;
  obs::Log::redirect([&](std::string_view line) {
    const std::lock_guard lock(mutex);
    log += line;
  });
  open(row("import sys; sys.exit('the password is hunter2')"));
  std::string reason;
  EXPECT_TRUE(eventually([&] {
    reason = box_->find("s").error().message;
    return reason.find("its process ended") != std::string::npos;
  }));
  box_.reset();
  obs::Log::redirect({});
  EXPECT_EQ(reason.find("hunter2"), std::string::npos) << reason;
  EXPECT_NE(log.find("hunter2"), std::string::npos) << log;
}

TEST_F(McpStdioTest, NoSecretIsLogged) {
  std::mutex mutex;
  std::string log;
  obs::Log::redirect([&](std::string_view line) {
    const std::lock_guard lock(mutex);
    log += line;
  });
  open(row());
  ASSERT_TRUE(ready());
  box_.reset();
  obs::Log::redirect({});
  EXPECT_NE(log.find("tool_server_ready"), std::string::npos);
  EXPECT_EQ(log.find("secret"), std::string::npos) << log;
}

}  // namespace
}  // namespace kvasir::tool
