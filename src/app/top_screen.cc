#include "app/top_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "app/say.h"

namespace kvasir::app {

TopScreen::TopScreen() {
  ::tcgetattr(STDIN_FILENO, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  say(stdout, "\x1b[?1049h\x1b[?25l");
  (void)std::fflush(stdout);
}

TopScreen::~TopScreen() {
  say(stdout, "\x1b[?25h\x1b[?1049l");
  (void)std::fflush(stdout);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

TopView::Size TopScreen::size() {
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0)
    return {.columns = 80, .rows = 24};
  return {.columns = window.ws_col, .rows = window.ws_row};
}

void TopScreen::draw(const std::vector<std::string>& lines) {
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) text += "\r\n";
    text += lines[i];
    text += "\x1b[K";
  }
  text += "\x1b[J";
  say(stdout, "{}", text);
  (void)std::fflush(stdout);
}

bool TopScreen::wait(int wake) {
  pollfd watched[] = {{STDIN_FILENO, POLLIN, 0}, {wake, POLLIN, 0}};
  if (::poll(watched, 2, -1) < 0 || (watched[1].revents & POLLIN) != 0) return true;
  char key = 0;
  if (::read(STDIN_FILENO, &key, 1) != 1) return false;
  return key != 'q' && key != 'Q';
}

}  // namespace kvasir::app
