// SPDX-License-Identifier: BSD-3-Clause
#include "failover/explore/chart.hpp"

#include <fmt/format.h>

#include <map>

#include "base/svg_parts.hpp"

namespace portcullis::failover {
namespace {

constexpr double kTop = 86;
constexpr double kRow = 30;
constexpr double kColumn = 270;
constexpr double kLeft = 300;  // of the first lifeline: what a client does stands left of it
constexpr double kRight = 300;

constexpr std::string_view kPacket = svg::kColours[0];
constexpr std::string_view kAck = svg::kColours[2];
constexpr std::string_view kTrouble = svg::kColours[1];
constexpr std::string_view kFence = svg::kColours[3];
constexpr std::string_view kOwn = svg::kColours[6];

const char* explain(Violation violation) {
  switch (violation) {
    case Violation::None:
      return "nothing broke";
    case Violation::AtMostOnce:
      return "one operation took effect twice";
    case Violation::ExactlyOnce:
      return "the application was told of an execution that never was";
    case Violation::Result:
      return "the application was told the opposite of what happened";
    case Violation::GhostWrite:
      return "old data overwrote a buffer that its owner had reused";
    case Violation::TornRead:
      return "the consumer read a part of the data, or none of it";
    case Violation::DuplicateNotification:
      return "one operation consumed two receives";
    case Violation::Linearizability:
      return "no order of the operations explains what was seen";
    case Violation::PlacementOrder:
      return "a request undid what a later one of its QP had placed";
    case Violation::Assertion:
      return "an assertion of the program does not hold";
    case Violation::ChangedSource:
      return "bytes were executed that nobody meant to send";
    case Violation::LateAnswer:
      return "an answer destroyed what the sender keeps in its buffer by now";
    case Violation::NoProgress:
      return "from here on no step lets all clients come to their end";
  }
  return "";
}

/// Lifelines from left to right, and one row a step.
class Chart {
 public:
  Chart(const Machine& machine, const Trace& trace) : m_(machine), trace_(trace) {
    const unsigned clients = m_.scenario.clients;
    for (unsigned client = 0; client < clients; ++client)
      lane(fmt::format("client {}", client), client_[client]);
    lane("responder", responder_);
    if (!m_.receiver.empty()) lane("receiver CPU", receiver_);
    if (!m_.environment.empty()) lane("others", others_);
  }

  std::string drawn(const std::string& title) {
    std::string rows;
    y_ = kTop + 40;
    for (const TraceStep& step : trace_.steps) {
      rows += row(step);
      y_ += kRow;
    }
    const double width = kLeft + kColumn * static_cast<double>(names_.size() - 1) + kRight;
    rows += svg::text(20, y_ + 14, fmt::format("fill=\"{}\" font-weight=\"bold\"", kTrouble),
                      fmt::format("{}: {}", name_of(trace_.violation), explain(trace_.violation)));
    return svg::open({width, y_ + 36, 13, title}) +
           svg::text(20, 30, "font-size=\"17\" font-weight=\"bold\"", title) + lifelines() + rows +
           "</svg>\n";
  }

