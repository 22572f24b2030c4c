#include "launcher/cost/wire.h"

namespace scorecast::launcher {

using shard::Precision;

Wire WireOf(const proto::ModelConfig& config, Precision precision, const Layout& layout,
            const coordinator::PassWork& work) {
  Wire wire;
  if (layout.ranks() == 1) {
    return wire;
  }
  const auto layers = static_cast<double>(config.num_hidden_layers());
  const auto h = static_cast<double>(config.hidden_size);
  const auto rows = static_cast<double>(work.rows);
  const auto reads = static_cast<double>(work.reads);
  const bool is_float = precision == Precision::kFloat32;
  // Int8 shares a scale with each row. Rows behind the last norm are float32.
  const double node = h * (is_float ? 4 : 2);
  const double shared = h * static_cast<double>(shard::ElementSize(precision)) +
                        (precision == Precision::kInt8 ? 4 : 0);
  const double final_row = 4 * h;
  // The last layer shares all rows, for keys and values, and then only handles those that are read.
  const double all = rows * ((layers - 1) * 2 * (node + shared) + shared);
  const double read = reads * (node + shared + node + final_row);
  wire.exchanges = 4 * layers + 2;
  if (layout.hosts > 1) {
    const double others = layout.hosts - 1;
    wire.messages = (4 * layers + 1) * others;
    // Every row goes from one host to all others, or from all others to one.
    wire.host_bytes = (all + read) * others / layout.hosts;
  }
  return wire;
}

}  // namespace scorecast::launcher
