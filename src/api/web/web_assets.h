#pragma once

#include <span>
#include <string_view>

namespace kvasir::api {

// A file of web/dist.
struct WebAsset {
  std::string_view name;  // "index.html", "app-XXXX.js"
  std::string_view content_type;
  std::string_view etag;  // with its quotes; the same content has the same one
  std::string_view plain;
  std::string_view gzipped;
};

// All of them; scripts/embed_web.py writes the definition into the build folder.
std::span<const WebAsset> web_assets();

}  // namespace kvasir::api
