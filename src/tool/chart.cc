#include "tool/chart.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "tool/bench_result.h"

namespace nccl_slab::tool {
namespace {

// A logarithmic axis: values from..to lie at begin..end.
struct Axis {
  double from = 0, to = 0, begin = 0, end = 0;

  void take(double value) {
    from = from == 0 ? value : std::min(from, value);
    to = std::max(to, value);
  }
  double at(double value) const {
    if (to <= from) return (begin + end) / 2;
    return begin + (end - begin) * std::log(value / from) / std::log(to / from);
  }
};

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<')
      result += "&lt;";
    else if (c == '&')
      result += "&amp;";
    else
      result += c;
  }
  return result;
}

template <typename... Values>
std::string format(const char* pattern, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

std::string line(double x1, double y1, double x2, double y2, const char* colour) {
  return format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1, y1, x2, y2,
                colour);
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor) + escaped(text) +
         "</text>\n";
}

std::string polyline(const Curve& curve, const std::string& points) {
  return "<polyline fill=\"none\" stroke-width=\"1.6\" stroke=\"" + curve.colour +
         (curve.dashed ? "\" stroke-dasharray=\"5 3" : "") + "\" points=\"" + points + "\"/>\n";
}

std::string path_of(const Curve& curve, const Axis& x, const Axis& y) {
  std::string points, spread;
  for (const Point& point : curve.points) {
    points += format("%s%.1f,%.1f", points.empty() ? "" : " ", x.at(point.x), y.at(point.y));
    if (point.high > point.low)
      spread += line(x.at(point.x), y.at(point.low), x.at(point.x), y.at(point.high), curve.colour.c_str());
  }
  return polyline(curve, points) + spread;
}

// 1, 10, 100, ... inside the axis, with their rules.
std::string decades(const Axis& x, const Axis& y) {
  std::string text;
  for (double value = std::pow(10, std::ceil(std::log10(y.from))); value <= y.to; value *= 10)
    text += line(x.begin, y.at(value), x.end, y.at(value), "#dddddd") +
            label(x.begin - 4, y.at(value) + 4, "end", format("%g", value));
  return text;
}

// Every other power of four.
std::string sizes(const Axis& x, const Axis& y) {
  std::string text;
  for (std::uint64_t bytes = 1024; static_cast<double>(bytes) <= x.to; bytes *= 16)
    if (static_cast<double>(bytes) >= x.from)
      text += line(x.at(static_cast<double>(bytes)), y.begin, x.at(static_cast<double>(bytes)), y.end,
                   "#dddddd") +
              label(x.at(static_cast<double>(bytes)), y.begin + 14, "middle", size_text(bytes));
  return text;
}

std::string legend(const Chart& chart, double x, double y) {
  std::string text;
  for (const Curve& curve : chart.curves) {
    if (curve.points.empty()) continue;
    text += polyline(curve, format("%.1f,%.1f %.1f,%.1f", x, y, x + 24, y)) +
            label(x + 30, y + 4, "start", curve.label);
    y += 14;
  }
  return text;
}

}  // namespace

std::string svg_begin(double width, double height, const std::string& title) {
  return format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" "
             "font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
             width, height) +
         label(8, 16, "start", title);
}

std::string chart_svg(const Chart& chart, double left, double top, double width, double height) {
  Axis x{0, 0, left + 52, left + width - 12}, y{0, 0, top + height - 28, top + 24};
  for (const Curve& curve : chart.curves)
    for (const Point& point : curve.points) {
      x.take(point.x);
      y.take(point.low);
      y.take(point.high);
    }
  if (x.from == 0) return "";
  std::string text = label(x.begin, top + 14, "start", chart.title) + decades(x, y) + sizes(x, y);
  for (const Curve& curve : chart.curves)
    if (!curve.points.empty()) text += path_of(curve, x, y);
  return text + legend(chart, x.begin + 8, y.end + 8);
}

}  // namespace nccl_slab::tool
