// SPDX-License-Identifier: BSD-3-Clause
#include "failover/spin/promela.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace portcullis::failover {
namespace {

/// Names and the text of one rule after the other.
class Writer {
 public:
  explicit Writer(const Machine& machine) : m_(machine), sc_(machine.scenario) {}

  std::string text() {
    for (unsigned client = 0; client < sc_.clients; ++client) {
      program(client);
      network(client);
      receiver(client);
    }
    environment();
    read_all();
    return fmt::format(
        "/* {}: {} clients; generated */\n{}\nactive proctype all() {{\nend: do\n{}  "
        "od\n}}\n",
        in_comment(sc_.name), sc_.clients, declarations(), rules_);
  }

 private:
  /// A name that anybody chose ends no comment, and is no directive of the preprocessor.
  static std::string in_comment(std::string name) {
    for (char& c : name)
      if (c == '*' || c == '/' || c == '\\' || static_cast<unsigned char>(c) < ' ') c = '_';
    return name;
  }

  using Names = std::vector<std::string>;

  // ---- Variables: those with a width; the others read as 0 and are never assigned
  // ----------------

  std::vector<std::pair<std::string, Field>> variables() const {
    std::vector<std::pair<std::string, Field>> all;
    const auto add = [&](const std::string& name, const Field& field) {
      if (field.exists()) all.emplace_back(name, field);
    };
    for (unsigned c = 0; c < sc_.clients; ++c) {
      for (const auto& [name, field] : fields(c)) add(name, field);
    }
    for (unsigned cell = 0; cell < m_.shared.size(); ++cell)
      add(fmt::format("s{}", cell), m_.shared[cell]);
    add("env", m_.environment_budget);
    return all;
  }
  std::string declarations() const {
    std::string text;
    for (const auto& [name, field] : variables())
      text += fmt::format("unsigned {} : {} = {};\n", name, field.width, m_.initial.get(field));
    return text;
  }
  /// SPIN leaves out of a state what is written and never read. This rule reads all, and is never
  /// taken.
  void read_all() {
    std::string sum;
    for (const auto& [name, field] : variables())
      sum += fmt::format("{}{}", sum.empty() ? "" : "+", name);
    rule(fmt::format("{} < 0", sum), "skip");
  }

  std::map<std::string, Field> fields(unsigned c) const {
    const ClientFields& f = m_.fields[c];
    std::map<std::string, Field> all = {{var(c, "pc"), f.pc},        {var(c, "reg"), f.reg},
                                        {var(c, "late"), f.late},    {var(c, "dup"), f.duplicates},
                                        {var(c, "tmo"), f.timeouts}, {var(c, "rcv"), f.receiver},
                                        {var(c, "arr"), f.arrivals}, {var(c, "die"), f.deaths}};
    for (unsigned w = 0; w < f.requests.size(); ++w) {
      const RequestFields& r = f.requests[w];
      all[of(c, w, "ph")] = r.phase;
      all[of(c, w, "ex")] = r.executed;
      all[of(c, w, "res")] = r.result;
      all[of(c, w, "con")] = r.content;
      for (unsigned p = 0; p < kMaxPackets; ++p) all[copies(c, w, p)] = r.copies[p];
    }
    for (unsigned q = 0; q < f.fences.size(); ++q) all[fence(c, q)] = f.fences[q];
    for (unsigned q = 0; q < f.dead.size(); ++q) all[dead(c, q)] = f.dead[q];
    for (unsigned i = 0; i < f.cells.size(); ++i) all[own(c, i)] = f.cells[i];
    return all;
  }
  [[nodiscard]] bool has(unsigned c, const std::string& name) const {
    const auto all = fields(c);
    const auto found = all.find(name);
    return found != all.end() && found->second.exists();
  }

