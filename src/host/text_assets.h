#pragma once

#include <filesystem>

#include "base/result.h"
#include "config/settings.h"
#include "remote/text_assets.h"
#include "router/model_text.h"

namespace kvasir::host {

// The files and facts that a gateway needs of a model that this process has loaded from `path`.
base::Result<remote::TextAssets> text_assets_of(const std::filesystem::path& path,
                                                const router::ChatText& text);

base::Result<remote::TextAssets> text_assets_of(const std::filesystem::path& path,
                                                const router::EmbedText& text);

// Opens the text side of a model whose weights are on another machine. Its files are kept in the user's
// cache, by digest.
base::Result<router::ChatText> open_text(const remote::TextAssets& assets, const config::Settings& settings);
// As above, for a model that makes vectors.
base::Result<router::EmbedText> open_embed_text(const remote::TextAssets& assets, int dimensions,
                                                const config::Settings& settings);

}  // namespace kvasir::host
