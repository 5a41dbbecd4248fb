// SPDX-License-Identifier: Apache-2.0
// Freeing of loop-IR nodes without recursion: a chain of a million additions must not need a
// million stack frames.
#pragma once

namespace tessera::tir {

// Calls drop(node) now, or, while another node of this thread is being freed, after that one.
void drop_later(const void* node, void (*drop)(const void*));

template <class N>
void drop_node(const N* node) {
  drop_later(node, [](const void* p) { delete static_cast<const N*>(p); });
}

}  // namespace tessera::tir
