#include "odca/step/solve.hpp"

#include <doctest/doctest.h>

#include <functional>

#include "support.hpp"

using namespace odca::test;
using odca::Config;
using odca::infinity;
using odca::KL;
using odca::L2;
using odca::Labels;
using odca::Projection;
using odca::Row;
using odca::Separable;
using odca::State;
using odca::Tangent;

namespace {

// One dual problem as the paper writes it, in long double: z(t) = b + sum_j h_j w_j(x + t alpha h / a).
struct Problem {
  Config config;
  State state;
  std::vector<std::int32_t> index;
  std::vector<double> value;
  std::vector<double> q, alpha, offset, y;

  Row row() const { return {index.data(), value.data(), static_cast<std::int64_t>(value.size())}; }

  long double z(int lane, long double t) const {
    return std::visit([&](const auto& penalty) { return z_under(penalty, lane, t); }, config.penalty);
  }

  // How much of z rounding may move: every term of the sum by a few units in its last place.
  long double rounding_of_z(int lane, long double t) const {
    long double size = std::fabs(offset[lane]), most = 0.0L;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const long double r = config.shape.inverse_weight_of(index[i]);
      const long double x = q[lane] * state.dual[index[i] * state.lanes + lane] * r,
                        dx = t * alpha[lane] * value[i] * r;
      size += std::fabs(value[i]) * (1.0L + std::fabs(x) + std::fabs(dx) + std::fabs(config.shape.mean_of(index[i])));
      most = std::max(most, std::fabs(x) + std::fabs(dx));
    }
    if (!std::holds_alternative<KL>(config.penalty)) return size;
    // A softmax turns an absolute error of x into a relative one of w.
    long double reach = 0.0L;
    for (const double h : value) reach = std::max<long double>(reach, std::fabs(h));
    return std::fabs(offset[lane]) + reach * (4.0L + most);
  }

 private:
  template <class Penalty>
  long double z_under(const Penalty& penalty, int lane, long double t) const {
    long double sum = offset[lane];
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::int32_t j = index[i];
      const long double r = config.shape.inverse_weight_of(j), w0 = config.shape.mean_of(j * state.lanes + lane);
      const long double x =
          q[lane] * static_cast<long double>(state.dual[j * state.lanes + lane]) * r + t * alpha[lane] * value[i] * r;
      long double w = w0 + x;
      if constexpr (std::is_same_v<Penalty, Separable>)
        if (!(config.intercept && j == 0)) {
          const long double delta = penalty.delta;
          w = w0 + (x > delta ? x - delta : x < -delta ? x + delta : 0.0L);
          w = std::min<long double>(std::max<long double>(w, penalty.lo), penalty.hi);
        }
      sum += value[i] * w;
    }
    return sum;
  }
  long double z_under(const KL& penalty, int lane, long double t) const {
    std::vector<long double> x;
    for (std::int64_t j = 0; j < state.features; ++j)
      x.push_back(penalty.log_prior[j] + static_cast<long double>(q[lane]) * state.dual[j * state.lanes + lane]);
    for (std::size_t i = 0; i < value.size(); ++i) x[index[i]] += t * alpha[lane] * value[i];
    const long double top = *std::max_element(x.begin(), x.end());
    long double total = 0.0L, sum = 0.0L;
    for (auto& each : x) total += each = expl(each - top);
    for (std::size_t i = 0; i < value.size(); ++i) sum += value[i] * x[index[i]];
    return offset[lane] + sum / total;
  }
};

Problem make_problem(const odca::AnyLoss& loss, const NamedPenalty& penalty, int lanes, Random& random) {
  const std::int64_t features = random.between(1, 12);
  Problem problem;
  problem.config = make_config(loss, penalty.make(features), {}, lanes);
  const bool simplex = std::holds_alternative<KL>(problem.config.penalty);
  if (!simplex && random.chance(0.5)) problem.config.shape = make_shape(features, lanes, random.next());
  problem.config.intercept = !simplex && random.chance(0.3);
  problem.state = problem.config.empty_state();
  problem.state.resize(features);
  for (double& v : problem.state.dual) v = random.bell() * (random.chance(0.2) ? 20.0 : 1.0);
  for (std::int64_t j = 0; j < features; ++j) {
    if (!(problem.config.intercept && j == 0) && !random.chance(0.7)) continue;
    problem.index.push_back(static_cast<std::int32_t>(j));
    problem.value.push_back(problem.config.intercept && j == 0 ? 1.0 : 2.0 * random.bell());
  }
  for (int l = 0; l < lanes; ++l) {
    problem.q.push_back(random.chance(0.1) ? 0.0 : random.magnitude(-4, 2));
    problem.alpha.push_back(random.chance(0.05) ? 0.0 : random.magnitude(-10, 8));
    problem.offset.push_back(random.bell());
    problem.y.push_back(draw_label(labels_of(loss), random));
  }
  return problem;
}

