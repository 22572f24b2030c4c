#include "coordinator/json/json_writer.h"

#include <cstddef>

#include <nlohmann/json.hpp>

namespace scorecast::coordinator {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

}  // namespace

void JsonWriter::Key(std::string_view key) {
  Separate();
  Add(ToJsonText(key));
  Add(":");
  has_sibling_ = false;
}

void JsonWriter::Value(const OrderedJson& value) {
  Separate();
  Add(ToJsonText(value));
  has_sibling_ = true;
}

void JsonWriter::Finish() {
  sink_(pending_);
  pending_.clear();
}

void JsonWriter::Begin(char bracket) {
  Separate();
  Add({&bracket, 1});
  has_sibling_ = false;
}

void JsonWriter::End(char bracket) {
  Add({&bracket, 1});
  has_sibling_ = true;
}

void JsonWriter::Separate() {
  if (has_sibling_) {
    Add(",");
  }
}

void JsonWriter::Add(std::string_view text) {
  pending_ += text;
  if (pending_.size() >= kPieceBytes) {
    Finish();
  }
}

}  // namespace scorecast::coordinator
