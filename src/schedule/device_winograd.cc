// SPDX-License-Identifier: Apache-2.0
// Convolutions of 3 by 3 by Winograd's algorithm on a device, in three launches:
//
//   V[e, in, p] = Bt d B      a thread for a tile p of a channel
//   M[e, out, p] = sum over in of U[e, out, in] * V[e, in, p]     window * window products
//   Y = At M A                a thread for a tile, with what follows the convolution
//
// Where channels lie last in memory, V is [e, p, in] and M [e, p, out], so that neighbouring
// threads have neighbouring elements either way. V and U are floats of 16 bits where the data are
// and there are tensor cores for them; then M's rows and columns fill whole blocks of
// tir/block_product.h. All else is float32. U is a constant, made when compiling.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "schedule/device.h"
#include "schedule/winograd_choice.h"
#include "schedule/winograd_convolution.h"
#include "schedule/winograd_values.h"
#include "tir/block_product.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::ForKind;
using tir::Stmt;

std::int64_t round_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

bool has_operands_of_16_bits(const WinogradConvolution& c, const Device& device) {
  return device.multiplies_fragments && c.data.dtype().bits == 16;
}

// ---- Is it worth it?

// An estimate, of a large device: what a launch takes, and what it does in a nanosecond.
constexpr double kClearly = 1.5;  // times faster
constexpr double kLaunchNs = 3000;
constexpr std::int64_t kBlocks = 132;  // that run at once, at least
constexpr std::int64_t kFewestChannels = 32;
constexpr double kPlainFlops = 10e3, kFragmentFlops = 100e3, kBytes = 2e3;
constexpr double kMostScratchBytes = 1 << 30;  // of V and M

struct Costs {
  double images = 1, rows = 0, columns = 0, in = 0, out = 0;
  bool has_fragments = false;

  double scratch_bytes(double m) const {
    const double elements = (m + 2) * (m + 2) * tiles(m);
    return elements * ((has_fragments ? 2 : 4) * in + 4 * out);
  }
  double direct_ns() const { return kLaunchNs + tiles_ns(images * rows * columns, 1, 9 * in); }
  double winograd_ns(double m) const {
    const double elements = (m + 2) * (m + 2);
    const double fragments_ns = 2 * elements * in * out * tiles(m) / kFragmentFlops;
    const double image_bytes = 4 * images * rows * columns * (in + out);
    const double weight_bytes = (has_fragments ? 2 : 4) * elements * in * out;
    return 3 * kLaunchNs + (has_fragments ? fragments_ns : tiles_ns(tiles(m), elements, in)) +
           (2 * scratch_bytes(m) + image_bytes + weight_bytes) / kBytes;
  }

 private:
  // Products by device_product.cc, whose blocks may be too few for the device.
  double tiles_ns(double places, double batches, double terms) const {
    const double blocks = batches * std::ceil(places / 64) * std::ceil(out / 64);
    return 2 * 64 * 64 * terms * std::max<double>(blocks, kBlocks) / kPlainFlops;
  }
  double tiles(double m) const { return images * std::ceil(rows / m) * std::ceil(columns / m); }
};

// Errors in 16 bits do not grow with the channels, as sums are float32: of float16, 5e-4 of the
// largest result with tiles of 2 and 2e-3 with tiles of 4, where 4e-3 is allowed; of bfloat16, 4e-3
// and 1.7e-2, where 2e-2 is. winograd_device_test.cc has the numbers.
bool is_exact_enough(const WinogradConvolution& c, std::int64_t tile) {
  return c.in.size() <= most_winograd_channels(c.data.dtype() == kFloat32 ? tile : 2) &&
         (tile == 2 || c.data.dtype() != kBFloat16);
}

// Those of 2 and 4 that are exact enough.
std::vector<std::int64_t> exact_tiles(const WinogradConvolution& c) {
  std::vector<std::int64_t> tiles = {2, 4};
  std::erase_if(tiles, [&](std::int64_t m) { return !is_exact_enough(c, m); });
  return tiles;
}

