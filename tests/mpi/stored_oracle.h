#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "proto/model/model_config.h"
#include "proto/model/token_id.h"
#include "proto/plan/packed_sequence.h"
#include "tests/reference/reference_model.h"
#include "tests/reference/rounding.h"

namespace scorecast::testing {

/// A reference::ReferenceModel whose results are computed once for all jobs. Jobs that differ in
/// ranks, hosts or kernel set run the same cases, and the oracle takes longer than the engine.
///
/// SCORECAST_ORACLE_STORE in the environment names the directory of the results. A result's file is
/// named by the SHA-256 of all that it depends on: the program, the model and the arguments.
/// Without the variable, each call computes.
class StoredOracle {
 public:
  using Rows = reference::ReferenceModel::Rows;

  /// Reads a Hugging Face model directory.
  explicit StoredOracle(const std::filesystem::path& model_dir, reference::Rounding rounding = {});
  /// Takes a configuration, which need not be one that a config.json can express.
  StoredOracle(std::filesystem::path model_dir, proto::ModelConfig config,
               reference::Rounding rounding = {});
  ~StoredOracle();
  StoredOracle(const StoredOracle&) = delete;
  StoredOracle& operator=(const StoredOracle&) = delete;

  const proto::ModelConfig& config() const { return config_; }

  /// As in ReferenceModel.
  Rows Logits(std::span<const proto::TokenId> tokens, std::span<const proto::Segment> segments,
              std::span<const std::int32_t> rows,
              const proto::BlockWeighting& weighting = {}) const;
  Rows FinalRows(std::span<const proto::TokenId> tokens, std::span<const proto::Segment> segments,
                 std::span<const std::int32_t> rows, const proto::BlockWeighting& weighting = {},
                 std::span<const std::uint8_t> types = {}) const;

 private:
  Rows Stored(const std::string& arguments, const std::function<Rows()>& compute) const;
  /// The model, which is loaded when it is first needed.
  const reference::ReferenceModel& Model() const;

  const std::filesystem::path model_dir_;
  const proto::ModelConfig config_;
  const reference::Rounding rounding_;
  std::optional<std::filesystem::path> store_;
  std::string model_key_;  ///< The SHA-256 of all that a result depends on but the arguments.
  mutable std::unique_ptr<reference::ReferenceModel> model_;
};

}  // namespace scorecast::testing