 private:
  void lane(std::string name, double& x) {
    x = kLeft + kColumn * static_cast<double>(names_.size());
    names_.emplace_back(std::move(name), x);
  }
  [[nodiscard]] std::string lifelines() const {
    std::string drawn;
    for (const auto& [name, x] : names_) {
      drawn += svg::box(x - 55, kTop - 26, 110, 26, "rx=\"4\" fill=\"#f2f2f2\" stroke=\"#888\"");
      drawn += svg::text(x, kTop - 8, "text-anchor=\"middle\"", name);
      drawn += svg::line(x, kTop, x, y_ - 8, "stroke=\"#bbb\"");
    }
    return drawn;
  }
  static std::string stroke(std::string_view colour) {
    return fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"", colour);
  }
  /// What a client did: the words stand left of its line, where no arrow starts.
  [[nodiscard]] std::string own(double x, const std::string& what, std::string_view colour) const {
    return svg::circle(x, y_, 3.5, fmt::format("fill=\"{}\"", colour)) +
           svg::text(x - 10, y_ + 4, fmt::format("fill=\"{}\" text-anchor=\"end\"", colour), what);
  }
  /// What another actor did by itself: a dot on its line, the words to the right.
  [[nodiscard]] std::string note(double x, const std::string& what, std::string_view colour) const {
    return svg::circle(x, y_, 3.5, fmt::format("fill=\"{}\"", colour)) +
           svg::text(x + 9, y_ + 4, fmt::format("fill=\"{}\"", colour), what);
  }
  [[nodiscard]] std::string arrow(double from, double from_y, double to, const std::string& what,
                                  std::string_view colour) const {
    const double direction = to > from ? 1 : -1;
    const std::string points =
        fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}m{:.1f} -5l{:.1f} 5l{:.1f} 4", from, from_y, to,
                    y_, -9 * direction, 9 * direction, -9 * direction);
    const std::string words =
        fmt::format("fill=\"{}\" text-anchor=\"{}\"", colour, direction > 0 ? "start" : "end");
    return svg::path(points, stroke(colour)) + svg::text(to + 9 * direction, y_ + 4, words, what);
  }
  [[nodiscard]] std::string lost(double from, double from_y, double towards,
                                 const std::string& what, std::string_view colour) const {
    const double x = from + (towards - from) * 0.55;
    const std::string points =
        fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}m-5 -5l10 10m0 -10l-10 10", from, from_y, x, y_);
    return svg::path(points, stroke(colour) + " stroke-dasharray=\"5 3\"") +
           svg::text(x + 12, y_ + 4, fmt::format("fill=\"{}\"", kTrouble), what);
  }

  using Key = std::pair<unsigned, unsigned>;

  std::string row(const TraceStep& step) {
    const Label& l = step.label;
    const Key key{l.client, l.number};
    const std::string full = describe(m_, l);
    const std::string what = full.substr(full.find(": ") + 2);
    const double client = client_[l.client];
    switch (l.action) {
      case Action::Post:
        posted_[key] = y_;
        return own(client, what, kOwn);
      case Action::Execute:
      case Action::AcknowledgeAgain: {
        acknowledged_[key] = y_;
        return arrow(client, posted_[key], responder_, what, kPacket);
      }
      case Action::Resend:
        posted_[key] = y_;
        return own(client, what, kTrouble);
      case Action::ExecuteChanged:
        return arrow(client, posted_[key], responder_, what, kTrouble);
      case Action::Land:
        return arrow(responder_, acknowledged_[key], client, what, kTrouble);
      case Action::Complete:
        return arrow(responder_, acknowledged_[key], client, what, kAck);
      case Action::LosePacket:
        return lost(client, posted_[key], responder_, "lost", kPacket);
      case Action::LoseAck:
        return lost(responder_, acknowledged_[key], client, "acknowledgement lost", kAck);
      case Action::Duplicate:
        return own(client, "sent twice", kTrouble);
      case Action::TimeOut:
      case Action::Flush:
        return own(client, what, kTrouble);
      case Action::OrderFence:
        return own(client, what, kFence);
      case Action::Die:
        acknowledged_[key] = y_;
        return note(responder_, what, kTrouble);
      case Action::FenceTakesEffect:
        return note(responder_, what, kFence);
      case Action::Receive:
        return note(receiver_, what, kOwn);
      case Action::Write:
        return note(others_, what, kTrouble);
      default:
        return own(client, what, kOwn);
    }
  }

  const Machine& m_;
  const Trace& trace_;
  double client_[kMaxClients] = {};
  double responder_ = 0, receiver_ = 0, others_ = 0;
  std::vector<std::pair<std::string, double>> names_;
  std::map<Key, double> posted_, acknowledged_;
  double y_ = 0;
};

}  // namespace

std::string steps_text(const Machine& machine, const Trace& trace) {
  std::string text;
  unsigned number = 0;
  for (const TraceStep& step : trace.steps)
    text += fmt::format("{:3}  {}\n", ++number, describe(machine, step.label));
  return text;
}

std::string trace_text(const Machine& machine, const Trace& trace) {
  return steps_text(machine, trace) +
         fmt::format("     => {}: {}\n", name_of(trace.violation), explain(trace.violation));
}

std::string trace_svg(const Machine& machine, const Trace& trace, const std::string& title) {
  return Chart(machine, trace).drawn(title);
}

}  // namespace portcullis::failover
