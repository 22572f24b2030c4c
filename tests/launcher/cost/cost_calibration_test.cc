#include "launcher/cost/cost_calibration.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "proto/base/error.h"

namespace scorecast::launcher {
namespace cost_calibration_test {

using nlohmann::json;

CostCalibration Sample() {
  CostCalibration calibration{.version = "1.2.3",
                              .kernels = "avx512",
                              .layer_backend = "oneDNN",
                              .lm_head_backend = "scorecast",
                              .weights = {.precisions = {.layers = shard::Precision::kInt8,
                                                         .lm_head = shard::Precision::kBfloat16},
                                          .layer_size = 1,
                                          .lm_head_size = 2},
                              .layout = {.hosts = 2, .ranks_a_host = 4, .threads = 3}};
  calibration.shape.hidden_size = 64;
  calibration.shape.layers.resize(5);
  calibration.shape.num_attention_heads = 8;
  calibration.shape.num_key_value_heads = 2;
  calibration.shape.head_dim = 16;
  calibration.shape.intermediate_size = 128;
  calibration.shape.vocab_size = 256;
  calibration.passes = {{.work = {.rows = 8, .keys = 36, .reads = 1},
                         .seconds = 0.5,
                         .products = 0.25,
                         .attention = 0.125,
                         .other = 0.0625,
                         .communication = 0.03125}};
  return calibration;
}

TEST(CostCalibration, IsReadAsItWasWritten) {
  const CostCalibration read = CostCalibration::FromJson(Sample().ToJson(), "file");
  EXPECT_EQ(read.ToJson(), Sample().ToJson());
  EXPECT_EQ(read.layout, Sample().layout);
  EXPECT_EQ(read.weights.precisions.layers, shard::Precision::kInt8);
  EXPECT_EQ(read.shape.num_hidden_layers(), 5);
  EXPECT_EQ(read.passes.at(0).work.keys, 36);
  EXPECT_EQ(read.passes.at(0).communication, 0.03125);
}

std::string FaultOf(const std::string& text) {
  try {
    CostCalibration::FromJson(text, "file");
  } catch (const proto::StartupError& fault) {
    return fault.what();
  }
  return "";
}

TEST(CostCalibration, NamesWhatIsWrong) {
  EXPECT_EQ(FaultOf("{"), "file: not a calibration: no JSON object");
  EXPECT_EQ(FaultOf("[]"), "file: not a calibration: no JSON object");
  EXPECT_EQ(FaultOf("{}"), "file: not a calibration: scorecast_calibration is missing");
  const auto fault_with = [](const char* pointer, const json& value) {
    json object = json::parse(Sample().ToJson());
    object[json::json_pointer(pointer)] = value;
    return FaultOf(object.dump());
  };
  EXPECT_EQ(fault_with("/scorecast_calibration", 2),
            "file: not a calibration: scorecast_calibration is no integer from 1 to 1");
  EXPECT_EQ(fault_with("/dtype", "f16"), "file: not a calibration: dtype is no precision");
  EXPECT_EQ(fault_with("/layout/threads", 0),
            "file: not a calibration: layout.threads is no integer from 1 to 65536");
  EXPECT_EQ(fault_with("/layout/hosts", 3),
            "file: not a calibration: it has more ranks than heads");
  EXPECT_EQ(fault_with("/model/kv_heads", 9),
            "file: not a calibration: model.kv_heads is no integer from 1 to 8");
  EXPECT_EQ(fault_with("/passes", json::array()),
            "file: not a calibration: passes is not a list of passes");
  EXPECT_EQ(fault_with("/passes/0/seconds", -1),
            "file: not a calibration: passes.seconds is no number of seconds");
  EXPECT_EQ(fault_with("/passes/0", 7), "file: not a calibration: passes is no object");
}

}  // namespace cost_calibration_test
}  // namespace scorecast::launcher
