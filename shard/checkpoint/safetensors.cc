#include "shard/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <tuple>
#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

#include "proto/base/count.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::shard {
namespace {

using Json = nlohmann::json;
using proto::Quoted;
using proto::StartupError;

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::size_t kMaxDimensions = 16;

/// Every dtype of the format, because a file may hold tensors that the model does not need.
struct StoredDtype {
  std::string_view name;
  std::int64_t bits;
  std::optional<Dtype> readable;
};
constexpr std::array<StoredDtype, 22> kStoredDtypes = {{
    {"F32", 32, Dtype::kF32},         {"F16", 16, Dtype::kF16},
    {"BF16", 16, Dtype::kBF16},       {"BOOL", 8, std::nullopt},
    {"F4", 4, std::nullopt},          {"F6_E2M3", 6, std::nullopt},
    {"F6_E3M2", 6, std::nullopt},     {"U8", 8, std::nullopt},
    {"I8", 8, std::nullopt},          {"F8_E5M2", 8, std::nullopt},
    {"F8_E4M3", 8, std::nullopt},     {"F8_E8M0", 8, std::nullopt},
    {"F8_E4M3FNUZ", 8, std::nullopt}, {"F8_E5M2FNUZ", 8, std::nullopt},
    {"I16", 16, std::nullopt},        {"U16", 16, std::nullopt},
    {"I32", 32, std::nullopt},        {"U32", 32, std::nullopt},
    {"C64", 64, std::nullopt},        {"F64", 64, std::nullopt},
    {"I64", 64, std::nullopt},        {"U64", 64, std::nullopt},
}};

/// A tensor's fields as they are in the file, before they are checked against each other.
struct RawTensor {
  std::string name;
  const StoredDtype* dtype = nullptr;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> offsets;  ///< Begin and end, counted from the header's end.
  bool has_shape = false;
  bool has_offsets = false;
};

/// Follows the parser through {"__metadata__": {name: text}, TENSOR: {"dtype", "shape",
/// "data_offsets"}} and stops it at anything else, so that a hostile header builds no data
/// structures.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  std::vector<RawTensor> tensors;
  std::string fault;  ///< Why parsing stopped.

  bool start_object(std::size_t /*elements*/) override {
    switch (place_) {
      case Place::kOutside:
        place_ = Place::kTop;
        return true;
      case Place::kMetadataValue:
        place_ = Place::kMetadata;
        return true;
      case Place::kTensorValue:
        place_ = Place::kTensor;
        return true;
      default:
        return Unexpected();
    }
  }

  bool key(std::string& name) override {
    switch (place_) {
      case Place::kTop:
        return TopKey(name);
      case Place::kMetadata:
        return true;  // Free text about the file.
      case Place::kTensor:
        return TensorKey(name);
      default:
        return Unexpected();
    }
  }

  bool end_object() override {
    if (place_ == Place::kTensor) {
      const RawTensor& tensor = tensors.back();
      if (tensor.dtype == nullptr || !tensor.has_shape || !tensor.has_offsets) {
        return Stop("tensor " + Quoted(tensor.name) +
                    " lacks one of dtype, shape and data_offsets");
      }
    }
    place_ = place_ == Place::kTop ? Place::kEnd : Place::kTop;
    return true;
  }

  bool start_array(std::size_t /*elements*/) override {
    switch (place_) {
      case Place::kShapeValue:
        place_ = Place::kShape;
        return true;
      case Place::kOffsetsValue:
        place_ = Place::kOffsets;
        return true;
      default:
        return Unexpected();
    }
  }

  bool end_array() override {
    if (place_ == Place::kOffsets && tensors.back().offsets.size() != 2) {
      return Stop("tensor " + Quoted(tensors.back().name) + ": data_offsets must be two numbers");
    }
    place_ = Place::kTensor;
    return true;
  }

