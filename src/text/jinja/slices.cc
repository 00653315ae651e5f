#include <algorithm>
#include <array>
#include <utility>

#include "text/jinja/characters.h"
#include "text/jinja/operators.h"

namespace kvasir::text::jinja {

using base::Result;

namespace {

// Python's indices of a slice, in the order in which they are taken.
struct Indices {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t step = 1;

  std::size_t count() const {
    if (step > 0) return begin < end ? static_cast<std::size_t>((end - begin - 1) / step + 1) : 0;
    return begin > end ? static_cast<std::size_t>((begin - end - 1) / -step + 1) : 0;
  }
};

Result<std::int64_t> bound(const Value& value, std::int64_t fallback, std::int64_t size, std::int64_t step) {
  if (value.is_none()) return fallback;
  if (!value.is_integer())
    return failure("slice indices must be integers or None, not '{}'", value.type_name());
  std::int64_t index = value.integer();
  if (index < 0) index += size;
  const std::int64_t lowest = step > 0 ? 0 : -1;
  const std::int64_t highest = step > 0 ? size : size - 1;
  return std::clamp(index, lowest, highest);
}

Result<Indices> indices_of(const SliceBounds& bounds, std::size_t num_elements) {
  const auto size = static_cast<std::int64_t>(num_elements);
  Indices indices;
  if (!bounds.step.is_none()) {
    if (!bounds.step.is_integer() || bounds.step.integer() == 0)
      return failure("slice step must be a number, not zero");
    // Clamped so that -step does not overflow. No sequence is longer than the limit, so the result is the
    // same.
    indices.step =
        std::clamp<std::int64_t>(bounds.step.integer(), -(std::int64_t{1} << 40), std::int64_t{1} << 40);
  }
  const bool forward = indices.step > 0;
  TRY(indices.begin, bound(bounds.begin, forward ? 0 : size - 1, size, indices.step));
  TRY(indices.end, bound(bounds.end, forward ? size : -1, size, indices.step));
  return indices;
}

// Returns a slice of a range, which is a range. It is never longer than the original.
Value slice_of_range(const std::array<std::int64_t, 3>& bounds, const Indices& indices) {
  const auto scaled = [](std::int64_t from, std::int64_t count, std::int64_t step) {
    const __int128 at = static_cast<__int128>(from) + static_cast<__int128>(count) * step;
    return static_cast<std::int64_t>(std::clamp<__int128>(at, INT64_MIN, INT64_MAX));
  };
  const auto [start, stop, step] = bounds;
  return Value::range(
      {scaled(start, indices.begin, step), scaled(start, indices.end, step), scaled(0, indices.step, step)});
}

}  // namespace

Result<Value> slice(Context& context, const Value& object, const SliceBounds& bounds) {
  if (object.is_indexed()) {
    TRY(const Indices indices, indices_of(bounds, object.items().size()));
    TRY_OK(context.budget.steps(indices.count()));
    TRY_OK(context.budget.bytes(indices.count() * sizeof(Value)));
    std::vector<Value> items;
    items.reserve(indices.count());
    std::int64_t at = indices.begin;
    for (std::size_t i = 0; i < indices.count(); ++i, at += indices.step) {
      items.push_back(object.items()[static_cast<std::size_t>(at)]);
    }
    if (object.is(Sequence::Kind::range)) return slice_of_range(object.sequence().bounds, indices);
    return object.is_tuple() ? Value::tuple(std::move(items)) : Value::list(std::move(items));
  }
  if (object.is_text()) {
    TRY_OK(context.budget.steps(object.str().size() / 16));
    const auto offsets = character_offsets(object.str());
    TRY(const Indices indices, indices_of(bounds, offsets.size() - 1));
    TRY_OK(context.budget.bytes(object.str().size()));
    if (indices.step == 1) {
      const auto begin = static_cast<std::size_t>(indices.begin);
      const auto end = begin + indices.count();
      return Value::text(object.prompt().slice(offsets[begin], offsets[end]));
    }
    TRY_OK(context.budget.steps(indices.count()));
    Prompt picked;
    std::int64_t at = indices.begin;
    for (std::size_t i = 0; i < indices.count(); ++i, at += indices.step) {
      const auto character = static_cast<std::size_t>(at);
      picked.append(object.prompt().slice(offsets[character], offsets[character + 1]));
    }
    return Value::text(std::move(picked));
  }
  if (object.is_undefined()) return undefined_error(object);
  return failure("'{}' object is not subscriptable", object.type_name());
}

}  // namespace kvasir::text::jinja
