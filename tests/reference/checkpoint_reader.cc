#include "tests/reference/checkpoint_reader.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

namespace scorecast::reference {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little);

template <typename T>
T Load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

double FromBf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

double FromF16(std::uint16_t bits) {
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  if (exponent == 0x1f) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  return exponent == 0 ? sign * std::ldexp(fraction, -24)
                       : sign * std::ldexp(1024 + fraction, exponent - 25);
}

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw std::runtime_error("cannot read " + path.string());
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

Tensor ReadTensor(const json& entry, const std::string& name, const char* data) {
  const auto dtype = entry.at("dtype").get<std::string>();
  Tensor tensor;
  tensor.shape = entry.at("shape").get<std::vector<std::int64_t>>();
  std::size_t size = 1;
  for (const std::int64_t extent : tensor.shape) {
    size *= static_cast<std::size_t>(extent);
  }
  tensor.values.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    if (dtype == "F32") {
      tensor.values[i] = Load<float>(data + 4 * i);
    } else if (dtype == "BF16") {
      tensor.values[i] = FromBf16(Load<std::uint16_t>(data + 2 * i));
    } else if (dtype == "F16") {
      tensor.values[i] = FromF16(Load<std::uint16_t>(data + 2 * i));
    } else if (dtype == "I64") {
      tensor.values[i] = static_cast<double>(Load<std::int64_t>(data + 8 * i));
    } else {
      throw std::runtime_error("tensor " + name + " has dtype " + dtype);
    }
  }
  return tensor;
}

// The format: the header's length (8 bytes), the header (JSON), then the data to which its offsets
// refer.
void ReadShard(const std::filesystem::path& path, std::map<std::string, Tensor>& tensors) {
  const std::string bytes = ReadFile(path);
  const auto header_size = Load<std::uint64_t>(bytes.data());
  const json header = json::parse(bytes.substr(8, header_size));
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") {
      const auto begin = entry.at("data_offsets").at(0).get<std::size_t>();
      tensors[name] = ReadTensor(entry, name, bytes.data() + 8 + header_size + begin);
    }
  }
}

}  // namespace

std::map<std::string, Tensor> ReadCheckpoint(const std::filesystem::path& model_dir) {
  std::set<std::string> files = {"model.safetensors"};
  const auto index = model_dir / "model.safetensors.index.json";
  if (std::filesystem::exists(index)) {
    files.clear();
    const json weight_map = json::parse(ReadFile(index)).at("weight_map");
    for (const auto& [name, file] : weight_map.items()) {
      files.insert(file.get<std::string>());
    }
  }
  std::map<std::string, Tensor> tensors;
  for (const std::string& file : files) {
    ReadShard(model_dir / file, tensors);
  }
  return tensors;
}

}  // namespace scorecast::reference
