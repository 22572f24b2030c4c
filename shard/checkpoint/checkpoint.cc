#include "shard/checkpoint/checkpoint.h"

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/base/regular_file.h"
#include "shard/checkpoint/tensor_samples.h"

namespace scorecast::shard {
namespace {

using Json = nlohmann::json;
using proto::OneLinePath;
using proto::Quoted;
using proto::StartupError;

constexpr std::string_view kSingleFile = "model.safetensors";
constexpr std::string_view kIndexFile = "model.safetensors.index.json";
constexpr std::int64_t kMaxIndexBytes = 100'000'000;
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

bool HasPickledWeights(const std::filesystem::path& model_dir) {
  return proto::FileExists(model_dir / "pytorch_model.bin") ||
         proto::FileExists(model_dir / "pytorch_model.bin.index.json");
}

/// A command that writes the weights as safetensors.
std::string ConvertCommand(const std::filesystem::path& model_dir) {
  const std::string dir = OneLinePath(model_dir.string());
  return "python3 -c \"import transformers as t; d = '" + dir +
         "'; getattr(t, t.AutoConfig.from_pretrained(d).architectures[0])"
         ".from_pretrained(d).save_pretrained(d)\"";
}

FilesOfIndex ReadIndex(const std::filesystem::path& path) {
  const WeightFile file(path);
  if (file.size() > kMaxIndexBytes) {
    throw StartupError(file.name() + ": " + std::to_string(file.size()) +
                       " bytes is more than the limit of " + std::to_string(kMaxIndexBytes));
  }
  std::string text(static_cast<std::size_t>(file.size()), ' ');
  file.Read(0, std::as_writable_bytes(std::span(text)));
  return ParseIndex(text, file.name());
}

}  // namespace

Checkpoint Checkpoint::Open(const std::filesystem::path& model_dir) {
  std::error_code ignored;
  Checkpoint checkpoint(model_dir);
  if (!std::filesystem::is_directory(model_dir, ignored)) {
    throw StartupError(checkpoint.model_dir_ + " is not a directory");
  }
  if (proto::FileExists(model_dir / kSingleFile)) {
    checkpoint.OpenSingle(kSingleFile);
  } else if (proto::FileExists(model_dir / kIndexFile)) {
    checkpoint.OpenIndexed(model_dir / kIndexFile);
  } else {
    throw StartupError(
        checkpoint.model_dir_ + ": neither " + std::string(kSingleFile) + " nor " +
        std::string(kIndexFile) + " is there" +
        (HasPickledWeights(model_dir)
             ? ", and pytorch_model.bin is not read; this converts it: " + ConvertCommand(model_dir)
             : ""));
  }
  return checkpoint;
}

Checkpoint::Checkpoint(std::filesystem::path model_dir)
    : directory_(std::move(model_dir)), model_dir_(OneLinePath(directory_.string())) {}

const Checkpoint::OpenedFile& Checkpoint::OpenFile(const std::filesystem::path& file) {
  auto opened = std::make_unique<const WeightFile>(directory_ / file);
  SafetensorsHeader header = ReadSafetensorsHeader(*opened);
  files_.push_back({file.generic_string(), std::move(opened), std::move(header)});
  return files_.back();
}

void Checkpoint::AddFile(const std::filesystem::path& file) {
  if (!proto::FileExists(directory_ / file)) {
    throw StartupError(OneLinePath((directory_ / file).string()) + ": there is no such file");
  }
  const OpenedFile& opened = OpenFile(file);
  for (const SafetensorsEntry& entry : opened.header.tensors) {
    Add(entry, *opened.file, file.parent_path().generic_string() + "/");
  }
}

void Checkpoint::Rename(const std::function<std::string(const std::string& name)>& renamed) {
  decltype(tensors_) named;
  for (auto& [name, tensor] : tensors_) {
    std::string wanted = renamed(name);
    const bool is_taken = wanted != name && (tensors_.contains(wanted) || named.contains(wanted));
    named.emplace(is_taken ? name : std::move(wanted), std::move(tensor));
  }
  tensors_ = std::move(named);
}

void Checkpoint::Add(const SafetensorsEntry& entry, const WeightFile& file,
                     const std::string& folder) {
  tensors_.try_emplace(folder + entry.name,
                       Tensor{.view = {entry.dtype.value_or(Dtype::kF32), entry.shape, &file,
                                       entry.offset, entry.bytes},
                              .dtype_name = entry.dtype_name,
                              .readable = entry.dtype.has_value()});
}

void Checkpoint::OpenSingle(const std::filesystem::path& file) {
  const OpenedFile& opened = OpenFile(file);
  for (const SafetensorsEntry& entry : opened.header.tensors) {
    Add(entry, *opened.file);
  }
}

void Checkpoint::OpenIndexed(const std::filesystem::path& index) {
  FilesOfIndex listed = ReadIndex(index);
  files_.reserve(listed.size());
  for (auto& [name, tensors] : listed) {
    if (!proto::FileExists(directory_ / name)) {
      throw StartupError(OneLinePath(index.string()) + ": it names the file " + Quoted(name) +
                         ", which is not in the directory");
    }
    std::ranges::sort(tensors);
    const OpenedFile& opened = OpenFile(name);
    std::size_t found = 0;
    for (const SafetensorsEntry& entry : opened.header.tensors) {
      if (std::ranges::binary_search(tensors, entry.name)) {
        ++found;
        Add(entry, *opened.file);
      }
    }
    if (found != tensors.size()) {
      const auto missing = std::ranges::find_if_not(
          tensors, [this](const std::string& tensor) { return Has(tensor); });
      throw StartupError(opened.file->name() + ": it has no tensor " + Quoted(*missing) +
                         ", which " + std::string(kIndexFile) + " lists in this file");
    }
  }
  // Tensors that the index does not list come last: if two tensors have one name, the index says
  // which of them is meant.
  for (const OpenedFile& opened : files_) {
    for (const SafetensorsEntry& entry : opened.header.tensors) {
      Add(entry, *opened.file);
    }
  }
}

const Checkpoint::Tensor& Checkpoint::Find(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw StartupError(model_dir_ + ": tensor " + Quoted(name) + " is missing");
  }
  const Tensor& tensor = found->second;
  if (!tensor.readable) {
    throw StartupError(tensor.view.file->name() + ": tensor " + Quoted(name) + " has dtype " +
                       std::string(tensor.dtype_name) + ": only F32, F16 and BF16 are supported");
  }
  return tensor;
}

const TensorView& Checkpoint::Get(std::string_view name) const { return Find(name).view; }

const TensorView& Checkpoint::Require(std::string_view name,
                                      std::span<const std::int64_t> shape) const {
  const Tensor& tensor = Find(name);
  if (!std::ranges::equal(tensor.view.shape, shape)) {
    throw StartupError(tensor.view.file->name() + ": tensor " + Quoted(name) + " has shape " +
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

std::vector<Checkpoint::FileDigest> Checkpoint::Digests() const {
  for (const OpenedFile& opened : files_) {
    PrefetchSamples(*opened.file, opened.header);
  }
  std::vector<FileDigest> digests;
  for (const OpenedFile& opened : files_) {
    digests.push_back(
        {opened.name, opened.file->name(), DigestOfSamples(*opened.file, opened.header)});
  }
  return digests;
}

std::vector<const WeightFile*> Checkpoint::Files() const {
  std::vector<const WeightFile*> files;
  for (const OpenedFile& opened : files_) {
    files.push_back(opened.file.get());
  }
  return files;
}

void Checkpoint::CheckUnchanged() const {
  for (const OpenedFile& opened : files_) {
    opened.file->CheckUnchanged();
  }
}

}  // namespace scorecast::shard
