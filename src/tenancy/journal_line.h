#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenancy/account.h"

namespace kvasir::tenancy {

// A line of the journal: what an account stood at. The last line of a tenant is the one that counts.
struct JournalLine {
  std::string tenant;
  AccountState state;
};

// Appends a line with its checksum and its end.
void write_journal_line(std::string_view tenant, const AccountState& state, std::string& out);

// `line` without its end. Nothing where it is not what was written.
std::optional<JournalLine> read_journal_line(std::string_view line);

struct JournalText {
  std::vector<JournalLine> lines;
  int num_broken = 0;  // without a last line that was cut off
};
JournalText read_journal(std::string_view text);

}  // namespace kvasir::tenancy
