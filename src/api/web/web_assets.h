#pragma once

#include <span>
#include <string_view>

namespace kvasir::api {

// A file of web/dist.
struct WebAsset {
  std::string_view name;  // "index.html", "app-XXXX.js"
  std::string_view content_type;
  std::string_view etag;  // with its quotes; equal for equal content
  std::string_view plain;
  std::string_view gzipped;
};

// All assets. scripts/embed_web.py writes the definition into the build folder.
std::span<const WebAsset> web_assets();

}  // namespace kvasir::api