  static std::string var(unsigned c, const char* name) { return fmt::format("c{}_{}", c, name); }
  static std::string of(unsigned c, unsigned w, const char* name) {
    return fmt::format("c{}_w{}_{}", c, w, name);
  }
  static std::string copies(unsigned c, unsigned w, unsigned p) {
    return fmt::format("c{}_w{}_cp{}", c, w, p);
  }
  static std::string fence(unsigned c, unsigned q) { return fmt::format("c{}_f{}", c, q); }
  static std::string dead(unsigned c, unsigned q) { return fmt::format("c{}_d{}", c, q); }
  static std::string own(unsigned c, unsigned cell) { return fmt::format("c{}_m{}", c, cell); }
  /// To be read; to be written where there is more than one word.
  [[nodiscard]] std::string cell(unsigned c, Address::Space space, unsigned number) const {
    if (space != Address::Space::Shared) return read(c, own(c, number));
    return m_.shared[number].exists() ? fmt::format("s{}", number) : "0";
  }
  /// What READ finds there; `content` says whose slot it is.
  [[nodiscard]] std::string word_at(unsigned c, const Address& address,
                                    const std::string& content) const {
    std::string value = cell(c, address.space, address.cell);
    if (address.space != Address::Space::OwnerSlot) return value;
    for (unsigned number = 0; number < m_.words.size(); ++number)
      if (m_.owner[number] != kNobody && m_.owner[number] != c)
        value = fmt::format("({} == {} -> {} : {})", content, number,
                            own(m_.owner[number], address.cell), value);
    return value;
  }
  /// A variable, or what one without a width reads as.
  [[nodiscard]] std::string read(unsigned c, const std::string& name) const {
    return has(c, name) ? name : "0";
  }
  [[nodiscard]] const std::vector<WorkRequest>& requests() const { return sc_.work_requests; }

  void rule(const std::string& guard, const std::string& effect) {
    rules_ += fmt::format("  :: d_step {{ {} -> {} }}\n", guard, effect);
  }
  static std::string set(const std::string& name, std::uint64_t value) {
    return fmt::format("{} = {}; ", name, value);
  }
  /// What an instruction keeps goes to the register.
  std::string keep(unsigned c, const Instruction& i, const std::string& value) const {
    const std::string to = var(c, "reg");
    return i.keeps && has(c, to) ? fmt::format("{} = {}; ", to, value) : "";
  }
  std::string clear(unsigned c, const std::string& name) const {
    return has(c, name) ? set(name, 0) : "";
  }

  // ---- Words
  // -------------------------------------------------------------------------------------

  [[nodiscard]] unsigned number_of(Word word) const {
    return static_cast<unsigned>(std::find(m_.words.begin(), m_.words.end(), word) -
                                 m_.words.begin());
  }
  [[nodiscard]] Word operand(const Operand& operand, unsigned c, Word content) const {
    switch (operand.source) {
      case Operand::Source::Constant:
        return operand.word;
      case Operand::Source::OwnTag:
        return tag_of(c, static_cast<unsigned>(operand.word));
      case Operand::Source::Register:
        return content;
      case Operand::Source::Sequence:
        return content & 0xffffffffU;
    }
    return 0;
  }
  /// "where := what it becomes", by cases on what is there; words that no run reaches are left out.
  std::string update(const std::string& where, unsigned c, unsigned w, Word content) const {
    const WorkRequest& request = requests()[w];
    const Operation operation{request.opcode, operand(request.operand, c, content),
                              operand(request.compare, c, content)};
    std::string value = where;
    for (unsigned before = 0; before < m_.words.size(); ++before) {
      const unsigned after = number_of(execute(operation, m_.words[before]).memory);
      if (after != before && after < m_.words.size())
        value = fmt::format("({}=={} -> {} : {})", where, before, after, value);
    }
    return value == where ? "" : fmt::format("{} = {}; ", where, value);
  }
  std::string condition(const Condition& asked, unsigned c, const std::string& value) const {
    if (asked.kind == Condition::Kind::Always) return "true";
    if (asked.kind == Condition::Kind::EqualsRegister)
      return fmt::format("{} == {}", value, read(c, var(c, "reg")));
    std::string text;
    for (unsigned number = 0; number < m_.words.size(); ++number) {
      const Word word = m_.words[number];
      const Word owner = m_.owner[number];
      const bool yes = (asked.kind == Condition::Kind::Equals && word == asked.word) ||
                       (asked.kind == Condition::Kind::OwnTag &&
                        word == tag_of(c, static_cast<unsigned>(asked.word))) ||
                       (asked.kind == Condition::Kind::OwnerIsNobody && owner == kNobody) ||
                       (asked.kind == Condition::Kind::OwnerIsMe && owner == c);
      if (yes) text += fmt::format("{}{} == {}", text.empty() ? "" : " || ", value, number);
    }
    return text.empty() ? "false" : "(" + text + ")";
  }
  static std::string go(unsigned c, const Instruction& i, const std::string& question) {
    if (i.next == i.otherwise || question == "true") return set(var(c, "pc"), i.next);
    return fmt::format("{} = ({} -> {} : {}); ", var(c, "pc"), question, i.next, i.otherwise);
  }