  bool string(std::string& text) override {
    if (place_ == Place::kMetadata) {
      return true;
    }
    if (place_ != Place::kDtypeValue) {
      return Unexpected();
    }
    const auto* known = std::ranges::find(kStoredDtypes, text, &StoredDtype::name);
    if (known == kStoredDtypes.end()) {
      return Stop("tensor " + Quoted(tensors.back().name) + " has the unknown dtype " +
                  Quoted(text));
    }
    tensors.back().dtype = known;
    place_ = Place::kTensor;
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::kShape && place_ != Place::kOffsets) {
      return Unexpected();
    }
    RawTensor& tensor = tensors.back();
    if (!std::in_range<std::int64_t>(value)) {
      return Stop("tensor " + Quoted(tensor.name) + ": " + std::to_string(value) +
                  " is larger than any file");
    }
    std::vector<std::int64_t>& list = place_ == Place::kShape ? tensor.shape : tensor.offsets;
    list.push_back(static_cast<std::int64_t>(value));
    if (list.size() > kMaxDimensions) {
      return Stop("tensor " + Quoted(tensor.name) + " has more than " +
                  std::to_string(kMaxDimensions) + " dimensions or offsets");
    }
    return true;
  }

  bool number_integer(number_integer_t /*value*/) override { return NotANumber(); }
  bool number_float(number_float_t /*value*/, const std::string& /*text*/) override {
    return NotANumber();
  }
  bool null() override { return Unexpected(); }
  bool boolean(bool /*value*/) override { return Unexpected(); }
  bool binary(binary_t& /*value*/) override { return Unexpected(); }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return Stop("the header is not valid JSON at its byte " + std::to_string(position));
  }

 private:
  enum class Place {
    kOutside,
    kTop,
    kMetadataValue,
    kMetadata,
    kTensorValue,
    kTensor,
    kDtypeValue,
    kShapeValue,
    kShape,
    kOffsetsValue,
    kOffsets,
    kEnd,
  };

  bool Stop(std::string why) {
    fault = std::move(why);
    return false;
  }

  bool Unexpected() {
    if (place_ == Place::kMetadataValue || place_ == Place::kMetadata) {
      return Stop("the header's __metadata__ is not an object of strings");
    }
    const bool in_tensor = place_ >= Place::kTensorValue && place_ <= Place::kOffsets;
    return Stop(in_tensor ? "tensor " + Quoted(tensors.back().name) +
                                ": the header gives a value of the wrong type"
                          : "the header is not an object of tensors");
  }

  bool NotANumber() {
    if (place_ != Place::kShape && place_ != Place::kOffsets) {
      return Unexpected();
    }
    return Stop("tensor " + Quoted(tensors.back().name) +
                ": shape and data_offsets must be whole numbers, 0 or more");
  }

  bool TopKey(const std::string& name) {
    if (!names_.insert(name).second) {
      return Stop("the header names tensor " + Quoted(name) + " twice");
    }
    if (name == "__metadata__") {
      place_ = Place::kMetadataValue;
      return true;
    }
    tensors.emplace_back().name = name;
    place_ = Place::kTensorValue;
    return true;
  }

  bool TensorKey(const std::string& field) {
    RawTensor& tensor = tensors.back();
    bool repeated = false;
    if (field == "dtype") {
      repeated = tensor.dtype != nullptr;
      place_ = Place::kDtypeValue;
    } else if (field == "shape") {
      repeated = std::exchange(tensor.has_shape, true);
      place_ = Place::kShapeValue;
    } else if (field == "data_offsets") {
      repeated = std::exchange(tensor.has_offsets, true);
      place_ = Place::kOffsetsValue;
    } else {
      return Stop("tensor " + Quoted(tensor.name) + " has the unknown field " + Quoted(field));
    }
    return !repeated ||
           Stop("tensor " + Quoted(tensor.name) + " has the field " + Quoted(field) + " twice");
  }

  Place place_ = Place::kOutside;
  std::unordered_set<std::string> names_;
};

/// Size in bytes of a tensor of this shape; nullopt if it overflows or is not a whole number of
/// bytes.
std::optional<std::int64_t> SizeOf(const RawTensor& tensor) {
  std::int64_t bits = tensor.dtype->bits;
  for (const std::int64_t dimension : tensor.shape) {
    if (__builtin_mul_overflow(bits, dimension, &bits)) {
      return std::nullopt;
    }
  }
  return bits % 8 == 0 ? std::optional(bits / 8) : std::nullopt;
}

