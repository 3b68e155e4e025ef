// Experts that learned from different events become one model, and the reverse.
//
// Counts and sums over all events add; what fades (label means, squared errors) is averaged, by the total weight of the events. The
// experts' weights are linear models in the units of x, z = b + u'x, and are averaged there:
//
//     u_j        by how many events held the feature: a model that never saw it has no say. Diagonal Newton experts, which have
//                a prior x and a curvature H_j, by precision: see below
//     b + u'c    the margin of the mean event c, by the total weight of the events
//     averages   like the weights that they are of
//     matrices   of experts with a full covariance: full_newton.cpp
//     products   those of both, as far as there is room, like other features
//     classes    those that a model does not know have the mean of the weights of those that it knows
//     mixers     by the total weight of the events: the logarithms of weights on the simplex; Kalman's as they are
//
// The mean event of all events is the mean of the parts' mean events, so all of these are means weighted by sums, and the order of
// merging does not matter. A part of a model has the same weights and a share of all sums: merging the parts returns it.
//
// What is between two events of a stream, rather than a sum over them, goes on where both models have the same, as parts have, or
// where one of them has learned nothing: the frozen members of the steady answer, the epoch in which pairs are judged, the wild label
// before. Otherwise it begins anew.
//
// By precision: (H_j + p_j) u_j is what a Newton expert has learned of feature j. These add, as the sums H do, but the prior p counts
// once:
//
//     u = sum_k (H_k + p_k) u_k / (sum_k H_k + p)
//
// A mean would keep what many models know a little of as small as it is in each of them. If every feature were learned apart from the
// others, p would be x, in the units of the feature. But features that occur together learn together, each of them less; sums with
// p = x would then go too far, so p is a quarter of x (docs/auto.md). Parts of a model that was split hold a share of its prior each,
// and all of it together; where a model never saw a feature it has none.
#include <algorithm>
#include <array>
#include <cmath>

#include "odca/experts/mixture.hpp"