  // ---- The client's program ------------------------------------------------------------------

  void program(unsigned c) {
    for (unsigned pc = 0; pc < sc_.program.size(); ++pc) {
      const Instruction& i = sc_.program[pc];
      const std::string here = fmt::format("{} == {}", var(c, "pc"), pc);
      switch (i.act) {
        case Act::Post:
          post(c, i, here);
          break;
        case Act::Await:
          await(c, i, here);
          break;
        case Act::Probe:
          probe(c, i, here);
          break;
        case Act::QueryPsn:
          query_psn(c, i, here);
          break;
        case Act::Assert:
          rule(here, fmt::format(
                         "assert({}); ",
                         condition(i.condition, c, word_at(c, i.address, read(c, var(c, "reg"))))) +
                         set(var(c, "pc"), i.next));
          break;
        case Act::Test:
          rule(here, go(c, i, condition(i.condition, c, read(c, var(c, "reg")))));
          break;
        case Act::Decide:
          decide(c, i, here);
          break;
        case Act::Fence:
          rule(here, fmt::format("if :: {0} == 0 -> {0} = 1 :: else fi; ", fence(c, i.queue)) +
                         set(var(c, "pc"), i.next));
          break;
        case Act::AwaitFence:
          rule(fmt::format("{} && {} == 2", here, read(c, fence(c, i.queue))),
               set(var(c, "pc"), i.next));
          break;
        case Act::Report:
          rule(here, set(var(c, "pc"), i.next));
          break;
        case Act::Take:  // never written
        case Act::End:
          break;
      }
    }
  }

  /// The answer that is known to have come, as a part of a guard.
  static std::string known(const Instruction& i, const std::string& question) {
    if (!i.known) return "";
    return fmt::format(" && {}({})", *i.known ? "" : "!", question);
  }
  void query_psn(unsigned c, const Instruction& i, const std::string& here) {
    const WorkRequest& request = requests()[i.work_request];
    const std::string question = fmt::format("{} >= {}", of(c, i.work_request, "ex"),
                                             i.packets == 0 ? request.packets : i.packets);
    rule(here + answers(c, request.queue) + known(i, question), go(c, i, question));
  }

  void post(unsigned c, const Instruction& i, const std::string& here) {
    std::string effect = set(of(c, i.work_request, "ph"), 1);
    for (unsigned p = 0; p < requests()[i.work_request].packets; ++p)
      effect += set(copies(c, i.work_request, p), 1);
    if (has(c, of(c, i.work_request, "con")))
      effect += fmt::format("{} = {}; ", of(c, i.work_request, "con"), read(c, var(c, "reg")));
    rule(here, effect + set(var(c, "pc"), i.next));
  }

  void await(unsigned c, const Instruction& i, const std::string& here) {
    const unsigned w = i.work_request;
    const WorkRequest& request = requests()[w];
    std::string answered = of(c, w, "ph") + " == 2";
    if (const std::string is_later = later(c, w, 2); !is_later.empty())
      answered +=
          fmt::format(" || ({} == 1 && ({} || {}))", of(c, w, "ph"), is_later, later(c, w, 3));
    const std::string result = has(c, of(c, w, "res")) ? of(c, w, "res") : "0";
    std::string effect = go(c, i, condition(i.condition, c, result)) + keep(c, i, result);
    effect += set(of(c, w, "ph"), 3) + clear(c, of(c, w, "res")) + clear(c, of(c, w, "con"));
    for (unsigned p = 0; p < request.packets; ++p) effect += set(copies(c, w, p), 0);
    if (i.may_complete) rule(fmt::format("{} && ({})", here, answered), effect);
    if (i.may_time_out) time_out(c, i, here);
    if (i.may_time_out)  // flushed when its QP failed
      rule(fmt::format("{} && {} == 3", here, of(c, w, "ph")), set(var(c, "pc"), i.on_timeout));
  }

  /// A later one of its QP that acknowledges it is in that phase; empty where there is none. Closed
  /// while this one is not it has completed, and so has this one.
  [[nodiscard]] std::string later(unsigned c, unsigned w, unsigned phase) const {
    std::string any;
    if (returns_word(requests()[w].opcode) || sc_.answers_one_by_one) return any;
    for (unsigned other = w + 1; other < requests().size(); ++other)
      if (requests()[other].queue == requests()[w].queue)
        any += fmt::format("{}{} == {}", any.empty() ? "" : " || ", of(c, other, "ph"), phase);
    return any.empty() ? any : "(" + any + ")";
  }
  [[nodiscard]] std::string not_left_behind(unsigned c, unsigned w) const {
    const std::string is_left = later(c, w, 3);
    return is_left.empty() ? "" : " && !" + is_left;
  }

