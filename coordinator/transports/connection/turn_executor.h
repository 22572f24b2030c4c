#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>

#include "coordinator/transports/connection/io_turns.h"

namespace scorecast::coordinator {

/// An executor of Asio, whose handlers run when it is the turn of their connection: see IoTurns.
/// They run one at a time and in order, as on a strand. What is dispatched by one of them runs at
/// once.
class TurnExecutor {
 public:
  explicit TurnExecutor(std::shared_ptr<IoTurns::Line> line) : line_(std::move(line)) {}

  template <typename Function>
  void execute(Function&& function) const {
    if (may_block_ && IoTurns::IsRunning(*line_)) {
      std::decay_t<Function> own(std::forward<Function>(function));
      std::move(own)();
    } else {
      line_->turns().Add(*line_, std::make_unique<HandlerOf<std::decay_t<Function>>>(
                                     std::forward<Function>(function)));
    }
  }

  /// Called by one of the handlers: from its end on, the turns are among those of another client.
  void MoveTo(const ClientId& client) const { line_->turns().Move(*line_, client); }

  // The properties that Asio asks for: see any_io_executor.

  boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept {
    return line_->turns().io();
  }
  boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t) const noexcept {
    return may_block_
               ? boost::asio::execution::blocking_t(boost::asio::execution::blocking.possibly)
               : boost::asio::execution::blocking_t(boost::asio::execution::blocking.never);
  }
  TurnExecutor require(boost::asio::execution::blocking_t::never_t) const {
    return {line_, /*may_block=*/false};
  }
  TurnExecutor require(boost::asio::execution::blocking_t::possibly_t) const {
    return {line_, /*may_block=*/true};
  }
  friend bool operator==(const TurnExecutor& a, const TurnExecutor& b) noexcept {
    return a.line_ == b.line_ && a.may_block_ == b.may_block_;
  }

 private:
  template <typename Function>
  class HandlerOf : public IoTurns::Handler {
   public:
    explicit HandlerOf(Function function) : function_(std::move(function)) {}
    void Run() override { std::move(function_)(); }

   private:
    Function function_;
  };

  TurnExecutor(std::shared_ptr<IoTurns::Line> line, bool may_block)
      : line_(std::move(line)), may_block_(may_block) {}

  std::shared_ptr<IoTurns::Line> line_;
  bool may_block_ = true;
};

}  // namespace scorecast::coordinator
