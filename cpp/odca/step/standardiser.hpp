// Keeps the scaling of a state in step with its window, and brings rows to it.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "odca/errors.hpp"
#include "odca/learner/transaction.hpp"
#include "odca/problem/config.hpp"

namespace odca {

[[noreturn, gnu::noinline]] inline void refuse_row(const Config& config, const Row& h, std::int64_t row) {
  InputError fault("the squared norm of ", at_row_of_x(row), " overflows; scale the features");
  h.each([&](std::int64_t j, double value) {
    const std::int64_t column = j - (config.intercept ? 1 : 0);
    if (!std::isfinite(value))
      fault = InputError("", at_row_of_x(row, column),
                         " holds " + show(value) + " in column " + std::to_string(column) +
                             "; drop the row or put a finite number there");
  });
  throw fault;
}

class Standardiser {
 public:
  Standardiser(const Config& config, State& state, Transaction& transaction)
      : config_(config), state_(state), scaling_(state.scaling), transaction_(transaction) {}

  // The row as the step sees it: by the events before it, as the window has them, and itself. With weight 0 it does not
  // count. What it returns is valid until the next call.
  Row arrive(const Row& raw, double weight, double time, std::int64_t row) {
    const std::uint8_t kind = raw.index ? Scaling::plain : Scaling::centred;
    const bool says_its_kind = raw.size > (config_.intercept ? 1 : 0);
    if (says_its_kind && scaling_.kind != kind && scaling_.kind != Scaling::undecided) refuse_other_kind(row);
    transaction_.about_to_change(raw);
    if (says_its_kind) scaling_.kind = kind;
    const double elapsed = state_.clock == -infinity ? 0.0 : time - state_.clock;
    if (!config_.window.keeps_events()) fade(config_.window.longest_factor(elapsed));
    if (elapsed < 0.0) weight *= config_.window.longest_late_factor(-elapsed);
    standardised_.resize(static_cast<std::size_t>(raw.size));
    for (std::int64_t i = 0; i < raw.size; ++i) {
      const std::int64_t j = raw.feature(i);
      const double x = raw.value[i];
      if (!std::isfinite(x)) refuse_row(config_, raw, row);
      if (config_.intercept && j == 0) {
        standardised_[i] = x;
        continue;
      }
      if (weight > 0.0 && !scaling_.add(j, x, weight)) refuse_size(j, row);
      standardised_[i] = scaling_.standardised(j, x);
    }
    arriving_ = raw;
    arriving_weight_ = weight;
    return {raw.index, standardised_.data(), raw.size};
  }

  // An event leaves a sliding window.
  void leave(std::size_t id) {
    const Row raw = state_.buffer.raw_row(id);
    transaction_.about_to_change(raw);
    each(raw, weight_of(id), [this](std::int64_t j, double x, double c) { scaling_.remove(j, x, c); });
  }

  // All sums anew from a sliding window, and from the event that arrives, which is not in it yet.
  void recount() {
    if (!scaling_.on || !state_.sliding) return;
    transaction_.about_to_change_everything();
    scaling_.clear();
    const EventBuffer& buffer = state_.buffer;
    for (std::size_t k = 0; k < buffer.size(); ++k) count(buffer.raw_row(buffer.at(k)), weight_of(buffer.at(k)));
    count(arriving_, arriving_weight_);
  }

  // For the time that an event takes to arrive, however that ends.
  class Arrival {
   public:
    explicit Arrival(Standardiser& standardiser) : standardiser_(standardiser) {}
    ~Arrival() { standardiser_.arriving_weight_ = 0.0; }
    Arrival(const Arrival&) = delete;
    Arrival& operator=(const Arrival&) = delete;

   private:
    Standardiser& standardiser_;
  };

 private:
  // Calls visit(feature, value, weight) for what an event puts into the sums.
  template <class Visit>
  void each(const Row& raw, double weight, Visit&& visit) const {
    if (weight > 0.0)
      raw.each([&](std::int64_t j, double x) {
        if (!config_.intercept || j != 0) visit(j, x, weight);
      });
  }

  void count(const Row& raw, double weight) {
    each(raw, weight, [this](std::int64_t j, double x, double c) { scaling_.add(j, x, c); });
  }

  double weight_of(std::size_t id) const {
    const double* weights = state_.buffer.weights(id);
    return *std::max_element(weights, weights + state_.lanes);
  }

  void fade(double factor) {
    if (factor == 1.0) return;
    if (factor < 0x1p-1000) {
      transaction_.about_to_change_everything();
      scaling_.clear();
    } else if (scaling_.scale * factor >= smallest_scale) {
      scaling_.scale *= factor;
    } else {
      transaction_.about_to_change_everything();
      scaling_.fold(split_scale(scaling_.scale, factor));
    }
  }

  [[noreturn, gnu::noinline]] void refuse_size(std::int64_t j, std::int64_t row) const {
    const std::int64_t column = j - (config_.intercept ? 1 : 0);
    throw InputError("standardising ", at_row_of_x(row, column),
                     " would overflow in column " + std::to_string(column) + "; scale the features or weights");
  }

  [[noreturn, gnu::noinline]] void refuse_other_kind(std::int64_t row) const {
    const bool was_dense = scaling_.kind == Scaling::centred;
    throw InputError(
        std::string("a standardised learner takes rows of one kind: dense ones are centred, sparse ones are not. It ") +
            "has learned from " + (was_dense ? "dense" : "sparse") + " rows; ",
        at_row_of_x(row), std::string(" is ") + (was_dense ? "sparse" : "dense"));
  }

  const Config& config_;
  State& state_;
  Scaling& scaling_;
  Transaction& transaction_;
  std::vector<double> standardised_;
  Row arriving_;
  double arriving_weight_ = 0.0;  // 0 where none arrives
};

}  // namespace odca
