#include "sched/row_turns.h"

#include <algorithm>
#include <unordered_map>

namespace kvasir::sched {

void sort_by_turn(std::vector<RowTurn>& turns) {
  std::ranges::stable_sort(turns, {}, &RowTurn::last_step);
  std::unordered_map<const RequestShare*, int> num_of_request;
  for (RowTurn& turn : turns) turn.place = num_of_request[turn.sequence->share]++;
  std::ranges::stable_sort(turns, {}, &RowTurn::place);
  std::unordered_map<const Account*, int> num_of_tenant;
  for (RowTurn& turn : turns) {
    const Account* account = turn.sequence->share->account;
    turn.place = num_of_tenant[account]++ / account->weight;
  }
  std::ranges::stable_sort(turns, {}, &RowTurn::place);
}

}  // namespace kvasir::sched
