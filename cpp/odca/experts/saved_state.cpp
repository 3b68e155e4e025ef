// Arrays of a saved state, found by the keys of their experts.
#include "odca/experts/saved_state.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <unordered_map>

#include "odca/errors.hpp"
#include "odca/experts/experts.hpp"
#include "odca/experts/feature_table.hpp"
#include "odca/experts/label_bound.hpp"
#include "odca/experts/mixers.hpp"
#include "odca/experts/pairs.hpp"

namespace odca::experts {

namespace {

using Columns = std::vector<std::string>;  // by name; "" for padding

const std::string nobody;

Columns experts_of(const Layout& layout) {
  Columns out = layout.row;
  out.insert(out.end(), layout.full.begin(), layout.full.end());
  out.insert(out.end(), layout.label.begin(), layout.label.end());
  for (const std::string& key : layout.product) out.push_back(key + "_products");
  out.insert(out.end(), static_cast<std::size_t>(layout.padding), nobody);
  return out;
}

// [head][key], padded.
Columns by_head(const Columns& keys, int padding, int heads) {
  Columns out;
  for (int c = 0; c < heads; ++c) {
    for (const std::string& key : keys) out.push_back(std::to_string(c) + " " + key);
    out.insert(out.end(), static_cast<std::size_t>(padding), nobody);
  }
  return out;
}

// A feature's record: see `record` in feature_table.hpp.
Columns record_of(const Layout& layout, int heads) {
  const auto recents = static_cast<int>(layout.recent.size());
  Columns out(static_cast<std::size_t>(record::weights_after(recents)), nobody);
  out[record::count] = "count", out[record::mean] = "mean", out[record::square] = "square";
  out[record::slopes] = "slopes", out[record::curvatures] = "curvatures", out[record::density] = "density";
  for (int n = 0; n < recents; ++n) out[record::recent(n)] = "recent " + layout.recent[n];
  if (const int at = record::held_elsewhere(recents); at < record::weights_after(recents)) out[at] = "elsewhere";
  const Columns weights = by_head(layout.row, layout.row_padding, heads);
  out.insert(out.end(), weights.begin(), weights.end());
  return out;
}

Columns history_of(const Layout& layout) {
  Columns out = {"events", "time", "loss"};
  for (const std::string& key : experts_of(layout))
    if (!key.empty()) out.push_back("of " + key);
  out.insert(out.end(), static_cast<std::size_t>(layout.history_padding), nobody);
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

// Of an expert among these.
double prior_of(const std::string& key, const Columns& among) {
  double own = 0.0, total = 0.0;
  for (const Expert& each : table) {
    if (each.key == key) own = each.prior;
    if (std::find(among.begin(), among.end(), each.key) != among.end()) total += each.prior;
  }
  return own / total;
}

bool all_in(const Columns& a, const Columns& b) {
  return std::all_of(a.begin(), a.end(), [&](const std::string& key) {
    return key.empty() || std::find(b.begin(), b.end(), key) != b.end();
  });
}

// Weights on the simplex: new experts take their prior weight, and the others share what is left.
void fill_in_priors(std::vector<double>& weights, const Columns& from, const Columns& to) {
  if (all_in(from, to) && all_in(to, from)) return;
  const std::vector<std::int64_t> source = sources(from, to);
  double kept = 0.0, fresh = 0.0;
  for (std::size_t k = 0; k < to.size(); ++k)
    (source[k] < 0 ? fresh : kept) += source[k] < 0 ? prior_of(to[k], to) : weights[k];
  if (!(kept > 0.0)) fresh = 1.0;
  const double scale = kept > 0.0 ? (1.0 - fresh) / kept : 0.0;
  for (std::size_t k = 0; k < to.size(); ++k)
    if (!to[k].empty()) weights[k] = std::max(source[k] < 0 ? prior_of(to[k], to) : weights[k] * scale, least_weight);
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

Layout of_table(bool products) {
  Layout out;
  for (const Expert& each : table) {
    if (each.kind == Kind::with_products) continue;
    (each.has_rates() ? out.row : each.reads_rows() ? out.full : out.label).emplace_back(each.key);
    if (each.kind == Kind::recent_newton) out.recent.emplace_back(each.key);
  }
  for (const int k : averaged) out.average.emplace_back(table[k].key);
  for (const Member& each : members)
    out.steady.push_back((each.averaged ? "average of " : "") + std::string(table[each.expert].key));
  out.steady.emplace_back("base rate");
  if (products) out.product = out.row;
  return out;
}

}  // namespace

Layout Layout::in_files(bool products) { return of_table(products); }

Layout Layout::in_memory(bool products) {
  Layout out = of_table(products);
  const int count = products ? expert_count : plain_experts;
  out.row_padding = row_slots - row_experts, out.padding = slots - count, out.history_padding = expert_count - count;
  out.average_padding = average_slots - averaged_experts, out.steady_padding = member_slots - member_count;
  return out;
}

Layout Layout::of_version_0() {
  return {{"isotropic_1/64", "isotropic_1/2", "isotropic_8", "adagrad", "proportionate", "newton_0.2", "newton_4",
           "newton_recent"},
          {"newton_recent"},
          {},
          {"last_label", "mean_label_0.7", "mean_label_0.95", "mean_label"},
          {},
          {},
          {}};
}

std::string Layout::text() const {
  std::string out;
  const auto add = [&](const char* word, const Columns& keys) {
    for (const std::string& key : keys) out += std::string(word) + " " + key + "\n";
  };
  add("row", row), add("recent", recent), add("full", full), add("label", label);
  add("average", average), add("steady", steady), add("product", product);
  return out;
}

Layout Layout::of(const SavedState& state) {
  if (state.version == 0.0 && state.experts.empty()) return of_version_0();
  if (state.version != 1.0 && state.version != SavedState::newest)
    throw InputError("its state has version " + show(state.version) + ", and this odca reads versions up to " +
                     show(SavedState::newest));
  Layout out;
  const std::string_view text = state.experts;
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = text.find('\n', begin);
    const std::string_view line = text.substr(begin, end - begin);
    const std::size_t space = line.find(' ');
    const std::string_view word = line.substr(0, space);
    auto* keys = word == "row"       ? &out.row
                 : word == "recent"  ? &out.recent
                 : word == "full"    ? &out.full
                 : word == "label"   ? &out.label
                 : word == "average" ? &out.average
                 : word == "steady"  ? &out.steady
                 : word == "product" ? &out.product
                                     : nullptr;
    if (!keys || end == std::string_view::npos || space + 1 >= line.size() ||
        std::find(keys->begin(), keys->end(), line.substr(space + 1)) != keys->end())
      throw InputError("its experts are not named");
    keys->emplace_back(line.substr(space + 1));
  }
  return out;
}

namespace {

bool has(const SavedState::Parts& parts, std::string_view name) {
  return std::any_of(parts.begin(), parts.end(), [&](const auto& part) { return part.first == name; });
}

std::vector<double>& values_of(SavedState::Parts& parts, std::string_view name) {
  const auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return part.first == name; });
  if (found == parts.end()) throw InputError("it has no array '" + std::string(name) + "'");
  return found->second;
}

// What a file from before the steady answer would have held.
void begin_steady_answer(SavedState::Parts& parts) {
  for (const char* name : {"averages", "constant_average", "steady_sum", "frozen", "frozen_constant", "frozen_base"})
    parts.emplace_back(name, std::vector<double>());
  for (const char* name : {"steady_mass", "steady_residual", "steady_residual_mass", "frozen_at"})
    parts.emplace_back(name, std::vector<double>{0.0});
}

// Averages that the file does not have begin at the weights that they are of. Then every expert that reads rows has one.
void begin_averages(SavedState::Parts& parts, Layout& from, int heads, const std::string& prefix) {
  const Columns record = record_of(from, heads), weights = by_head(from.row, 0, heads);
  const Columns averages = by_head(from.average, from.average_padding, heads);
  const std::vector<std::int64_t> source = sources(averages, weights);
  for (const auto& [whole, part] : {std::pair{"table", "averages"}, {"constant", "constant_average"}}) {
    std::vector<double> begun = with_columns(values_of(parts, prefix + whole), record, weights),
                        &mean = values_of(parts, prefix + part);
    if (mean.size() * weights.size() != begun.size() * averages.size())
      throw InputError("its parts do not fit together");
    for (std::size_t k = 0, row = 0; k < begun.size(); ++k, row = k / weights.size())
      if (const std::int64_t at = source[k % weights.size()]; at >= 0)
        begun[k] = mean[row * averages.size() + static_cast<std::size_t>(at)];
    mean = std::move(begun);
  }
  from.average = from.row, from.average_padding = 0;
}

// A member that the file does not have knows no more than the base rate, and did as well.
void fill_in_members(std::vector<double>& sum, const std::vector<double>& before, const Columns& from,
                     const Columns& to) {
  const std::vector<std::int64_t> source = sources(from, to);
  const auto base = std::find(from.begin(), from.end(), "0 base rate");
  sum.resize(to.size());
  for (std::size_t m = 0; m < to.size(); ++m)
    if (source[m] < 0 && !to[m].empty() && base != from.end())
      sum[m] = before[static_cast<std::size_t>(base - from.begin())];
}

// The parts of experts with a full covariance go by their keys. One that the file does not have begins at zero, with its prior.
void begin_full_experts(SavedState::Parts& parts, const Layout& from, const Layout& to, int heads) {
  if (from.full.empty()) parts.emplace_back("full_features", std::vector<double>());
  const std::size_t n = values_of(parts, "full_features").size() + 1;
  if (n > 1 + FullNewton::most_features) throw InputError("its parts do not fit together");
  for (const std::string& key : from.full)
    if (!all_in({key}, to.full))
      std::erase_if(parts, [&](const auto& part) { return part.first.starts_with(key + "."); });
  for (const Expert& each : table) {
    const std::string key(each.key);
    if (each.kind != Kind::full_newton || all_in({key}, from.full)) continue;
    parts.emplace_back(key + ".weights", std::vector<double>(n * static_cast<std::size_t>(heads)));
    parts.emplace_back(key + ".upper", std::vector<double>(n * (n - 1) / 2));
    parts.emplace_back(key + ".diagonal", std::vector<double>(n, 1.0 / each.parameter));
  }
}

// A file from before there were products: pairs are chosen from the next event on.
void begin_pairs(SavedState::Parts& parts) {
  parts.emplace_back("pairs_asked", std::vector<double>{Pairs::automatic});
  parts.emplace_back("pairs_next", std::vector<double>{0.0});
  for (const char* name : {"pairs", "pairs_candidates", "pairs_sums", "pairs_squares"})
    parts.emplace_back(name, std::vector<double>());
}

// The table of products has the columns of the experts that have a twin.
Layout of_products(const Layout& layout) {
  Layout out;
  out.row = layout.product, out.row_padding = layout.row_padding, out.average_padding = layout.average_padding;
  for (const auto& [from, to] : {std::pair{&layout.recent, &out.recent}, {&layout.average, &out.average}})
    std::copy_if(from->begin(), from->end(), std::back_inserter(*to),
                 [&](const std::string& key) { return all_in({key}, layout.product); });
  return out;
}

// Weights of features, of which a file may have two tables.
void rearrange_table(SavedState::Parts& parts, Layout from, const Layout& to, int heads, const std::string& prefix) {
  if (!all_in(to.average, from.average)) begin_averages(parts, from, heads, prefix);
  for (const char* name : {"table", "constant"}) {
    std::vector<double>& values = values_of(parts, prefix + name);
    values = with_columns(values, record_of(from, heads), record_of(to, heads));
  }
  for (const char* name : {"averages", "constant_average"}) {
    std::vector<double>& values = values_of(parts, prefix + name);
    values = with_columns(values, by_head(from.average, from.average_padding, heads),
                          by_head(to.average, to.average_padding, heads));
  }
}

// A file from before the steady answer had products: they join when its members are frozen again.
void begin_steady_products(SavedState::Parts& parts) {
  parts.emplace_back("steady_product_sum", std::vector<double>{0.0});
  for (const char* name : {"frozen_pairs", "frozen_forms", "frozen_products", "frozen_product_constant"})
    parts.emplace_back(name, std::vector<double>());
}

// A file from before labels could come late.
void begin_late_answer(SavedState::Parts& parts) {
  for (const char* name : {"late_steady", "late_residual", "late_residual_mass"})
    parts.emplace_back(name, std::vector<double>{0.0});
}

// A file from before errors were kept for intervals.
void begin_uncertainty(SavedState::Parts& parts) {
  for (const char* name : {"live_errors", "steady_errors"}) parts.emplace_back(name, std::vector<double>());
}

// A file from before wild labels were bounded: which errors are usual is learned from the next event on.
void begin_label_bound(SavedState::Parts& parts) {
  const auto numbers = [](const auto& value) {
    if constexpr (requires { value.size(); })
      return value;
    else
      return std::vector<double>{static_cast<double>(value)};
  };
  const LabelBound none;
  LabelBound::each_part(none, [&](const char* name, const auto& value) { parts.emplace_back(name, numbers(value)); });
}

}  // namespace

