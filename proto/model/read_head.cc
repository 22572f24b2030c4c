#include "proto/model/read_head.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "proto/base/count.h"

namespace scorecast::proto {
namespace {

std::string_view Name(Pooling pooling) {
  switch (pooling) {
    case Pooling::kCls:
      return "cls";
    case Pooling::kMax:
      return "max";
    case Pooling::kMean:
      return "mean";
    case Pooling::kLast:
      return "last-token";
  }
  return "";
}

std::string_view Name(HeadActivation activation) {
  switch (activation) {
    case HeadActivation::kIdentity:
      return "identity";
    case HeadActivation::kTanh:
      return "tanh";
    case HeadActivation::kRelu:
      return "relu";
    case HeadActivation::kGelu:
      return "gelu";
    case HeadActivation::kGeluTanh:
      return "gelu by tanh";
    case HeadActivation::kSilu:
      return "silu";
    case HeadActivation::kSigmoid:
      return "sigmoid";
  }
  return "";
}

}  // namespace

PooledRows RowsPooledBy(const std::vector<Pooling>& pooling) {
  const auto all_are = [&](Pooling only) {
    return std::ranges::all_of(pooling, [only](Pooling one) { return one == only; });
  };
  if (all_are(Pooling::kCls)) {
    return PooledRows::kFirst;
  }
  return all_are(Pooling::kLast) ? PooledRows::kLast : PooledRows::kAll;
}

std::string Describe(const ReadHead& head) {
  std::string text;
  for (const Pooling pooling : head.pooling) {
    text += (text.empty() ? "" : " and ") + std::string(Name(pooling));
  }
  text += " pooling";
  for (const HeadStep& step : head.steps) {
    if (!step.weight.empty()) {
      text += ", dense to " + std::to_string(step.out_features) +
              (step.bias.empty() ? " without bias" : "");
    }
    if (step.activation != HeadActivation::kIdentity) {
      text += ", " + std::string(Name(step.activation));
    }
    text += step.norm.empty() ? "" : ", layer norm";
  }
  if (head.temperature != 1) {
    std::ostringstream temperature;
    temperature << head.temperature;
    text += ", divided by " + temperature.str();
  }
  text += head.normalize ? ", normalised" : "";
  return text + ": " + Count(head.output_size, "value");
}

}  // namespace scorecast::proto
