#include "odca/features/block.hpp"

#include <cmath>

namespace odca::text {

namespace {

// The parts of rows that stay. All rows have parts of one size.
template <class T>
void keep_parts(std::vector<T>& parts, const std::vector<std::uint8_t>& kept) {
  const std::size_t size = kept.empty() ? 0 : parts.size() / kept.size();
  std::size_t to = 0;
  for (std::size_t row = 0; row < kept.size(); ++row)
    for (std::size_t k = row * size; kept[row] && k < (row + 1) * size; ++k) parts[to++] = parts[k];
  parts.resize(to);
}

template <class T>
std::vector<T> range(const std::vector<T>& all, std::size_t first, std::size_t last) {
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(last)};
}

}  // namespace

Block Block::part(std::size_t first, std::size_t last) const {
  Block out;
  const auto begin = static_cast<std::size_t>(rows.start[first]), end = static_cast<std::size_t>(rows.start[last]);
  out.rows.start = range(rows.start, first, last + 1);
  for (auto& start : out.rows.start) start -= static_cast<std::int32_t>(begin);
  out.rows.index = range(rows.index, begin, end), out.rows.value = range(rows.value, begin, end);
  out.label = range(label, first, last), out.label_text = range(label_text, first, last);
  out.line = range(line, first, last);
  if (!tag.empty()) out.tag = range(tag, first, last);
  out.weight = weight.part(first, last), out.offset = offset.part(first, last);
  out.time = time.part(first, last), out.group = group.part(first, last);
  const auto wide = [&](const auto& parts) {  // what history needs: some parts for each row
    const std::size_t of_a_row = parts.size() / static_cast<std::size_t>(size());
    return range(parts, first * of_a_row, last * of_a_row);
  };
  if (size() > 0) out.history_number = wide(history_number), out.history_key = wide(history_key);
  out.history_keys = history_keys;
  for (std::size_t row = first; row < last && texts.events() > 0; ++row) out.texts.append(texts, row);
  for (const Dated& each : dated)
    if (each.row >= first && each.row < last)
      out.dated.push_back({each.row - static_cast<std::uint32_t>(first), each.field, each.seconds});
  out.date_fields = date_fields;
  out.width = width, out.known = known, out.label_names = label_names;
  return out;
}

DateSpans Block::date_spans(std::int64_t events) const {
  DateSpans out;
  out.events = events;
  if (dated.empty()) return out;
  std::vector<DateSpan> spans(date_fields.size());
  std::vector<std::int64_t> latest(date_fields.size(), -1);  // the event that had a date there
  for (const Dated& each : dated) {
    if (each.row >= events) break;
    const auto field = static_cast<std::size_t>(each.field);
    const std::int64_t events_more = latest[field] == each.row ? 0 : 1;
    latest[field] = each.row;
    if (std::isnan(each.seconds)) {
      spans[field].missing += events_more;
      continue;
    }
    spans[field].join({{}, each.seconds, each.seconds, each.seconds, 1, 0});
    spans[field].count += events_more - 1;
  }
  for (std::size_t field = 0; field < spans.size(); ++field)
    if (spans[field].count + spans[field].missing > 0) out.of(date_fields[field]).join(spans[field]);
  return out;
}

void Block::keep(const std::vector<std::uint8_t>& kept) {
  if (!dated.empty()) {
    std::vector<std::uint32_t> row_of(kept.size());
    for (std::size_t from = 0, to = 0; from < kept.size(); to += kept[from++] != 0)
      row_of[from] = static_cast<std::uint32_t>(to);
    std::erase_if(dated, [&](const Dated& each) { return !kept[each.row]; });
    for (Dated& each : dated) each.row = row_of[each.row];
  }
  keep_parts(history_number, kept), keep_parts(history_key, kept);
  Texts kept_texts;
  for (std::size_t from = 0; from < kept.size() && texts.events() > 0; ++from)
    if (kept[from]) kept_texts.append(texts, from);
  texts = std::move(kept_texts);
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
