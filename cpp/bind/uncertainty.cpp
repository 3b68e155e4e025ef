// How far from the truth predictions have been; odca.models.uncertainty says what it is for.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bind/arrays.hpp"
#include "bind/topics.hpp"
#include "odca/errors.hpp"
#include "odca/uncertainty/error_tracker.hpp"

namespace odca::bind {

namespace {

using uncertainty::ErrorTracker;
using uncertainty::Scores;
using uncertainty::Uncertainty;

const ErrorTracker& of(const Uncertainty& self, bool steady) { return steady ? self.steady : self.live; }

Uncertainty make(const std::string& task) {
  if (task != "classes" && task != "numbers")
    throw InputError("task must be 'classes' or 'numbers'; got '" + task + "'");
  return Uncertainty(task == "numbers" ? Scores::numbers : Scores::classes);
}

using Weights = std::optional<Vector<double>>;

template <class ScoreAt>
void add_each(Uncertainty& self, std::size_t events, const Weights& weight, ScoreAt score) {
  if (weight && weight->shape(0) != events) throw InputError("there must be a weight for every event");
  for (std::size_t k = 0; k < events; ++k) self.add(score(k), weight ? weight->data()[k] : 1.0);
}

void add_numbers(Uncertainty& self, const Vector<double>& y, const Vector<double>& predicted, const Weights& weight) {
  if (predicted.shape(0) != y.shape(0)) throw InputError("there must be a prediction for every number");
  add_each(self, y.shape(0), weight, [&](std::size_t k) { return y.data()[k] - predicted.data()[k]; });
}

// What was said of the true class: its log odds, or its probability.
void add_log_odds(Uncertainty& self, const Vector<double>& log_odds, const Weights& weight) {
  add_each(self, log_odds.shape(0), weight,
           [&](std::size_t k) { return uncertainty::score_of_class(log_odds.data()[k]); });
}
void add_probabilities(Uncertainty& self, const Vector<double>& p, const Weights& weight) {
  add_each(self, p.shape(0), weight, [&](std::size_t k) { return uncertainty::score_of_probability(p.data()[k]); });
}

// The smallest probability that a class of the set has.
double least_probability(const Uncertainty& self, double coverage, bool steady) {
  return 1.0 / (1.0 + exp(of(self, steady).bounds(coverage).upper));
}

std::pair<double, double> bounds(const Uncertainty& self, double coverage, bool steady) {
  const uncertainty::Bounds found = of(self, steady).bounds(coverage);
  return {found.lower, found.upper};
}

// The live bounds for each of several events, from before it and after those before it; (events, 2).
template <class ScoreAt>
nb::ndarray<nb::numpy, double> bounds_before_each(Uncertainty then, std::size_t events, const Weights& weight,
                                                  double coverage, ScoreAt score) {
  if (weight && weight->shape(0) != events) throw InputError("there must be a weight for every event");
  std::vector<double> out;
  for (std::size_t k = 0; k < events; ++k) {
    const uncertainty::Bounds found = then.live.bounds(coverage);
    out.push_back(found.lower), out.push_back(found.upper);
    then.live.add(score(k), weight ? weight->data()[k] : 1.0);
  }
  return to_numpy(std::move(out), {events, 2});
}

auto bounds_before_numbers(const Uncertainty& self, const Vector<double>& y, const Vector<double>& predicted,
                           const Weights& weight, double coverage) {
  if (predicted.shape(0) != y.shape(0)) throw InputError("there must be a prediction for every number");
  return bounds_before_each(self, y.shape(0), weight, coverage,
                            [&](std::size_t k) { return y.data()[k] - predicted.data()[k]; });
}

auto bounds_before_classes(const Uncertainty& self, const Vector<double>& p, const Weights& weight, double coverage) {
  return bounds_before_each(self, p.shape(0), weight, coverage,
                            [&](std::size_t k) { return uncertainty::score_of_probability(p.data()[k]); });
}

// Pairs of the coverage that was asked for and the one that was held.
nb::ndarray<nb::numpy, double> coverage_held(const Uncertainty& self, bool steady) {
  const uncertainty::PerLevel held = of(self, steady).coverage_held();
  std::vector<double> out;
  for (int k = 0; k < uncertainty::levels; ++k) out.push_back(1.0 - uncertainty::alphas[k]), out.push_back(held[k]);
  return to_numpy(std::move(out), {static_cast<std::size_t>(uncertainty::levels), 2});
}

void restore(Uncertainty& self, const Vector<double>& live, const Vector<double>& steady) {
  Uncertainty made = self;
  if (!made.live.read(to_vector(live)) || !made.steady.read(to_vector(steady)))
    throw InputError("its errors of predictions have the wrong length, or numbers that cannot be");
  self = made;
}

}  // namespace

void bind_uncertainty(nb::module_& m) {
  nb::class_<Uncertainty>(m, "Uncertainty")
      .def(nb::new_(&make), nb::arg("task"))
      .def("add_numbers", &add_numbers, nb::arg("y"), nb::arg("predicted"), nb::arg("weight").none())
      .def("add_log_odds", &add_log_odds, nb::arg("log_odds"), nb::arg("weight").none())
      .def("add_probabilities", &add_probabilities, nb::arg("p"), nb::arg("weight").none())
      .def("bounds_before_numbers", &bounds_before_numbers, nb::arg("y"), nb::arg("predicted"),
           nb::arg("weight").none(), nb::arg("coverage"))
      .def("bounds_before_classes", &bounds_before_classes, nb::arg("p"), nb::arg("weight").none(), nb::arg("coverage"))
      .def("bounds", &bounds, nb::arg("coverage"), nb::kw_only(), nb::arg("steady"))
      .def("least_probability", &least_probability, nb::arg("coverage"), nb::kw_only(), nb::arg("steady"))
      .def(
          "events", [](const Uncertainty& self, bool steady) { return of(self, steady).events(); }, nb::kw_only(),
          nb::arg("steady"))
      .def("coverage_held", &coverage_held, nb::kw_only(), nb::arg("steady"))
      .def("merge", &Uncertainty::merge, nb::arg("other"))
      .def("copy", [](const Uncertainty& self) { return self; })
      // Of a model that is from now on the steady answer: what is known of that counts for both.
      .def("frozen",
           [](const Uncertainty& self) {
             Uncertainty out = self;
             out.live = self.steady.at_pace(uncertainty::live_pace);
             return out;
           })
      .def(
          "numbers", [](const Uncertainty& self, bool steady) { return to_numpy(of(self, steady).numbers()); },
          nb::kw_only(), nb::arg("steady"))
      .def("restore", &restore, nb::arg("live"), nb::arg("steady"));
}

}  // namespace odca::bind
