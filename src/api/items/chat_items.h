#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

// The items of OpenAI's Responses and conversations: messages, calls, their results and reasoning.
namespace kvasir::api {

namespace json = boost::json;

enum class ItemIds {
  keep,  // an item keeps its own id unless an earlier item has the same
  make,  // every item gets a new id
};

// Checks that every element is an object with a type, and gives an id to each element except references.
base::Status read_items(json::array& items, ItemIds ids);

// Gives an item a new id, with the prefix that OpenAI's ids of its kind have.
void make_item_id(json::object& item);

// Converts items to the messages of a chat. Calls join the assistant's message before them, and reasoning
// joins the message after it. Items that a model has no use for, or that cannot be read, are left out with a
// warning. The error's field is relative to `field`, whose first item is `items[num_earlier]`.
base::Result<json::array> messages_of_items(const json::array& items, std::size_t num_earlier,
                                            std::vector<std::string>& warnings,
                                            std::string_view field = "input");

}  // namespace kvasir::api
