#pragma once

#include <termios.h>

#include <string>
#include <vector>

#include "app/top_view.h"

namespace kvasir::app {

// The terminal as a screen that is drawn again and again, on its second page: what was there before comes
// back at the end. Used by one thread at a time.
class TopScreen {
 public:
  TopScreen();
  ~TopScreen();
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;

  static TopView::Size size();
  static void draw(const std::vector<std::string>& lines);
  // Waits for a key, or until `wake`, a descriptor, has something to read. False: the user wants to leave.
  static bool wait(int wake);

 private:
  termios before_{};
};

}  // namespace kvasir::app
