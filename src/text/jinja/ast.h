#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/value.h"

namespace kvasir::text::jinja {

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<Expression>;
using Body = std::vector<Statement>;

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr more_positional;  // after `*`; may be null
  ExpressionPtr more_named;       // after `**`; may be null
};

struct Constant {
  Value value;
};
struct Name {
  std::string name;
};
struct ListDisplay {
  std::vector<ExpressionPtr> items;
  bool tuple = false;
};
struct DictDisplay {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> entries;
};
enum class UnaryOperator { negate, plus, logical_not };
struct Unary {
  UnaryOperator op;
  ExpressionPtr operand;
};
enum class BinaryOperator {
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,
  logical_and,
  logical_or
};
struct Binary {
  BinaryOperator op;
  ExpressionPtr left;
  ExpressionPtr right;
};
struct Concatenation {
  std::vector<ExpressionPtr> parts;
};
enum class Comparator { equal, not_equal, less, less_equal, greater, greater_equal, in, not_in };
struct Comparison {
  ExpressionPtr first;
  std::vector<std::pair<Comparator, ExpressionPtr>> rest;
};
struct Conditional {
  ExpressionPtr test;
  ExpressionPtr then;
  ExpressionPtr otherwise;  // may be null
};
struct AttributeAccess {
  ExpressionPtr object;
  std::string name;
};
struct ItemAccess {
  ExpressionPtr object;
  ExpressionPtr key;
};
struct SliceAccess {
  ExpressionPtr object;
  ExpressionPtr begin;  // each may be null
  ExpressionPtr end;
  ExpressionPtr step;
};
struct Call {
  ExpressionPtr callee;
  CallArguments arguments;
};
struct FilterCall {
  ExpressionPtr subject;  // null in a filter block, where it is the block's text
  std::string name;
  CallArguments arguments;
};
struct TestCall {
  ExpressionPtr subject;
  std::string name;
  CallArguments arguments;
};

struct Expression {
  using Node =
      std::variant<Constant, Name, ListDisplay, DictDisplay, Unary, Binary, Concatenation, Comparison,
                   Conditional, AttributeAccess, ItemAccess, SliceAccess, Call, FilterCall, TestCall>;
  Node node;
  int line = 0;
  int depth = 1;  // depth of the tree that begins here; the parser bounds it
};

struct Data {
  std::string text;
};
struct Output {
  ExpressionPtr value;
};
struct If {
  std::vector<std::pair<ExpressionPtr, Body>> branches;
  Body otherwise;
};
// A target is `name`, `namespace.attribute`, or a tuple of targets in `parts`, which may be empty.
struct Target {
  std::string name;       // empty if the target is a tuple
  std::string attribute;  // not empty: an attribute of the namespace `name`
  std::vector<Target> parts;
};
struct For {
  Target target;
  ExpressionPtr items;
  ExpressionPtr filter;  // may be null
  Body body;
  Body otherwise;
  bool recursive = false;  // the body may call `loop`
};
struct Set {
  Target target;
  ExpressionPtr value;
};
struct SetBlock {
  Target target;
  ExpressionPtr filter;  // a chain of FilterCalls, or null
  Body body;
};
struct FilterBlock {
  ExpressionPtr filter;
  Body body;
};
struct Parameter {
  std::string name;
  ExpressionPtr fallback;  // may be null
};
struct MacroStatement {
  std::string name;  // empty if this is the macro of a call block
  std::vector<Parameter> parameters;
  Body body;
  // Whether the body uses the variable of this name, so that the macro takes more than its parameters.
  bool uses_caller = false;
  bool uses_kwargs = false;
  bool uses_varargs = false;
};
// The body of a call block becomes the macro `caller`, which the called macro may call.
struct CallBlock {
  ExpressionPtr call;
  MacroStatement caller;
};
struct With {
  std::vector<std::pair<Target, ExpressionPtr>> variables;
  Body body;
};
// A block with variables of its own: `generation`, which only marks its body, or `autoescape false`.
struct Group {
  Body body;
};
// A named block. Its body sees only the outermost variables.
struct Block {
  std::string name;
  Body body;
};
struct Break {};
struct Continue {};

struct Statement {
  using Node = std::variant<Data, Output, If, For, Set, SetBlock, FilterBlock, MacroStatement, CallBlock,
                            With, Group, Block, Break, Continue>;
  Node node;
  int line = 0;
};

struct Template {
  Body body;
};

}  // namespace kvasir::text::jinja
