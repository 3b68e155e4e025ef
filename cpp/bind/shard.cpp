#include "odca/learner/shard.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/arrays.hpp"
#include "bind/signals.hpp"
#include "bind/state.hpp"
#include "bind/topics.hpp"

namespace odca::bind {

namespace {

using Lanes = Vector<double>;
using Reports = nb::typed<nb::tuple, nb::any, nb::ellipsis>;

Fields as_fields(Shard::Kept kept) {
  Fields out;
  out["dual"] = to_numpy(std::move(kept.dual));
  out["conjugate"] = to_numpy(std::move(kept.conjugate));
  out["next_dual"] = to_numpy(std::move(kept.next_dual));
  out["next_conjugate"] = to_numpy(std::move(kept.next_conjugate));
  out["x"] = to_numpy(std::move(kept.x));
  out["last_x"] = to_numpy(std::move(kept.last_x));
  out["move"] = to_numpy(std::move(kept.move));
  out["last_move"] = to_numpy(std::move(kept.last_move));
  return out;
}

Fields as_fields(Shard::Sums sums) {
  Fields out;
  out["dual"] = to_numpy(std::move(sums.dual));
  out["mass"] = to_numpy(std::move(sums.mass));
  out["squared_mass"] = to_numpy(std::move(sums.squared_mass));
  out["conjugate"] = to_numpy(std::move(sums.conjugate));
  out["saturated"] = to_numpy(std::move(sums.saturated));
  return out;
}

}  // namespace

void bind_shard(nb::module_& m) {
  nb::class_<Shard>(m, "Shard")
      .def(
          "__init__",
          [](Shard* self, const Learner& problem, const PyMatrix& x, const Matrix2& y,
             const std::optional<Matrix2>& weight, const std::optional<Matrix2>& offset,
             const std::optional<Vector<double>>& time) {
            Batch batch = x.batch;
            batch.intercept = problem.config().intercept;
            const Events events{batch, lane_values(y, 0.0), lane_values(weight, 1.0), lane_values(offset, 0.0),
                                time ? time->data() : nullptr};
            new (self) Shard(problem, events, signal_arrived);
          },
          nb::arg("problem"), nb::arg("x"), nb::arg("y"), nb::arg("weight").none(), nb::arg("offset").none(),
          nb::arg("time").none())
      .def_prop_ro("rows", &Shard::rows)
      .def_prop_ro("features", &Shard::features)
      .def_prop_ro("clock", &Shard::clock)
      .def_prop_ro("is_smooth", &Shard::is_smooth)
      .def(
          "join",
          [](Shard& self, std::int64_t features, double clock, const Lanes& constant) {
            self.join(features, clock, to_vector(constant));
          },
          nb::arg("features"), nb::arg("clock"), nb::arg("constant"))
      .def("sums", [](Shard& self) { return as_fields(self.sums()); })
      .def(
          "losses", [](const Shard& self, const Vector<double>& w) { return to_numpy(self.losses(to_vector(w))); },
          nb::arg("w"))
      .def("sizes_of_losses", [](const Shard& self) { return to_numpy(self.sizes_of_losses()); })
      .def("squares", [](const Shard& self) { return to_numpy(self.squares()); })
      .def(
          "learn",
          [](Shard& self, std::uint64_t seed) {
            {
              const nb::gil_scoped_release free_threads;
              self.learn(seed, signal_arrived);
            }
            raise_if_interrupted();
          },
          nb::arg("seed"))
      .def(
          "respond", [](Shard& self, const Vector<double>& w) { self.respond(to_vector(w)); }, nb::arg("w"))
      .def(
          "ascend",
          [](Shard& self, const Vector<double>& x, const Lanes& momentum, std::int64_t passes,
             std::uint64_t seed) -> Reports {
            Shard::Move move;
            const std::vector<double> at = to_vector(x), ahead = to_vector(momentum);
            {
              const nb::gil_scoped_release free_threads;
              move = self.ascend(at, ahead, passes, seed, signal_arrived);
            }
            raise_if_interrupted();
            return nb::make_tuple(to_numpy(std::move(move.gain)), to_numpy(std::move(move.conjugate)),
                                  to_numpy(std::move(move.losses)));
          },
          nb::arg("x"), nb::arg("momentum"), nb::arg("passes"), nb::arg("seed"))
      .def(
          "take", [](Shard& self, const Lanes& whether) { self.take(to_vector(whether)); }, nb::arg("whether"))
      .def("kept", [](const Shard& self) { return as_fields(self.kept()); })
      .def(
          "restore",
          [](Shard& self, const Vector<double>& dual, const Vector<double>& conjugate, const Vector<double>& next_dual,
             const Vector<double>& next_conjugate, const Vector<double>& x, const Vector<double>& last_x,
             const Vector<double>& move, const Vector<double>& last_move) {
            self.restore({.dual = to_vector(dual),
                          .conjugate = to_vector(conjugate),
                          .next_dual = to_vector(next_dual),
                          .next_conjugate = to_vector(next_conjugate),
                          .x = to_vector(x),
                          .move = to_vector(move),
                          .last_x = to_vector(last_x),
                          .last_move = to_vector(last_move)});
          },
          nb::arg("dual"), nb::arg("conjugate"), nb::arg("next_dual"), nb::arg("next_conjugate"), nb::arg("x"),
          nb::arg("last_x"), nb::arg("move"), nb::arg("last_move"));
}

}  // namespace odca::bind
