#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "coordinator/transports/batch/batch_output.h"
#include "coordinator/transports/batch/files/input_file.h"
#include "coordinator/transports/batch/files/record_file.h"
#include "coordinator/transports/batch/line_share.h"
#include "coordinator/transports/batch/output_lock.h"
#include "coordinator/transports/batch/run_point.h"
#include "coordinator/transports/batch/run_state.h"
#include "coordinator/transports/batch/stoppable_input.h"
#include "proto/base/digest.h"

namespace scorecast::coordinator {

struct RunOptions {
  std::filesystem::path input;        ///< "-": standard input.
  std::filesystem::path output;       ///< "-": standard output.
  std::int64_t max_line_bytes = 0;    ///< See InputFile.
  bool restart = false;               ///< What the output has is dropped.
  std::optional<std::uint64_t> seed;  ///< Drawn, or that of the run that goes on, if it is absent.
  std::optional<std::string> model_name;  ///< See RunFiles::model_name.
  std::string default_model_name;         ///< If `model_name` is absent and the run does not go on.
  LineShare share;
  RunSettings settings;
  std::string build;  ///< See RunState::build.
  /// The files are only checked: none is made or changed, and nothing but a regular file is read.
  bool is_dry_run = false;
};

/// The files of a batch: its input, its output, and beside the output the file of the run's state
/// (OUTPUT.state) and a lock (OUTPUT.lock). If the output and its state belong to the same run, the
/// run goes on where it ended: records that are in the output stay as they are. A run can go on if
/// input and output are regular files.
class RunFiles : public BatchOutput {
 public:
  /// Opens the files and decides where the run begins. Changes nothing in an output that exists.
  /// Throws StartupError if the output has what this run did not write, or what it wrote with other
  /// settings or from another input; also if another process writes to it.
  explicit RunFiles(const RunOptions& options);

  InputFile& input() { return *input_; }
  /// Not in a dry run whose input is no regular file.
  bool has_input() const { return input_.has_value(); }
  std::uint64_t seed() const { return state_.seed; }
  /// See BatchOptions::created: when the input was last changed before the run began.
  std::int64_t created() const { return state_.created; }
  /// See ServerOptions::model_name. It does not change when the run goes on.
  const std::string& model_name() const { return state_.model_name; }
  /// The input has been read up to here, and the output has the records up to here.
  const RunPoint& begin() const { return begin_; }
  /// Why the run could not go on later; empty if it could.
  const std::string& no_resumption_reason() const { return no_resumption_reason_; }
  /// The build by which the run began, if it was another one. Empty if it was this one.
  const std::string& other_build() const { return other_build_; }

  // The following are not for a dry run.

  /// What is known of the model only when it is loaded. To be called once, before Begin. Throws
  /// StartupError if the run goes on and had other weights.
  void SetWeights(RunSettings checksums);
  /// Cuts what does not belong to the run off the output. To be called once, before the first
  /// record. Throws std::runtime_error.
  void Begin();
  /// The input has been read to its end, and all records up to there are written. Throws
  /// std::runtime_error.
  void Finish(const RunPoint& end);
  /// The run ends early, behind the last record that was written. Throws std::runtime_error.
  void Leave() { WriteState(); }
  /// Ends an input that is not a regular file where it has been read to. Any thread may call it.
  void StopReading() const;

  bool is_prompt() const override { return !records_->present_bytes().has_value(); }
  void Write(std::span<const std::string> records, const RunPoint& end) override;
  void BeginRecord(const RunPoint& end) override;
  void WritePart(std::string_view part) override { records_->WritePart(part); }
  void EndRecord() override;

 private:
  void OpenInput(const RunOptions& options);
  void OpenOutput(const std::filesystem::path& path, bool is_dry_run);
  void BeginAnew(const RunOptions& options);
  void GoOn(const RunOptions& options, const RunState& state);
  void WriteState();
  /// Flushes the records up to `state_.next`.
  void FlushRecords();

  bool is_regular_output_ = false;
  std::filesystem::path output_path_;  ///< Without symbolic links.
  std::filesystem::path state_path_;
  std::optional<OutputLock> lock_;
  std::optional<StoppableInput> stoppable_;
  std::optional<InputFile> input_;
  std::optional<RecordFile> records_;
  std::string no_resumption_reason_;
  std::string other_build_;
  RunState state_;
  std::optional<RunSettings> weights_before_;  ///< Of the run that goes on.
  RunPoint begin_;
  std::int64_t begin_bytes_ = 0;  ///< Of the output at `begin_`.
  proto::Digest begin_digest_;    ///< Of these bytes.
};

}  // namespace scorecast::coordinator
