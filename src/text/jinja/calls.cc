#include <algorithm>
#include <utility>

#include "text/jinja/evaluator.h"

namespace kvasir::text::jinja {

using base::Result;
using base::Status;

namespace {

Status add_named(Arguments& arguments, const std::string& name, Value value) {
  const bool given = std::any_of(arguments.named.begin(), arguments.named.end(),
                                 [&](const auto& entry) { return entry.first == name; });
  if (given) return failure("got multiple values for keyword argument '{}'", name);
  arguments.named.emplace_back(name, std::move(value));
  return base::ok();
}

}  // namespace

Result<Arguments> Evaluator::evaluate_arguments(const CallArguments& written) {
  Arguments arguments;
  for (const auto& expression : written.positional) {
    TRY(arguments.positional.emplace_back(), evaluate(*expression));
  }
  for (const auto& [name, expression] : written.named) {
    TRY(Value value, evaluate(*expression));
    TRY_OK(add_named(arguments, name, std::move(value)));
  }
  if (written.more_positional) {
    TRY(const Value more, evaluate(*written.more_positional));
    TRY(auto items, iterate(context_, more));
    for (Value& item : items) arguments.positional.push_back(std::move(item));
  }
  if (written.more_named) {
    TRY(const Value more, evaluate(*written.more_named));
    if (!more.is_dict()) return failure("argument after ** must be a mapping, not {}", more.type_name());
    const auto& entries = more.mapping().entries();
    // Adding a name searches all others, so the cost is quadratic.
    TRY_OK(context_.budget.steps(entries.size() * (entries.size() + written.named.size())));
    TRY_OK(context_.budget.bytes(entries.size() * kValueBytes * 2));
    for (const auto& [key, value] : entries) {
      if (!key.is_text()) return failure("keywords must be strings");
      TRY_OK(add_named(arguments, key.str(), value));
    }
  }
  return arguments;
}

Result<Value> Evaluator::evaluate_node(const Call& node) {
  TRY(const Value callee, evaluate(*node.callee));
  TRY(const Arguments arguments, evaluate_arguments(node.arguments));
  return call(callee, arguments);
}

Result<Value> Evaluator::call(const Value& callee, const Arguments& arguments) {
  if (const auto* method = callee.as<std::shared_ptr<const Method>>()) {
    return (*method)->operation(context_, (*method)->receiver, arguments);
  }
  if (const auto* macro = callee.as<const Macro*>()) return call_macro(**macro, arguments);
  if (const auto* loop = callee.as<Loop*>()) return call_loop(**loop, arguments);
  if (callee.is_undefined()) return undefined_error(callee);
  return failure("'{}' object is not callable", callee.type_name());
}

// Binds `caller`, `kwargs` and `varargs` to the remaining arguments, if the body uses these names.
Status Evaluator::bind_rest(const MacroStatement& macro, Arguments arguments) {
  auto& variables = scope_->variables;
  const auto is_caller = [](const auto& entry) { return entry.first == "caller"; };
  const auto caller = std::find_if(arguments.named.begin(), arguments.named.end(), is_caller);
  const bool is_parameter = std::any_of(macro.parameters.begin(), macro.parameters.end(),
                                        [](const Parameter& p) { return p.name == "caller"; });
  if (macro.uses_caller && !is_parameter) {
    variables["caller"] =
        caller != arguments.named.end() ? caller->second : Value::undefined("no caller defined");
    if (caller != arguments.named.end()) arguments.named.erase(caller);
  }
  if (macro.uses_kwargs) {
    Dict rest;
    for (auto& [name, value] : arguments.named) rest.set(Value::literal(name), std::move(value));
    variables["kwargs"] = Value::dict(std::move(rest));
  } else if (!arguments.named.empty()) {
    return failure("macro '{}' takes no keyword argument '{}'", macro.name, arguments.named.front().first);
  }
  const std::size_t taken = std::min(arguments.positional.size(), macro.parameters.size());
  std::vector<Value> rest(
      std::make_move_iterator(arguments.positional.begin() + static_cast<std::ptrdiff_t>(taken)),
      std::make_move_iterator(arguments.positional.end()));
  if (macro.uses_varargs) {
    variables["varargs"] = Value::tuple(std::move(rest));
  } else if (!rest.empty()) {
    return failure("macro '{}' takes not more than {} argument(s)", macro.name, macro.parameters.size());
  }
  return base::ok();
}

Status Evaluator::bind_parameters(const MacroStatement& macro, Arguments arguments) {
  std::vector<const Parameter*> missing;
  for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
    const Parameter& parameter = macro.parameters[i];
    Value& variable = scope_->variables[parameter.name];
    if (i < arguments.positional.size()) {
      variable = arguments.positional[i];
      continue;
    }
    const auto given = std::find_if(arguments.named.begin(), arguments.named.end(),
                                    [&](const auto& entry) { return entry.first == parameter.name; });
    if (given != arguments.named.end()) {
      variable = std::move(given->second);
      arguments.named.erase(given);
    } else {
      variable = Value::undefined(fmt::format("parameter '{}' was not provided", parameter.name));
      missing.push_back(&parameter);
    }
  }
  TRY_OK(bind_rest(macro, std::move(arguments)));
  // Evaluated in order, since a default may use earlier parameters.
  for (const Parameter* parameter : missing) {
    if (!parameter->fallback) continue;
    TRY(scope_->variables[parameter->name], evaluate(*parameter->fallback));
  }
  return base::ok();
}

Result<Value> Evaluator::call_macro(const Macro& macro, const Arguments& arguments) {
  Prompt text;
  Prompt* const outside = std::exchange(out_, &text);
  Scope* const before = scope_;
  Scope* const inner = enter(macro.scope);
  const auto status = [&]() -> Status {
    TRY_OK(bind_parameters(*macro.definition, arguments));
    TRY_OK(run(macro.definition->body));
    return base::ok();
  }();
  leave(inner, before);
  out_ = outside;
  if (!status.ok()) return status.error();
  return Value::text(std::move(text));
}

}  // namespace kvasir::text::jinja