struct Solution {
  std::vector<double> lambda, slope, z;
};
template <int Lanes, class Loss, class Penalty>
Solution solve(const Problem& problem, const Loss& loss, const Penalty& penalty) {
  const auto lanes = static_cast<std::size_t>(problem.state.lanes);
  Solution out{std::vector<double>(lanes), std::vector<double>(lanes), std::vector<double>(lanes)};
  Projection<Penalty, Lanes> projection(problem.state.lanes);
  projection.project(problem.config, penalty, problem.state, problem.row());
  projection.solve(loss, penalty, problem.q.data(), problem.alpha.data(), problem.offset.data(), problem.y.data(),
                   out.lambda.data(), out.slope.data(), out.z.data());
  return out;
}
template <int Lanes>
Solution solve(const Problem& problem) {
  return std::visit([&](const auto& loss, const auto& penalty) { return solve<Lanes>(problem, loss, penalty); },
                    problem.config.loss, problem.config.penalty);
}

Problem only_lane(const Problem& many, int lane) {
  Problem one = many;
  one.config.lanes = one.state.lanes = 1;
  one.state.dual.clear();
  one.config.shape.mean.clear();
  for (std::int64_t j = 0; j < many.state.features; ++j) {
    one.state.dual.push_back(many.state.dual[j * many.state.lanes + lane]);
    if (!many.config.shape.is_plain())
      one.config.shape.mean.push_back(many.config.shape.mean[j * many.state.lanes + lane]);
  }
  for (auto* each : {&one.q, &one.alpha, &one.offset, &one.y}) *each = {(*each)[lane]};
  return one;
}

// lambda in -dQ(z(lambda)), with z moved by no more than `slack`: as z moves up, every -Q' moves down.
bool solves(const odca::AnyLoss& loss, double lambda, double y, long double z, long double slack) {
  return std::visit(
      [&](const auto& l) {
        const double below = static_cast<double>(z - slack), above = static_cast<double>(z + slack);
        const double rounding = 1e-14 * (std::fabs(lambda) + 1.0);  // of the sub-gradient itself
        return lambda <= -l.subgradient(below, y).lo + rounding && lambda >= -l.subgradient(above, y).hi - rounding;
      },
      loss);
}

}  // namespace

TEST_CASE("the dual solves its inclusion under every loss and penalty") {
  Random random(31);
  int cases = 0;
  for (const NamedLoss& named : all_losses)
    for (const NamedPenalty& penalty : all_penalties) {
      CAPTURE(named.name);
      CAPTURE(penalty.name);
      const odca::AnyLoss loss = named.loss();
      for (int i = 0; i < 120; ++i) {
        const int lanes = static_cast<int>(random.between(1, 3));
        const Problem problem = make_problem(loss, penalty, lanes, random);
        const Solution got = lanes == 1 ? solve<1>(problem) : solve<0>(problem);
        for (int l = 0; l < lanes; ++l) {
          const long double slack = 1e-13L * problem.rounding_of_z(l, got.lambda[l]);
          CAPTURE(problem.alpha[l]);
          CAPTURE(got.lambda[l]);
          const long double z = problem.z(l, got.lambda[l]);
          REQUIRE(solves(loss, got.lambda[l], problem.y[l], z, slack));
          REQUIRE(std::fabs(got.z[l] - z) <= slack);
          ++cases;
        }
      }
    }
  CHECK(cases > 10000);
}

TEST_CASE("the slope is the derivative of z at the solution") {
  Random random(32);
  const odca::AnyLoss loss = odca::named_loss("squared_error", 0.0);
  for (const NamedPenalty& penalty : all_penalties)
    for (int i = 0; i < 200; ++i) {
      const Problem problem = make_problem(loss, penalty, 1, random);
      const Solution got = solve<1>(problem);
      const long double step = 1e-7L * (1.0L + std::fabs(got.lambda[0]));
      const long double up = (problem.z(0, got.lambda[0] + step) - problem.z(0, got.lambda[0])) / step;
      const long double down = (problem.z(0, got.lambda[0]) - problem.z(0, got.lambda[0] - step)) / step;
      // At a kink z has two slopes; anywhere else they agree to the order of the step.
      const double low = static_cast<double>(std::min(up, down)), high = static_cast<double>(std::max(up, down));
      const double slack = 1e-5 * (1.0 + high);
      CAPTURE(penalty.name);
      REQUIRE(got.slope[0] >= low - slack);
      REQUIRE(got.slope[0] <= high + slack);
    }
}

TEST_CASE("a lane has the same bits as a separate learner, under penalties that are solved lane by lane") {
  Random random(33);
  for (const NamedPenalty& penalty : all_penalties) {
    if (penalty.name == "l2") continue;  // there one read of the row serves all lanes, in another order
    for (const char* name : {"hinge", "log_loss", "squared_error"})
      for (int i = 0; i < 50; ++i) {
        const Problem many = make_problem(odca::named_loss(name, 0.0), penalty, 3, random);
        const Solution together = solve<0>(many);
        for (int l = 0; l < 3; ++l) {
          const Solution alone = solve<1>(only_lane(many, l));
          REQUIRE(same_bits(together.lambda[l], alone.lambda[0]));
          REQUIRE(same_bits(together.z[l], alone.z[0]));
        }
      }
  }
}

