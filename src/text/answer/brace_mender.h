#pragma once

#include <vector>

namespace kvasir::text {

// Finds the superfluous bytes of JSON whose braces are doubled, as in {{"name": "f", "arguments": {}}}. Some
// templates show calls in this way, and their models copy it. In valid JSON an object never begins with two
// braces, so JSON without doubled braces keeps all its bytes. Used for one value by one thread.
class BraceMender {
 public:
  // Whether the next byte belongs to the value.
  bool keeps(char byte);
  // Whether the object that ended last had begun with two braces.
  bool closed_doubled() const { return closed_doubled_; }

 private:
  std::vector<bool> doubled_;  // for each open object
  char previous_ = 0;
  bool closed_doubled_ = false;
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace kvasir::text