namespace odca::experts {

namespace {

constexpr double prior_share = 0.25;

// Counts of which shares were added: where these are a whole number up to rounding, they are that number, because what is done at every
// fourth event, say, depends on it.
double added(double a, double b) {
  const double sum = a + b, whole = std::round(sum);
  return std::fabs(sum - whole) <= 1e-12 * sum ? whole : sum;
}

}  // namespace

// The tables

// The margins of the mean event, which begin as the constants of both, [head][slot], and the constant that comes out.
struct Merger {
  std::vector<double> here, there, out;
};

void FeatureTable::merge_feature(std::int64_t j, const FeatureTable& here, std::int64_t there,
                                 const FeatureTable& other, Merger& of_weights, Merger& of_averages) {
  const double* a = j < here.size() ? here.of(j) : here.blank_.data();
  const double* b = there >= 0 ? other.of(there) : other.blank_.data();
  double* f = of(j);
  const double n = added(a[record::count], b[record::count]);
  if (n == 0.0) return;
  const double apart = b[record::mean] - a[record::mean];
  f[record::count] = n;
  f[record::mean] = (a[record::count] * a[record::mean] + b[record::count] * b[record::mean]) / n;
  f[record::square] = a[record::square] + b[record::square] + apart * apart * (a[record::count] / n) * b[record::count];
  f[record::density] =
      std::max(a[record::density], b[record::density]);  // it becomes sparse at the next event if it is rare

  const Form of_a = here.form_of(a), of_b = other.form_of(b), form = form_of(f);
  const auto square = [](double x) { return x * x; };
  const auto add_sums = [&](int part) {
    const double sum = a[part] * square(of_a.scale) + b[part] * square(of_b.scale);
    f[part] = form.scale > 0.0 && of_a.scale + of_b.scale > 0.0 ? sum / square(form.scale) : a[part] + b[part];
  };
  add_sums(record::slopes), add_sums(record::curvatures);
  for (int k = 0; k < recent_experts; ++k) add_sums(record::recent(k));

  const auto share = [](const double* g) { return g[record::count] > 0.0 ? 1.0 - g[record::elsewhere] : 0.0; };
  const double share_a = share(a), share_b = share(b), share_f = std::min(1.0, share_a + share_b);
  f[record::elsewhere] = 1.0 - share_f;
  struct Precision {
    double here, there, total;
  };
  std::array<Precision, row_slots> by;
  by.fill({a[record::count], b[record::count], n});
  for (const int k : places_of<Kind::newton>) {
    const double h_a = a[record::curvatures] * square(of_a.scale), h_b = b[record::curvatures] * square(of_b.scale);
    const double x = prior_share * table[k].parameter;
    const Precision precision{h_a + x * share_a * here.spread(a), h_b + x * share_b * other.spread(b),
                              h_a + h_b + x * share_f * spread(f)};
    if (precision.total > 0.0 && std::isfinite(precision.total)) by[k] = precision;
  }
  // A feature that varies in neither has no units, and adds nothing; its weights are kept for when it does.
  const bool varies = form.scale > 0.0;
  const auto merge_group = [&](const double* of_here, const double* of_there, double* to, Merger& merger, auto expert) {
    const auto slope = [&](double w, double scale) { return !varies ? w : scale > 0.0 ? w / scale : 0.0; };
    for (std::size_t k = 0; k < merger.out.size(); ++k) {
      const double u_a = slope(of_here[k], of_a.scale), u_b = slope(of_there[k], of_b.scale);
      const Precision& weight = by[expert(static_cast<int>(k))];
      const double u = (weight.here * u_a + weight.there * u_b) / weight.total;
      to[k] = varies ? u * form.scale : u;
      if (!varies) continue;
      merger.here[k] += u_a * (mean_value(a, here.mass_) - of_a.centre);
      merger.there[k] += u_b * (mean_value(b, other.mass_) - of_b.centre);
      merger.out[k] -= u * (mean_value(f, mass_) - form.centre);
    }
  };
  static constexpr int weights = record::weights;
  merge_group(a + weights, b + weights, f + weights, of_weights, [](int k) { return k % row_slots; });
  const double* average_a = j < here.size() ? here.average_of(j) : here.blank_.data();
  const double* average_b = there >= 0 ? other.average_of(there) : other.blank_.data();
  const auto whose = [](int k) { return k % average_slots < averaged_experts ? averaged[k % average_slots] : 0; };
  merge_group(average_a, average_b, average_of(j), of_averages, whose);
}

FeatureTable FeatureTable::merged(const FeatureTable& other, const std::vector<std::int64_t>& places,
                                  const std::vector<double>& base, const std::vector<double>& others,
                                  const std::vector<double>& joint) const {
  std::vector<std::int64_t> sources;  // of each feature, where it is in the other table; -1: nowhere
  for (std::int64_t j = 0; j < other.size(); ++j) {
    const std::int64_t place = places.empty() ? j : places[static_cast<std::size_t>(j)];
    if (place >= static_cast<std::int64_t>(sources.size())) sources.resize(static_cast<std::size_t>(place) + 1, -1);
    sources[static_cast<std::size_t>(place)] = j;
  }
  sources.resize(std::max(sources.size(), static_cast<std::size_t>(size())), -1);

  FeatureTable out(heads(), matrices_);
  out.mass_ = added(mass_, other.mass_), out.norms_ = norms_ + other.norms_;
  out.grow(static_cast<std::int64_t>(sources.size()));
  const auto begin = [](const double* here, const double* there, std::size_t count) {
    return Merger{{here, here + count}, {there, there + count}, std::vector<double>(count)};
  };
  static constexpr int weights = record::weights;
  Merger of_weights = begin(constant_[0] + weights, other.constant_[0] + weights, table_.width() - weights);
  Merger of_averages = begin(constant_average_[0], other.constant_average_[0], averages_.width());
  for (std::int64_t j = 0; j < out.size(); ++j)
    out.merge_feature(j, *this, sources[static_cast<std::size_t>(j)], other, of_weights, of_averages);

  const double part = out.mass_ > 0.0 ? other.mass_ / out.mass_ : 0.0;
  for (int k = 0; k < record::elsewhere; ++k) out.constant_[0][k] = constant_[0][k] + other.constant_[0][k];
  const auto mean_of = [&](const Merger& merger, int slots, double* to) {
    for (int head = 0, k = 0; head < heads(); ++head)
      for (int slot = 0; slot < slots; ++slot, ++k) {
        const double here = merger.here[k] + base[head], there = merger.there[k] + others[head];
        to[k] = merger.out[k] + here + part * (there - here) - joint[head];
      }
  };
  mean_of(of_weights, row_slots, out.constant_[0] + weights);
  mean_of(of_averages, average_slots, out.constant_average_[0]);
  out.complete();
  const auto above = [&](const std::vector<double>& its) {
    std::vector<double> by;
    for (std::size_t head = 0; head < joint.size(); ++head) by.push_back(joint[head] - its[head]);
    return by;
  };
  if (matrices_ == Matrices::with) out.full_ = out.merged_full(*this, other, sources, above(base), above(others));
  out.adopt_dense();
  return out;
}

// This table is that of both. It adopts the features that either has adopted; if these are too many, the most frequent ones.
FullNewton FeatureTable::merged_full(const FeatureTable& here, const FeatureTable& other,
                                     const std::vector<std::int64_t>& sources, const std::vector<double>& base_above,
                                     const std::vector<double>& others_above) const {
  std::vector<std::int64_t> features;
  for (const std::int64_t j : dense_) {
    const auto in = [&](const FeatureTable& part, std::int64_t feature) { return part.full_.has(feature); };
    if (in(here, j) || in(other, sources[static_cast<std::size_t>(j)])) features.push_back(j);
  }
  std::stable_sort(features.begin(), features.end(),
                   [&](std::int64_t a, std::int64_t b) { return of(a)[record::count] > of(b)[record::count]; });
  features.resize(std::min(features.size(), FullNewton::most_features));
  std::sort(features.begin(), features.end());
  std::vector<double> share;
  for (const std::int64_t j : features) share.push_back(share_of_prior(of(j)));

  const double part = mass_ > 0.0 ? other.mass_ / mass_ : 0.0;
  const auto part_of = [&](const FeatureTable& its, auto&& place_there, double events, const auto& above) {
    FullNewton::Part out{its.full_, {{0, 1.0, 0.0, 0.0}}, events, above};
    std::vector<std::int64_t> known;
    for (std::size_t n = 0; n < features.size(); ++n) {
      const std::int64_t j = place_there(features[n]);
      if (!its.full_.has(j)) continue;
      const Form form = form_of(of(features[n])), own = its.form_of(its.of(j));
      const double slope = form.scale > 0.0 ? own.scale / form.scale : 1.0;  // what never varied has no units
      const double shift = form.scale > 0.0 ? (own.centre - form.centre) / form.scale : 0.0;
      known.push_back(j);
      out.units.push_back({static_cast<int>(n) + 1, slope, shift, share_of_prior(its.of(j))});
    }
    out.model = its.full_.of_some(known);
    return out;
  };
  return FullNewton::merged(
      features, share,
      part_of(
          here, [](std::int64_t j) { return j; }, 1.0 - part, base_above),
      part_of(other, [&](std::int64_t j) { return sources[static_cast<std::size_t>(j)]; }, part, others_above));
}

void FeatureTable::keep_share(double share) {
  const auto keep = [&](double* f) {
    for (const int part : {record::count, record::square, record::slopes, record::curvatures}) f[part] *= share;
    for (int n = 0; n < recent_experts; ++n) f[record::recent(n)] *= share;
  };
  for (std::int64_t j = 0; j < size(); ++j) {
    keep(of(j));
    of(j)[record::elsewhere] = 1.0 - share * share_of_prior(of(j));
  }
  keep(constant_[0]);
  full_.keep_share(share);
  mass_ *= share, norms_ *= share;
}

void FeatureTable::move_constants(const std::vector<double>& by) {
  for (int head = 0; head < heads(); ++head) {
    for (int k = 0; k < row_experts; ++k) constant_[0][record::weights + head * row_slots + k] += by[head];
    for (int k = 0; k < averaged_experts; ++k) constant_average_[0][head * average_slots + k] += by[head];
  }
  full_.move_constants(by);
}

// The experts

Experts::Experts(const Experts& other) : Experts(other, other.gate_.inside()) {}

Experts::Experts(const Experts& other, const Gate::Hold& /*inside*/) : Experts(Task::numbers, 0, 0) {
  all(*this) = all(other);
}

void Experts::merge(const Experts& other, const std::vector<std::int64_t>& places, const std::vector<int>& classes) {
  Experts there(other);  // what it is at one moment
  const auto only_writer = gate_.only_writer();
  Experts merged(*this);  // other threads see the old model until this one is done
  merged.absorb(there, places, classes);
  const auto inside = gate_.inside();
  auto mine = all(*this), made = all(merged);
  mine.swap(made);
  ++changes_;
}

void Experts::absorb(Experts& there, const std::vector<std::int64_t>& places, const std::vector<int>& classes) {
  if ((there.task_ == Task::numbers) != (task_ == Task::numbers)) throw InputError("merge needs models of one task");
  if (!(there.loss_ == loss_)) throw InputError("merge needs models of one loss");
  if (!places.empty() && static_cast<std::int64_t>(places.size()) < there.features_.size())
    throw InputError("merge needs a place for every feature of the other model");
  if (std::any_of(places.begin(), places.end(), [](std::int64_t place) { return place < 0; }))
    throw InputError("a place must be the number of a feature");
  bool same_classes = true, same_heads = true;
  if (task_ != Task::numbers) {
    if (!classes.empty() && static_cast<int>(classes.size()) != there.classes_)
      throw InputError("merge needs a place for every class of the other model");
    std::vector<int> source(static_cast<std::size_t>(classes_), -1);
    for (int c = 0; c < there.classes_; ++c) {
      const int place = classes.empty() ? c : classes[static_cast<std::size_t>(c)];
      if (place < 0) throw InputError("a place must be the number of a class");
      if (place >= static_cast<int>(source.size())) source.resize(static_cast<std::size_t>(place) + 1, -1);
      source[static_cast<std::size_t>(place)] = c;
      same_classes &= place == c;
    }
    const auto all = static_cast<int>(source.size());
    same_heads = same_classes && all == classes_ && all == there.classes_;
    if (all > classes_) add_classes(all, all);
    if (!same_heads) there.arrange_classes(std::move(source), all);
  }
  const auto place_of = [&](std::int64_t j) { return places.empty() ? j : places[static_cast<std::size_t>(j)]; };
  const std::vector<double> base = bases(), others = there.bases();
  const double total = features_.mass() + there.features_.mass();
  const double part = total > 0.0 ? there.features_.mass() / total : 0.0;
  class_labels_.merge(there.class_labels_, part), number_labels_.merge(there.number_labels_, part);
  features_ = features_.merged(there.features_, places, base, others, bases());
  const bool goes_on = part == 0.0 || (same_heads && pairs_.add_epoch(there.pairs_, place_of));
  merge_products(there, places);
  merge_weights(bayes_.weight, there.bayes_.weight, part, in_use());
  merge_weights(simplex_.weight, there.simplex_.weight, part, in_use());
  merge_weights(top_.weight, there.top_.weight, part, mixers);
  kalman_.merge(there.kalman_, part);
  steady_.merge(there.steady_, part), late_.merge(there.late_, part);
  residual_.merge(there.residual_, part), kalman_residual_.merge(there.kalman_residual_, part);
  curvature_.merge(there.curvature_, part), offsets_.merge(there.offsets_, part);
  label_bound_.merge(there.label_bound_, part);
  event_weights_.add(there.event_weights_);
  uncertainty_.merge(there.uncertainty_);
  if (there.timed_ > 0) {
    first_time_ = timed_ > 0 ? std::min(first_time_, there.first_time_) : there.first_time_;
    last_time_ = timed_ > 0 ? std::max(last_time_, there.last_time_) : there.last_time_;
  }
  count_ += there.count_, timed_ += there.timed_;
  if (part > 0.0) history_ = part == 1.0 ? there.history_ : History();  // of a stream that never was
  if (pairs_.asked() != 0 && !goes_on) pairs_.begin_epoch(learned_from(), features_);
  bool same_places = same_classes;
  for (std::int64_t j = 0; j < there.steady_.frozen_features(); ++j) same_places &= place_of(j) == j;
  merge_frozen(there, part, same_places);
}

// The frozen members of both: `comparable` if features and classes have the same places.
void Experts::merge_frozen(const Experts& there, double part, bool comparable) {
  if (part == 0.0) return;
  if (part == 1.0 && comparable) {
    steady_ = there.steady_;
  } else if (comparable && steady_.has_frozen_as(there.steady_)) {
    steady_.count_frozen_at(steady_.frozen_at() + there.steady_.frozen_at());
  } else {
    freeze_members();
  }
}

// The products of both are used, as far as there is room; what the other knows of more is lost.
void Experts::merge_products(Experts& there, const std::vector<std::int64_t>& places) {
  if (has_products() && !there.has_products()) there.join_products();
  if (pairs_.asked() == 0 || !there.has_products()) return;
  const std::vector<std::int64_t> slots = pairs_.add(
      there.pairs_, [&](std::int64_t j) { return places.empty() ? j : places[static_cast<std::size_t>(j)]; });
  if (!has_products()) join_products();
  const std::vector<double> zero(static_cast<std::size_t>(heads()), 0.0);
  for (std::size_t slot = 0; slot < slots.size(); ++slot)
    if (slots[slot] >= static_cast<std::int64_t>(pairs_.slots()))
      there.products_.forget(static_cast<std::int64_t>(slot));
  products_ = products_.merged(there.products_, slots, zero, zero, zero);
  products_.shrink(static_cast<std::int64_t>(pairs_.slots()));
}

void Experts::become_part(int part, int parts) {
  if (parts < 1 || part < 0 || part >= parts) throw InputError("a part must be one of at least one");
  const auto only_writer = gate_.only_writer();
  const auto inside = gate_.inside();
  // Every parts-th event, so that of those before any other one it has no more than of those before a later one.
  const auto of_this = [&](std::int64_t whole) { return (whole + parts - 1 - part) / parts; };
  if (features_.mass() > 0.0) {  // else there is nothing to share
    keep_share(1.0 / parts, of_this(learned_from()));
    steady_.count_frozen_at(of_this(steady_.frozen_at()));
    pairs_.end_epoch_at(of_this(pairs_.end_of_epoch()));
  }
  count_ = of_this(count_), timed_ = of_this(timed_);
  if (parts > 1) history_ = History();
  ++changes_;
}

void Experts::keep_share(double share, std::int64_t learned) {
  const std::vector<double> before = bases();
  class_labels_.keep_share(share), number_labels_.keep_share(share);
  features_.keep_share(share), products_.keep_share(share), pairs_.keep_share(share), uncertainty_.keep_share(share);
  std::vector<double> moved = bases();  // of fewer events it is more cautious; the constants take over the difference
  for (std::size_t head = 0; head < moved.size(); ++head) moved[head] = before[head] - moved[head];
  features_.move_constants(moved);
  event_weights_ = {event_weights_.mean() * static_cast<double>(learned), static_cast<double>(learned)};
}

}  // namespace odca::experts
