#include "shard/checkpoint/checkpoint.h"

#include <algorithm>
#include <functional>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "proto/base/check.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::shard {
namespace {

using Json = nlohmann::json;
using proto::OneLine;
using proto::Quoted;
using proto::StartupError;

constexpr std::string_view kSingleFile = "model.safetensors";
constexpr std::string_view kIndexFile = "model.safetensors.index.json";
constexpr std::size_t kMaxIndexBytes = 100'000'000;
constexpr std::size_t kMaxPath = 4096;

/// File name → names of the tensors that the index lists in that file.
using FilesOfIndex = std::map<std::string, std::vector<std::string>, std::less<>>;

/// Whether `name` can only refer to a file in the model's own directory.
bool IsPlainFileName(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

FilesOfIndex ParseIndex(std::string_view text, const std::string& origin) {
  const Json root = text.find('\0') == std::string_view::npos
                        ? Json::parse(text, nullptr, /*allow_exceptions=*/false)
                        : Json(Json::value_t::discarded);
  if (root.is_discarded()) {
    throw StartupError(origin + ": not valid JSON");
  }
  const auto map = root.is_object() ? root.find("weight_map") : root.end();
  if (map == root.end() || !map->is_object() || map->empty()) {
    throw StartupError(origin + ": it has no weight_map from tensors to files");
  }
  FilesOfIndex files;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string()) {
      throw StartupError(origin + ": weight_map gives no file name for tensor " + Quoted(tensor));
    }
    const auto& name = file.get_ref<const std::string&>();
    if (!IsPlainFileName(name)) {
      throw StartupError(origin + ": weight_map puts tensor " + Quoted(tensor) + " into " +
                         Quoted(name) + ", which does not name a file in the same directory");
    }
    files[name].push_back(tensor);
  }
  return files;
}

}  // namespace

Checkpoint Checkpoint::Open(const std::filesystem::path& model_dir) {
  std::error_code ignored;
  Checkpoint checkpoint(model_dir);
  if (!std::filesystem::is_directory(model_dir, ignored)) {
    throw StartupError(checkpoint.model_dir_ + " is not a directory");
  }
  if (std::filesystem::exists(model_dir / kSingleFile, ignored)) {
    checkpoint.OpenSingle(model_dir / kSingleFile);
  } else if (std::filesystem::exists(model_dir / kIndexFile, ignored)) {
    checkpoint.OpenIndexed(model_dir, model_dir / kIndexFile);
  } else {
    throw StartupError(checkpoint.model_dir_ + ": neither " + std::string(kSingleFile) + " nor " +
                       std::string(kIndexFile) + " is there");
  }
  return checkpoint;
}

Checkpoint::Checkpoint(const std::filesystem::path& model_dir)
    : model_dir_(OneLine(model_dir.string(), kMaxPath)) {}

SafetensorsHeader Checkpoint::OpenFile(const std::filesystem::path& path) {
  files_.push_back(MappedFile::Open(path));
  origins_.push_back(OneLine(path.string(), kMaxPath));
  return ParseSafetensorsHeader(files_.back().bytes(), origins_.back());
}

void Checkpoint::Add(SafetensorsEntry entry, std::size_t file) {
  tensors_.try_emplace(std::move(entry.name), Tensor{.view = {entry.dtype.value_or(Dtype::kF32),
                                                              std::move(entry.shape), entry.bytes},
                                                     .dtype_name = entry.dtype_name,
                                                     .readable = entry.dtype.has_value(),
                                                     .file = file});
}

void Checkpoint::OpenSingle(const std::filesystem::path& path) {
  for (SafetensorsEntry& entry : OpenFile(path).tensors) {
    Add(std::move(entry), 0);
  }
}

void Checkpoint::OpenIndexed(const std::filesystem::path& model_dir,
                             const std::filesystem::path& index) {
  const std::string origin = OneLine(index.string(), kMaxPath);
  FilesOfIndex listed;
  {
    const MappedFile file = MappedFile::Open(index);
    if (file.bytes().size() > kMaxIndexBytes) {
      throw StartupError(origin + ": " + std::to_string(file.bytes().size()) +
                         " bytes is more than the limit of " + std::to_string(kMaxIndexBytes));
    }
    listed = ParseIndex({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()},
                        origin);
  }
  std::vector<std::pair<std::size_t, SafetensorsEntry>> unlisted;
  for (auto& [name, tensors] : listed) {
    if (std::error_code ignored; !std::filesystem::exists(model_dir / name, ignored)) {
      throw StartupError(origin + ": it names the file " + Quoted(name) +
                         ", which is not in the directory");
    }
    std::ranges::sort(tensors);
    std::size_t found = 0;
    const std::size_t file = files_.size();
    for (SafetensorsEntry& entry : OpenFile(model_dir / name).tensors) {
      if (std::ranges::binary_search(tensors, entry.name)) {
        ++found;
        Add(std::move(entry), file);
      } else {
        unlisted.emplace_back(file, std::move(entry));
      }
    }
    if (found != tensors.size()) {
      const auto missing = std::ranges::find_if_not(
          tensors, [this](const std::string& tensor) { return Has(tensor); });
      throw StartupError(origins_.back() + ": it has no tensor " + Quoted(*missing) + ", which " +
                         std::string(kIndexFile) + " lists in this file");
    }
  }
  for (auto& [file, entry] : unlisted) {
    Add(std::move(entry), file);
  }
}

const Checkpoint::Tensor& Checkpoint::Find(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw StartupError(model_dir_ + ": tensor " + Quoted(name) + " is missing");
  }
  const Tensor& tensor = found->second;
  if (!tensor.readable) {
    throw StartupError(OriginOf(tensor) + ": tensor " + Quoted(name) + " has dtype " +
                       std::string(tensor.dtype_name) + ": only F32, F16 and BF16 are supported");
  }
  return tensor;
}

const TensorView& Checkpoint::Get(std::string_view name) const { return Find(name).view; }

const TensorView& Checkpoint::Require(std::string_view name,
                                      std::span<const std::int64_t> shape) const {
  const Tensor& tensor = Find(name);
  if (!std::ranges::equal(tensor.view.shape, shape)) {
    throw StartupError(OriginOf(tensor) + ": tensor " + Quoted(name) + " has shape " +
                       ShapeText(tensor.view.shape) + ", but config.json requires " +
                       ShapeText(shape));
  }
  return tensor.view;
}

std::vector<std::string> Checkpoint::Names() const {
  std::vector<std::string> names;
  names.reserve(tensors_.size());
  for (const auto& [name, tensor] : tensors_) {
    names.push_back(name);
  }
  return names;
}

void Checkpoint::Release(const TensorView& tensor) const {
  for (const MappedFile& file : files_) {
    const std::span<const std::byte> bytes = file.bytes();
    const std::less_equal<const std::byte*> not_after;
    if (not_after(bytes.data(), tensor.bytes.data()) &&
        not_after(tensor.bytes.data() + tensor.bytes.size(), bytes.data() + bytes.size())) {
      file.Release(tensor.bytes);
      return;
    }
  }
  proto::Check(false, "the tensor belongs to this checkpoint");
}

}  // namespace scorecast::shard
