#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "proto/model/model_config.h"
#include "proto/model/token_id.h"

namespace scorecast::coordinator {

/// What the files say that sentence-transformers (5.4 and later) writes for a CrossEncoder.
struct CrossEncoderFiles {
  /// Set if modules.json has a LogitScore module, whose config.json has the labels' ids.
  struct LogitScore {
    proto::TokenId true_token = 0;
    std::optional<proto::TokenId> false_token;
    std::string file;  ///< For messages, e.g. "1_LogitScore/config.json".
  };

  std::optional<LogitScore> logit_score;
  /// Whether modules.json is there without one, as an embedding model has it.
  bool has_other_modules = false;
  /// Whether sentence-transformers loads these modules as a CrossEncoder: modules.json is there,
  /// and `model_type` of config_sentence_transformers.json says so.
  bool is_cross_encoder = false;
  /// Whether config.json has a member that versions before 5.4 wrote for a CrossEncoder.
  bool is_old_cross_encoder = false;
  /// The class of the activation, e.g. "torch.nn.modules.linear.Identity". Empty if none is named.
  std::string activation;
  std::string activation_file;  ///< For messages.
  std::string instruction;      ///< The default prompt; may be empty.
};

/// Reads modules.json, the LogitScore's config.json, config_sentence_transformers.json, and of
/// config.json the member "sentence_transformers" or the older
/// "sbert_ce_default_activation_function"; any of them may be absent. Throws StartupError,
/// one line that names the file, if one is malformed.
CrossEncoderFiles ReadCrossEncoderFiles(const std::filesystem::path& model_dir,
                                        const proto::ModelConfig& config);

}  // namespace scorecast::coordinator
