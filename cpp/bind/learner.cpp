#include "odca/learner/learner.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>

#include "bind/arrays.hpp"
#include "bind/signals.hpp"
#include "bind/state.hpp"
#include "bind/topics.hpp"
#include "odca/math/checks.hpp"

namespace odca::bind {

namespace {

using Reports = nb::typed<nb::tuple, nb::any, nb::ellipsis>;

Batch with_intercept(const PyMatrix& x, const Learner& learner) {
  Batch batch = x.batch;
  batch.intercept = learner.config().intercept;
  return batch;
}

// A way of learning a model: a strength in addition to its own, a factor of decay (nothing: the window as it is given), and
// the candidate whose average it is (nothing: of none).
using Candidate = std::tuple<double, std::optional<double>, std::optional<int>>;

// Every model is learned in each of these ways.
void try_each(Config& config, const std::vector<Candidate>& ways) {
  const std::size_t candidates = ways.size();
  const auto repeat = [candidates](std::vector<double>& values) {
    std::vector<double> out;
    out.reserve(values.size() * candidates);
    for (const double value : values) out.insert(out.end(), candidates, value);
    values = std::move(out);
  };
  for (auto* each : {&config.rho, &config.prior_strength, &config.shape.mean, &config.products.weight}) repeat(*each);
  if (config.window.parameter.size() > 1) repeat(config.window.parameter);
  config.candidates = static_cast<int>(candidates);
  config.lanes *= config.candidates;
  std::vector<double> decays;
  bool averages = false;
  for (int l = 0; l < config.lanes; ++l) {
    const auto& [strength, decay, source] = ways[l % candidates];
    config.prior_strength[l] += strength;
    if (decay) decays.push_back(*decay);
    averages |= source.has_value();
    if (source) config.rho[l] = 0.0;  // its strength is kept in the state
  }
  if (!decays.empty()) config.window.parameter = std::move(decays);
  for (std::size_t k = 0; averages && k < candidates; ++k)
    config.average_of.push_back(std::get<2>(ways[k]).value_or(-1));
}

// Pairs of columns, (n, 2), centre and scale of the first and of the second, (n, 4), and weights, (n, lanes).
using Products = std::tuple<Vector<std::int64_t>, Vector<double>, Vector<double>>;

FixedProducts fixed(const Products& products, bool intercept, std::size_t lanes) {
  const auto& [pairs, forms, weights] = products;
  const std::size_t n = pairs.shape(0) / 2;
  if (pairs.shape(0) != 2 * n || forms.shape(0) != 4 * n || weights.shape(0) != n * lanes)
    throw InputError("products need two columns, two centres and scales, and a weight for every lane each");
  const auto factor = [&](std::size_t k) {
    return ProductFactor{pairs.data()[k] + (intercept ? 1 : 0), forms.data()[2 * k], forms.data()[2 * k + 1]};
  };
  std::vector<ProductTerms::Term> terms;
  for (std::size_t k = 0; k < 2 * n; k += 2) {
    terms.push_back({factor(k), factor(k + 1)});
    if (pairs.data()[k] < 0 || pairs.data()[k + 1] < 0 || !terms.back().first.is_sound() ||
        !terms.back().second.is_sound())
      throw InputError("the products are not of columns with finite centres and scales above 0");
  }
  std::vector<double> weight = to_vector(weights);
  if (!all_within(weight, largest_weight)) throw InputError("the weights of products must be below 1e300 in size");
  return {ProductTerms(std::move(terms)), std::move(weight)};
}

std::unique_ptr<Learner> make(const PyLoss& loss, const std::string& label_rule, const std::string& label_hint,
                              const PyPenalty& penalty, const PyWindow& window, int lanes, const Vector<double>& rho,
                              const Vector<double>& prior_strength,
                              const std::optional<std::vector<Candidate>>& candidates, double kappa, bool intercept,
                              bool scale, std::int64_t fixed_features,
                              const std::optional<Vector<double>>& inverse_weights,
                              const std::optional<Vector<double>>& means, const std::optional<Products>& products) {
  Config config;
  config.loss = loss.loss;
  config.label_rule = label_rule;
  config.label_hint = label_hint;
  config.penalty = penalty.penalty;
  config.window = window.window;
  config.lanes = lanes;
  config.rho = to_vector(rho);
  config.prior_strength = to_vector(prior_strength);
  config.kappa = kappa;
  config.intercept = intercept;
  config.scale = scale;
  config.fixed_features = fixed_features;
  if (inverse_weights) config.shape = {to_vector(*inverse_weights), to_vector(*means)};
  if (products) config.products = fixed(*products, intercept, static_cast<std::size_t>(lanes));
  if (candidates) try_each(config, *candidates);
  return std::make_unique<Learner>(std::move(config));
}

Reports learn(Learner& self, const PyMatrix& x, const Matrix2& y, const std::optional<Matrix2>& weight,
              const std::optional<Matrix2>& offset, const std::optional<Vector<double>>& time, bool diagnostics) {
  Events events{with_intercept(x, self), lane_values(y, 0.0), lane_values(weight, 1.0), lane_values(offset, 0.0),
                time ? time->data() : nullptr};
  const auto rows = static_cast<std::size_t>(events.batch.rows);
  const auto lanes = static_cast<std::size_t>(self.config().models());
  const std::size_t n = rows * lanes, more = diagnostics ? n : 0;
  std::vector<double> margin(n), dual(more), slope(more);
  std::vector<std::uint8_t> saturated(more);
  Report report{margin.data()};
  if (diagnostics) report = {margin.data(), dual.data(), slope.data(), saturated.data()};
  {
    const nb::gil_scoped_release free_threads;
    self.learn(events, report, signal_arrived);
  }
  raise_if_interrupted();
  if (!diagnostics) return nb::make_tuple(to_numpy(std::move(margin), {rows, lanes}));
  return nb::make_tuple(to_numpy(std::move(margin), {rows, lanes}), to_numpy(std::move(dual), {rows, lanes}),
                        to_numpy(std::move(slope), {rows, lanes}), to_numpy(std::move(saturated), {rows, lanes}));
}

// The margins, the number of passes, the gap of each lane, whether all are within the tolerance.
Reports fit(Learner& self, const PyMatrix& x, const Matrix2& y, const std::optional<Matrix2>& weight,
            const std::optional<Matrix2>& offset, const std::optional<Vector<double>>& time, double tolerance,
            std::int64_t passes, bool shuffle, std::uint64_t seed) {
  const Events events{with_intercept(x, self), lane_values(y, 0.0), lane_values(weight, 1.0), lane_values(offset, 0.0),
                      time ? time->data() : nullptr};
  const auto rows = static_cast<std::size_t>(events.batch.rows);
  const auto lanes = static_cast<std::size_t>(self.config().lanes);
  std::vector<double> margin(rows * lanes);
  Learner::FitReport report;
  {
    const nb::gil_scoped_release free_threads;
    report = self.fit(events, {tolerance, passes, shuffle, seed}, margin.data(), signal_arrived);
  }
  raise_if_interrupted();
  return nb::make_tuple(to_numpy(std::move(margin), {rows, lanes}), report.passes, to_numpy(std::move(report.gap)),
                        report.converged);
}

nb::ndarray<nb::numpy, double> predict(const Learner& self, const PyMatrix& x, const std::optional<Matrix2>& offset,
                                       bool smoothed) {
  const Batch batch = with_intercept(x, self);
  const auto rows = static_cast<std::size_t>(batch.rows), lanes = static_cast<std::size_t>(self.config().models());
  std::vector<double> out(rows * lanes);
  {
    const nb::gil_scoped_release free_threads;
    self.predict(batch, lane_values(offset, 0.0), smoothed, out.data(), signal_arrived);
  }
  raise_if_interrupted();
  return to_numpy(std::move(out), {rows, lanes});
}

// Runs without the GIL, because whoever waits for the model must not hold it; the result becomes an array.
template <class Read>
nb::ndarray<nb::numpy, double> read(const Learner& self, Read read_from) {
  std::vector<double> values;
  {
    const nb::gil_scoped_release free_threads;
    values = read_from(self);
  }
  return to_numpy(std::move(values));
}

// [feature][model]
template <class Read>
nb::ndarray<nb::numpy, double> read_features(const Learner& self, Read read_from) {
  std::vector<double> values;
  {
    const nb::gil_scoped_release free_threads;
    values = read_from(self);
  }
  const auto lanes = static_cast<std::size_t>(self.config().models()), features = values.size() / lanes;
  return to_numpy(std::move(values), {features, lanes});
}

Fields scalars(const Learner& self) {
  Learner::Scalars s;
  {
    const nb::gil_scoped_release free_threads;
    s = self.scalars();
  }
  Fields out;
  out["count"] = s.count;
  out["clock"] = s.clock;
  out["features"] = s.features;
  out["mass"] = to_numpy(std::move(s.lane.mass));
  out["squared_mass"] = to_numpy(std::move(s.lane.squared_mass));
  out["saturated"] = to_numpy(std::move(s.lane.saturated));
  out["strength"] = to_numpy(std::move(s.strength));
  return out;
}

}  // namespace

void bind_learner(nb::module_& m) {
  using Unlocked = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<Learner>(m, "Learner")
      .def(nb::new_(&make), nb::kw_only(), nb::arg("loss"), nb::arg("label_rule"), nb::arg("label_hint"),
           nb::arg("penalty"), nb::arg("window"), nb::arg("lanes"), nb::arg("rho"), nb::arg("prior_strength"),
           nb::arg("candidates").none(), nb::arg("kappa"), nb::arg("intercept"), nb::arg("scale"),
           nb::arg("fixed_features"), nb::arg("inverse_weights").none(), nb::arg("means").none(),
           nb::arg("products").none() = nb::none())
      .def(
          "copy", [](const Learner& self) { return std::make_unique<Learner>(self); }, Unlocked())
      .def("learn", &learn, nb::arg("x"), nb::arg("y"), nb::arg("weight").none(), nb::arg("offset").none(),
           nb::arg("time").none(), nb::arg("diagnostics"))
      .def("fit", &fit, nb::arg("x"), nb::arg("y"), nb::arg("weight").none(), nb::arg("offset").none(),
           nb::arg("time").none(), nb::arg("tolerance"), nb::arg("passes"), nb::arg("shuffle"), nb::arg("seed"))
      .def("predict", &predict, nb::arg("x"), nb::arg("offset").none(), nb::arg("smoothed"))
      .def("scalars", &scalars)
      .def(
          "weights",
          [](const Learner& self, bool smoothed) {
            return read_features(self, [=](const Learner& l) { return l.weights(smoothed); });
          },
          nb::arg("smoothed"))
      .def("units",
           [](const Learner& self) {
             Units units;
             {
               const nb::gil_scoped_release free_threads;
               units = self.units();
             }
             return std::pair(to_numpy(std::move(units.centres)), to_numpy(std::move(units.factors)));
           })
      .def("with_lanes", &Learner::with_lanes, nb::arg("source"), nb::arg("mirrored"), Unlocked())
      .def("dual_sum",
           [](const Learner& self) { return read_features(self, [](const Learner& l) { return l.dual_sum(); }); })
      .def("dual_objective",
           [](const Learner& self) { return read(self, [](const Learner& l) { return l.dual_objective(); }); })
      .def("duality_gap",
           [](const Learner& self) { return read(self, [](const Learner& l) { return l.duality_gap(); }); })
      .def("primal_objective",
           [](const Learner& self) { return read(self, [](const Learner& l) { return l.primal_objective(); }); })
      .def(
          "penalty_term",
          [](const Learner& self, bool smoothed) {
            return read(self, [=](const Learner& l) { return l.penalty_term(smoothed); });
          },
          nb::arg("smoothed"))
      .def(
          "refine",
          [](Learner& self, std::int64_t passes, double tolerance, std::uint64_t seed) {
            {
              const nb::gil_scoped_release free_threads;
              self.refine(passes, tolerance, seed, signal_arrived);
            }
            raise_if_interrupted();
          },
          nb::arg("passes"), nb::arg("tolerance"), nb::arg("seed"))
      .def("unlearn", &Learner::unlearn, nb::arg("event"), Unlocked())
      .def("merge", &Learner::merge, nb::arg("other"), Unlocked())
      .def("become_part", &Learner::become_part, nb::arg("part"), nb::arg("parts"), Unlocked())
      .def("delta", &delta, nb::arg("base"))
      .def("apply", &apply, nb::arg("delta"))
      .def("same_state", &Learner::same_state, nb::arg("other"), Unlocked())
      .def("get_state", &get_state)
      .def("set_state", &set_state, nb::arg("state"));
}

}  // namespace odca::bind
