#include "odca/features/block.hpp"

namespace odca::text {

void Block::keep(const std::vector<std::uint8_t>& kept) {
  std::size_t row = 0, entry = 0;
  for (std::size_t from = 0; from < kept.size(); ++from) {
    const auto begin = static_cast<std::size_t>(rows.start[from]), end = static_cast<std::size_t>(rows.start[from + 1]);
    if (!kept[from]) continue;
    for (std::size_t k = begin; k < end; ++k, ++entry)
      rows.index[entry] = rows.index[k], rows.value[entry] = rows.value[k];
    label[row] = label[from], label_text[row] = label_text[from], line[row] = line[from];
    if (!tag.empty()) std::swap(tag[row], tag[from]);
    for (OptionalNumbers* column : {&weight, &offset, &time, &group}) column->move(from, row);
    rows.start[++row] = static_cast<std::int32_t>(entry);
  }
  rows.start.resize(row + 1), rows.index.resize(entry), rows.value.resize(entry);
  label.resize(row), label_text.resize(row), line.resize(row);
  if (!tag.empty()) tag.resize(row);
  for (OptionalNumbers* column : {&weight, &offset, &time, &group}) column->keep_first(row);
}

}  // namespace odca::text
