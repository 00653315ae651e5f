#include "text/jinja/evaluator.h"

#include <utility>

namespace kvasir::text::jinja {

using base::Result;
using base::Status;

namespace {

constexpr std::size_t kScopeBytes = 128;

}  // namespace

// Enters a scope, and leaves it at the end of the C++ block.
class Evaluator::Entered {
 public:
  Entered(Evaluator& evaluator, Scope* outer)
      : evaluator_(evaluator), before_(evaluator.scope_), scope_(evaluator.enter(outer)) {}
  ~Entered() { evaluator_.leave(scope_, before_); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

  void set(const std::string& name, Value value) { scope_->variables[name] = std::move(value); }

 private:
  Evaluator& evaluator_;
  Scope* before_;
  Scope* scope_;
};

Evaluator::Evaluator(std::time_t now, std::unordered_map<std::string, Value> variables, Budget budget) {
  context_.budget = budget;
  context_.now = now;
  enter(nullptr);
  scope_->variables = std::move(variables);
}

Result<Prompt> Evaluator::render(const Template& parsed) {
  Prompt out;
  out_ = &out;
  TRY_OK(run(parsed.body));
  return out;
}

Scope* Evaluator::enter(Scope* outer) {
  scopes_.push_back({.outer = outer, .variables = {}});
  scope_ = &scopes_.back();
  return scope_;
}

void Evaluator::leave(Scope* scope, Scope* before) {
  if (!scope->captured && scope == &scopes_.back()) scopes_.pop_back();
  scope_ = before;
}

const Value* Evaluator::find(const std::string& name) const {
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->outer) {
    const auto found = scope->variables.find(name);
    if (found != scope->variables.end()) return &found->second;
  }
  return nullptr;
}

base::Error Evaluator::at_line(base::Error error, int line) {
  if (!std::exchange(located_, true)) error.message = fmt::format("line {}: {}", line, error.message);
  return error;
}

Result<Evaluator::Flow> Evaluator::run(const Body& body) {
  for (const Statement& statement : body) {
    TRY(const Flow flow, run(statement));
    if (flow != Flow::normal) return flow;
  }
  return Flow::normal;
}

Result<Evaluator::Flow> Evaluator::run(const Statement& statement) {
  Result<Flow> flow = [&]() -> Result<Flow> {
    TRY_OK(context_.budget.steps(1));
    if (depth_ >= kMaxEvaluationDepth) return failure("blocks and calls nest too deep");
    ++depth_;
    auto result = std::visit([this](const auto& node) { return run_node(node); }, statement.node);
    --depth_;
    return result;
  }();
  if (!flow.ok()) return at_line(std::move(flow).error(), statement.line);
  return flow;
}

Result<Evaluator::Flow> Evaluator::run_node(const Data& node) {
  TRY_OK(context_.budget.bytes(node.text.size()));
  out_->append_literal(node.text);
  return Flow::normal;
}

Result<Evaluator::Flow> Evaluator::run_node(const Output& node) {
  TRY(const Value value, evaluate(*node.value));
  if (value.is_text()) {
    TRY_OK(context_.budget.bytes(value.str().size()));
    out_->append(value.prompt());
    return Flow::normal;
  }
  TRY(const Prompt text, printed(context_, value));
  out_->append(text);
  return Flow::normal;
}

Result<Evaluator::Flow> Evaluator::run_node(const If& node) {
  for (const auto& [test, body] : node.branches) {
    TRY(const Value value, evaluate(*test));
    if (value.truthy()) return run(body);
  }
  return run(node.otherwise);
}

// Returns the items of the loop. The loop's filter sees the target, and `loop` counts only items that pass.
Result<std::vector<Value>> Evaluator::loop_items(const For& node, const Value& iterable) {
  TRY(auto items, iterate(context_, iterable));
  if (!node.filter) return items;
  std::vector<Value> passed;
  for (Value& item : items) {
    Entered inner(*this, scope_);
    TRY_OK(assign(node.target, std::move(item)));
    TRY(const Value keep, evaluate(*node.filter));
    // As in Jinja2, an item that passes is rebuilt from the target's names, so a list becomes a tuple.
    if (keep.truthy()) passed.push_back(assigned(node.target));
  }
  return passed;
}

Result<Evaluator::Flow> Evaluator::run_node(const For& node) {
  TRY(const Value iterable, evaluate(*node.items));
  if (node.recursive) capture_scopes();
  return run_loop(node, iterable, 0);
}

// Runs the loop in the scope that contains the statement.
Result<Evaluator::Flow> Evaluator::run_loop(const For& node, const Value& iterable, int depth) {
  TRY(auto items, loop_items(node, iterable));
  TRY_OK(context_.budget.bytes(sizeof(Loop)));
  Loop& loop = context_.loops.emplace_back();
  loop.items = std::move(items);
  loop.depth = depth;
  loop.statement = node.recursive ? &node : nullptr;
  loop.scope = scope_;
  bool finished = false;
  for (std::size_t i = 0; i < loop.items.size(); ++i) {
    TRY_OK(context_.budget.steps(1));
    TRY_OK(context_.budget.bytes(kScopeBytes));
    loop.index = i;
    Entered inner(*this, scope_);
    inner.set("loop", Value(&loop));
    TRY_OK(assign(node.target, loop.items[i]));
    TRY(const Flow flow, run(node.body));
    if (flow == Flow::break_loop) break;
    finished = finished || flow == Flow::normal;
  }
  // As in Jinja2, `else` also runs if every pass ended with break or continue.
  if (finished) return Flow::normal;
  Entered inner(*this, scope_);
  return run(node.otherwise);
}

// Implements loop(items): renders the loop for other items.
Result<Value> Evaluator::call_loop(const Loop& loop, const Arguments& arguments) {
  if (loop.statement == nullptr) return failure("the loop must be 'recursive' to be called");
  TRY_OK(arguments.by_position(1, 1));
  Prompt text;
  Prompt* const outside = std::exchange(out_, &text);
  Scope* const before = std::exchange(scope_, loop.scope);
  const auto flow = run_loop(*loop.statement, arguments.positional[0], loop.depth + 1);
  scope_ = before;
  out_ = outside;
  if (!flow.ok()) return flow.error();
  return Value::text(std::move(text));
}

Status Evaluator::assign(const Target& target, Value value) {
  if (!target.attribute.empty()) {
    const Value* object = find(target.name);
    const auto* space = object != nullptr ? object->as<Namespace*>() : nullptr;
    if (space == nullptr) return failure("cannot assign attribute on non-namespace object '{}'", target.name);
    TRY_OK(context_.budget.bytes(kScopeBytes));
    (*space)->members[target.attribute] = std::make_shared<Value>(std::move(value));
    return base::ok();
  }
  if (!target.name.empty()) {
    scope_->variables[target.name] = std::move(value);
    return base::ok();
  }
  TRY(auto items, iterate(context_, value));
  if (items.size() != target.parts.size()) {
    return failure("cannot unpack {} values into {} names", items.size(), target.parts.size());
  }
  for (std::size_t i = 0; i < items.size(); ++i) TRY_OK(assign(target.parts[i], std::move(items[i])));
  return base::ok();
}

Value Evaluator::assigned(const Target& target) const {
  if (!target.name.empty()) return scope_->variables.at(target.name);
  std::vector<Value> parts;
  for (const Target& part : target.parts) parts.push_back(assigned(part));
  return Value::tuple(std::move(parts));
}

Result<Evaluator::Flow> Evaluator::run_node(const Set& node) {
  TRY(Value value, evaluate(*node.value));
  TRY_OK(assign(node.target, std::move(value)));
  return Flow::normal;
}

// Captures the output of the body, in a scope of its own.
Result<Evaluator::Flow> Evaluator::capture(const Body& body, Prompt& text) {
  Prompt* const outside = std::exchange(out_, &text);
  Entered inner(*this, scope_);
  auto flow = run(body);
  out_ = outside;
  return flow;
}

Result<Value> Evaluator::filtered(const ExpressionPtr& chain, Value text) {
  if (chain == nullptr) return text;
  const Value* const outside = std::exchange(filter_subject_, &text);
  auto value = evaluate(*chain);
  filter_subject_ = outside;
  return value;
}

Result<Evaluator::Flow> Evaluator::run_node(const SetBlock& node) {
  Prompt text;
  TRY(const Flow flow, capture(node.body, text));
  if (flow != Flow::normal) return flow;
  TRY(Value value, filtered(node.filter, Value::text(std::move(text))));
  TRY_OK(assign(node.target, std::move(value)));
  return Flow::normal;
}

Result<Evaluator::Flow> Evaluator::run_node(const FilterBlock& node) {
  Prompt text;
  TRY(const Flow flow, capture(node.body, text));
  if (flow != Flow::normal) return flow;
  TRY(const Value value, filtered(node.filter, Value::text(std::move(text))));
  TRY(const Prompt result, printed(context_, value));
  out_->append(result);
  return Flow::normal;
}

void Evaluator::capture_scopes() {
  for (Scope* scope = scope_; scope != nullptr && !scope->captured; scope = scope->outer)
    scope->captured = true;
}

Result<Value> Evaluator::make_macro(const MacroStatement& definition) {
  TRY_OK(context_.budget.bytes(sizeof(Macro)));
  capture_scopes();
  macros_.push_back({.definition = &definition, .scope = scope_});
  return Value(static_cast<const Macro*>(&macros_.back()));
}

Result<Evaluator::Flow> Evaluator::run_node(const MacroStatement& node) {
  TRY(scope_->variables[node.name], make_macro(node));
  return Flow::normal;
}

Result<Evaluator::Flow> Evaluator::run_node(const CallBlock& node) {
  const Call& written = std::get<Call>(node.call->node);
  TRY(const Value callee, evaluate(*written.callee));
  TRY(Arguments arguments, evaluate_arguments(written.arguments));
  for (const auto& [name, value] : arguments.named) {
    if (name == "caller") return failure("a call block gives 'caller' itself");
  }
  TRY(Value caller, make_macro(node.caller));
  arguments.named.emplace_back("caller", std::move(caller));
  TRY(const Value result, call(callee, arguments));
  TRY(const Prompt text, printed(context_, result));
  out_->append(text);
  return Flow::normal;
}

Result<Evaluator::Flow> Evaluator::run_node(const With& node) {
  std::vector<Value> values;
  for (const auto& [target, expression] : node.variables) {
    TRY(values.emplace_back(), evaluate(*expression));
  }
  Entered inner(*this, scope_);
  for (std::size_t i = 0; i < values.size(); ++i)
    TRY_OK(assign(node.variables[i].first, std::move(values[i])));
  return run(node.body);
}

Result<Evaluator::Flow> Evaluator::run_node(const Group& node) {
  Entered inner(*this, scope_);
  return run(node.body);
}

Result<Evaluator::Flow> Evaluator::run_node(const Block& node) {
  Entered inner(*this, &scopes_.front());
  return run(node.body);
}

Result<Evaluator::Flow> Evaluator::run_node(const Break&) {
  return Flow::break_loop;
}

Result<Evaluator::Flow> Evaluator::run_node(const Continue&) {
  return Flow::continue_loop;
}

}  // namespace kvasir::text::jinja
