#pragma once

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

// Files of clients, whole. What has returned is durable. Calls block and are thread-safe.
class Files {
 public:
  virtual ~Files() = default;

  // Sets num_bytes itself.
  virtual base::Status add(const File& file, const std::string& contents) = 0;
  virtual base::Result<File> find(const Key& key) = 0;
  virtual base::Result<std::string> contents(const Key& key) = 0;
  // `purpose` empty: of any.
  virtual base::Result<Page<File>> list(const std::string& tenant, const std::string& purpose,
                                        const PageQuery& query) = 0;
  virtual base::Status remove(const Key& key) = 0;
};

}  // namespace kvasir::store
