// Arrays of a saved state, found by the keys of their experts.
#include "odca/experts/saved_state.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "odca/errors.hpp"
#include "odca/experts/experts.hpp"
#include "odca/experts/feature_table.hpp"
#include "odca/experts/mixers.hpp"

namespace odca::experts {

namespace {

using Columns = std::vector<std::string>;  // by name; "" for padding

const std::string nobody;

Columns experts_of(const Layout& layout) {
  Columns out = layout.row;
  out.insert(out.end(), layout.label.begin(), layout.label.end());
  out.insert(out.end(), static_cast<std::size_t>(layout.padding), nobody);
  return out;
}

// A feature's record: see `record` in feature_table.hpp.
Columns record_of(const Layout& layout, int heads) {
  const auto recents = static_cast<int>(layout.recent.size());
  Columns out(static_cast<std::size_t>(record::weights_after(recents)), nobody);
  out[record::count] = "count", out[record::mean] = "mean", out[record::square] = "square";
  out[record::slopes] = "slopes", out[record::curvatures] = "curvatures", out[record::density] = "density";
  for (int n = 0; n < recents; ++n) out[record::recent(n)] = "recent " + layout.recent[n];
  for (int c = 0; c < heads; ++c) {
    for (const std::string& key : layout.row) out.push_back(std::to_string(c) + " " + key);
    out.insert(out.end(), static_cast<std::size_t>(layout.row_padding), nobody);
  }
  return out;
}

Columns history_of(const Layout& layout) {
  Columns out = {"events", "time", "loss"};
  for (const auto* keys : {&layout.row, &layout.label})
    for (const std::string& key : *keys) out.push_back("of " + key);
  return out;
}

Columns covariance_of(const Layout& layout) {
  Columns out;
  for (const std::string& i : experts_of(layout))
    if (!i.empty())
      for (const std::string& k : experts_of(layout)) out.push_back(k.empty() ? nobody : i + " " + k);
  return out;
}

Columns counts_of(const Layout& layout, int classes) {
  Columns out;
  for (const std::string& key : layout.label)
    for (int c = 0; c < classes; ++c) out.push_back(key + " " + std::to_string(c));
  return out;
}

// For each column, where it is in `from`, or -1.
std::vector<std::int64_t> sources(const Columns& from, const Columns& to) {
  std::unordered_map<std::string_view, std::int64_t> place;
  for (std::size_t k = 0; k < from.size(); ++k)
    if (!from[k].empty()) place.emplace(from[k], static_cast<std::int64_t>(k));
  std::vector<std::int64_t> out;
  for (const std::string& name : to) {
    const auto found = place.find(name);
    out.push_back(found == place.end() ? -1 : found->second);
  }
  return out;
}

// Rows with other columns; what is nowhere in `from` is zero.
std::vector<double> with_columns(const std::vector<double>& rows, const Columns& from, const Columns& to) {
  if (from.empty() ? !rows.empty() : rows.size() % from.size() != 0) throw InputError("its parts do not fit together");
  const std::vector<std::int64_t> source = sources(from, to);
  std::vector<double> out;
  out.reserve(from.empty() ? 0 : rows.size() / from.size() * to.size());
  for (std::size_t at = 0; at < rows.size(); at += from.size())
    for (const std::int64_t k : source) out.push_back(k < 0 ? 0.0 : rows[at + static_cast<std::size_t>(k)]);
  return out;
}

double prior_of(const std::string& key) {
  for (int k = 0; k < expert_count; ++k)
    if (table[k].key == key) return prior_weights[k];
  return 0.0;
}

bool same_experts(const Columns& from, const Columns& to) {
  const auto all_in = [](const Columns& a, const Columns& b) {
    return std::all_of(a.begin(), a.end(), [&](const std::string& key) {
      return key.empty() || std::find(b.begin(), b.end(), key) != b.end();
    });
  };
  return all_in(from, to) && all_in(to, from);
}

// Weights on the simplex: new experts take their prior weight, and the others share what is left.
void fill_in_priors(std::vector<double>& weights, const Columns& from, const Columns& to) {
  if (same_experts(from, to)) return;
  const std::vector<std::int64_t> source = sources(from, to);
  double kept = 0.0, fresh = 0.0;
  for (std::size_t k = 0; k < to.size(); ++k)
    (source[k] < 0 ? fresh : kept) += source[k] < 0 ? prior_of(to[k]) : weights[k];
  if (!(kept > 0.0)) fresh = 1.0;
  const double scale = kept > 0.0 ? (1.0 - fresh) / kept : 0.0;
  for (std::size_t k = 0; k < to.size(); ++k)
    if (!to[k].empty()) weights[k] = std::max(source[k] < 0 ? prior_of(to[k]) : weights[k] * scale, least_weight);
}

void fill_in_variances(std::vector<double>& covariance, const Columns& from, const Columns& to) {
  const std::vector<std::int64_t> source = sources(from, to);
  for (std::size_t k = 0, row = 0; k < to.size(); ++k)
    if (!to[k].empty()) {
      if (source[k] < 0) covariance[row * to.size() + k] = kalman_variance;
      ++row;
    }
}

// Every row of weights sums to what it did before some were dropped.
void keep_sums(std::vector<double>& rows, const std::vector<double>& before, std::size_t width,
               std::size_t width_before) {
  constexpr std::size_t first = 3;
  for (std::size_t n = 0; n < rows.size() / width; ++n) {
    double sum = 0.0, sum_before = 0.0;
    for (std::size_t k = first; k < width; ++k) sum += rows[n * width + k];
    for (std::size_t k = first; k < width_before; ++k) sum_before += before[n * width_before + k];
    if (sum > 0.0 && sum != sum_before)
      for (std::size_t k = first; k < width; ++k) rows[n * width + k] *= sum_before / sum;
  }
}

Layout of_table() {
  Layout out;
  for (const Expert& each : table) {
    (each.reads_rows() ? out.row : out.label).emplace_back(each.key);
    if (each.kind == Kind::recent_newton) out.recent.emplace_back(each.key);
  }
  return out;
}

}  // namespace

Layout Layout::in_files() { return of_table(); }

Layout Layout::in_memory() {
  Layout out = of_table();
  out.row_padding = row_slots - row_experts, out.padding = slots - expert_count;
  return out;
}

Layout Layout::of_version_0() {
  return {{"isotropic_1/64", "isotropic_1/2", "isotropic_8", "adagrad", "proportionate", "newton_0.2", "newton_4",
           "newton_recent"},
          {"newton_recent"},
          {"last_label", "mean_label_0.7", "mean_label_0.95", "mean_label"}};
}

std::string Layout::text() const {
  std::string out;
  for (const std::string& key : row) out += "row " + key + "\n";
  for (const std::string& key : recent) out += "recent " + key + "\n";
  for (const std::string& key : label) out += "label " + key + "\n";
  return out;
}

Layout Layout::of(const SavedState& state) {
  if (state.version == 0.0 && state.experts.empty()) return of_version_0();
  if (state.version != SavedState::newest)
    throw InputError("its state has version " + show(state.version) + ", and this odca reads version " +
                     show(SavedState::newest));
  Layout out;
  const std::string_view text = state.experts;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    const std::string_view line = text.substr(begin, end - begin);
    const std::size_t space = line.find(' ');
    const std::string_view word = line.substr(0, space);
    auto* keys = word == "row" ? &out.row : word == "recent" ? &out.recent : word == "label" ? &out.label : nullptr;
    if (!keys || end == std::string_view::npos || space + 1 >= line.size() ||
        std::find(keys->begin(), keys->end(), line.substr(space + 1)) != keys->end())
      throw InputError("its experts are not named");
    keys->emplace_back(line.substr(space + 1));
  }
  return out;
}