  void time_out(unsigned c, const Instruction& i, const std::string& here) {
    const unsigned queue = requests()[i.work_request].queue;
    std::string flying;
    std::string effect;
    for (unsigned w = 0; w < requests().size(); ++w) {
      if (requests()[w].queue != queue) continue;
      for (unsigned p = 0; p < requests()[w].packets; ++p)
        flying += (flying.empty() ? "" : "+") + copies(c, w, p);
      // In their order: the later ones are still as they were.
      effect += fmt::format("if :: {0} != 0{3} -> {0} = 3; {1}{2} :: else fi; ", of(c, w, "ph"),
                            clear(c, of(c, w, "res")), forget(c, w), not_left_behind(c, w));
    }
    if (!has(c, var(c, "tmo"))) return;
    const bool may_be_late = has(c, var(c, "late"));
    if (may_be_late) effect = fmt::format("{0} = {0} - ({1}); ", var(c, "late"), flying) + effect;
    effect += fmt::format("{0} = {0} - 1; ", var(c, "tmo"));
    rule(fmt::format("{} && {} == 1{} && {} > 0 && {} <= {}", here, of(c, i.work_request, "ph"),
                     not_left_behind(c, i.work_request), var(c, "tmo"), flying,
                     may_be_late ? var(c, "late") : "0"),
         effect + set(var(c, "pc"), i.on_timeout));
  }

  /// A closed request without packets has no content any more.
  std::string forget(unsigned c, unsigned w) const {
    if (!has(c, of(c, w, "con"))) return "";
    std::string gone = of(c, w, "ph") + " == 3";
    for (unsigned p = 0; p < requests()[w].packets; ++p)
      gone += fmt::format(" && {} == 0", copies(c, w, p));
    return fmt::format("if :: {} -> {} = 0 :: else fi; ", gone, of(c, w, "con"));
  }

  void probe(unsigned c, const Instruction& i, const std::string& here) {
    const std::string from = word_at(c, i.address, read(c, var(c, "reg")));
    std::string guard = here;
    if (i.after_receiver) guard += " && !(" + can_receive(c) + ")";
    guard += known(i, condition(i.condition, c, from));
    rule(guard, go(c, i, condition(i.condition, c, from)) + keep(c, i, from));
  }

  void decide(unsigned c, const Instruction& i, const std::string& here) {
    for (unsigned number = 0; number < (i.decides_by_register ? m_.words.size() : 1); ++number) {
      const bool yes = (sc_.policy >> ((i.decision + number) & 63U) & 1U) != 0;
      const std::string which =
          i.decides_by_register ? fmt::format(" && {} == {}", read(c, var(c, "reg")), number) : "";
      rule(here + which, set(var(c, "pc"), yes ? i.next : i.otherwise));
    }
  }

  // ---- Network and responder -----------------------------------------------------------------

