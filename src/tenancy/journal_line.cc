#include "tenancy/journal_line.h"

#include <array>
#include <charconv>
#include <cstdint>

namespace kvasir::tenancy {

namespace {

// A line is "1 CHECKSUM FIELDS TENANT\n", with decimal fields. In the tenant's name, characters that could
// end a field are written as %XX.
constexpr std::string_view kVersion = "1 ";
constexpr std::size_t kChecksumDigits = 8;
constexpr std::string_view kHexDigits = "0123456789abcdef";

// FNV-1a.
std::uint32_t checksum(std::string_view bytes) {
  std::uint32_t sum = 2166136261;
  for (const char byte : bytes) sum = (sum ^ static_cast<unsigned char>(byte)) * 16777619;
  return sum;
}

std::array<char, kChecksumDigits> hex(std::uint32_t value) {
  std::array<char, kChecksumDigits> digits{};
  for (std::size_t i = kChecksumDigits; i-- > 0; value >>= 4) digits[i] = kHexDigits[value & 15];
  return digits;
}

bool is_plain(char c) {
  return c > ' ' && c != '%' && c != '\x7f';
}

void append_tenant(std::string_view tenant, std::string& out) {
  for (const char c : tenant) {
    if (is_plain(c) || static_cast<unsigned char>(c) >= 0x80) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHexDigits[byte >> 4];
    out += kHexDigits[byte & 15];
  }
}

std::string read_tenant(std::string_view written) {
  std::string tenant;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i] != '%' || i + 2 >= written.size()) {
      tenant += written[i];
      continue;
    }
    const std::size_t high = kHexDigits.find(written[i + 1]);
    const std::size_t low = kHexDigits.find(written[i + 2]);
    tenant += static_cast<char>((high & 15) << 4 | (low & 15));
    i += 2;
  }
  return tenant;
}

void append_number(std::int64_t number, std::string& out) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
  out += ' ';
}

bool take_number(std::string_view& text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() + text.size() || *end != ' ') return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return true;
}

}  // namespace

void write_journal_line(std::string_view tenant, const AccountState& state, std::string& out) {
  out += kVersion;
  const std::size_t sum_at = out.size();
  out.append(kChecksumDigits, '0');
  out += ' ';
  const std::size_t begin = out.size();
  for (const std::int64_t number : {state.requests_full_at_us, state.tokens_full_at_us, state.day.period,
                                    state.day.tokens, state.month.period, state.month.tokens})
    append_number(number, out);
  append_tenant(tenant, out);
  const auto digits = hex(checksum(std::string_view(out).substr(begin)));
  out.replace(sum_at, kChecksumDigits, digits.data(), digits.size());
  out += '\n';
}

std::optional<JournalLine> read_journal_line(std::string_view line) {
  const std::size_t head = kVersion.size() + kChecksumDigits + 1;
  if (!line.starts_with(kVersion) || line.size() <= head || line[head - 1] != ' ') return std::nullopt;
  const std::string_view sum = line.substr(kVersion.size(), kChecksumDigits);
  line.remove_prefix(head);
  const auto expected = hex(checksum(line));
  if (sum != std::string_view(expected.data(), expected.size())) return std::nullopt;
  JournalLine read;
  AccountState& state = read.state;
  for (std::int64_t* number : {&state.requests_full_at_us, &state.tokens_full_at_us, &state.day.period,
                               &state.day.tokens, &state.month.period, &state.month.tokens})
    if (!take_number(line, *number)) return std::nullopt;
  read.tenant = read_tenant(line);
  return read;
}

JournalText read_journal(std::string_view text) {
  JournalText journal;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;  // the process died during the write
    if (auto line = read_journal_line(text.substr(0, end)))
      journal.lines.push_back(std::move(*line));
    else
      ++journal.num_broken;
    text.remove_prefix(end + 1);
  }
  return journal;
}

}  // namespace kvasir::tenancy
