#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenancy/account.h"

namespace kvasir::tenancy {

// A line of the journal: the state of one account. The last line of a tenant counts.
struct JournalLine {
  std::string tenant;
  AccountState state;
};

// Appends a line to `out`, with its checksum and its newline.
void write_journal_line(std::string_view tenant, const AccountState& state, std::string& out);

// Parses a line without its newline. Empty if the line is damaged.
std::optional<JournalLine> read_journal_line(std::string_view line);

struct JournalText {
  std::vector<JournalLine> lines;
  int num_broken = 0;  // not counting a last line that was cut off
};
JournalText read_journal(std::string_view text);

}  // namespace kvasir::tenancy