SavedState::Parts rearranged(SavedState::Parts parts, const Layout& from, const Layout& to, int heads, int classes) {
  if (from == to) return parts;
  const Columns experts = experts_of(from), wanted = experts_of(to);
  for (auto& [name, values] : parts) {
    if (name == "table" || name == "constant")
      values = with_columns(values, record_of(from, heads), record_of(to, heads));
    if (name == "counts") values = with_columns(values, counts_of(from, classes), counts_of(to, classes));
    if (name == "masses" || name == "sums" || name == "sum_masses") values = with_columns(values, from.label, to.label);
    if (name == "bayes" || name == "simplex" || name == "kalman") {
      if (values.size() != experts.size()) throw InputError("its parts do not fit together");
      values = with_columns(values, experts, wanted);
      if (name != "kalman") fill_in_priors(values, experts, wanted);
    }
    if (name == "covariance") {
      const Columns pairs = covariance_of(from);
      if (values.size() != pairs.size()) throw InputError("its parts do not fit together");
      values = with_columns(values, pairs, covariance_of(to));
      fill_in_variances(values, experts, wanted);
    }
    if (name == "history") {
      const Columns columns = history_of(from), kept = history_of(to);
      const std::vector<double> before = values;
      values = with_columns(values, columns, kept);
      keep_sums(values, before, kept.size(), columns.size());
    }
  }
  return parts;
}

}  // namespace odca::experts
