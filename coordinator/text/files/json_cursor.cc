#include "coordinator/text/files/json_cursor.h"

#include <cstddef>
#include <utility>

#include "coordinator/text/files/serde_number.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {

using proto::StartupError;

namespace {

/// Most levels of lists and objects inside each other. Without a limit, code that walks through a
/// document could need more stack than there is.
constexpr int kMaxDepth = 1000;

/// Builds a document whose numbers have the values of SerdeNumber, because the reference reads the
/// files of tokenizers in this way. The last bit matters: the scores of a Unigram model decide
/// between ways to cut a text whose sums may differ in the last bit only. Stops at a document that
/// is nested too deeply.
class DocumentBuilder : public nlohmann::detail::json_sax_dom_parser<nlohmann::json> {
 public:
  using json_sax_dom_parser::json_sax_dom_parser;

  bool is_too_deep() const { return depth_ > kMaxDepth; }

  bool start_object(std::size_t elements) {
    return ++depth_ <= kMaxDepth && json_sax_dom_parser::start_object(elements);
  }
  bool end_object() {
    --depth_;
    return json_sax_dom_parser::end_object();
  }
  bool start_array(std::size_t elements) {
    return ++depth_ <= kMaxDepth && json_sax_dom_parser::start_array(elements);
  }
  bool end_array() {
    --depth_;
    return json_sax_dom_parser::end_array();
  }
  bool number_float(double /*nearest*/, const std::string& spelling) {
    return json_sax_dom_parser::number_float(SerdeNumber(spelling), spelling);
  }

 private:
  int depth_ = 0;
};

}  // namespace

nlohmann::json ParseJsonFile(std::string_view text, const std::string& origin) {
  try {
    nlohmann::json document;
    DocumentBuilder builder(document);
    nlohmann::json::sax_parse(text, &builder);
    if (builder.is_too_deep()) {
      throw StartupError(origin + ": not JSON (nested deeper than " + std::to_string(kMaxDepth) +
                         " levels)");
    }
    return document;
  } catch (const nlohmann::json::parse_error& error) {
    throw StartupError(origin + ": not JSON (at byte " + std::to_string(error.byte) + ")");
  } catch (const nlohmann::json::out_of_range&) {
    throw StartupError(origin + ": not JSON (a number out of range)");
  }
}

JsonCursor JsonCursor::At(std::string_view name) const {
  std::optional<JsonCursor> member = Find(name);
  if (!member) {
    Fail(Quoted(name) + " is missing");
  }
  return *std::move(member);
}

std::optional<JsonCursor> JsonCursor::Find(std::string_view name) const {
  if (!value_->is_object()) {
    Fail("not an object");
  }
  const auto member = value_->find(name);
  if (member == value_->end() || member->is_null()) {
    return std::nullopt;
  }
  JsonCursor child = *this;
  child.value_ = &*member;
  child.path_ += path_.empty() ? "" : ".";
  child.path_ += proto::OneLine(name, 60);
  return child;
}

const std::string& JsonCursor::String() const {
  if (!value_->is_string()) {
    Fail("not a string");
  }
  return value_->get_ref<const std::string&>();
}

bool JsonCursor::Bool() const {
  if (!value_->is_boolean()) {
    Fail("not true or false");
  }
  return value_->get<bool>();
}

std::int64_t JsonCursor::Integer(std::int64_t least, std::int64_t most) const {
  if (!value_->is_number_integer()) {
    Fail("not a whole number");
  }
  // The parser makes every non-negative integer unsigned, so a large value cannot look negative.
  const bool too_large = value_->is_number_unsigned() &&
                         value_->get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  if (too_large || value_->get<std::int64_t>() < least || value_->get<std::int64_t>() > most) {
    Fail(value_->dump() + " is not in " + std::to_string(least) + " … " + std::to_string(most));
  }
  return value_->get<std::int64_t>();
}

void JsonCursor::ForEachElement(const std::function<void(const JsonCursor&)>& element) const {
  if (!value_->is_array()) {
    Fail("not a list");
  }
  for (std::size_t i = 0; i < value_->size(); ++i) {
    JsonCursor child = *this;
    child.value_ = &(*value_)[i];
    child.path_ += "[" + std::to_string(i) + "]";
    element(child);
  }
}

void JsonCursor::ForEachMember(
    const std::function<void(const std::string& name, const JsonCursor&)>& member) const {
  if (!value_->is_object()) {
    Fail("not an object");
  }
  for (auto entry = value_->begin(); entry != value_->end(); ++entry) {
    if (const std::optional<JsonCursor> child = Find(entry.key())) {
      member(entry.key(), *child);
    }
  }
}

bool JsonCursor::Flag(std::string_view name, bool by_default) const {
  const std::optional<JsonCursor> member = Find(name);
  return member ? member->Bool() : by_default;
}

void JsonCursor::Fail(const std::string& what) const {
  throw StartupError(origin_ + ": " + (path_.empty() ? "" : path_ + ": ") + what);
}

}  // namespace scorecast::coordinator
