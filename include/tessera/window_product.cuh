// SPDX-License-Identifier: Apache-2.0
//
// A block's part of a convolution in groups in floats of 16 bits, for generated CUDA kernels: the
// part of the image that its windows see is copied to shared memory once, and tensor cores multiply
// what lies there with the weights of all places of the window. Sums are float32.
//
// few_rows.cuh has what this is made of, and a test emulates it.
#ifndef TESSERA_WINDOW_PRODUCT_CUH_
#define TESSERA_WINDOW_PRODUCT_CUH_

#include "tessera/block_product.cuh"

namespace tk {

// What a block makes: rows and columns of results of some images, of neighbouring groups, of each
// so many results of so many channels. So many images are in shared memory at a time, and a place's
// sums take so many there.
template <int kOfImages, int kAtOnce, int kOfRows, int kOfColumns, int kOfGroups, int kOfChannels,
          int kOfResults, int kOfSums>
struct window_tile {
  static constexpr int kImages = kAtOnce, kPasses = kOfImages / kAtOnce, kRows = kOfRows,
                       kColumns = kOfColumns, kGroups = kOfGroups, kChannels = kOfChannels,
                       kResults = kOfResults, kSums = kOfSums;
  static constexpr int kPlaces = kImages * kRows * kColumns;  // of a pass
  static constexpr int kAcross = kGroups * kResults;
  static_assert(kOfImages % kAtOnce == 0 && kSums >= kAcross);
};

// The window's size, how far it moves, and how far its places lie apart.
template <int kOfRows, int kOfColumns, int kMovesDown, int kMovesAcross, int kApartDown,
          int kApartAcross>
struct window_form {
  static constexpr int kRows = kOfRows, kColumns = kOfColumns, kDown = kMovesDown,
                       kAcross = kMovesAcross, kRowsApart = kApartDown,
                       kColumnsApart = kApartAcross;
};

// An image's size, with the channels of all groups, and of the results.
template <int kOfHeight, int kOfWidth, int kOfChannels, int kOfResults>
struct window_image {
  static constexpr int kHeight = kOfHeight, kWidth = kOfWidth, kChannels = kOfChannels,
                       kResults = kOfResults;
};

// The part of the image in shared memory, in vectors of eight channels. Columns that neighbouring
// windows see at the same place follow each other, and the vectors of one are odd in number: what
// one access reads lies in different banks.
template <class Tile, class Window>
struct window_patch {
  static constexpr int kRows =
      (Tile::kRows - 1) * Window::kDown + (Window::kRows - 1) * Window::kRowsApart + 1;
  static constexpr int kColumns =
      (Tile::kColumns - 1) * Window::kAcross + (Window::kColumns - 1) * Window::kColumnsApart + 1;
  static constexpr int kVectors = Tile::kGroups * Tile::kChannels / 8;
  static constexpr int kColumn = kVectors | 1;
  static constexpr int kEach = (kColumns + Window::kAcross - 1) / Window::kAcross;
  static constexpr int kRow = kEach * Window::kAcross * kColumn;
  static constexpr int kImage = kRows * kRow, kAll = Tile::kImages * kImage;