  void network(unsigned c) {
    for (unsigned w = 0; w < requests().size(); ++w) {
      const std::string phase = of(c, w, "ph");
      for (unsigned p = 0; p < requests()[w].packets; ++p) {
        const std::string flying = copies(c, w, p);
        const std::string take = fmt::format("{0} = {0} - 1; ", flying);
        execute_packet(c, w, p, take);
        acknowledge_again(c, w, p, take);
        rule(flying + " > 0", take + forget(c, w));
        if (has(c, var(c, "dup")))
          rule(fmt::format("{0} != 0 && {0} != 3 && {1} > 0", phase, var(c, "dup")),
               fmt::format("{0} = {0} + 1; {1} = {1} - 1; ", flying, var(c, "dup")));
      }
      rule(phase + " == 2", set(phase, 1));
    }
    for (unsigned q = 0; q < m_.fields[c].fences.size(); ++q)
      if (has(c, fence(c, q))) fence_takes_effect(c, q);
    for (unsigned w = 0; w < requests().size(); ++w)
      if (has(c, var(c, "die"))) die(c, w);
  }
  /// Its responder NIC lives.
  std::string answers(unsigned c, unsigned q) const {
    return has(c, dead(c, q)) ? fmt::format(" && {} == 0", dead(c, q)) : "";
  }
  /// Its QP takes packets: neither fenced nor dead.
  std::string takes(unsigned c, unsigned w) const {
    const unsigned q = requests()[w].queue;
    const bool is_fenced = has(c, fence(c, q)) && m_.clients[c].requests[w].is_fenced;
    return answers(c, q) + (is_fenced ? fmt::format(" && {} != 2", fence(c, q)) : "");
  }
  /// All that is not placed, of this request and of those before it on its QP, is in the buffers.
  void die(unsigned c, unsigned w) {
    const unsigned q = requests()[w].queue;
    std::string guard = fmt::format("{} > 0 && {} == 1 && {} < {}{}", var(c, "die"), of(c, w, "ph"),
                                    of(c, w, "ex"), requests()[w].packets, takes(c, w));
    std::string effect =
        fmt::format("{0} = {0} - 1; ", var(c, "die")) + set(of(c, w, "ph"), 2) + set(dead(c, q), 1);
    for (unsigned other = 0; other < requests().size(); ++other) {
      const WorkRequest& request = requests()[other];
      if (request.queue != q) continue;
      for (unsigned p = 0; p < request.packets; ++p) {
        const std::string held = returns_word(request.opcode) ? "0" : copies(c, other, p) + " > 0";
        if (other <= w) guard += fmt::format(" && ({} > {} || {})", of(c, other, "ex"), p, held);
        effect += set(copies(c, other, p), 0);
      }
      effect += forget(c, other);
    }
    rule(guard, effect);
  }

  void acknowledge_again(unsigned c, unsigned w, unsigned p, const std::string& take) {
    const WorkRequest& request = requests()[w];
    const bool reads = request.opcode == Opcode::Read;
    std::string effect = set(of(c, w, "ph"), 2) + take;
    if (reads && has(c, of(c, w, "res")))
      effect += fmt::format("{} = {}; ", of(c, w, "res"),
                            word_at(c, request.address, read(c, of(c, w, "con"))));
    rule(fmt::format("{} > 0 && {} == {} && ({} == 1{}){}", copies(c, w, p), of(c, w, "ex"),
                     request.packets, of(c, w, "ph"),
                     reads ? fmt::format(" || {} == 2", of(c, w, "ph")) : "", takes(c, w)),
         effect);
  }

  /// Owner, and the contents that name it; for requests that go elsewhere one owner and no content.
  std::map<unsigned, std::vector<unsigned>> owners(unsigned c, unsigned w) const {
    std::map<unsigned, std::vector<unsigned>> result;
    if (requests()[w].address.space != Address::Space::OwnerSlot) {
      result[c];
      return result;
    }
    for (unsigned content = 0; content < m_.words.size(); ++content)
      result[m_.owner[content] == kNobody ? c : m_.owner[content]].push_back(content);
    return result;
  }

  void execute_packet(unsigned c, unsigned w, unsigned p, const std::string& take) {
    const WorkRequest& request = requests()[w];
    std::string guard =
        fmt::format("{} > 0 && {} == {}{}", copies(c, w, p), of(c, w, "ex"), p, takes(c, w));
    for (unsigned earlier = 0; earlier < w; ++earlier)
      if (requests()[earlier].queue == request.queue)
        guard += fmt::format(" && {} == {}", of(c, earlier, "ex"), requests()[earlier].packets);
    for (const auto& [owner, contents] : owners(c, w)) {
      std::string names;
      for (const unsigned content : contents)
        names += fmt::format("{}{} == {}", names.empty() ? "" : " || ", of(c, w, "con"), content);
      const std::string where = cell(owner, request.address.space, request.address.cell + p);
      rule(names.empty() ? guard : fmt::format("{} && ({})", guard, names),
           execution(c, w, p, where) + set(of(c, w, "ex"), p + 1) + take + forget(c, w));
    }
  }

