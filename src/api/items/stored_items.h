#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "store/conversations.h"

// Items as a conversation stores them. A message that came as items keeps them, and any other message can be
// converted to items.
namespace kvasir::api {

namespace json = boost::json;

// Returns one message for each item, with the item's id. Each message follows the one before it, and the
// first follows `parent_id`. `field` is the items' place in the request, for errors.
base::Result<std::vector<store::Message>> messages_to_store(const json::array& items, std::string parent_id,
                                                            std::string_view field);

json::array items_of_message(const store::Message& message);

// Converts stored messages to the messages of a model's chat.
base::Result<json::array> chat_of_messages(const std::vector<store::Message>& messages);

// Returns the stored body of a message without the item of this id. Absent: nothing is left of the message.
base::Result<std::optional<std::string>> body_without_item(const store::Message& message,
                                                           const std::string& id);

// Makes a title of the beginning of the user's first message; empty: there is no such message.
std::string title_of_items(const json::array& items);

// Makes a title of a text's beginning: one line that ends after a whole word.
std::string title_of(std::string_view text);

}  // namespace kvasir::api
