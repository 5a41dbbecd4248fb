// SPDX-License-Identifier: Apache-2.0
#include "runtime/device_upload.h"

#include <algorithm>
#include <cstring>

#include "runtime/device_run.h"

namespace tessera::runtime {
namespace {

// Large enough for a copy to be as fast as the bus is; what is filled stays in a CPU's cache, and
// to pin it takes no time beside that of a model.
constexpr std::uint64_t kPieceBytes = 4 << 20;
constexpr std::uint64_t kAlignBytes = 64;

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignBytes - 1) / kAlignBytes * kAlignBytes;
}

}  // namespace

DeviceUpload::DeviceUpload(const tessera_device_api& api, std::uint64_t bytes)
    : api_(api), piece_bytes_(std::min(aligned(bytes), kPieceBytes)) {}

DeviceUpload::~DeviceUpload() {
  tessera_device_error ignored;
  for (Piece& piece : pieces_) {
    if (piece.is_read) api_.synchronize(nullptr, &ignored);
    if (piece.event != nullptr) api_.destroy_event(piece.event);
    if (piece.data != nullptr) api_.release_host(piece.data);
  }
}

std::int32_t DeviceUpload::copy(void* to, const void* from, std::uint64_t bytes) {
  for (std::uint64_t done = 0; done < bytes;) {
    if (std::int32_t status = make_room(1)) return status;
    const Piece& piece = pieces_[now_];
    const std::uint64_t part = std::min(bytes - done, piece_bytes_ - piece.used);
    std::memcpy(piece.data + piece.used, static_cast<const char*>(from) + done, part);
    if (std::int32_t status = send(static_cast<char*>(to) + done, part)) return status;
    done += part;
  }
  return TESSERA_OK;
}

std::int32_t DeviceUpload::reserve(std::uint64_t bytes, void** memory) {
  if (std::int32_t status = make_room(bytes)) return status;
  *memory = pieces_[now_].data + pieces_[now_].used;
  return TESSERA_OK;
}

std::int32_t DeviceUpload::send(void* to, std::uint64_t bytes) {
  Piece& piece = pieces_[now_];
  piece.is_read = true;
  if (std::int32_t status = api_.copy(to, piece.data + piece.used, bytes, nullptr, &error_)) {
    return fail_on_device(status, error_);
  }
  piece.used = std::min(aligned(piece.used + bytes), piece_bytes_);
  return TESSERA_OK;
}

// In the piece of now, or in the other one once the device has read that.
std::int32_t DeviceUpload::make_room(std::uint64_t bytes) {
  if (pieces_[now_].data == nullptr) return set_up(pieces_[now_]);
  if (piece_bytes_ - pieces_[now_].used >= bytes) return TESSERA_OK;
  if (std::int32_t status = api_.record_event(pieces_[now_].event, nullptr, &error_)) {
    return fail_on_device(status, error_);
  }
  now_ = 1 - now_;
  Piece& next = pieces_[now_];
  if (next.data == nullptr) return set_up(next);
  if (std::int32_t status = api_.synchronize_event(next.event, &error_)) {
    return fail_on_device(status, error_);
  }
  next.used = 0;
  next.is_read = false;
  return TESSERA_OK;
}

std::int32_t DeviceUpload::set_up(Piece& piece) {
  void* data = nullptr;
  if (std::int32_t status = api_.allocate_host(piece_bytes_, &data, &error_)) {
    return fail(status, "memory to upload the model's constants from: %s", error_.text);
  }
  piece.data = static_cast<char*>(data);
  const std::int32_t status = api_.create_event(&piece.event, &error_);
  return status == TESSERA_OK ? status : fail_on_device(status, error_);
}

std::int32_t DeviceUpload::finish() {
  if (std::int32_t status = api_.synchronize(nullptr, &error_)) {
    return fail_on_device(status, error_);
  }
  for (Piece& piece : pieces_) piece.is_read = false;
  return TESSERA_OK;
}

}  // namespace tessera::runtime
