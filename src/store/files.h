#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "store/page.h"

namespace kvasir::store {

struct File {
  std::string id;
  std::string tenant;
  std::string name;
  std::string purpose;
  std::int64_t created_ms = 0;
  std::int64_t expires_ms = 0;  // 0: never
  std::int64_t num_bytes = 0;
};

// The size of the piece that a slow reader of a file holds.
inline constexpr std::size_t kMaxPieceBytes = 128 * 1024;

// Files of clients. Every change is durable once the call returns. Calls block and are thread-safe.
class Files {
 public:
  virtual ~Files() = default;

  // `file.num_bytes` is ignored; the size of `contents` is stored.
  virtual base::Status add(const File& file, const std::string& contents) = 0;
  virtual base::Result<File> find(const Key& key) = 0;
  virtual base::Result<std::string> contents(const Key& key) = 0;
  // The contents are stored in pieces of up to kMaxPieceBytes, numbered from 0. Empty: there is no such
  // piece.
  virtual base::Result<std::string> piece(const Key& key, std::int64_t number) = 0;
  // Empty `purpose`: files of any purpose.
  virtual base::Result<Page<File>> list(const std::string& tenant, const std::string& purpose,
                                        const PageQuery& query) = 0;
  virtual base::Status remove(const Key& key) = 0;
};

}  // namespace kvasir::store
