#pragma once

#include <kvasir.pb.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/ids.h"

// For tests: the messages between a gateway and a worker of one build, as bytes. Recordings of older builds
// are in tests/recorded.
namespace kvasir::remote {

struct Said {
  char who;  // 'g': gateway to worker; 'w': worker to gateway; 't': the worker's text
  std::string bytes;

  bool operator==(const Said&) const = default;
};
using Recording = std::vector<Said>;

// Writes each message as its letter, its size in four bytes (the lowest first), and its bytes.
inline void save(const Recording& recording, const std::filesystem::path& path) {
  std::ofstream out(path, std::ios::binary);
  for (const Said& said : recording) {
    out.put(said.who);
    for (int shift = 0; shift < 32; shift += 8) out.put(static_cast<char>(said.bytes.size() >> shift));
    out << said.bytes;
  }
  CHECK(out.good(), "{} cannot be written", path.string());
}

inline Recording load_recording(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  Recording recording;
  for (Said said; in.get(said.who);) {
    std::size_t size = 0;
    for (int shift = 0; shift < 32; shift += 8) size |= static_cast<std::size_t>(in.get()) << shift;
    said.bytes.resize(size);
    CHECK(in.read(said.bytes.data(), static_cast<std::streamsize>(size)).good(), "{} ends early",
          path.string());
    recording.push_back(said);
  }
  CHECK(!recording.empty(), "{} has no messages", path.string());
  return recording;
}

template <class Message>
Message parsed(const Said& said) {
  Message message;
  CHECK(message.ParseFromString(said.bytes), "a recorded message cannot be read");
  return message;
}

// Appends the message's tokens to those of each stream.
using TokensByStream = std::map<std::uint64_t, std::vector<TokenId>>;

inline void add_tokens(const proto::ToGateway& message, TokensByStream& tokens) {
  for (const proto::Event& event : message.events())
    tokens[event.stream()].insert(tokens[event.stream()].end(), event.tokens().begin(), event.tokens().end());
}

inline TokensByStream tokens_of(const Recording& recording) {
  TokensByStream tokens;
  for (const Said& said : recording)
    if (said.who == 'w') add_tokens(parsed<proto::ToGateway>(said), tokens);
  return tokens;
}

}  // namespace kvasir::remote
