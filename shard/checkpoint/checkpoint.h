#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shard/checkpoint/mapped_file.h"
#include "shard/checkpoint/safetensors.h"
#include "shard/checkpoint/tensor_view.h"

namespace scorecast::shard {

/// The tensors of a Hugging Face model directory, memory-mapped. Opening reads only the headers; a
/// tensor's bytes are read when they are first touched (see slices.h).
class Checkpoint {
 public:
  /// Maps `model_dir`/model.safetensors or, if it does not exist, the files that
  /// model.safetensors.index.json names. Throws StartupError, one line that names the file and the
  /// tensor, if a file is missing, truncated or malformed, if a tensor is not in the file that the
  /// index names, or if the index names a file outside of the directory.
  static Checkpoint Open(const std::filesystem::path& model_dir);

  bool Has(std::string_view name) const { return tensors_.contains(name); }

  /// Valid while the checkpoint lives. Throws StartupError if there is no such tensor or its dtype
  /// is not F32, F16 or BF16.
  const TensorView& Get(std::string_view name) const;

  /// Like Get; also throws StartupError if the tensor's shape is not `shape`, the one that
  /// config.json implies.
  const TensorView& Require(std::string_view name, std::span<const std::int64_t> shape) const;
  const TensorView& Require(std::string_view name,
                            std::initializer_list<std::int64_t> shape) const {
    return Require(name, std::span(shape.begin(), shape.size()));
  }

  /// Names of all tensors in all files, sorted. This includes tensors that the index does not list:
  /// one that is unlisted (a bias) may mean that config.json does not describe the whole model.
  std::vector<std::string> Names() const;

  /// Releases the memory of a tensor that has been read for the last time (see MappedFile).
  void Release(const TensorView& tensor) const;

 private:
  struct Tensor {
    TensorView view;
    std::string_view dtype_name;
    bool readable = false;
    std::size_t file = 0;  ///< Index into files_ and origins_.
  };

  explicit Checkpoint(const std::filesystem::path& model_dir);
  void OpenSingle(const std::filesystem::path& path);
  void OpenIndexed(const std::filesystem::path& model_dir, const std::filesystem::path& index);
  /// Maps `path` and returns its tensors.
  SafetensorsHeader OpenFile(const std::filesystem::path& path);
  /// Adds a tensor of files_[file], unless there is already one of the same name.
  void Add(SafetensorsEntry entry, std::size_t file);
  const Tensor& Find(std::string_view name) const;
  const std::string& OriginOf(const Tensor& tensor) const { return origins_[tensor.file]; }

  std::string model_dir_;
  std::vector<MappedFile> files_;
  std::vector<std::string> origins_;  ///< The files' paths, for messages.
  std::map<std::string, Tensor, std::less<>> tensors_;
};

}  // namespace scorecast::shard
