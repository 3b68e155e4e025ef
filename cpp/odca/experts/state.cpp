// All that the bank is, as named arrays.
#include <algorithm>
#include <cmath>
#include <mutex>

#include "odca/experts/bank.hpp"

namespace odca::bank {

namespace {

template <class Numbers>
std::vector<double> as_numbers(const Numbers& values) {
  return {values.begin(), values.end()};
}
std::vector<double> as_numbers(double value) { return {value}; }
std::vector<double> as_numbers(std::int64_t value) { return {static_cast<double>(value)}; }

template <class Memory>
bool read(const std::vector<double>& from, std::vector<double, Memory>& to) {
  to.assign(from.begin(), from.end());
  return true;
}
template <std::size_t N>
bool read(const std::vector<double>& from, std::array<double, N>& to) {
  if (from.size() != N) return false;
  std::copy(from.begin(), from.end(), to.begin());
  return true;
}
bool read(const std::vector<double>& from, double& to) {
  if (from.size() != 1) return false;
  to = from[0];
  return true;
}
bool read(const std::vector<double>& from, std::int64_t& to) {
  if (from.size() != 1 || from[0] != std::floor(from[0]) || from[0] < 0.0 || from[0] > 0x1p53) return false;
  to = static_cast<std::int64_t>(from[0]);
  return true;
}

template <class Numbers>
bool on_the_simplex(const Numbers& weights) {
  double total = 0.0;
  for (const double w : weights) total += w;
  return std::all_of(weights.begin(), weights.end(), [](double w) { return w > 0.0; }) && std::fabs(total - 1.0) < 1e-9;
}

}  // namespace

Bank::State Bank::state() const {
  const std::lock_guard inside(mutex_);
  State out;
  each_part(*this, [&](const char* name, const auto& value) { out.emplace_back(name, as_numbers(value)); });
  return out;
}

// Every part that there is, read from the one of its name.
void Bank::read_parts(const State& state) {
  std::size_t parts = 0;
  each_part(*this, [&](const char* name, auto& value) {
    const auto found = std::find_if(state.begin(), state.end(), [&](const auto& part) { return part.first == name; });
    if (found == state.end()) throw InputError(std::string("it has no ") + name);
    const bool finite =
        std::all_of(found->second.begin(), found->second.end(), [](double x) { return std::isfinite(x); });
    if (!finite || !read(found->second, value))
      throw InputError(std::string("its ") + name + " is not what a bank has");
    ++parts;
  });
  if (parts != state.size() || !features_.complete() || !classes_seen_.complete() || !history_.fits())
    throw InputError("its parts do not go together");
}

void Bank::restore(const State& state) {
  const std::lock_guard only_writer(writing_);
  Bank made(task_, classes_);
  made.read_parts(state);
  made.require_possible();
  const std::lock_guard inside(mutex_);
  read_parts(state);  // again, and this time it cannot fail
}

void Bank::require_possible() const {
  const auto is_possible = [](const Fading& each) { return each.sum >= 0.0 && each.mass >= 0.0; };
  if (!kalman_.is_sound() || !classes_seen_.is_sound() || !numbers_seen_.is_sound() || !is_possible(residual_) ||
      !is_possible(kalman_residual_) || !is_possible(weights_))
    throw InputError("what it has counted cannot be");
  if (!on_the_simplex(bayes_.weight) || !on_the_simplex(simplex_.weight) || !on_the_simplex(top_.weight))
    throw InputError("its weights do not lie on the simplex");
}

}  // namespace odca::bank
