// SPDX-License-Identifier: MIT
// Tables, lists of facts and the progress bar.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "signals.hpp"
#include "text.hpp"

namespace tlc::tool {
namespace {

/// Code points; near enough to columns for labels and paths.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

std::string cut(const std::string& text, std::size_t columns) {
  if (width(text) <= columns) return text;
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U && seen++ == columns - 1) break;
  }
  return text.substr(0, end) + "…";
}

/// Columns of the terminal on a descriptor; 0 when it is none.
std::size_t terminal_width(int fd) {
  winsize size{};
  if (::isatty(fd) != 1 || ::ioctl(fd, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

std::string pad(const std::string& text, std::size_t columns, Table::Align align) {
  const std::size_t have = width(text);
  const std::string space(columns > have ? columns - have : 0, ' ');
  return align == Table::Align::right ? space + text : text + space;
}

}  // namespace

void Table::print(std::string_view indent) const {
  std::vector<std::size_t> widths;
  std::size_t total = indent.size() + 2 * (columns_.size() - 1);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t widest = width(columns_[i].title);
    for (const auto& row : rows_) widest = std::max(widest, i < row.size() ? width(row[i]) : 0);
    widths.push_back(widest);
    total += widest;
  }
  const std::size_t room = terminal_width(STDOUT_FILENO);
  for (std::size_t i = 0; i < columns_.size() && room != 0 && total > room; ++i) {
    if (!columns_[i].flexible) continue;
    const std::size_t narrow = std::max<std::size_t>(widths[i] > total - room ? widths[i] - (total - room) : 0,
                                                     std::min<std::size_t>(widths[i], 12));
    total -= widths[i] - narrow;
    widths[i] = narrow;
  }
  const auto line = [&](const auto& cell) {
    std::string result(indent);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i != 0) result += "  ";
      result += pad(cut(cell(i), widths[i]), widths[i], columns_[i].align);
    }
    result.erase(result.find_last_not_of(' ') + 1);
    return result;
  };
  output().write(styled(Style::bold, line([&](std::size_t i) { return columns_[i].title; })) + "\n");
  for (const auto& row : rows_) {
    output().write(line([&](std::size_t i) { return i < row.size() ? row[i] : std::string(); }) + "\n");
  }
}

void print_facts(const std::vector<std::pair<std::string, std::string>>& facts, std::string_view indent) {
  std::size_t widest = 0;
  for (const auto& [name, value] : facts) {
    if (!value.empty()) widest = std::max(widest, width(name));
  }
  for (const auto& [name, value] : facts) {
    if (value.empty()) continue;
    tlc::tool::print("{}{}  {}\n", indent, pad(name, widest, Table::Align::left), value);
  }
}

Progress::Progress(std::string label)
    : label_(std::move(label)),
      start_(std::chrono::steady_clock::now()),
      drawn_(start_),
      terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (visible_) write_stderr("\r\x1b[K");
}

std::int32_t Progress::step(std::uint64_t done, std::uint64_t total, void* user_data) {
  auto& self = *static_cast<Progress*>(user_data);
  const auto now = std::chrono::steady_clock::now();
  if (self.terminal_ && now - self.start_ > std::chrono::seconds(1) &&
      now - self.drawn_ > std::chrono::milliseconds(100)) {
    self.drawn_ = now;
    self.draw(done, total);
  }
  return interrupted() == 0 ? 0 : 1;
}

void Progress::draw(std::uint64_t done, std::uint64_t total) {
  visible_ = true;
  if (total == 0) {
    write_stderr(fmt::format("\r{} {}\x1b[K", label_, done));
    return;
  }
  constexpr std::size_t cells = 30;
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto full = static_cast<std::size_t>(share * cells);
  write_stderr(fmt::format("\r{} [{}{}] {:3.0f} %\x1b[K", label_, std::string(full, '='),
                           std::string(cells - full, ' '), share * 100));
}

}  // namespace tlc::tool