// The constant is one record, and the others are as many experts and classes wide: whatever is made by heads or experts below is no
// larger than what the state has.
void require_sizes(const SavedState::Parts& parts, const Layout& layout, std::int64_t heads, std::int64_t classes) {
  const auto row = static_cast<std::int64_t>(layout.row.size()) + layout.row_padding;
  const auto experts = static_cast<std::int64_t>(experts_of(layout).size()) - layout.padding;
  const auto require_size = [&](const char* name, std::int64_t size) {
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return part.first == name; });
    if (found == parts.end()) throw InputError("it has no array '" + std::string(name) + "'");
    if (static_cast<std::int64_t>(found->second.size()) != size)
      throw InputError("its array '" + std::string(name) + "' has the wrong length, " +
                       std::to_string(found->second.size()) + ": its task, classes and experts need " +
                       std::to_string(size));
  };
  require_size("constant", record::weights_after(static_cast<int>(layout.recent.size())) + row * heads);
  require_size("counts", static_cast<std::int64_t>(layout.label.size()) * classes);
  require_size("covariance", experts * (experts + layout.padding));
}

SavedState::Parts rearranged(SavedState::Parts parts, Layout from, const Layout& to, int heads, int classes) {
  if (!has(parts, "late_steady")) begin_late_answer(parts);
  if (!has(parts, "live_errors")) begin_uncertainty(parts);
  if (!has(parts, "pairs_asked")) begin_pairs(parts);
  if (!has(parts, "steady_product_sum")) begin_steady_products(parts);
  if (!has(parts, "usual_error")) begin_label_bound(parts);
  if (from == to) return parts;
  if (from.steady.empty()) begin_steady_answer(parts);
  begin_full_experts(parts, from, to, heads);
  rearrange_table(parts, from, to, heads, "");
  if (!from.product.empty()) rearrange_table(parts, of_products(from), of_products(to), heads, "products.");
  const auto frozen_heads = static_cast<int>(values_of(parts, "frozen_base").size());
  const Columns experts = experts_of(from), wanted = experts_of(to);
  for (auto& [name, values] : parts) {
    if (name == "counts") values = with_columns(values, counts_of(from, classes), counts_of(to, classes));
    if (name == "masses" || name == "sums" || name == "sum_masses") values = with_columns(values, from.label, to.label);
    if (name == "offsets" || name == "offset_misses") values = with_columns(values, experts, wanted);
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
    if (name == "frozen" || name == "frozen_constant" || name == "frozen_products" || name == "frozen_product_constant")
      values = with_columns(values, by_head(from.steady, from.steady_padding, frozen_heads),
                            by_head(to.steady, to.steady_padding, frozen_heads));
    if (name == "steady_sum") {
      const Columns steady = by_head(from.steady, from.steady_padding, 1),
                    members = by_head(to.steady, to.steady_padding, 1);
      if (values.size() != steady.size()) throw InputError("its parts do not fit together");
      const std::vector<double> before = values;
      values = with_columns(values, steady, members);
      fill_in_members(values, before, steady, members);
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