// The tile to use; 0: none. Tiles of 4 in 16 bits, of which errors are half of what they may be,
// are for who asks for them, or measures.
std::int64_t chosen_tile(const WinogradConvolution& c, const Device& device) {
  std::vector<std::int64_t> tiles = exact_tiles(c);
  if (const auto told = told_winograd_tile(device.winograd_tile, tiles)) return *told;
  const auto size = [](const Loop& l) { return static_cast<double>(l.size()); };
  Costs costs{1,          size(c.row), size(c.column),
              size(c.in), size(c.out), has_operands_of_16_bits(c, device)};
  for (const Loop& l : c.batch) costs.images *= size(l);
  std::erase_if(tiles, [&](std::int64_t m) {
    return costs.scratch_bytes(static_cast<double>(m)) > kMostScratchBytes;
  });
  std::int64_t best = 0;
  double ns = costs.direct_ns() / kClearly;
  const bool has_many_channels = std::min(c.in.size(), c.out.size()) >= kFewestChannels;
  for (const std::int64_t m : tiles) {
    const double estimate = costs.winograd_ns(static_cast<double>(m));
    const bool is_for_who_asks = m == 4 && c.data.dtype() != kFloat32;
    if (is_for_who_asks || !has_many_channels || estimate >= ns) continue;
    best = m;
    ns = estimate;
  }
  return measured_winograd_tile(c, best, tiles, device.measured);
}

// The largest that leaves enough blocks, and no quarter of the work for rows and columns that there
// are not; else the smallest.
tir::BlockTile block_tile(std::int64_t elements, std::int64_t rows, std::int64_t columns) {
  const auto whole = [&](const tir::BlockTile& t) {
    return round_up(rows, t.rows) * round_up(columns, t.columns);
  };
  const tir::BlockTile least = tir::kBlockTiles.back();
  for (const tir::BlockTile& t : tir::kBlockTiles) {
    const std::int64_t blocks = elements * (whole(t) / (t.rows * t.columns));
    if (blocks >= kBlocks && 4 * whole(t) < 5 * whole(least)) return t;
  }
  return least;
}

// ---- Loops

class DeviceWinograd {
 public:
  DeviceWinograd(const WinogradConvolution& c, std::int64_t tile, const Device& device)
      : c_(c),
        t_(even_winograd_transform(tile)),
        has_fragments_(has_operands_of_16_bits(c, device)),
        is_channels_last_(has_channels_last(c, has_fragments_)),
        row_{tir::make_var("tile_row"), Expr((c.row.size() + tile - 1) / tile)},
        column_{tir::make_var("tile_column"), Expr((c.column.size() + tile - 1) / tile)} {
    tiles_ = row_.size() * column_.size();
    for (const Loop& l : c.batch) tiles_ *= l.size();
    const std::int64_t in = c.in.size(), out = c.out.size();
    const std::int64_t rows = is_channels_last_ ? tiles_ : out;
    const std::int64_t columns = is_channels_last_ ? out : tiles_;
    if (has_fragments_) block_ = block_tile(elements(), rows, columns);
    rows_ = round_up(rows, block_.rows);
    columns_ = round_up(columns, block_.columns);
    terms_ = has_fragments_ ? round_up(in, tir::kAlignedPlaces) : in;
    const DType dtype = has_fragments_ ? c.data.dtype() : kFloat32;
    const auto memory = [&](bool is_tiles) {
      return is_tiles ? std::pair("tiles", tir::MemoryScope::kGlobal)
                      : std::pair("weights", tir::MemoryScope::kConstant);
    };
    const auto [a_name, a_scope] = memory(is_channels_last_);
    const auto [b_name, b_scope] = memory(!is_channels_last_);
    a_ = tir::make_buffer(a_name, dtype, {Expr(elements()), Expr(rows_), Expr(terms_)}, a_scope);
    b_ = tir::make_buffer(b_name, dtype, {Expr(elements()), Expr(in), Expr(columns_)}, b_scope);
    m_ = tir::make_buffer("products", kFloat32, {Expr(elements()), Expr(rows_), Expr(columns_)});
  }

