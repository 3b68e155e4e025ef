// Everything that was learned, as named arrays and back.
#include <algorithm>
#include <cmath>
#include <memory>

#include "odca/experts/mixture.hpp"
#include "odca/math/checks.hpp"

namespace odca::experts {

namespace {

template <class Numbers>
std::vector<double> as_numbers(const Numbers& values) {
  return {values.begin(), values.end()};
}
template <class Packed>
  requires requires(const Packed& numbers) { numbers.packed(); }
std::vector<double> as_numbers(const Packed& numbers) {
  return numbers.packed();
}
std::vector<double> as_numbers(double value) { return {value}; }
std::vector<double> as_numbers(std::int64_t value) { return {static_cast<double>(value)}; }
std::vector<double> as_numbers(const uncertainty::ErrorTracker& errors) { return errors.numbers(); }

template <class Memory>
bool read(const std::vector<double>& from, std::vector<double, Memory>& to) {
  to.assign(from.begin(), from.end());
  return true;
}
template <class Packed>
  requires requires(Packed& numbers) { numbers.unpack({}); }
bool read(const std::vector<double>& from, Packed& to) {
  return to.unpack(from);
}
template <std::size_t N>
bool read(const std::vector<double>& from, std::array<double, N>& to) {
  if (from.size() != N) return false;
  std::copy(from.begin(), from.end(), to.begin());
  return true;
}
bool read(const std::vector<double>& from, std::vector<std::int64_t>& to) {
  const auto is_place = [](double x) { return x == std::floor(x) && x >= -1.0 && x <= 0x1p53; };  // -1: none
  if (!std::all_of(from.begin(), from.end(), is_place)) return false;
  to.assign(from.begin(), from.end());
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
bool read(const std::vector<double>& from, uncertainty::ErrorTracker& to) { return to.read(from); }

bool on_the_simplex(std::span<const double> weights) {
  double total = 0.0;
  for (const double w : weights) total += w;
  return std::all_of(weights.begin(), weights.end(), [](double w) { return w > 0.0; }) && std::fabs(total - 1.0) < 1e-9;
}
bool on_the_simplex(const PerExpert& weights, int count) {
  return on_the_simplex(std::span<const double>(weights).first(static_cast<std::size_t>(count)));
}

}  // namespace

SavedState Experts::state() const {
  SavedState out;
  const auto inside = gate_.inside();
  out.experts = Layout::in_files(has_products()).text();
  each_part(*this, [&](const char* name, const auto& value) { out.parts.emplace_back(name, as_numbers(value)); });
  out.parts = rearranged(std::move(out.parts), Layout::in_memory(has_products()), Layout::in_files(has_products()),
                         heads(), class_count());
  return out;
}

// Every part is read from the array of its name.
void Experts::read_parts(const SavedState::Parts& parts) {
  std::size_t count = 0;
  each_part(*this, [&](const char* name, auto& value) {
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return part.first == name; });
    if (found == parts.end()) throw InputError(std::string("it has no array '") + name + "'");
    if (!all_finite(found->second) || !read(found->second, value))
      throw InputError(std::string("its array '") + name + "' has the wrong length, or numbers that cannot be");
    ++count;
  });
  const double learned = event_weights_.mass;  // of so many events, of the count: the others had weight 0
  if (count != parts.size() || !(learned >= 0.0 && learned <= static_cast<double>(count_)) ||
      learned != std::floor(learned) || !features_.complete() || !pairs_.complete(features_.size(), heads()) ||
      !products_.complete() || (has_products() && products_.size() != static_cast<std::int64_t>(pairs_.slots())) ||
      !class_labels_.complete() || !label_bound_.complete() || !history_.fits() ||
      !steady_.complete(learned_from(), features_, has_products()))
    throw InputError("its parts do not fit together");
}

std::unique_ptr<Experts> Experts::restored(Task task, std::int64_t classes, const SavedState& state,
                                           const NumberLoss& loss) {
  require_sizes(state.parts, Layout::of(state), task == Task::classes ? classes : 1,
                task == Task::numbers ? 0 : classes);
  const auto known = static_cast<int>(std::min<std::int64_t>(classes, most_classes + 1));
  auto out = std::make_unique<Experts>(task, known, 0, loss);
  out->restore(state);
  return out;
}

void Experts::restore(const SavedState& state) {
  const auto only_writer = gate_.only_writer();
  const Layout layout = Layout::of(state);
  require_sizes(state.parts, layout, heads(), class_count());
  const SavedState::Parts parts =
      rearranged(state.parts, layout, Layout::in_memory(!layout.product.empty()), heads(), class_count());
  Experts made(task_, classes_, 0, loss_);
  if (!layout.product.empty()) made.join_products();
  made.read_parts(parts);
  made.require_possible();
  const auto inside = gate_.inside();
  auto mine = all(*this), read = all(made);
  mine.swap(read);
  ++changes_;
}

void Experts::require_possible() const {
  if (!kalman_.is_sound() || !class_labels_.is_sound() || !number_labels_.is_sound() || !curvature_.is_sound() ||
      !offsets_.is_sound() || !residual_.is_sound(largest_square) || !kalman_residual_.is_sound(largest_square) ||
      !event_weights_.is_sound(most_event_weight) || !late_.is_sound() || !label_bound_.is_sound())
    throw InputError("its sums are not those of any events, or its covariance is not positive definite");
  if (!on_the_simplex(bayes_.weight, in_use()) || !on_the_simplex(simplex_.weight, in_use()) ||
      !on_the_simplex(top_.weight))
    throw InputError("its mixing weights are not positive, or do not sum to one");
  if (timed_ > count_ || !(first_time_ <= last_time_) || !std::isfinite(first_time_) || !std::isfinite(last_time_))
    throw InputError("its times are not finite, or not in order");
  const LinearModel model = linear();
  if (!all_within(model.weight, 1e300) || !all_within(model.intercept, 1e300) ||
      !all_within(model.product_weight, 1e300) || !std::isfinite(model.curvature))
    throw InputError("its weights would overflow");
}

}  // namespace odca::experts
