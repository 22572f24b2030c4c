#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

namespace scorecast::coordinator {

/// What is logged while this exists, without times. Threads that log must not run when it is made
/// or destroyed.
class CapturedLog {
 public:
  CapturedLog() : before_(spdlog::default_logger()), sink_(std::make_shared<Sink>()) {
    const auto logger = std::make_shared<spdlog::logger>("captured", sink_);
    logger->set_level(spdlog::level::debug);
    logger->set_pattern("%v");
    spdlog::set_default_logger(logger);
  }
  ~CapturedLog() { spdlog::set_default_logger(before_); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  std::string text() const { return sink_->text(); }

 private:
  class Sink : public spdlog::sinks::base_sink<std::mutex> {
   public:
    std::string text() {
      const std::lock_guard lock(mutex_);
      return lines_;
    }

   private:
    void sink_it_(const spdlog::details::log_msg& message) override {
      spdlog::memory_buf_t line;
      formatter_->format(message, line);
      lines_.append(line.data(), line.size());
    }
    void flush_() override {}

    std::string lines_;
  };

  std::shared_ptr<spdlog::logger> before_;
  std::shared_ptr<Sink> sink_;
};

}  // namespace scorecast::coordinator
