// Products of two features of fixed forms, as functions of x:
//
//     p = h_i h_j        h = (x - centre) / scale, clipped to [-3, 3]
//
// i and j may be the same. A feature that a row does not hold is 0 there.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "odca/math/functions.hpp"
#include "odca/math/row.hpp"

namespace odca {

inline constexpr double largest_factor = 3.0;  // of a product: rare values are rarely as they seem

struct ProductFactor {
  std::int64_t feature = 0;
  double centre = 0.0, scale = 1.0;
  auto operator<=>(const ProductFactor&) const = default;

  double of(double x) const { return clip((x - centre) / scale, -largest_factor, largest_factor); }
  // Whether it can be one, of values that are not too large for squares.
  bool is_sound() const { return feature >= 0 && std::fabs(centre) <= 1e101 && scale > 0.0 && scale <= 1e101; }
};

class ProductTerms {
 public:
  struct Term {
    ProductFactor first, second;
  };

  ProductTerms() = default;
  explicit ProductTerms(std::vector<Term> terms) : terms_(std::move(terms)) {
    for (const Term& each : terms_) factors_.push_back(each.first), factors_.push_back(each.second);
    std::sort(factors_.begin(), factors_.end());
    factors_.erase(std::unique(factors_.begin(), factors_.end()), factors_.end());
    const auto place = [&](const ProductFactor& factor) {
      return static_cast<std::size_t>(std::lower_bound(factors_.begin(), factors_.end(), factor) - factors_.begin());
    };
    for (const Term& each : terms_) places_.emplace_back(place(each.first), place(each.second));
  }

  std::size_t size() const { return terms_.size(); }
  bool empty() const { return terms_.empty(); }
  const Term& operator[](std::size_t k) const { return terms_[k]; }
  auto begin() const { return terms_.begin(); }
  auto end() const { return terms_.end(); }

  // Calls visit(k, p) for every product.
  template <class Visit>
  void each_product(const Row& row, Visit&& visit) const {
    std::vector<double> h(factors_.size());
    std::int64_t at = 0;
    for (std::size_t n = 0; n < factors_.size(); ++n) {
      const std::int64_t feature = factors_[n].feature;
      if (row.index)
        at = std::lower_bound(row.index + at, row.index + row.size, feature) - row.index;
      else
        at = std::min(feature, row.size);
      h[n] = factors_[n].of(at < row.size && row.feature(at) == feature ? row.value[at] : 0.0);
    }
    for (std::size_t k = 0; k < places_.size(); ++k) visit(k, h[places_[k].first] * h[places_[k].second]);
  }

 private:
  std::vector<Term> terms_;
  std::vector<ProductFactor> factors_;                       // those that occur, by feature
  std::vector<std::pair<std::size_t, std::size_t>> places_;  // of each term, among them
};

}  // namespace odca
