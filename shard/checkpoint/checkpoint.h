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

/// The tensors of a Hugging Face directory, memory-mapped: opening reads the headers only, and a
/// tensor's bytes are read when they are touched (see slices.h).
class Checkpoint {
 public:
  /// Maps `model_dir`/model.safetensors or, where there is none, the files that
  /// model.safetensors.index.json names. Throws StartupError, one line that names the file and the
  /// tensor: a file missing, truncated or malformed, a tensor that is not in the file that the
  /// index names, a file named outside the directory.
  static Checkpoint Open(const std::filesystem::path& model_dir);

  bool Has(std::string_view name) const { return tensors_.contains(name); }

  /// Valid for as long as the checkpoint lives. Throws StartupError where there is no such tensor,
  /// or it is of a dtype other than F32, F16 and BF16.
  const TensorView& Get(std::string_view name) const;

  /// The same, and StartupError too where its shape is not the one that config.json asks for.
  const TensorView& Require(std::string_view name, std::span<const std::int64_t> shape) const;
  const TensorView& Require(std::string_view name,
                            std::initializer_list<std::int64_t> shape) const {
    return Require(name, std::span(shape.begin(), shape.size()));
  }

  /// Of all tensors in all files, in order. The index need not list them all: one that is there
  /// unlisted (a bias) may be a sign that config.json does not tell the whole.
  std::vector<std::string> Names() const;

  /// Lets go of the pages of a tensor that has been read for the last time (see MappedFile).
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
  /// Maps `path` and gives its tensors.
  SafetensorsHeader OpenFile(const std::filesystem::path& path);
  /// Adds a tensor of files_[file], unless one of its name is there.
  void Add(SafetensorsEntry entry, std::size_t file);
  const Tensor& Find(std::string_view name) const;
  const std::string& OriginOf(const Tensor& tensor) const { return origins_[tensor.file]; }

  std::string model_dir_;
  std::vector<MappedFile> files_;
  std::vector<std::string> origins_;  ///< The files' paths, for messages.
  std::map<std::string, Tensor, std::less<>> tensors_;
};

}  // namespace scorecast::shard