  Contraction run() const {
    Contraction out;
    const Stmt product = has_fragments_ ? blocks() : plain_product();
    out.nests = {transform_data(), product, transform_results()};
    out.temporaries = {is_channels_last_ ? a_ : b_, m_};
    out.made.push_back({c_.weight, is_channels_last_ ? b_ : a_, weight_maker()});
    out.replaced = c_.product.replaced;
    out.summary = has_fragments_ ? fmt::format("winograd {0}x{0}, fragments {1}x{2}", t_.tile,
                                               block_.rows, block_.columns)
                                 : fmt::format("winograd {0}x{0}, tiles", t_.tile);
    for (Stmt& s : out.nests) s = tir::with_fresh_definitions(s);
    return out;
  }

 private:
  std::int64_t elements() const { return t_.window * t_.window; }

  // Vectors of channels need so many.
  static bool has_channels_last(const WinogradConvolution& c, bool has_fragments) {
    const auto& indices = c.data.as<tir::Load>()->indices;
    return tir::uses_var(indices.back(), c.in.var) &&
           (!has_fragments || c.in.size() % tir::kAlignedPlaces == 0);
  }

  std::function<std::optional<Tensor>(const Tensor&)> weight_maker() const {
    const auto form = [&](std::int64_t of_out, std::int64_t of_in) {
      return [=](std::int64_t out, std::int64_t in) { return out * of_out + in * of_in; };
    };
    WinogradWeight w;
    if (is_channels_last_) {
      w = {{c_.in.size(), columns_}, b_->dtype, form(1, columns_)};
    } else {
      w = {{rows_, terms_}, a_->dtype, form(terms_, 1)};
    }
    return [w, places = c_.places, &t = t_](const Tensor& weight) {
      return winograd_weight(weight, places, t, w);
    };
  }

  // Neighbours that lie side by side, of which a thread has as many as fill four bytes.
  std::int64_t lanes_of(const Loop& channel) const {
    const bool is_pair = is_channels_last_ && has_fragments_ && channel.size() % 2 == 0;
    return is_pair ? 2 : 1;
  }
  Stmt in_lanes(const Loop& channel, const Stmt& body) const {
    const std::int64_t lanes = lanes_of(channel);
    const Expr at = lanes == 1 ? group_ : group_ * Expr(lanes) + lane_;
    const Stmt each = tir::substitute(body, {{channel.var.get(), at}});
    return lanes == 1 ? tir::substitute(each, {{lane_.get(), Expr(0)}})
                      : tir::For::make(lane_, Expr(0), Expr(lanes), ForKind::kVectorized, each);
  }

  // A thread for each tile of a channel, or of those that are its lanes. `body` may read the loops'
  // variables, but for the channel's.
  Stmt thread_for_tiles(const Loop& channel, Stmt body) const {
    std::vector<Loop> loops = c_.batch;
    loops.insert(loops.end(), {row_, column_});
    const auto at = is_channels_last_
                        ? loops.end()
                        : loops.begin() + static_cast<std::ptrdiff_t>(c_.batch.size());
    loops.insert(at, Loop{group_, Expr(channel.size() / lanes_of(channel))});
    const Expr thread = tir::make_var("thread");
    const tir::VarMap here = iteration(loops, thread);
    for (const Loop& l : loops) body = tir::LetStmt::make(l.var, here.at(l.var.get()), body);
    return tir::For::make(thread, Expr(0), iterations(loops), ForKind::kGrid, body);
  }

  // Where V and M have an element of the thread's tile.
  std::vector<Expr> place(std::int64_t element, const Loop& channel) const {
    Expr image(0);
    for (const Loop& l : c_.batch) image = image * l.extent + l.var;
    const Expr tile = (image * row_.extent + row_.var) * column_.extent + column_.var;
    return is_channels_last_ ? std::vector<Expr>{Expr(element), tile, channel.var}
                             : std::vector<Expr>{Expr(element), channel.var, tile};
  }