TEST_CASE("the margin is z without the event's contribution") {
  Random random(34);
  for (const NamedPenalty& named : all_penalties)
    for (int i = 0; i < 100; ++i) {
      const Problem problem = make_problem(odca::named_loss("squared_error", 0.0), named, 3, random);
      std::visit(
          [&](const auto& penalty) {
            Projection<std::decay_t<decltype(penalty)>, 0> projection(3);
            const double norm = projection.project(problem.config, penalty, problem.state, problem.row());
            double wanted_norm = 0.0;
            for (const double h : problem.value) wanted_norm += h * h;
            REQUIRE(norm == doctest::Approx(wanted_norm).epsilon(1e-14));
            for (int l = 0; l < 3; ++l) {
              const long double slack = 1e-14L * problem.rounding_of_z(l, 0.0L);
              const long double wanted = problem.z(l, 0.0L) - problem.offset[l];
              REQUIRE(std::fabs(projection.margin(penalty, l, problem.q[l]) - wanted) <= slack);
            }
          },
          problem.config.penalty);
    }
}

TEST_CASE("the bracket solves what the bare iteration does not, in few steps") {
  // z with kinks everywhere, as a box with a threshold has: the tangent alone can cycle.
  Random random(35);
  int circles = 0, cases = 0, evaluations = 0, most = 0;
  for (const char* name : {"absolute_error", "squared_error", "hinge", "log_loss", "huber"}) {
    const NamedLoss named{name, 0.7};
    const odca::AnyLoss any = named.loss();
    std::visit(
        [&](const auto& loss) {
          for (int i = 0; i < 1500; ++i) {
            // Coordinates that start and stop at different t and move at different speeds.
            std::vector<double> start, speed, lo, hi;
            const std::int64_t n = random.between(1, 8);
            for (std::int64_t k = 0; k < n; ++k) {
              start.push_back(random.sign() * random.magnitude(-6, 4));
              speed.push_back(random.magnitude(-6, 6));
              lo.push_back(-random.magnitude(-6, 2));
              hi.push_back(random.magnitude(-6, 2));
            }
            const double base = random.bell();
            int asked = 0;
            const auto tangent = [&](double t) {
              ++asked;
              Tangent sum{base, 0.0};
              for (std::int64_t k = 0; k < n; ++k) {
                const double w = start[k] + speed[k] * t;
                const bool moves = w > lo[k] && w < hi[k];
                sum.c += moves ? start[k] : std::min(std::max(w, lo[k]), hi[k]);
                sum.kappa += moves ? speed[k] : 0.0;
              }
              return sum;
            };
            const double y = labels_of(any) == Labels::any ? 3.0 * random.bell() : random.sign();
            const odca::DualSolution got = odca::solve_bracketed(loss, y, tangent(0.0), tangent);
            ++cases;
            evaluations += asked;
            most = std::max(most, asked);
            const Tangent at = tangent(got.lambda);
            const double z = at.c + at.kappa * got.lambda;
            // A jump of -Q' from one neighbouring t to the next is a solution too: z then moves by kappa ulp(t).
            double speeds = 0.0, size = 1.0;
            for (std::int64_t k = 0; k < n; ++k) speeds += speed[k], size += std::fabs(start[k]);
            const double slack = 1e-14 * (size + speeds * std::fabs(got.lambda));
            CAPTURE(name);
            CAPTURE(got.lambda);
            CAPTURE(z);
            REQUIRE(solves(any, got.lambda, y, z, slack));

            double t = 0.0;
            bool settled = false;
            for (int step = 0; step < 100 && !settled; ++step) {
              const Tangent line = tangent(t);
              const double next = loss.lambda(line.c, line.kappa, y);
              settled = tangent(next) == line || next == t;
              t = next;
            }
            circles += !settled;
          }
        },
        any);
  }
  CHECK(circles > cases / 100);  // or the bracket would not be needed
  CHECK(evaluations < 8 * cases);
  CHECK(most <= 60);
}

TEST_CASE("a row without features, or without strength, still has a dual") {
  for (const NamedPenalty& penalty : all_penalties) {
    Random random(36);
    Problem problem = make_problem(odca::named_loss("squared_error", 0.0), penalty, 1, random);
    problem.config.intercept = false;
    problem.index.clear();
    problem.value.clear();
    problem.offset = {0.25};
    problem.y = {1.0};
    CAPTURE(penalty.name);
    const Solution empty = solve<1>(problem);
    CHECK(empty.lambda[0] == 0.75);
    CHECK(empty.slope[0] == 0.0);
    CHECK(empty.z[0] == 0.25);
  }
  Random random(37);
  Problem problem = make_problem(odca::named_loss("squared_error", 0.0), all_penalties[1], 1, random);
  problem.alpha = {0.0};
  const Solution still = solve<1>(problem);
  CHECK(still.slope[0] == 0.0);
  CHECK(still.lambda[0] == doctest::Approx(static_cast<double>(problem.y[0] - problem.z(0, 0.0L))).epsilon(1e-13));
}
