// A part of the events of one weighted problem, with their duals: what a worker holds while shards solve the problem together.
//
// With S and A of all shards and x = S / A, shard k maximises over its own duals, with every other one fixed,
//
//     -sum_n c_n Q*(-lambda_n) - A_k R*(x + dS_k / A_k),      sum_k A_k = A,
//
// by S-DCA: this is the problem of a learner with strength A_k and dual sum A_k x + dS_k. All shards together never lower the dual
// objective. They are faster from a point ahead of where they are, which is further by a share of their last move, as in
// Nesterov's method: then x is ahead, and dS_k is from there. docs/distributed.md derives it.
#pragma once

#include <cstdint>
#include <vector>

#include "odca/learner/learner.hpp"

namespace odca {

class Shard {
 public:
  // The events, each with its own weight, under the problem of a learner (whose own state does not matter).
  Shard(const Learner& problem, const Events& events, const Interrupted& interrupted);

  std::int64_t rows() const { return static_cast<std::int64_t>(learner_.state_.buffer.size()); }
  std::int64_t features() const { return learner_.state_.features; }
  double clock() const { return learner_.state_.clock; }
  bool is_smooth() const { return learner_.pass_->is_smooth(); }

  // To be called first: what holds of all shards together, and this one's part of the constant strength, for each lane.
  void join(std::int64_t features, double clock, const std::vector<double>& constant);

  // Sums over the events with their duals as they are; [feature][lane] and [lane].
  struct Sums {
    std::vector<double> dual, mass, squared_mass, conjugate, saturated;
  };
  Sums sums();
  std::vector<double> losses(const std::vector<double>& w) const;  // sum of c Q(b + h'w; y)
  std::vector<double> sizes_of_losses() const;                     // sum of c |Q(b; y)|: what a tolerance is a share of
  std::vector<double> squares() const;  // [feature] sum of h^2, over the largest weight of each event
  bool learn(std::uint64_t seed, const Interrupted& interrupted);  // one pass of O-DCA from zero duals
  void respond(const std::vector<double>& w);                      // the duals -Q'(z) at w

  // Local ascent from the common x, or ahead of it by `momentum` [lane] of the last move. The duals wait for `take`; until then the sums
  // are those from before.
  struct Move {
    std::vector<double> gain;       // [feature][lane] dS
    std::vector<double> conjugate;  // [lane] sum of c (Q*(-lambda) + lambda b) after it
    std::vector<double> losses;     // at w of x
  };
  Move ascend(const std::vector<double>& x, const std::vector<double>& momentum, std::int64_t passes,
              std::uint64_t seed, const Interrupted& interrupted);
  void take(const std::vector<double>& whether);  // [lane] 1 if the move is made, 0 if not

  // Everything that the rounds change: a worker may forget it and be given it again.
  struct Kept {
    std::vector<double> dual, conjugate, next_dual, next_conjugate;  // [row][lane]
    std::vector<double> x, move;                                     // [feature][lane] of the last ascent
    std::vector<double> last_x, last_move;                           // of the last one whose move was made
  };
  const Kept& kept() const { return kept_; }
  void restore(Kept kept);

 private:
  void require_size(const std::vector<double>& given, std::size_t size, const char* what) const;
  std::size_t lanes() const { return static_cast<std::size_t>(learner_.config_.lanes); }
  void put();  // the present duals into the buffer
  void read(std::vector<double>& dual, std::vector<double>& conjugate) const;
  std::vector<double> conjugate_sums() const;

  Learner learner_;
  std::vector<double> share_;  // [lane] A_k, once joined
  Kept kept_;
};

}  // namespace odca
