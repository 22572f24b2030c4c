#include "tests/coordinator/metrics/prometheus_text.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace scorecast::testing {
namespace {

const std::regex kHelp(R"(# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (([^\\]|\\\\|\\n)+))");
const std::regex kType(R"(# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram))");
const std::regex kSample(
    R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-zA-Z_][a-zA-Z0-9_]*="([^"\\]|\\\\|\\"|\\n)*"(,[a-zA-Z_][a-zA-Z0-9_]*="([^"\\]|\\\\|\\"|\\n)*")*\})? ([^ ]+))re");
const std::regex kLabelNames(R"re(([a-zA-Z_][a-zA-Z0-9_]*)=")re");
const std::regex kBound(R"re(,?le="([^"]*)")re");

double NumberOf(const std::string& text) {
  if (text == "+Inf") {
    return std::numeric_limits<double>::infinity();
  }
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() || !std::isfinite(value)) {
    throw std::runtime_error("not a number: " + text);
  }
  return value;
}

class Parser {
 public:
  std::map<std::string, TextFamily> Parse(std::string_view text) {
    if (text.empty() || text.back() != '\n') {
      throw std::runtime_error("the last line does not end");
    }
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
      try {
        ParseLine(line);
      } catch (const std::runtime_error& error) {
        throw std::runtime_error(line + ": " + error.what());
      }
    }
    EndFamily();
    return std::move(families_);
  }

 private:
  static void Require(bool is_true, const std::string& what) {
    if (!is_true) {
      throw std::runtime_error(what);
    }
  }

  void ParseLine(const std::string& line) {
    std::smatch match;
    if (std::regex_match(line, match, kHelp)) {
      EndFamily();
      name_ = match[1];
      Require(!families_.contains(name_), "the family comes twice");
      families_[name_].help = match[2];
      return;
    }
    Require(!name_.empty(), "no family has begun");
    TextFamily& family = families_.at(name_);
    if (std::regex_match(line, match, kType)) {
      Require(match[1] == name_ && family.type.empty(), "TYPE follows HELP");
      family.type = match[2];
      Require((family.type == "counter") == name_.ends_with("_total"), "counters end in _total");
      return;
    }
    Require(!family.type.empty(), "TYPE follows HELP");
    Require(std::regex_match(line, match, kSample), "not a sample");
    AddSample(family, match[1], match[2], NumberOf(match[6]));
  }

  void AddSample(TextFamily& family, const std::string& name, const std::string& labels,
                 double value) {
    Require(family.samples.emplace(name + labels, value).second, "the sample comes twice");
    std::map<std::string, int> names;
    for (std::sregex_iterator label(labels.begin(), labels.end(), kLabelNames), end; label != end;
         ++label) {
      Require(++names[(*label)[1]] == 1, "a label comes twice");
    }
    if (family.type != "histogram") {
      Require(name == name_, "the sample is of another family");
      Require(family.type != "counter" || value >= 0, "a counter is negative");
      return;
    }
    if (name == name_ + "_bucket") {
      std::smatch bound;
      Require(std::regex_search(labels, bound, kBound), "a bucket has a bound");
      AddBucket(NumberOf(bound[1]), value);
    } else if (name == name_ + "_count") {
      count_ = value;
    } else {
      Require(name == name_ + "_sum", "the sample is of another family");
    }
    CheckHistogram();
  }

  /// In this text the buckets of a histogram follow its sum and its count.
  void AddBucket(double bound, double value) {
    Require(count_.has_value(), "the count comes before the buckets");
    Require(!bound_ || bound > *bound_, "bounds ascend");
    Require(value >= bucket_ && value <= *count_, "buckets ascend");
    bound_ = bound;
    bucket_ = value;
  }

  void CheckHistogram() {
    if (bound_ && std::isinf(*bound_)) {
      Require(bucket_ == *count_, "the last bucket has all");
      bound_.reset();
      count_.reset();
      bucket_ = 0;
    }
  }

  void EndFamily() {
    if (!name_.empty()) {
      Require(!families_.at(name_).type.empty(), name_ + " has no type");
      Require(!bound_ && !count_, name_ + " has a histogram without its last bucket");
    }
  }

  std::map<std::string, TextFamily> families_;
  std::string name_;
  // The histogram that is being read.
  std::optional<double> count_;
  std::optional<double> bound_;
  double bucket_ = 0;
};

}  // namespace

std::map<std::string, TextFamily> ParsePrometheusText(std::string_view text) {
  return Parser().Parse(text);
}

}  // namespace scorecast::testing
