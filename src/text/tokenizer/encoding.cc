#include "text/tokenizer/encoding.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "text/tokenizer/character_class.h"
#include "text/tokenizer/merge_table.h"

namespace kvasir::text {

std::unique_ptr<Workspace> WorkspacePool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto work = std::move(idle_.back());
      idle_.pop_back();
      return work;
    }
  }
  return std::make_unique<Workspace>();
}

void WorkspacePool::give_back(std::unique_ptr<Workspace> work) {
  constexpr std::size_t kMaxIdle = 32;
  // The large buffers that one huge word needed are not kept.
  constexpr std::size_t kMaxSymbols = 1 << 16;
  if (std::max({work->symbols.capacity(), work->merged.capacity(), work->best.capacity()}) > kMaxSymbols)
    return;
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(work));
}

Encoding::Encoding(const TokenizerParts& parts, WorkspacePool& pool, const std::stop_token& stop)
    : parts_(parts), pool_(pool), work_(pool.take()) {
  work_->stop = stop;
}

Encoding::~Encoding() {
  work_->stop = {};
  pool_.give_back(std::move(work_));
}

void Encoding::add_words(std::string_view text, Place place) {
  parts_.pre_tokenizer.for_each_word(text, place, [this](std::string_view word) {
    if (work_->stop.stop_requested()) return false;
    add_word(word);
    return true;
  });
}

void Encoding::add_word(std::string_view word) {
  if (!parts_.cuts_at_space_marks) return add_cached(word);
  std::size_t begin = 0;
  for (std::size_t at = 0; (at = word.find(kSpaceMark, at)) != std::string_view::npos;) {
    if (at > begin) {
      add_cached(word.substr(begin, at - begin));
      if (work_->stop.stop_requested()) return;
      begin = at;
    }
    while (word.substr(at).starts_with(kSpaceMark)) at += kSpaceMark.size();
  }
  if (begin < word.size()) add_cached(word.substr(begin));
}

void Encoding::add_cached(std::string_view word) {
  if (!WordCache::takes(word)) return parts_.model->encode(word, *work_, out_);
  if (const auto* tokens = work_->cache.find(word)) {
    out_.insert(out_.end(), tokens->begin(), tokens->end());
    return;
  }
  const std::size_t before = out_.size();
  parts_.model->encode(word, *work_, out_);
  if (work_->stop.stop_requested()) return;
  work_->cache.put(word, std::span(out_).subspan(before));
}

std::size_t space_at_end(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t begin = end - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    const base::Utf8Step step = base::utf8_step(text.substr(begin, end - begin));
    if (step.kind != base::Utf8Step::Kind::character || step.size != end - begin ||
        !is_white_space(step.value))
      break;
    end = begin;
  }
  return text.size() - end;
}

std::size_t space_at_start(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size()) {
    const base::Utf8Step step = base::utf8_step(text.substr(size));
    if (step.kind != base::Utf8Step::Kind::character || !is_white_space(step.value)) break;
    size += step.size;
  }
  return size;
}

bool stands_as_word(std::string_view text, Range range) {
  if (range.begin > 0) {
    std::size_t begin = range.begin - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    const base::Utf8Step before = base::utf8_step(text.substr(begin, range.begin - begin));
    if (before.kind == base::Utf8Step::Kind::character && is_word_character(before.value)) return false;
  }
  if (range.end == text.size()) return true;
  const base::Utf8Step behind = base::utf8_step(text.substr(range.end));
  return behind.kind != base::Utf8Step::Kind::character || !is_word_character(behind.value);
}

std::size_t valid_utf8_prefix(std::string_view text) {
  return base::utf8_valid_prefix(text);
}

std::size_t invalid_utf8_prefix(std::string_view text) {
  return base::utf8_step(text).size;
}

}  // namespace kvasir::text
