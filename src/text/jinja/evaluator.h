#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "text/jinja/ast.h"
#include "text/jinja/callable.h"
#include "text/tokenizer/prompt.h"

namespace kvasir::text::jinja {

// The variables of a block. Other names are looked up in `outer`.
struct Scope {
  Scope* outer = nullptr;
  std::unordered_map<std::string, Value> variables;
  bool captured = false;  // a macro or loop refers to it, so it lives to the rendering's end
};

// One rendering of one template. Owns all objects to which its values point.
class Evaluator {
 public:
  Evaluator(std::time_t now, std::unordered_map<std::string, Value> variables, Budget budget = {});

  // Renders the template. An error names the line.
  base::Result<Prompt> render(const Template& parsed);

 private:
  // Bounds the nesting of evaluations, and so the use of the stack. The limit is far above what templates
  // need.
  static constexpr int kMaxEvaluationDepth = 400;

  enum class Flow { normal, break_loop, continue_loop };
  class Entered;

  base::Result<Flow> run(const Body& body);
  base::Result<Flow> run(const Statement& statement);
  base::Result<Flow> run_node(const Data& node);
  base::Result<Flow> run_node(const Output& node);
  base::Result<Flow> run_node(const If& node);
  base::Result<Flow> run_node(const For& node);
  base::Result<Flow> run_node(const Set& node);
  base::Result<Flow> run_node(const SetBlock& node);
  base::Result<Flow> run_node(const FilterBlock& node);
  base::Result<Flow> run_node(const MacroStatement& node);
  base::Result<Flow> run_node(const CallBlock& node);
  base::Result<Flow> run_node(const With& node);
  base::Result<Flow> run_node(const Group& node);
  base::Result<Flow> run_node(const Block& node);
  base::Result<Flow> run_node(const Break& node);
  base::Result<Flow> run_node(const Continue& node);
  base::Result<std::vector<Value>> loop_items(const For& node, const Value& iterable);
  base::Result<Flow> run_loop(const For& node, const Value& iterable, int depth);
  base::Result<Flow> capture(const Body& body, Prompt& text);
  base::Result<Value> filtered(const ExpressionPtr& chain, Value text);
  base::Status assign(const Target& target, Value value);
  // Returns the values last assigned to the target's names in the innermost scope, as a tuple if the target
  // is one.
  Value assigned(const Target& target) const;

  base::Result<Value> evaluate(const Expression& expression);
  base::Result<Value> evaluate_node(const Constant& node);
  base::Result<Value> evaluate_node(const Name& node);
  base::Result<Value> evaluate_node(const ListDisplay& node);
  base::Result<Value> evaluate_node(const DictDisplay& node);
  base::Result<Value> evaluate_node(const Unary& node);
  base::Result<Value> evaluate_node(const Binary& node);
  base::Result<Value> evaluate_node(const Concatenation& node);
  base::Result<Value> evaluate_node(const Comparison& node);
  base::Result<Value> evaluate_node(const Conditional& node);
  base::Result<Value> evaluate_node(const AttributeAccess& node);
  base::Result<Value> evaluate_node(const ItemAccess& node);
  base::Result<Value> evaluate_node(const SliceAccess& node);
  base::Result<Value> evaluate_node(const Call& node);
  base::Result<Value> evaluate_node(const FilterCall& node);
  base::Result<Value> evaluate_node(const TestCall& node);
  base::Result<Arguments> evaluate_arguments(const CallArguments& arguments);
  base::Result<Value> call(const Value& callee, const Arguments& arguments);
  base::Result<Value> call_macro(const Macro& macro, const Arguments& arguments);
  base::Result<Value> call_loop(const Loop& loop, const Arguments& arguments);
  base::Result<Value> make_macro(const MacroStatement& definition);
  base::Status bind_parameters(const MacroStatement& macro, Arguments arguments);
  base::Status bind_rest(const MacroStatement& macro, Arguments arguments);
  base::Error at_line(base::Error error, int line);

  Scope* enter(Scope* outer);
  void leave(Scope* scope, Scope* before);
  // Keeps the current scopes to the end of the rendering, since a macro or a loop refers to them.
  void capture_scopes();
  const Value* find(const std::string& name) const;

  Context context_;
  std::deque<Scope> scopes_;  // a deque, so that addresses stay valid
  std::deque<Macro> macros_;
  Scope* scope_ = nullptr;
  Prompt* out_ = nullptr;
  const Value* filter_subject_ = nullptr;  // subject of the current filter block
  int depth_ = 0;
  bool located_ = false;  // the current error already names a line
};

}  // namespace kvasir::text::jinja
