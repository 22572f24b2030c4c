#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

namespace scorecast::bench {

/// Asks a service for what its page asks for while a browser shows it: /metrics and /ready, each on
/// a connection of its own, every two seconds (coordinator/page/live.js).
class OpenPage {
 public:
  /// `address`: HOST:PORT of HTTP.
  explicit OpenPage(std::string address);
  ~OpenPage();
  OpenPage(const OpenPage&) = delete;
  OpenPage& operator=(const OpenPage&) = delete;

  /// Ends the requests. Throws what a request threw, because a measurement without them is
  /// worthless.
  void Close();

 private:
  void Run(const std::string& address);

  std::mutex mutex_;
  std::condition_variable ends_;
  bool has_ended_ = false;
  std::exception_ptr fault_;
  std::thread thread_;
};

}  // namespace scorecast::bench
