// Chart: curves over sizes on two logarithmic axes, as SVG. Thread safety: values and pure functions.
#pragma once

#include <string>
#include <vector>

namespace nccl_slab::tool {

struct Point {
  double x, y;
  double low, high;  // the spread of y
};

struct Curve {
  std::string label, colour;
  bool dashed = false;
  std::vector<Point> points;  // by x; all values above 0
};

struct Chart {
  std::string title;
  std::vector<Curve> curves;  // empty ones are left out
};

// The beginning of a document; the charts and "</svg>" follow.
std::string svg_begin(double width, double height, const std::string& title);

// Inside a document, at a place; empty without points.
std::string chart_svg(const Chart& chart, double left, double top, double width, double height);

}  // namespace nccl_slab::tool
