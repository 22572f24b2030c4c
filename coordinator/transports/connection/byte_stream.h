#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/system/error_code.hpp>

#include "coordinator/schedule/clock.h"

namespace scorecast::coordinator {

/// The bytes to and from one client, over TCP or a layer on top of it. Satisfies Asio's
/// AsyncReadStream and AsyncWriteStream, so that asio::async_read, asio::async_write and the
/// operations of Boost.Beast work on it. Used only on its executor, which runs one handler at a
/// time.
class ByteStream {
 public:
  using executor_type = boost::asio::any_io_executor;
  using error_code = boost::system::error_code;

  ByteStream() = default;
  virtual ~ByteStream() = default;
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  virtual executor_type get_executor() = 0;

  /// Whether bytes have arrived that no read has taken yet.
  virtual bool HasUnread() = 0;
  /// Time since bytes arrived last, whether or not they have been read. Nothing if the stream does
  /// not know it.
  virtual std::optional<Clock::duration> SinceArrival() { return std::nullopt; }
  /// Whether the client will send no more, although bytes that it sent may still be unread.
  virtual bool HasHungUp() = 0;
  /// Tells the client that no more bytes will come. Reading goes on.
  virtual void ShutDownSend() = 0;
  /// Ends both directions. Operations under way complete with an error.
  virtual void Close() = 0;

  /// The client's name, if the stream has verified one; otherwise empty.
  virtual std::string peer_name() const { return {}; }

  /// Time at which the last read or write completed.
  Clock::time_point last_transfer() const { return last_transfer_; }
  /// Number of bytes that reads have returned.
  std::int64_t bytes_read() const { return bytes_read_; }

  template <typename Buffers, typename Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(error_code, std::size_t)>(
        [this](auto handler, const boost::asio::mutable_buffer& into) {
          ReadSome(into, ToDone(std::move(handler), &bytes_read_));
        },
        token, First<boost::asio::mutable_buffer>(buffers));
  }

  template <typename Buffers, typename Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return boost::asio::async_initiate<Token, void(error_code, std::size_t)>(
        [this](auto handler, const boost::asio::const_buffer& from) {
          WriteSome(from, ToDone(std::move(handler), /*count=*/nullptr));
        },
        token, First<boost::asio::const_buffer>(buffers));
  }

 protected:
  using Done = std::function<void(error_code, std::size_t)>;

  /// Reads or writes at least one byte, then calls `done` on the executor, never from inside the
  /// call. The buffer stays valid until then.
  virtual void ReadSome(boost::asio::mutable_buffer into, Done done) = 0;
  virtual void WriteSome(boost::asio::const_buffer from, Done done) = 0;

 private:
  /// The first buffer with room: a read or write of some bytes needs no more than one.
  template <typename Buffer, typename Buffers>
  static Buffer First(const Buffers& buffers) {
    const auto end = boost::asio::buffer_sequence_end(buffers);
    for (auto at = boost::asio::buffer_sequence_begin(buffers); at != end; ++at) {
      const Buffer buffer(*at);
      if (buffer.size() > 0) {
        return buffer;
      }
    }
    return {};
  }

  /// `count`, if it is not null, is increased by the bytes of the operation.
  template <typename Handler>
  Done ToDone(Handler handler, std::int64_t* count) {
    // Handlers may be movable only; a std::function's target must be copyable.
    return [this, count, shared = std::make_shared<Handler>(std::move(handler))](
               const error_code& error, std::size_t bytes) {
      last_transfer_ = Clock::now();
      if (count != nullptr) {
        *count += static_cast<std::int64_t>(bytes);
      }
      std::move (*shared)(error, bytes);
    };
  }

  Clock::time_point last_transfer_ = Clock::now();
  std::int64_t bytes_read_ = 0;
};

}  // namespace scorecast::coordinator
