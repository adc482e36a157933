#include "topology/pasted_text.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace nccl_slab::topology {
namespace {

bool ends_with_any(const std::string& text, std::string_view* found) {
  // The escape character itself, and how editors and loggers spell it.
  for (const std::string_view spelling : {"\x1b", "^[", "\xe2\x90\x9b", "\\x1b", "\\033", "\\e", "\\u001b"})
    if (text.ends_with(spelling)) {
      *found = spelling;
      return true;
    }
  return false;
}

// Length of a colour code "[4m" at the front of the text, 0 if there is none.
std::size_t colour_code(std::string_view text) {
  if (text.empty() || text.front() != '[') return 0;
  const std::size_t stop = text.find_first_not_of("0123456789;", 1);
  return stop != std::string_view::npos && text[stop] == 'm' ? stop + 1 : 0;
}

std::string without_colours(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    if (const std::size_t length = colour_code(text)) {
      std::string_view escape;
      if (ends_with_any(plain, &escape)) plain.resize(plain.size() - escape.size());
      text.remove_prefix(length);
    } else {
      plain += text.front();
      text.remove_prefix(1);
    }
  }
  return plain;
}

// Every occurrence of `mark` becomes a blank.
std::string blanked(std::string_view text, std::string_view mark) {
  std::string result;
  for (std::size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark)) {
    result.append(text.substr(0, at)).push_back(' ');
    text.remove_prefix(at + mark.size());
  }
  return result.append(text);
}

// Markup that may touch a word counts as a blank.
std::string without_markup(std::string text) {
  for (const char* blank :
       {"\xc2\xa0", "\xef\xbb\xbf", "\xe2\x80\x8b", "\xe2\x94\x82", "&nbsp;", "<pre>", "</pre>", "<code>",
        "</code>", "<td>", "</td>", "<th>", "</th>", "<tr>", "</tr>", "\\t"})
    text = blanked(text, blank);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '|' || c == '`' || c == '*' || c == '>'; }, ' ');
  return text;
}

Words words_of(std::string_view line) {
  Words words;
  std::string word;
  for (const char character : line) {
    if (!std::isspace(static_cast<unsigned char>(character)) && character != '\0') {
      word += character;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

}  // namespace

std::vector<Words> pasted_lines(std::string_view text) {
  const std::string plain = without_markup(without_colours(text));
  std::vector<Words> lines;
  for (std::size_t begin = 0; begin < plain.size();) {
    const std::size_t end = std::min(plain.find('\n', begin), plain.size());
    Words words = words_of(std::string_view(plain).substr(begin, end - begin));
    if (!words.empty() && words.front().front() != '#') lines.push_back(std::move(words));
    begin = end + 1;
  }
  return lines;
}

}  // namespace nccl_slab::topology
