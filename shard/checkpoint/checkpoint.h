#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shard/checkpoint/safetensors.h"
#include "shard/checkpoint/tensor_view.h"
#include "shard/checkpoint/weight_file.h"

namespace scorecast::shard {

/// The tensors of a Hugging Face model directory. Opening reads only the headers. Parts of tensors
/// are read when they are needed (see tensor_view.h), always from the files that were opened, even
/// if other files have taken their names since.
class Checkpoint {
 public:
  /// Opens `model_dir`/model.safetensors or, if it does not exist, the files that
  /// model.safetensors.index.json names. Throws StartupError, one line that names the file and the
  /// tensor, if a file is missing, truncated or malformed, if a tensor is not in the file that the
  /// index names, or if the index names a file outside of the directory.
  static Checkpoint Open(const std::filesystem::path& model_dir);

  /// Opens a further file, whose path is relative to the model's directory, e.g.
  /// 2_Dense/model.safetensors. Its tensors have the file's folder before their names:
  /// "2_Dense/linear.weight". Throws StartupError as Open does.
  void AddFile(const std::filesystem::path& file);

  /// Gives each tensor the name that `renamed` returns for its name. A tensor whose new name is
  /// another's keeps its own.
  void Rename(const std::function<std::string(const std::string& name)>& renamed);

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

  /// Names of all tensors in all files, sorted. This includes tensors that the index does not list,
  /// because an unlisted tensor (such as a bias) may mean that config.json does not describe the
  /// whole model.
  std::vector<std::string> Names() const;

  /// A digest of one file's header and of samples of each of its tensors.
  struct FileDigest {
    std::string name;  ///< In the directory.
    std::string path;  ///< For messages.
    std::uint64_t digest = 0;
  };
  std::vector<FileDigest> Digests() const;

  /// The files, in the order of their digests. Valid while the checkpoint lives.
  std::vector<const WeightFile*> Files() const;

  /// Throws FileChanged if one of the files was changed after it was opened.
  void CheckUnchanged() const;

 private:
  struct Tensor {
    TensorView view;
    std::string_view dtype_name;
    bool readable = false;
  };

  struct OpenedFile {
    std::string name;  ///< In the directory.
    std::unique_ptr<const WeightFile> file;
    SafetensorsHeader header;
  };

  explicit Checkpoint(std::filesystem::path model_dir);
  void OpenSingle(const std::filesystem::path& file);
  void OpenIndexed(const std::filesystem::path& index);
  /// Opens a file of the directory and returns its tensors.
  const OpenedFile& OpenFile(const std::filesystem::path& file);
  /// Adds a tensor of a file, unless there is already one of the same name. The name has `folder`
  /// before it.
  void Add(const SafetensorsEntry& entry, const WeightFile& file, const std::string& folder = {});
  const Tensor& Find(std::string_view name) const;

  std::filesystem::path directory_;
  std::string model_dir_;  ///< For messages.
  std::vector<OpenedFile> files_;
  std::map<std::string, Tensor, std::less<>> tensors_;
};

}  // namespace scorecast::shard
