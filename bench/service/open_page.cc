#include "bench/service/open_page.h"

#include <chrono>
#include <utility>

#include "bench/service/http_client.h"

namespace scorecast::bench {
namespace {

constexpr auto kPeriod = std::chrono::seconds(2);

}  // namespace

OpenPage::OpenPage(std::string address)
    : thread_([this, address = std::move(address)] { Run(address); }) {}

OpenPage::~OpenPage() {
  try {
    Close();
  } catch (...) {
    // Another exception is under way, which says more.
  }
}

void OpenPage::Close() {
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  ends_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
  if (const std::exception_ptr fault = std::exchange(fault_, nullptr)) {
    std::rethrow_exception(fault);
  }
}

void OpenPage::Run(const std::string& address) {
  try {
    HttpClient metrics(address);
    HttpClient ready(address);
    std::unique_lock lock(mutex_);
    while (!has_ended_) {
      lock.unlock();
      metrics.Get("/metrics");
      ready.Get("/ready");
      lock.lock();
      ends_.wait_for(lock, kPeriod, [this] { return has_ended_; });
    }
  } catch (...) {
    fault_ = std::current_exception();
  }
}

}  // namespace scorecast::bench
