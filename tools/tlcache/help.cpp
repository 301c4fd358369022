// SPDX-License-Identifier: MIT
// How --help looks: usage, what it does, options, examples.
#include "help.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace tlc::tool {
namespace {

constexpr std::size_t left_column = 30;
constexpr std::size_t line_length = 88;

/// "  name    description", the description wrapped beside the name.
std::string entry(const std::string& name, const std::string& description) {
  std::string result = "  " + name;
  std::size_t column = result.size();
  if (column + 2 > left_column) {
    result += "\n";
    column = 0;
  }
  result.append(left_column - column, ' ');
  column = left_column;
  std::istringstream words(description);
  for (std::string word; words >> word;) {
    if (column > left_column && column + 1 + word.size() > line_length) {
      result += "\n" + std::string(left_column, ' ');
      column = left_column;
    }
    if (column > left_column) result += " ";
    column += word.size() + (column > left_column ? 1 : 0);
    result += word;
  }
  return result + "\n";
}

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { label("Positionals", "Arguments"); }

  std::string make_description(const CLI::App* app) const override { return app->get_description() + "\n\n"; }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    static_cast<void>(name);
    if (app->get_parent() == nullptr) return "Usage: tlcache COMMAND [options]\n";
    std::string usage = "Usage: tlcache " + app->get_name();
    for (const CLI::Option* option : app->get_options([](const CLI::Option* one) { return one->get_positional(); })) {
      usage += " " + make_option_usage(option);
    }
    return usage + " [options]\n";
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::string name = make_option_name(option, is_positional);
    for (std::size_t comma = name.find(','); comma != std::string::npos; comma = name.find(',', comma + 2)) {
      name.replace(comma, 1, ", ");
    }
    // A long name without a short one lines up with those that have one.
    if (!is_positional && name.starts_with("--")) name.insert(0, "    ");
    const std::string type = option->get_type_name();
    if (!type.empty()) name += " " + type;
    return entry(name, option->get_description());
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return entry(command->get_name(), command->get_description());
  }

  std::string make_option_usage(const CLI::Option* option) const override {
    std::string name = option->get_name(true);
    if (option->get_expected_max() > 1) name += "...";
    return option->get_required() ? name : "[" + name + "]";
  }
};

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() {
  return std::make_shared<HelpFormatter>();
}

std::string nearest_command(const CLI::App& app, const std::string& given) {
  std::string best;
  std::size_t least = 3;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    const std::size_t distance = edit_distance(given, command->get_name());
    if (command->get_group().empty() || distance >= std::min(least, given.size())) continue;
    least = distance;
    best = command->get_name();
  }
  return best;
}

}  // namespace tlc::tool
