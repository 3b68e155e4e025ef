// The order in which a finite set is visited, which events a pass visits, and when the gap is computed.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "odca/learner/pass.hpp"
#include "odca/math/functions.hpp"
#include "odca/step/window_buffer.hpp"

namespace odca {

// How many neighbouring rows are visited consecutively. Reading rows in memory order is two to three times faster than in
// any other; but similar rows slow S-DCA down if they always follow each other. So the rows of a large set are visited in
// runs if neighbours are nearly orthogonal, as texts are.
inline std::size_t length_of_runs(const EventBuffer& buffer) {
  constexpr std::int64_t few_values = 1 << 17;  // they fit into a cache
  constexpr std::size_t pairs = 256, run = 16;
  const std::size_t n = buffer.size();
  if (buffer.stored() < few_values || n < pairs * run) return 1;
  double alike = 0.0;  // sum of |cos|
  for (std::size_t k = 0; k < pairs; ++k) {
    const Row a = buffer.row(buffer.at(k * (n / pairs))), b = buffer.row(buffer.at(k * (n / pairs) + 1));
    const double norms = std::sqrt(squared_norm(a)) * std::sqrt(squared_norm(b));
    if (norms > 0.0) alike += std::fabs(inner_product(a, b)) / norms;
  }
  return alike * run < pairs ? run : 1;
}

// Visits events in an order drawn from the seed, run by run, or in their original order.
class Order {
 public:
  Order(bool shuffles, std::uint64_t seed, std::size_t run = 1)
      : shuffles_(shuffles), run_(run), draw_(seed + golden) {}

  void arrange(Ids& ids) {
    if (!shuffles_) return std::sort(ids.begin(), ids.end());
    if (run_ == 1) return shuffle(ids);
    sort(ids);
    Ids runs((ids.size() + run_ - 1) / run_), arranged;
    std::iota(runs.begin(), runs.end(), 0);
    shuffle(runs);
    arranged.reserve(ids.size());
    for (const std::size_t each : runs) {
      const auto first = ids.begin() + static_cast<std::ptrdiff_t>(each * run_);
      arranged.insert(arranged.end(), first, first + std::min<std::ptrdiff_t>(run_, ids.end() - first));
    }
    ids = std::move(arranged);
  }

 private:
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;

  void shuffle(Ids& ids) {
    for (std::size_t k = ids.size(); k > 1; --k) {  // Fisher-Yates, on a splitmix sequence
      std::uint64_t x = draw_ += golden;
      x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
      x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
      std::swap(ids[k - 1], ids[static_cast<std::size_t>(static_cast<unsigned __int128>(x ^ (x >> 31)) * k >> 64)]);
    }
  }

  // Distinct powers of two.
  static void sort(Ids& ids) {
    std::vector<std::uint64_t> bits(ids.empty() ? 0 : *std::max_element(ids.begin(), ids.end()) / 64 + 1);
    for (const std::size_t id : ids) bits[id / 64] |= std::uint64_t{1} << (id % 64);
    std::size_t k = 0;
    for (std::size_t at = 0; at < bits.size(); ++at)
      for (std::uint64_t left = bits[at]; left; left &= left - 1)
        ids[k++] = 64 * at + static_cast<std::size_t>(std::countr_zero(left));
  }

  bool shuffles_;
  std::size_t run_;
  std::uint64_t draw_;
};

// Which events a pass visits. An event whose dual did not move (it is at the boundary of its domain, as most are under a
// hinge loss) rests for the next 3, 15, 63, 255, 255, ... passes (`stretch` 4: least work), or 1, 3, 7, ..., 255 (2: more
// progress in a given number of passes); one that moved is visited in the next pass. No event rests forever, and the gap
// is computed over all events: resting is safe (docs/mathematics.md, 12).
class Roster {
 public:
  Roster(Ids everyone, Order order, int stretch)
      : stretch_(stretch),
        everyone_(std::move(everyone)),
        naps_(everyone_.empty() ? 0 : *std::max_element(everyone_.begin(), everyone_.end()) + 1),
        order_(order) {
    wake_all();
  }

  const Ids& everyone() const { return everyone_; }

  // The events of the next pass, in its order.
  const Ids& gather() {
    Ids& rested = resting_[pass_ % resting_.size()];
    awake_.insert(awake_.end(), rested.begin(), rested.end());
    rested.clear();
    order_.arrange(awake_);
    return awake_;
  }

  // To be called after the pass: moved[k] says whether the k-th event moved. False if none did.
  bool send_to_rest(const std::vector<std::uint8_t>& moved) {
    ++pass_;
    std::size_t movers = 0;
    for (std::size_t k = 0; k < awake_.size(); ++k) {
      const std::size_t id = awake_[k];
      std::uint8_t& nap = naps_[id];
      nap = moved[k] ? 0 : static_cast<std::uint8_t>(stretch_ * nap + stretch_ - 1);  // 255 maps to 255 again
      if (moved[k])
        awake_[movers++] = id;
      else
        resting_[(pass_ + nap) % resting_.size()].push_back(id);
    }
    awake_.resize(movers);
    return movers > 0;
  }

  void wake_all() {
    for (Ids& each : resting_) each.clear();
    awake_ = everyone_;
  }

 private:
  static constexpr std::uint8_t longest_nap = 255;

  int stretch_;
  Ids everyone_, awake_;
  std::vector<std::uint8_t> naps_;            // by event: how many passes it last rested
  std::array<Ids, longest_nap + 1> resting_;  // by the pass in which they are visited again
  std::size_t pass_ = 0;
  Order order_;
};

// When to compute the gap, which costs about half a pass over all events. A pass estimates the gap from its visits, each
// at its own moment; if the estimate decreases by a factor from pass to pass, the gap at the end of the pass is smaller by
// about that factor. Every computed gap corrects the ratio of the true gap to its estimate. In case the visits are not
// informative, at most about half of the work is done without computing the gap, and at least a twentieth lies between two
// computations. Gaps are in units of the tolerance, work in non-zeros.
class Inspections {
 public:
  explicit Inspections(double everyone) : everyone_(everyone) {}

  void passed(double seen, double work) {
    done_ += work;
    work_ = work;
    const double earlier = before_last_ > 0.0 ? std::sqrt(seen / before_last_) : last_ > 0.0 ? seen / last_ : 1.0;
    rate_ = std::min(earlier, 1.0);
    raw_ = seen * rate_;
    before_last_ = last_;
    last_ = seen;
  }
  bool due() const {
    if (expected() <= 0.9) return done_ >= 1.05 * looked_at_;
    return done_ >= 2.0 * looked_at_ + 4.0 * everyone_;
  }

  // Records a computed gap. True if much of it is due to resting events, which no visit has seen.
  bool overlooked(double gap) {
    looked_at_ = done_;
    if (gap > 1.5 * last_) {
      forget_the_past();
      return true;
    }
    correction_ = gap / raw_;
    return false;
  }

  // An estimate of the remaining work.
  double ahead() const {
    if (before_last_ == 0.0 || expected() <= 1.0) return 0.0;
    return rate_ < 1.0 ? odca::log(expected()) / -odca::log(rate_) * work_ : infinity;
  }
  void forget_the_past() {
    last_ = before_last_ = 0.0;
    correction_ = 1.0;
  }

 private:
  double expected() const { return correction_ * raw_; }

  double everyone_, done_ = 0.0, work_ = 0.0, looked_at_ = 0.0;
  double last_ = 0.0, before_last_ = 0.0, rate_ = 1.0, raw_ = infinity, correction_ = 1.0;
};

}  // namespace odca
