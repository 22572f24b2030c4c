#include "coordinator/transports/connection/address_bytes.h"

#include <string>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace address_bytes_test {

TEST(AddressBook, CountsForTheAddressAndForAll) {
  const HeldBytes requests(1000);
  const HeldBytes replies(1000);
  AddressBook book(/*limit=*/100, requests, replies);
  const Held held = book.Of("a")->requests.TryHold(60);
  EXPECT_NE(held, nullptr);
  EXPECT_EQ(book.Of("a")->requests.TryHold(60), nullptr);
  EXPECT_NE(book.Of("b")->requests.TryHold(60), nullptr);
  EXPECT_EQ(requests.bytes(), 60);
  EXPECT_EQ(replies.bytes(), 0);
}

TEST(AddressBook, KeepsAnAddressWhoseBytesAreHeldAfterItsConnections) {
  AddressBook book(/*limit=*/100, HeldBytes(1000), HeldBytes(1000));
  const Held held = book.Of("left")->requests.Hold(60);
  const auto connected = book.Of("connected");
  for (int i = 0; i < 1000; ++i) {
    book.Of(std::to_string(i));
  }
  EXPECT_EQ(book.Of("left")->requests.bytes(), 60);
  EXPECT_EQ(book.Of("connected"), connected);
  EXPECT_LE(book.size(), 130U) << "the others are forgotten";
}

}  // namespace address_bytes_test
}  // namespace scorecast::coordinator