  static TK_INLINE_MEMBER int column(int of_image) {
    return (of_image % Window::kAcross * kEach + of_image / Window::kAcross) * kColumn;
  }
};

// The weights on their way: all at once, or in steps, of which some are in memory.
template <class Tile, class Window>
struct window_weights {
  static constexpr int kTerms = Window::kRows * Window::kColumns * Tile::kChannels;
  static constexpr int kSixteens = (kTerms + 15) / 16;
  using Place = vectors_of_tile<Tile::kAcross>;
  static constexpr int kOfSixteen = 16 * Place::kRow;
  static constexpr int kMostAtOnce = 20 * 1024 / 16, kMostOfStep = 6 * 1024 / 16;
  static constexpr bool kAtOnce = kSixteens * kOfSixteen <= kMostAtOnce;
  static constexpr int kFitting = kMostOfStep / kOfSixteen > 0 ? kMostOfStep / kOfSixteen : 1;
  static constexpr int kStep = kAtOnce ? kSixteens : kFitting;  // in sixteens
  static constexpr int kSteps = (kSixteens + kStep - 1) / kStep;
  static constexpr int kSlots = kAtOnce ? 1 : 3, kAhead = kAtOnce ? 1 : 2;
  static constexpr int kSlot = kStep * kOfSixteen;
  // Where terms lie in a window is known when compiling, for as many as code is written out for.
  static constexpr int kUnrolled = kStep <= 20 ? kStep : 4;
  static constexpr int kUnrolledSteps = kSixteens <= 64 ? kSteps : 1;
};

// What a block has in shared memory, in vectors. The sums' memory holds the patch before.
template <class Tile, class Window>
struct window_memory {
  using Weights = window_weights<Tile, Window>;
  static constexpr int kSums = Tile::kPasses * Tile::kPlaces * Tile::kSums / 4;
  static constexpr int kWeights = Weights::kSlots * Weights::kSlot;
  static constexpr int kBytes = (kSums + kWeights) * 16;
  static_assert(window_patch<Tile, Window>::kAll <= kSums);
};

// How the eight warps of a block share its places and results: as few accesses to shared memory as
// can be. The results of a warp are those of one group.
template <class Tile>
struct window_warps {
  static constexpr int kThreads = 256, kWarps = kThreads / 32;
  static constexpr int kAllTiles = (Tile::kPlaces + 15) / 16;
  static constexpr int tiles(int across) {
    return (kAllTiles + kWarps / across - 1) / (kWarps / across);
  }
  static constexpr int cost(int across) {
    const int columns = Tile::kAcross / across, eights = columns / 8;
    const bool fits = Tile::kAcross % (8 * across) == 0 && Tile::kResults % columns == 0;
    return fits ? tiles(across) * (4 + eights) + (eights + 1) / 2 * 4 : 1 << 30;
  }
  static constexpr int cheapest() {
    int best = 1;
    for (int across = 2; across <= kWarps; across *= 2) {
      if (cost(across) < cost(best)) best = across;
    }
    return best;
  }
  static constexpr int kAcross = cheapest(), kDown = kWarps / kAcross;
  static constexpr int kTiles = tiles(kAcross), kColumns = Tile::kAcross / kAcross,
                       kEights = kColumns / 8;
  static_assert(cost(kAcross) < 1 << 30);
};

template <class Tile, class Window, class Image, class Half>
struct window_multiplier {
  using Patch = window_patch<Tile, Window>;
  using Weights = window_weights<Tile, Window>;
  using Warps = window_warps<Tile>;
  static constexpr int kVectors = Weights::kTerms / 8;  // of the terms of a sum

  quad *patch, *weights;  // in shared memory
  const Half *image, *weight;
  int top, left;  // of the image, where the patch begins
  float sum[Tile::kPasses][Warps::kTiles][Warps::kEights][4];

  TK_INLINE_MEMBER void copy_patch(int pass) const {
    constexpr int kAll = Tile::kImages * Patch::kRows * Patch::kColumns * Patch::kVectors;
    for (int v = thread(); v < kAll; v += Warps::kThreads) {
      const int vector = v % Patch::kVectors, place = v / Patch::kVectors;
      const int column = place % Patch::kColumns, row = place / Patch::kColumns % Patch::kRows;
      const int number = place / (Patch::kColumns * Patch::kRows);
      const int of_all = pass * Tile::kImages + number;
      const int y = top + row, x = left + column;
      const bool inside = y >= 0 && y < Image::kHeight && x >= 0 && x < Image::kWidth;
      const int from = ((of_all * Image::kHeight + y) * Image::kWidth + x) * Image::kChannels;
      copy_async(
          patch + number * Patch::kImage + row * Patch::kRow + Patch::column(column) + vector,
          image + (inside ? from + vector * 8 : 0), inside);
    }
  }

  // A group of copies for every step, though some have none: they are counted.
  TK_INLINE_MEMBER void begin(int step) const {
    constexpr int kAcross = Tile::kAcross / 8;
    if (step < Weights::kSteps) {
      quad* const to = weights + step % Weights::kSlots * Weights::kSlot;
      for (int v = thread(); v < Weights::kStep * 16 * kAcross; v += Warps::kThreads) {
        const int row = v / kAcross, vector = v % kAcross, k = step * Weights::kStep * 16 + row;
        const bool is_there = k < Weights::kTerms;
        copy_async(to + Weights::Place::place(row, vector),
                   weight + (is_there ? k * Image::kResults + vector * 8 : 0), is_there);
      }
    }
    commit_copies();
  }

  TK_INLINE_MEMBER void multiply(int pass, int step) {
    const quad* const from = weights + step % Weights::kSlots * Weights::kSlot;
    const int lane = thread() % 32;
    int places[Warps::kTiles];
#pragma unroll
    for (int m = 0; m < Warps::kTiles; ++m) {
      places[m] = place_in_patch(tile(m) * 16 + lane % 16) +
                  first_column() / Tile::kResults * (Tile::kChannels / 8);
    }
#pragma unroll(Weights::kUnrolled)
    for (int s = 0; s < Weights::kStep; ++s) {
      const int first = (step * Weights::kStep + s) * 2;
      if (first < kVectors) multiply_sixteen(sum[pass], places, first, from, s);
    }
  }

  TK_INLINE_MEMBER void store(float* sums) const {
    const int lane = thread() % 32;
#pragma unroll
    for (int pass = 0; pass < Tile::kPasses; ++pass) {
#pragma unroll
      for (int m = 0; m < Warps::kTiles; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int place = tile(m) * 16 + half * 8 + lane / 4;
          if (place >= Tile::kPlaces) continue;
          float* const to = sums + (pass * Tile::kPlaces + place) * Tile::kSums;
#pragma unroll
          for (int n = 0; n < Warps::kEights; ++n) {
            const float* const pair = sum[pass][m][n] + half * 2;
            *reinterpret_cast<float_pair*>(to + first_column() + n * 8 +
                                           lane % 4 * 2) = {{pair[0], pair[1]}};
          }
        }
      }
    }
  }