void CheckSize(const RawTensor& tensor, const std::string& origin) {
  const std::int64_t begin = tensor.offsets[0];
  const std::int64_t end = tensor.offsets[1];
  if (end < begin) {
    throw StartupError(origin + ": tensor " + Quoted(tensor.name) + " ends at byte " +
                       std::to_string(end) + ", before it begins at byte " + std::to_string(begin));
  }
  const std::optional<std::int64_t> size = SizeOf(tensor);
  if (size != end - begin) {
    throw StartupError(origin + ": tensor " + Quoted(tensor.name) + " of dtype " +
                       std::string(tensor.dtype->name) + " and shape " + ShapeText(tensor.shape) +
                       " needs " +
                       (size ? proto::Count(*size, "byte") : "an impossible number of bytes") +
                       ", but its data_offsets hold " + std::to_string(end - begin));
  }
}

/// Checks that the tensors, sorted by offset, lie one after another from offset 0 to the file's
/// end.
void CheckLayout(const std::vector<RawTensor>& tensors, std::size_t header_end,
                 std::uint64_t file_size, const std::string& origin) {
  std::int64_t end = 0;
  const RawTensor* previous = nullptr;
  for (const RawTensor& tensor : tensors) {
    if (tensor.offsets[0] < end) {
      throw StartupError(origin + ": tensors " + Quoted(previous->name) + " and " +
                         Quoted(tensor.name) + " overlap");
    }
    if (tensor.offsets[0] > end) {
      throw StartupError(origin + ": bytes " + std::to_string(end) + " to " +
                         std::to_string(tensor.offsets[0]) + " before tensor " +
                         Quoted(tensor.name) + " belong to no tensor");
    }
    end = tensor.offsets[1];
    previous = &tensor;
  }
  const std::uint64_t expected = header_end + static_cast<std::uint64_t>(end);
  if (expected > file_size) {
    throw StartupError(origin + ": truncated, or its header is wrong: its tensors end at byte " +
                       std::to_string(expected) + ", but the file has " +
                       proto::Count(file_size, "byte"));
  }
  if (expected < file_size) {
    throw StartupError(origin + ": its tensors end at byte " + std::to_string(expected) +
                       ", but the file has " + proto::Count(file_size, "byte"));
  }
}

/// The header's text, read after its length has been checked against the file's.
std::string HeaderText(const WeightFile& file) {
  const std::string& origin = file.name();
  const auto file_size = static_cast<std::uint64_t>(file.size());
  if (file_size < kLengthBytes) {
    throw StartupError(origin + ": truncated: a safetensors file has at least " +
                       std::to_string(kLengthBytes) + " bytes, this one " +
                       std::to_string(file_size));
  }
  std::uint64_t length = 0;
  file.Read(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > kMaxHeaderBytes) {
    throw StartupError(origin + ": its header claims " + std::to_string(length) +
                       " bytes; at most " + std::to_string(kMaxHeaderBytes) + " are allowed");
  }
  if (length > file_size - kLengthBytes) {
    throw StartupError(origin + ": truncated: its header ends at byte " +
                       std::to_string(kLengthBytes + length) + ", but the file has " +
                       proto::Count(file_size, "byte"));
  }
  std::string text(length, ' ');
  file.Read(kLengthBytes, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace

SafetensorsHeader ReadSafetensorsHeader(const WeightFile& file) {
  const std::string& origin = file.name();
  SafetensorsHeader header;
  header.text = HeaderText(file);
  const std::string_view text = header.text;
  // The parser would skip a byte-order mark, and would take a zero byte for the end of the text.
  if (!text.starts_with('{') || text.find('\0') != std::string_view::npos) {
    throw StartupError(origin + ": the header is not a JSON object");
  }
  HeaderReader reader;
  if (!Json::sax_parse(text, &reader)) {
    throw StartupError(origin + ": " + reader.fault);
  }

  std::vector<RawTensor>& raw = reader.tensors;
  for (const RawTensor& tensor : raw) {
    CheckSize(tensor, origin);
  }
  std::ranges::sort(raw, {}, [](const RawTensor& tensor) {
    return std::pair(tensor.offsets[0], tensor.offsets[1]);
  });
  const std::size_t header_end = kLengthBytes + text.size();
  CheckLayout(raw, header_end, static_cast<std::uint64_t>(file.size()), origin);

  header.tensors.reserve(raw.size());
  for (RawTensor& tensor : raw) {
    header.tensors.push_back({std::move(tensor.name), tensor.dtype->readable, tensor.dtype->name,
                              std::move(tensor.shape),
                              static_cast<std::int64_t>(header_end) + tensor.offsets[0],
                              tensor.offsets[1] - tensor.offsets[0]});
  }
  return header;
}

}  // namespace scorecast::shard
