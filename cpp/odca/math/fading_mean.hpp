// A mean of which every new value leaves a part.
#pragma once

namespace odca {

struct FadingMean {
  double sum = 0.0, mass = 0.0;

  void add(double value, double c, double memory) { sum = sum * memory + c * value, mass = mass * memory + c; }
  double mean() const { return mass > 0.0 ? sum / mass : 0.0; }
  void add(const FadingMean& other) { sum += other.sum, mass += other.mass; }
  void merge(const FadingMean& other, double part) {
    sum += part * (other.sum - sum), mass += part * (other.mass - mass);
  }
  // Of values from 0 to `most`.
  bool is_sound(double most) const {
    return sum >= 0.0 && mass >= 0.0 && mass <= 1e40 && sum <= most * mass * (1.0 + 1e-9);
  }
};

}  // namespace odca
