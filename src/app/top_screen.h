#pragma once

#include <termios.h>

#include <string>
#include <vector>

#include "app/top_view.h"

namespace kvasir::app {

// The terminal as a screen that is redrawn again and again. It uses the alternate screen, so the earlier text
// comes back at the end. Used by one thread at a time.
class TopScreen {
 public:
  TopScreen();
  ~TopScreen();
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;

  static TopView::Size size();
  static void draw(const std::vector<std::string>& lines);
  // Waits for a key, or until the descriptor `wake` is readable. False: the user wants to leave.
  static bool wait(int wake);

 private:
  termios before_{};
};

}  // namespace kvasir::app
