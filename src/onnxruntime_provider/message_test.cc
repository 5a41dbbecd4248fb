// SPDX-License-Identifier: Apache-2.0
#include "onnxruntime_provider/message.h"

#include <gtest/gtest.h>

namespace tessera::onnxruntime_provider {
namespace {

// The examples of protobuf's description of its format.
TEST(Message, Varints) {
  Message message;
  message.number(1, 150);
  EXPECT_EQ(message.bytes(), "\x08\x96\x01");
  Message negative;
  negative.number(1, -1);
  EXPECT_EQ(negative.bytes(), "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  Message zero;
  zero.number(20, 0);
  EXPECT_EQ(zero.bytes(), std::string("\xa0\x01\0", 3));
}

TEST(Message, TextsMessagesAndReals) {
  Message inner;
  inner.text(2, "testing");
  EXPECT_EQ(inner.bytes(), "\x12\x07testing");
  Message outer;
  outer.message(3, inner);
  outer.real(2, 1.0F);
  EXPECT_EQ(outer.bytes(), std::string("\x1a\x09\x12\x07testing\x15\0\0\x80\x3f", 16));
}

}  // namespace
}  // namespace tessera::onnxruntime_provider
