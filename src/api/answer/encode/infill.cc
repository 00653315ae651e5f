#include "api/answer/encode/infill.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace kvasir::api {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Status;

namespace {

using Tokens = std::vector<TokenId>;

// The room kept for an answer whose length the request does not bound, where files take the rest. It is at
// most a quarter of the context.
constexpr std::size_t kAnswerRoom = 512;

void append(Tokens& tokens, const Tokens& more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
}

class InfillWriter {
 public:
  InfillWriter(const router::ModelText& model, const std::stop_token& stop)
      : model_(model), tokenizer_(*model.tokenizer), fim_(*model.tokenizer->fim()), stop_(stop) {}

  Result<Tokens> text(std::string_view text, std::string_view field) const {
    TRY_OK(check_could_fit(model_, text.size(), field));
    text::Prompt prompt;
    prompt.append_input(text);
    Tokens tokens = tokenizer_.encode(prompt, stop_);
    TRY_OK(check_not_stopped(stop_));
    return tokens;
  }

  // The tokens of everything but the files.
  Result<Tokens> gap(const TextOrTokens& before, const Infill& infill, std::string_view field) const {
    Tokens tokens{fim_.prefix};
    if (const auto* given = std::get_if<Tokens>(&before)) {
      TRY_OK(check_tokens(tokenizer_, *given));
      append(tokens, *given);
    } else {
      TRY(const Tokens own, text(std::get<std::string>(before), field));
      append(tokens, own);
    }
    tokens.push_back(fim_.suffix);
    TRY(const Tokens after, text(infill.suffix, infill.suffix_field));
    append(tokens, after);
    tokens.push_back(fim_.middle);
    TRY(const Tokens begun, text(infill.begun, "prompt"));
    append(tokens, begun);
    return tokens;
  }

  // The newest files that fit into `room` tokens, oldest first. Older files are not even tokenized.
  Result<EncodedInfill> files(const std::vector<ContextFile>& files, std::size_t room) const {
    EncodedInfill encoded;
    if (files.empty()) return encoded;
    TRY(const Tokens head, opening());
    TRY(const Tokens tail, closing());
    room -= std::min(room, head.size() + tail.size());
    std::vector<Tokens> newest_first;
    for (auto file = files.rbegin(); file != files.rend(); ++file) {
      if ((file->name.size() + file->text.size()) / tokenizer_.max_token_bytes() > room) break;
      TRY(Tokens tokens, whole(*file));
      if (tokens.size() > room) break;
      room -= tokens.size();
      newest_first.push_back(std::move(tokens));
    }
    encoded.num_left_out = files.size() - newest_first.size();
    if (newest_first.empty()) return encoded;
    encoded.tokens = head;
    for (auto tokens = newest_first.rbegin(); tokens != newest_first.rend(); ++tokens)
      append(encoded.tokens, *tokens);
    append(encoded.tokens, tail);
    return encoded;
  }

 private:
  bool knows_files() const { return fim_.repository && fim_.file; }

  Result<Tokens> opening() const {
    if (!knows_files()) return Tokens();
    return after_mark(*fim_.repository, "project\n");
  }
  // The header of the file that has the gap. It gets a name, since the files before it have names.
  Result<Tokens> closing() const {
    if (!knows_files()) return Tokens();
    return after_mark(*fim_.file, "filename\n");
  }
  Result<Tokens> whole(const ContextFile& file) const {
    if (!knows_files()) return text(file.text + "\n", "input_extra");
    return after_mark(*fim_.file, file.name + "\n" + file.text + "\n");
  }
  Result<Tokens> after_mark(TokenId mark, const std::string& words) const {
    Tokens tokens{mark};
    TRY(const Tokens own, text(words, "input_extra"));
    append(tokens, own);
    return tokens;
  }

  const router::ModelText& model_;
  const text::Tokenizer& tokenizer_;
  const text::FimTokens& fim_;
  const std::stop_token& stop_;
};

}  // namespace

Status check_can_infill(const router::ModelText& model, const Infill& infill) {
  if (model.tokenizer->fim()) return base::ok();
  return Error{ErrorCode::unsupported,
               fmt::format("the model '{}' cannot fill in the middle of a text: its vocabulary has no tokens "
                           "for it; GET /v1/models says which models can",
                           model.name),
               std::string(infill.suffix_field), "model_not_supported"};
}

Result<EncodedInfill> encode_infill(const router::ModelText& model, const TextOrTokens& before,
                                    const CompletionRequest& request, const std::stop_token& stop) {
  TRY_OK(check_can_infill(model, *request.infill));
  const InfillWriter writer(model, stop);
  TRY(const Tokens gap, writer.gap(before, *request.infill, request.prompt_field));
  const text::Tokenizer& tokenizer = *model.tokenizer;
  Tokens start;
  if (tokenizer.add_bos() && tokenizer.bos()) start.push_back(*tokenizer.bos());
  const auto context = static_cast<std::size_t>(model.context_length);
  const std::size_t answer = request.params.max_tokens ? static_cast<std::size_t>(*request.params.max_tokens)
                                                       : std::min(kAnswerRoom, context / 4);
  const std::size_t taken = start.size() + gap.size() + answer;
  TRY(EncodedInfill encoded, writer.files(request.infill->files, context - std::min(context, taken)));
  encoded.tokens.insert(encoded.tokens.begin(), start.begin(), start.end());
  append(encoded.tokens, gap);
  return encoded;
}

}  // namespace kvasir::api
