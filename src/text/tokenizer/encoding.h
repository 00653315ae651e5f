#pragma once

#include <memory>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/tokenizer_parts.h"
#include "text/tokenizer/word_model.h"

namespace kvasir::text {

// Keeps idle workspaces for later encodings. Thread-safe.
class WorkspacePool {
 public:
  std::unique_ptr<Workspace> take();
  void give_back(std::unique_ptr<Workspace> work);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> idle_;  // guarded by mutex_
};

// Encodes one text, on one thread.
class Encoding {
 public:
  Encoding(const TokenizerParts& parts, WorkspacePool& pool, const std::stop_token& stop);
  ~Encoding();
  Encoding(const Encoding&) = delete;
  Encoding& operator=(const Encoding&) = delete;

  // Encodes as Hugging Face's library does: finds `added` in the raw text, then `normalized_added` in the
  // rest. `allowed(range, entry)` says whether a token is recognised at a place.
  template <class Allowed>
  std::vector<TokenId> text(std::string_view text, const Allowed& allowed);
  // Encodes a prompt. All added tokens are found in the raw text, so that positions in it are positions in
  // the prompt.
  template <class Allowed>
  std::vector<TokenId> prompt(std::string_view text, const Allowed& allowed);

 private:
  using Place = PreTokenizer::Place;

  // Adds the tokens that it finds, and calls plain(text, place) for the text between them.
  template <class Allowed, class Plain>
  void split(std::string_view text, const AddedTokens& tokens, const Allowed& allowed, const Plain& plain);
  // Calls valid(text, place) for the UTF-8 parts of a text, since splitting and normalizing need UTF-8.
  // Invalid bytes become words of their own.
  template <class Valid>
  void for_valid(std::string_view text, Place place, const Valid& valid);
  void add_words(std::string_view text, Place place);
  void add_word(std::string_view word);
  void add_cached(std::string_view word);

  const TokenizerParts& parts_;
  WorkspacePool& pool_;
  std::unique_ptr<Workspace> work_;
  std::vector<TokenId> out_;
};

// Return the number of bytes of white space at the end or the beginning of `text`.
std::size_t space_at_end(std::string_view text);
std::size_t space_at_start(std::string_view text);
// Whether no word character is next to bytes [begin, end) of `text`.
bool stands_as_word(std::string_view text, Range range);
std::size_t valid_utf8_prefix(std::string_view text);
std::size_t invalid_utf8_prefix(std::string_view text);

template <class Allowed>
std::vector<TokenId> Encoding::text(std::string_view text, const Allowed& allowed) {
  split(text, parts_.added, allowed, [&](std::string_view plain, Place place) {
    for_valid(plain, place, [&](std::string_view valid, Place valid_place) {
      const std::string normal = normalize(valid, parts_.normalizer);
      if (parts_.normalized_added.empty()) return add_words(normal, valid_place);
      split(normal, parts_.normalized_added, allowed, [&](std::string_view words, Place words_place) {
        add_words(words, valid_place == Place::start ? words_place : Place::inside);
      });
    });
  });
  return std::move(out_);
}

template <class Allowed>
std::vector<TokenId> Encoding::prompt(std::string_view text, const Allowed& allowed) {
  split(text, parts_.added_in_prompts, allowed, [&](std::string_view plain, Place place) {
    for_valid(plain, place, [&](std::string_view valid, Place valid_place) {
      add_words(parts_.normalizer.empty() ? valid : normalize(valid, parts_.normalizer), valid_place);
    });
  });
  return std::move(out_);
}

template <class Allowed, class Plain>
void Encoding::split(std::string_view text, const AddedTokens& tokens, const Allowed& allowed,
                     const Plain& plain) {
  std::size_t done = 0;
  const auto add_plain = [&](std::size_t end) {
    if (end > done) plain(text.substr(done, end - done), done == 0 ? Place::start : Place::inside);
  };
  for (std::size_t at = 0; at < text.size();) {
    if (!tokens.may_begin_with(text[at])) {
      ++at;
      continue;
    }
    const auto match = tokens.match_at(text, at, allowed);
    if (!match) {
      ++at;
      continue;
    }
    at = match->range.end;
    if (match->entry.single_word && !stands_as_word(text, match->range)) continue;
    std::size_t begin = match->range.begin;
    if (match->entry.takes_space_before) begin -= space_at_end(text.substr(done, begin - done));
    if (match->entry.takes_space_after) at += space_at_start(text.substr(at));
    add_plain(begin);
    out_.push_back(match->entry.id);
    done = at;
  }
  add_plain(text.size());
}

template <class Valid>
void Encoding::for_valid(std::string_view text, Place place, const Valid& valid) {
  while (!text.empty()) {
    const std::size_t size = valid_utf8_prefix(text);
    if (size > 0) valid(text.substr(0, size), place);
    place = Place::inside;
    text.remove_prefix(size);
    if (text.empty()) return;
    const std::size_t wrong = invalid_utf8_prefix(text);
    add_word(text.substr(0, wrong));
    text.remove_prefix(wrong);
  }
}

}  // namespace kvasir::text