  // Of each of `from`'s columns, the combinations by the rows of a matrix: rows x across values.
  template <class Row>
  static std::vector<Expr> combined(NamedValues& named, const std::vector<Expr>& from,
                                    std::int64_t across, std::int64_t rows, const Row& row) {
    std::vector<Expr> out;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t j = 0; j < across; ++j) {
        std::vector<Expr> column;
        for (auto i = static_cast<std::size_t>(j); i < from.size();
             i += static_cast<std::size_t>(across)) {
          column.push_back(from[i]);
        }
        out.push_back(named("half", r * across + j, combination(row(r), column)));
      }
    }
    return out;
  }
  static std::vector<Expr> row_of(const std::vector<Expr>& matrix, std::int64_t r,
                                  std::int64_t across) {
    const auto first = matrix.begin() + static_cast<std::ptrdiff_t>(r * across);
    return {first, first + static_cast<std::ptrdiff_t>(across)};
  }

  // Rows and columns behind the image are its last ones again: only results that nobody keeps are
  // made of them.
  std::vector<Expr> image_places(NamedValues& named, const char* name, const Loop& along,
                                 const Loop& tile) const {
    const std::int64_t last = along.size() + 1;
    std::vector<Expr> places;
    for (std::int64_t i = 0; i < t_.window; ++i) {
      const Expr at = tile.var * Expr(t_.tile) + Expr(i);
      const bool is_inside = t_.tile * (tile.size() - 1) + i <= last;
      places.push_back(is_inside ? at : named(name, i, tir::min(at, Expr(last))));
    }
    return places;
  }

  Stmt transform_data() const {
    NamedValues places, named;
    const auto y = image_places(places, "y", c_.row, row_);
    const auto x = image_places(places, "x", c_.column, column_);
    std::vector<Expr> d;
    for (const Expr& row : y) {
      for (const Expr& column : x) {
        d.push_back(named("d", static_cast<std::int64_t>(d.size()),
                          tir::cast(c_.element(row, column), kFloat32)));
      }
    }
    const auto matrix_row = [&](std::int64_t r) { return t_.data_row(r); };
    const auto half = combined(named, d, t_.window, t_.window, matrix_row);
    const Buffer& v = is_channels_last_ ? a_ : b_;
    std::vector<Stmt> stores;
    for (std::int64_t e = 0; e < elements(); ++e) {
      const Expr value =
          combination(t_.data_row(e % t_.window), row_of(half, e / t_.window, t_.window));
      stores.push_back(tir::Store::make(v, place(e, c_.in), tir::cast(value, v->dtype)));
    }
    return thread_for_tiles(c_.in,
                            places.around({in_lanes(c_.in, named.around(std::move(stores)))}));
  }

  // Blocks that multiply with the same tiles follow each other: these are many, and read once.
  Stmt blocks() const {
    const Expr block = tir::make_var("block");
    const std::int64_t down = rows_ / block_.rows, across = columns_ / block_.columns;
    const auto part = [&](std::int64_t inner, std::int64_t number) {
      return tir::floor_mod(tir::floor_div(block, Expr(inner)), Expr(number));
    };
    tir::BlockProduct p{a_, b_, m_, block_.rows, block_.columns, {}, {}, {}};
    p.batch = tir::floor_div(block, Expr(down * across));
    p.first_row = part(is_channels_last_ ? across : 1, down) * Expr(block_.rows);
    p.first_column = part(is_channels_last_ ? 1 : down, across) * Expr(block_.columns);
    return tir::For::make(block, Expr(0), Expr(elements() * down * across), ForKind::kBlocks,
                          tir::block_product(p));
  }

  Stmt plain_product() const {
    const Loop e{tir::make_var("element"), Expr(elements())}, k{tir::make_var("k"), c_.in.extent};
    const Loop row{tir::make_var("row"), Expr(rows_)},
        column{tir::make_var("column"), Expr(columns_)};
    const std::vector<Expr> at{e.var, row.var, column.var};
    const Expr term =
        tir::load(a_, {e.var, row.var, k.var}) * tir::load(b_, {e.var, k.var, column.var});
    const Stmt add = wrap({k}, tir::Store::make(m_, at, tir::load(m_, at) + term));
    const Stmt start = tir::Store::make(m_, at, tir::float_imm(0));
    const std::vector<Stmt> nest{wrap({e, row, column}, tir::seq({start, add}))};
    if (const auto product = device_product(nest, {})) return product->nests.front();
    const Nest few = peel(nest.front());  // no tiles are made of those
    return device_reduction(few, *as_reduction(few.body));
  }

  Stmt transform_results() const {
    NamedValues named;
    std::vector<Expr> m;
    for (std::int64_t e = 0; e < elements(); ++e) {
      m.push_back(named("m", e, tir::load(m_, place(e, c_.out))));
    }
    const auto matrix_row = [&](std::int64_t r) { return t_.result_row(r); };
    const auto half = combined(named, m, t_.window, t_.tile, matrix_row);
    const Buffer result =
        tir::make_buffer("result", kFloat32, {Expr(lanes_of(c_.out)), Expr(t_.tile), Expr(t_.tile)},
                         tir::MemoryScope::kStack);
    std::vector<Stmt> stores;
    for (std::int64_t r = 0; r < t_.tile; ++r) {
      for (std::int64_t s = 0; s < t_.tile; ++s) {
        const Expr value = combination(t_.result_row(s), row_of(half, r, t_.window));
        stores.push_back(
            tir::Store::make(result, std::vector<Expr>{lane_, Expr(r), Expr(s)}, value));
      }
    }
    const Stmt values = in_lanes(c_.out, named.around(std::move(stores)));
    return thread_for_tiles(c_.out,
                            tir::Allocate::make(result, tir::seq({values, finished_tile(result)})));
  }

  // What follows the convolution, of those results that there are.
  Stmt finished_tile(const Buffer& result) const {
    const Expr r = tir::make_var("r"), s = tir::make_var("s");
    const Expr y = row_.var * Expr(t_.tile) + r, x = column_.var * Expr(t_.tile) + s;
    Stmt body = in_lanes(c_.out, finished(c_.product, tir::load(result, {lane_, r, s}),
                                          {{c_.row.var.get(), y}, {c_.column.var.get(), x}}));
    const auto only_inside = [&](const Loop& along, const Expr& at) {
      if (along.size() % t_.tile == 0) return false;
      body = tir::IfThenElse::make(tir::lt(at, along.extent), body, Stmt());
      return true;
    };
    const bool is_whole = !only_inside(c_.column, x);
    const auto kind = is_whole && !is_channels_last_ ? ForKind::kVectorized : ForKind::kUnrolled;
    body = tir::For::make(s, Expr(0), Expr(t_.tile), kind, body);
    only_inside(c_.row, y);
    return tir::For::make(r, Expr(0), Expr(t_.tile), ForKind::kUnrolled, body);
  }

  const WinogradConvolution& c_;
  const WinogradTransform& t_;
  const bool has_fragments_, is_channels_last_;
  const Loop row_, column_;  // of tiles
  const Expr group_ = tir::make_var("channels"), lane_ = tir::make_var("lane");
  tir::BlockTile block_{1, 1};
  std::int64_t tiles_ = 1, rows_ = 0, columns_ = 0, terms_ = 0;
  Buffer a_, b_, m_;  // M = A B; one of them is V and the other U
};

}  // namespace

std::optional<Contraction> device_winograd(std::span<const Stmt> nests, const Surroundings& around,
                                           const Device& device) {
  if (device.winograd_tile == 0) return std::nullopt;
  const auto convolution = recognise_winograd(nests, around);
  if (!convolution) return std::nullopt;
  const std::int64_t tile = chosen_tile(*convolution, device);
  if (tile == 0) return std::nullopt;
  return DeviceWinograd(*convolution, tile, device).run();
}

}  // namespace tessera::schedule
