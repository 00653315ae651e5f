#include "host/text_assets.h"

#include <unistd.h>

#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "config/load.h"
#include "model/loaded_model.h"
#include "router/model_grammars.h"

namespace kvasir::host {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::Result;

namespace {

base::Error cannot_write(const fs::path& path) {
  return base::error(ErrorCode::io, "{}: cannot be written", path.string());
}

base::Status write_files(const remote::TextAssets& assets, const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return cannot_write(folder);
  for (const remote::TextFile& file : assets.files) {
    if (file.name.empty() || fs::path(file.name).filename() != file.name || file.name == "..")
      return base::error(ErrorCode::corrupt, "a worker's text has a file called '{}'", file.name);
    std::ofstream out(folder / file.name, std::ios::binary | std::ios::trunc);
    out << file.bytes;
    if (!out.flush()) return cannot_write(folder / file.name);
  }
  return base::ok();
}

// An existing folder is complete, since it is renamed last. Another process may create the same folder
// meanwhile.
Result<fs::path> keep(const remote::TextAssets& assets, const fs::path& cache) {
  const fs::path folder = cache / remote::digest_of(assets);
  std::error_code error;
  if (fs::exists(folder, error)) return folder;
  const fs::path part = folder.string() + "." + std::to_string(::getpid());
  TRY_OK(write_files(assets, part));
  fs::rename(part, folder, error);
  if (error) fs::remove_all(part, error);
  if (!fs::exists(folder, error)) return cannot_write(folder);
  return folder;
}

}  // namespace

Result<remote::TextAssets> text_assets_of(const fs::path& path, const router::ChatText& text) {
  TRY(model::SpeechFiles speech, model::read_speech_files(path));
  remote::TextAssets assets{.context_length = text.context_length,
                            .vocab_size = speech.vocab_size,
                            .num_parameters = text.num_parameters,
                            .fingerprint = text.fingerprint,
                            .sampling = text.sampling,
                            .facts = *text.facts};
  for (model::SpeechFiles::File& file : speech.files)
    assets.files.push_back({std::move(file.name), std::move(file.bytes)});
  return assets;
}

Result<remote::TextAssets> text_assets_of(const fs::path& path, const router::EmbedText& text) {
  TRY(std::vector<model::SpeechFiles::File> files, model::read_text_files(path));
  remote::TextAssets assets{.context_length = text.context_length,
                            .vocab_size = text.tokenizer->size(),
                            .fingerprint = text.fingerprint,
                            .facts = *text.facts};
  for (model::SpeechFiles::File& file : files)
    assets.files.push_back({std::move(file.name), std::move(file.bytes)});
  return assets;
}

Result<router::EmbedText> open_embed_text(const remote::TextAssets& assets, int dimensions,
                                          const config::Settings& settings) {
  TRY(const fs::path folder, keep(assets, config::model_dir(settings) / ".texts"));
  router::EmbedText text;
  TRY(text.tokenizer,
      model::open_text_files(folder, model::TokenizerCache({.directory = config::tokenizer_dir(settings)})));
  if (text.tokenizer->size() > assets.vocab_size)
    return base::error(ErrorCode::corrupt, "{} tokens for a model of {}", text.tokenizer->size(),
                       assets.vocab_size);
  text.context_length = assets.context_length;
  text.fingerprint = assets.fingerprint;
  text.dimensions = dimensions;
  text.facts = std::make_shared<const wire::ModelFacts>(assets.facts);
  return text;
}

Result<router::ChatText> open_text(const remote::TextAssets& assets, const config::Settings& settings) {
  TRY(const fs::path folder, keep(assets, config::model_dir(settings) / ".texts"));
  TRY(model::Speech speech,
      model::open_speech(folder, assets.vocab_size,
                         model::TokenizerCache({.directory = config::tokenizer_dir(settings)})));
  router::ChatText text;
  text.grammars = router::make_grammar_compiler(speech.tokenizer, speech.end_tokens);
  text.tokenizer = std::move(speech.tokenizer);
  text.chat_template = std::move(speech.chat_template);
  text.context_length = assets.context_length;
  text.fingerprint = assets.fingerprint;
  text.num_parameters = assets.num_parameters;
  text.sampling = assets.sampling;
  text.facts = std::make_shared<const wire::ModelFacts>(assets.facts);
  if (!settings.public_prompts.empty())
    text.public_prompts = std::make_shared<router::PublicPrompts>(settings.public_prompts);
  return text;
}

}  // namespace kvasir::host