  std::string execution(unsigned c, unsigned w, unsigned p, const std::string& where) const {
    const WorkRequest& request = requests()[w];
    std::string answer;
    if (p + 1 == request.packets) {
      const std::string result = has(c, of(c, w, "res"))
                                     ? fmt::format("{} = {}; ", of(c, w, "res"), where)
                                     : std::string();
      answer = fmt::format("if :: {0} != 3 -> {0} = 2; {1} :: else fi; ", of(c, w, "ph"), result);
      const bool notifies =
          request.opcode == Opcode::Send || request.opcode == Opcode::WriteWithImm;
      if (notifies && has(c, var(c, "arr")))
        answer += fmt::format("{0} = {0} + 1; ", var(c, "arr"));
    }
    std::string change;
    if (!has(c, of(c, w, "con"))) {
      change = update(where, c, w, 0);
    } else {
      for (unsigned content = 0; content < m_.words.size(); ++content)
        change += fmt::format(":: {} == {} -> {} ", of(c, w, "con"), content,
                              update(where, c, w, m_.words[content]) + "skip");
      change = "if " + change + "fi; ";
    }
    if (request.is_deduplicated && !change.empty())
      change = fmt::format("if :: {} == {} -> {} :: else fi; ", own(c, *request.log_cell),
                           number_of(0), change);
    if (request.log_cell) change += set(own(c, *request.log_cell), number_of(1));
    return answer + change;
  }

  void fence_takes_effect(unsigned c, unsigned q) {
    std::string effect = set(fence(c, q), 2);
    for (unsigned w = 0; w < requests().size(); ++w) {
      const WorkRequest& request = requests()[w];
      if (request.queue != q) continue;
      if (!m_.clients[c].requests[w].is_fenced) continue;
      for (unsigned p = 0; p < request.packets; ++p) effect += set(copies(c, w, p), 0);
      effect += forget(c, w);
    }
    rule(fence(c, q) + " == 1", effect);
  }

  // ---- Receiver CPU and environment ----------------------------------------------------------

  [[nodiscard]] std::string waiting_for(unsigned c, unsigned step) const {
    const ReceiverStep& rule = sc_.receiver[step];
    const std::string at = fmt::format("{} == {}", var(c, "rcv"), step);
    if (rule.kind == ReceiverStep::Kind::AwaitArrival)
      return fmt::format("({} && {} > 0)", at, read(c, var(c, "arr")));
    if (rule.kind == ReceiverStep::Kind::AwaitWord)
      return fmt::format("({} && {} == {})", at, read(c, own(c, rule.cell)), number_of(rule.word));
    return "(" + at + ")";
  }
  [[nodiscard]] std::string can_receive(unsigned c) const {
    std::string any = "false";
    for (unsigned step = 0; step < sc_.receiver.size(); ++step)
      any += " || " + waiting_for(c, step);
    return any;
  }

  void receiver(unsigned c) {
    for (unsigned step = 0; step < sc_.receiver.size(); ++step) {
      const ReceiverStep& does = sc_.receiver[step];
      std::string effect = set(var(c, "rcv"), step + 1);
      if (does.kind == ReceiverStep::Kind::AwaitArrival && has(c, var(c, "arr")))
        effect += fmt::format("{0} = {0} - 1; ", var(c, "arr"));
      if (does.kind == ReceiverStep::Kind::Set || does.kind == ReceiverStep::Kind::Reuse)
        for (unsigned i = 0; i < does.count; ++i)
          if (has(c, own(c, does.cell + i)))
            effect += set(own(c, does.cell + i), number_of(does.word));
      rule(waiting_for(c, step), effect);
    }
  }

  void environment() {
    for (const EnvironmentStep& step : sc_.environment) {
      const bool is_shared = step.address.space == Address::Space::Shared;
      for (unsigned c = 0; c < (is_shared ? 1 : sc_.clients); ++c) {
        const std::string where = cell(c, step.address.space, step.address.cell);
        const unsigned becomes = number_of(step.becomes);
        const std::string guard = step.when ? fmt::format("{} == {}", where, number_of(*step.when))
                                            : fmt::format("{} != {}", where, becomes);
        if (sc_.environment_budget > 0)
          rule("env > 0 && " + guard,
               (m_.words.size() > 1 ? set(where, becomes) : "") + "env = env - 1; ");
      }
    }
  }

  const Machine& m_;
  const Scenario& sc_;
  std::string rules_;
};

}  // namespace

Result<std::string> promela(const Machine& machine) {
  if (machine.scenario.is_monitored || machine.scenario.has_history)
    return fail(Errc::InvalidArgument,
                fmt::format("model {}: has monitors, only an unmonitored one is accepted",
                            machine.scenario.name));
  const auto& program = machine.scenario.program;
  if (std::any_of(program.begin(), program.end(), [](const auto& i) { return i.act == Act::Take; }))
    return fail(Errc::InvalidArgument,
                fmt::format("model {}: takes a buffer, only one that takes none is accepted",
                            machine.scenario.name));
  return Writer(machine).text();
}

}  // namespace portcullis::failover