 private:
  static TK_INLINE_MEMBER int tile(int m) {
    return thread() / 32 / Warps::kAcross + m * Warps::kDown;
  }
  static TK_INLINE_MEMBER int first_column() {
    return thread() / 32 % Warps::kAcross * Warps::kColumns;
  }
  // Where the window of a place begins. Tiles are filled up with the first one.
  static TK_INLINE_MEMBER int place_in_patch(int place) {
    const int p = place < Tile::kPlaces ? place : 0;
    const int column = p % Tile::kColumns, row = p / Tile::kColumns % Tile::kRows;
    return p / (Tile::kColumns * Tile::kRows) * Patch::kImage + row * Window::kDown * Patch::kRow +
           column * Patch::kColumn;
  }
  // Where eight terms of a sum are, from the window's beginning on.
  static TK_INLINE_MEMBER int place_in_window(int vector) {
    constexpr int kEach = Tile::kChannels / 8;
    const int at = vector / kEach, row = at / Window::kColumns, column = at % Window::kColumns;
    return row * Window::kRowsApart * Patch::kRow + Patch::column(column * Window::kColumnsApart) +
           vector % kEach;
  }

  // Of sixteen terms; where there are eight more, the others are zeros.
  TK_INLINE_MEMBER void multiply_sixteen(float (&to)[Warps::kTiles][Warps::kEights][4],
                                         const int (&places)[Warps::kTiles], int first,
                                         const quad* from, int s) const {
    const int lane = thread() % 32;
    const bool is_whole = kVectors % 2 == 0 || first + 1 < kVectors;
    const int here = place_in_window(first);
    const int next = is_whole ? place_in_window(first + 1) - here : 0;
    uint32_t of_a[Warps::kTiles][4], of_b[(Warps::kEights + 1) / 2][4];
#pragma unroll
    for (int m = 0; m < Warps::kTiles; ++m) {
      load_matrices(of_a[m], patch + (places[m] + lane / 16 * next) + here);
      if (!is_whole) of_a[m][2] = of_a[m][3] = 0;
    }
#pragma unroll
    for (int n = 0; n < (Warps::kEights + 1) / 2; ++n) {
      const bool is_pair = n * 2 + 1 < Warps::kEights;
      const int vector = first_column() / 8 + n * 2 + (is_pair ? lane / 16 : 0);
      load_matrices_across(of_b[n], from + Weights::Place::place(s * 16 + lane % 16, vector));
    }
#pragma unroll
    for (int m = 0; m < Warps::kTiles; ++m) {
#pragma unroll
      for (int n = 0; n < Warps::kEights; ++n) {
        const uint32_t* const pair = of_b[n / 2] + n % 2 * 2;
        multiply_add<Half>(to[m][n], of_a[m][0], of_a[m][1], of_a[m][2], of_a[m][3], pair[0],
                           pair[1]);
      }
    }
  }
};

// sums[place * kSums + result], for all of a tile, by the 256 threads of a block: of the windows
// that begin at `top` and `left` and move from there. Outside of the image are zeros. `image` and
// `weight` begin with the block's first image, channel and result.
template <class Tile, class Window, class Image, class Half>
TK_INLINE void window_product(float* sums, const Half* image, const Half* weight, int top,
                              int left) {
  using Weights = window_weights<Tile, Window>;
  static_assert(Tile::kPasses == 1 || Weights::kAtOnce);
  TK_SHARED(quad, weights, (window_memory<Tile, Window>::kWeights));
  window_multiplier<Tile, Window, Image, Half> all{
      reinterpret_cast<quad*>(sums), weights, image, weight, top, left, {}};
  all.copy_patch(0);
#pragma unroll
  for (int step = 0; step < Weights::kAhead; ++step) all.begin(step);
#pragma unroll(Weights::kUnrolledSteps)
  for (int step = 0; step < Weights::kSteps; ++step) {
    wait_for_copies<Weights::kAhead - 1>();
    barrier();  // all have read the slot that is filled next
    if (!Weights::kAtOnce) all.begin(step + Weights::kAhead);
    all.multiply(0, step);
  }
#pragma unroll
  for (int pass = 1; pass < Tile::kPasses; ++pass) {
    barrier();  // all have read the images before
    all.copy_patch(pass);
    commit_copies();
    wait_for_copies<0>();
    barrier();
    all.multiply(pass, 0);
  }
  barrier();  // all have read the patch, where sums are stored now
  all.store(sums);
}

}  // namespace tk

#endif  // TESSERA_WINDOW_PRODUCT_CUH_
