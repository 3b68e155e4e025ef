// The experts' predictions of events whose labels come later, for Python and back: an array, and the number of
// events learned before.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>
#include <vector>

#include "bind/arrays.hpp"
#include "odca/experts/mixture.hpp"

namespace odca::bind {

using Numbers = nb::ndarray<nb::numpy, double>;
using KeptAnswers = std::pair<nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>, std::int64_t>;
// The predictions, and what the caller keeps until the labels come.
using AskedAnswers = std::pair<Numbers, std::pair<Numbers, std::int64_t>>;

inline experts::Asked asked_of(const KeptAnswers& kept) {
  const auto& [said, after] = kept;
  return {{said.data(), said.data() + said.size()}, static_cast<int>(said.shape(1)), after};
}

// Of consecutive events, each part from when it was asked about.
using AskedParts = std::optional<std::vector<experts::Asked>>;
using KeptParts = std::optional<std::vector<KeptAnswers>>;

inline AskedParts asked_parts(const KeptParts& kept) {
  if (!kept) return std::nullopt;
  AskedParts out(std::in_place);
  for (const KeptAnswers& each : *kept) out->push_back(asked_of(each));
  return out;
}

// How many numbers there are for each of so many events; if there are no events, for any.
inline std::size_t heads_of(std::size_t numbers, std::size_t rows, const experts::Experts& experts) {
  if (rows) return numbers / rows;
  const nb::gil_scoped_release free_threads;
  return static_cast<std::size_t>(experts.answer_width());
}

inline AskedAnswers answers_of(std::vector<double> predictions, experts::Asked asked, std::size_t rows) {
  const auto heads = static_cast<std::size_t>(asked.heads);
  return {to_numpy(std::move(predictions), {rows, heads}),
          {to_numpy(std::move(asked.said), {rows, heads, static_cast<std::size_t>(experts::said_width)}), asked.after}};
}

// The labels, weights and times of a call on the experts, copied: another thread may write to the arrays after they were checked.
// (Rows are copied as they are read.)
class EventValues {
 public:
  using Given = std::optional<Vector<double>>;

  EventValues(const Vector<double>& y, const Given& weight, const Given& time)
      : y_(to_vector(y)), weight_(copied(weight)), time_(copied(time)) {}

  experts::Events of(const Batch& batch, const AskedParts& asked) const {
    return {batch, y_.data(), weight_ ? weight_->data() : nullptr, time_ ? time_->data() : nullptr,
            asked ? &*asked : nullptr};
  }

 private:
  static std::optional<std::vector<double>> copied(const Given& given) {
    return given ? std::optional(to_vector(*given)) : std::nullopt;
  }

  std::vector<double> y_;
  std::optional<std::vector<double>> weight_, time_;
};

}  // namespace odca::bind
