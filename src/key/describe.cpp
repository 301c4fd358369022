// SPDX-License-Identifier: MIT
#include "key/describe.hpp"

#include <charconv>
#include <cmath>

#include "key/key.hpp"

namespace tlc::key {

namespace {

std::string hex(std::span<const std::uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    out.push_back(kDigits[byte >> 4U]);
    out.push_back(kDigits[byte & 15U]);
  }
  return out;
}

// Control characters, quotes and backslashes escaped: what is printed cannot steer a terminal.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += "\\x" + hex({&byte, 1});
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string render_integer(std::span<const std::uint8_t> payload) {
  const Integer v = read_integer(payload);
  if (!v.negative) return std::to_string(v.magnitude);
  // -1 - magnitude, where the magnitude is at most 2^63 - 1.
  return "-" + std::to_string(v.magnitude + 1);
}

std::string render_f64(double v) {
  if (std::isnan(v)) return "nan";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, v).ptr;
  std::string out(text, end);
  if (std::isfinite(v) && out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

std::string render_container(const Item& item) {
  std::size_t count = 0;
  Items items(item);
  for (Item element; items.next(element) == Walk::item;) ++count;
  return std::string(type_name(item.type)) + " of " + std::to_string(count);
}

void describe_items(Items items, const std::string& path, std::vector<Field>& out) {
  std::size_t index = 0;
  for (Item item; items.next(item) == Walk::item; ++index) {
    Field field;
    field.name = item.name.empty() ? join_path(path, index) : join_path(path, item.name);
    field.type = item.type;
    field.hashed = item.hashed;
    field.length = item.length;
    field.text = render(item);
    out.push_back(field);
    if (!item.hashed && (item.type == Type::list || item.type == Type::map)) {
      describe_items(Items(item), field.name, out);
    }
  }
}

}  // namespace

std::string join_path(const std::string& path, std::string_view name) {
  return path.empty() ? escaped(name) : path + "." + escaped(name);
}

std::string join_path(const std::string& path, std::size_t index) {
  return path + "[" + std::to_string(index) + "]";
}

std::string render(const Item& item) {
  if (item.hashed) {
    return std::string(type_name(item.type)) + " of " + std::to_string(item.length) +
           (item.length == 1 ? " byte, hash " : " bytes, hash ") + hex(item.payload.first(4));
  }
  switch (item.type) {
    case Type::null:
      return "null";
    case Type::boolean:
      return item.payload[0] != 0 ? "true" : "false";
    case Type::integer:
      return render_integer(item.payload);
    case Type::f64:
      return render_f64(read_f64(item.payload));
    case Type::text:
      return "\"" + escaped({reinterpret_cast<const char*>(item.payload.data()), item.payload.size()}) + "\"";
    case Type::bytes:
      return "0x" + hex(item.payload);
    case Type::digest:
      return "digest " + hex(item.payload);
    case Type::list:
    case Type::map:
      return render_container(item);
  }
  return {};
}

Result<std::vector<Field>> describe(std::span<const std::uint8_t> encoding) {
  if (auto key = Key::decode(encoding); !key) return key.error();
  std::vector<Field> out;
  describe_items(Items(encoding, true), {}, out);
  return out;
}

}  // namespace tlc::key
