#include "text/jinja/parser.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>

#include "text/jinja/expression_parser.h"
#include "text/jinja/lexer.h"
#include "text/jinja/token_cursor.h"

namespace kvasir::text::jinja {
namespace {

using base::Result;
using base::Status;
using Names = std::initializer_list<std::string_view>;

constexpr int kMaxBlockDepth = 50;
constexpr int kMaxTargetDepth = 20;
constexpr std::size_t kMaxSourceBytes = 1 << 20;

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : cursor_(std::move(tokens)), expressions_(cursor_) {}

  Result<Template> run() {
    TRY(Body body, parse_body({}));
    return Template{std::move(body)};
  }

 private:
  // Parses statements up to one of the tags `ends`, whose name is then the next token. If `ends` is empty,
  // parses to the end of the template.
  Result<Body> parse_body(Names ends) {
    if (++block_depth_ > kMaxBlockDepth) return cursor_.failed("blocks nest too deep");
    const std::size_t num_unknown = expressions_.num_unknown();
    const bool conditional = ends.size() > 0 && *(ends.end() - 1) == "endif";
    Body body;
    while (true) {
      const int line = cursor_.line();
      if (cursor_.at(TokenKind::end)) {
        if (ends.size() == 0) break;
        return cursor_.unexpected(fmt::format("'{}'", *(ends.end() - 1)));
      }
      if (cursor_.at(TokenKind::data)) {
        body.push_back({Data{cursor_.take().text}, line});
      } else if (cursor_.at(TokenKind::variable_begin)) {
        cursor_.take();
        TRY(ExpressionPtr value, expressions_.parse_tuple());
        TRY_OK(cursor_.expect(TokenKind::variable_end, "'}}'"));
        body.push_back({Output{std::move(value)}, line});
      } else {
        TRY_OK(cursor_.expect(TokenKind::block_begin, "'{%'"));
        if (at_one_of(ends)) break;
        TRY(Statement statement, parse_statement());
        body.push_back(std::move(statement));
      }
    }
    --block_depth_;
    if (!conditional) TRY_OK(expressions_.refuse_unknown(num_unknown));
    return body;
  }

  bool at_one_of(Names names) const {
    return std::any_of(names.begin(), names.end(), [this](auto name) { return cursor_.at_name(name); });
  }

  // Parses the rest of a tag that consists of only its name.
  Status finish_tag(std::string_view name) {
    if (!cursor_.skip_name(name)) return cursor_.unexpected(fmt::format("'{}'", name));
    return end_tag();
  }
  Status end_tag() { return cursor_.expect(TokenKind::block_end, "'%}'"); }

  // Parses the end of a tag that has a body.
  Status open_body() {
    cursor_.skip_symbol(":");
    return end_tag();
  }

  // Parses a block's body and its closing tag.
  Result<Body> parse_block(std::string_view end) {
    TRY_OK(open_body());
    TRY(Body body, parse_body({end}));
    TRY_OK(finish_tag(end));
    return body;
  }

  Result<Statement> parse_statement() {
    const int line = cursor_.line();
    TRY(const std::string tag, cursor_.expect_name());
    TRY(auto node, parse_tag(tag));
    return Statement{std::move(node), line};
  }

  Result<Statement::Node> parse_tag(const std::string& tag) {
    if (tag == "if") return parse_if();
    if (tag == "for") return parse_for();
    if (tag == "set") return parse_set();
    if (tag == "macro") return parse_macro();
    if (tag == "call") return parse_call_block();
    if (tag == "filter") return parse_filter_block();
    if (tag == "with") return parse_with();
    if (tag == "print") return parse_print();
    if (tag == "block") return parse_named_block();
    if (tag == "autoescape") return parse_autoescape();
    if (tag == "generation") {
      TRY(Body body, parse_macro_body("endgeneration"));
      return Statement::Node(Group{std::move(body)});
    }
    if (tag == "break" || tag == "continue") {
      if (loop_depth_ == 0) return cursor_.failed("'" + tag + "' outside of a loop");
      TRY_OK(end_tag());
      if (tag == "break") return Statement::Node(Break{});
      return Statement::Node(Continue{});
    }
    return cursor_.failed("unknown tag '" + tag + "'");
  }

  Result<Statement::Node> parse_if() {
    If node;
    const std::size_t num_unknown = expressions_.num_unknown();
    while (true) {
      TRY(ExpressionPtr test, expressions_.parse_tuple_without_if());
      TRY_OK(open_body());
      TRY(Body body, parse_body({"elif", "else", "endif"}));
      node.branches.emplace_back(std::move(test), std::move(body));
      if (!cursor_.skip_name("elif")) break;
    }
    if (cursor_.at_name("else")) {
      cursor_.take();
      TRY(node.otherwise, parse_block("endif"));
    } else {
      TRY_OK(finish_tag("endif"));
    }
    expressions_.allow_unknown(num_unknown);
    return Statement::Node(std::move(node));
  }

  enum class Namespaces { allowed, forbidden };

  Result<std::string> parse_variable() {
    TRY(std::string name, cursor_.expect_name());
    for (const char* constant : {"true", "True", "false", "False", "none", "None"}) {
      if (name == constant) return cursor_.failed("cannot assign to '" + name + "'");
    }
    return name;
  }

  // Parses one of several targets: a name, `namespace.name`, or targets in parentheses.
  Result<Target> parse_one_target(Namespaces namespaces) {
    Target target;
    if (cursor_.skip_symbol("(")) {
      if (++target_depth_ > kMaxTargetDepth) return cursor_.failed("targets nest too deep");
      if (!cursor_.at_symbol(")")) {
        TRY(target, parse_target(Namespaces::forbidden));
      }
      --target_depth_;
      TRY_OK(cursor_.expect_symbol(")"));
      return target;
    }
    TRY(target.name, parse_variable());
    if (namespaces == Namespaces::allowed && cursor_.skip_symbol(".")) {
      TRY(target.attribute, cursor_.expect_name());
    }
    return target;
  }

  Result<Target> parse_target(Namespaces namespaces) {
    TRY(Target first, parse_one_target(namespaces));
    if (!cursor_.at_symbol(",")) return first;
    Target several;
    several.parts.push_back(std::move(first));
    while (cursor_.skip_symbol(",")) {
      if (cursor_.at_name("in") || !(cursor_.at(TokenKind::name) || cursor_.at_symbol("("))) break;
      TRY(several.parts.emplace_back(), parse_one_target(namespaces));
    }
    return several;
  }

  static bool names(const Target& target, std::string_view name) {
    return target.name == name || std::any_of(target.parts.begin(), target.parts.end(),
                                              [&](const Target& part) { return names(part, name); });
  }

  Result<Statement::Node> parse_for() {
    For node;
    TRY(node.target, parse_target(Namespaces::forbidden));
    if (names(node.target, "loop")) return cursor_.failed("cannot assign to 'loop' in a for");
    if (!cursor_.skip_name("in")) return cursor_.unexpected("'in'");
    TRY(node.items, expressions_.parse_tuple_without_if());
    if (cursor_.skip_name("if")) {
      const std::size_t num_unknown = expressions_.num_unknown();
      TRY(node.filter, expressions_.parse());
      TRY_OK(expressions_.refuse_unknown(num_unknown));
    }
    node.recursive = cursor_.skip_name("recursive");
    TRY_OK(open_body());
    ++loop_depth_;
    TRY(node.body, parse_body({"else", "endfor"}));
    --loop_depth_;
    if (cursor_.at_name("else")) {
      cursor_.take();
      TRY(node.otherwise, parse_block("endfor"));
    } else {
      TRY_OK(finish_tag("endfor"));
    }
    return Statement::Node(std::move(node));
  }

  // Parses the filters that are applied to a block's text.
  Result<ExpressionPtr> parse_block_filter() {
    const std::size_t num_unknown = expressions_.num_unknown();
    TRY(ExpressionPtr chain, expressions_.parse_filter_chain());
    TRY_OK(expressions_.refuse_unknown(num_unknown));
    return chain;
  }

  Result<Statement::Node> parse_set() {
    TRY(Target target, parse_target(Namespaces::allowed));
    if (cursor_.skip_symbol("=")) {
      Set node{.target = std::move(target), .value = nullptr};
      TRY(node.value, expressions_.parse_tuple());
      TRY_OK(end_tag());
      return Statement::Node(std::move(node));
    }
    SetBlock node{.target = std::move(target), .filter = nullptr, .body = {}};
    if (cursor_.skip_symbol("|")) {
      TRY(node.filter, parse_block_filter());
    }
    TRY(node.body, parse_block("endset"));
    return Statement::Node(std::move(node));
  }

  Result<std::vector<Parameter>> parse_parameters() {
    std::vector<Parameter> parameters;
    const std::size_t num_unknown = expressions_.num_unknown();
    TRY_OK(cursor_.expect_symbol("("));
    while (!cursor_.at_symbol(")")) {
      if (!parameters.empty()) TRY_OK(cursor_.expect_symbol(","));
      Parameter parameter;
      TRY(parameter.name, cursor_.expect_name());
      for (const Parameter& other : parameters) {
        if (other.name == parameter.name) return cursor_.failed("two parameters '" + other.name + "'");
      }
      if (cursor_.skip_symbol("=")) {
        TRY(parameter.fallback, expressions_.parse());
      } else if (!parameters.empty() && parameters.back().fallback) {
        return cursor_.failed("a parameter without a default follows one with it");
      }
      parameters.push_back(std::move(parameter));
    }
    TRY_OK(cursor_.expect_symbol(")"));
    TRY_OK(expressions_.refuse_unknown(num_unknown));
    return parameters;
  }

  // Parses a macro's body. The body does not belong to a loop around it.
  Result<Body> parse_macro_body(std::string_view end) {
    const int loop_depth = std::exchange(loop_depth_, 0);
    TRY(Body body, parse_block(end));
    loop_depth_ = loop_depth;
    return body;
  }

  // Parses a macro's body, and notes which special variables it uses.
  Status parse_macro_body(std::string_view end, MacroStatement& macro) {
    const SpecialNames outside = std::exchange(expressions_.special_names(), {});
    TRY(macro.body, parse_macro_body(end));
    SpecialNames& inside = expressions_.special_names();
    macro.uses_caller = inside.caller;
    macro.uses_kwargs = inside.kwargs;
    macro.uses_varargs = inside.varargs;
    inside.caller |= outside.caller;
    inside.kwargs |= outside.kwargs;
    inside.varargs |= outside.varargs;
    return base::ok();
  }

  Result<Statement::Node> parse_macro() {
    MacroStatement node;
    TRY(node.name, parse_variable());
    TRY(node.parameters, parse_parameters());
    TRY_OK(parse_macro_body("endmacro", node));
    return Statement::Node(std::move(node));
  }

  Result<Statement::Node> parse_call_block() {
    CallBlock node;
    if (cursor_.at_symbol("(")) {
      TRY(node.caller.parameters, parse_parameters());
    }
    TRY(node.call, expressions_.parse());
    if (!std::holds_alternative<Call>(node.call->node)) return cursor_.failed("a call block needs a call");
    TRY_OK(parse_macro_body("endcall", node.caller));
    return Statement::Node(std::move(node));
  }

  Result<Statement::Node> parse_print() {
    Concatenation parts;
    const int line = cursor_.line();
    while (!cursor_.at(TokenKind::block_end)) {
      if (!parts.parts.empty()) TRY_OK(cursor_.expect_symbol(","));
      TRY(parts.parts.emplace_back(), expressions_.parse());
    }
    TRY_OK(end_tag());
    TRY(ExpressionPtr all, expressions_.concatenated(line, std::move(parts)));
    return Statement::Node(Output{std::move(all)});
  }

  Result<Statement::Node> parse_named_block() {
    Block node;
    TRY(node.name, cursor_.expect_name());
    if (!block_names_.insert(node.name).second)
      return cursor_.failed("block '" + node.name + "' is there twice");
    if (!cursor_.skip_name("scoped") && cursor_.at_name("required"))
      return cursor_.failed("a template stands alone: it cannot require a block");
    const int loop_depth = std::exchange(loop_depth_, 0);
    TRY_OK(open_body());
    TRY(node.body, parse_body({"endblock"}));
    cursor_.take();
    cursor_.skip_name(node.name);
    TRY_OK(end_tag());
    loop_depth_ = loop_depth;
    return Statement::Node(std::move(node));
  }

  // Only `autoescape false` is supported, since nothing is ever escaped automatically.
  Result<Statement::Node> parse_autoescape() {
    if (!cursor_.skip_name("false") && !cursor_.skip_name("False"))
      return cursor_.failed("only 'autoescape false' is supported");
    TRY(Body body, parse_block("endautoescape"));
    return Statement::Node(Group{std::move(body)});
  }

  Result<Statement::Node> parse_filter_block() {
    FilterBlock node;
    TRY(node.filter, parse_block_filter());
    TRY(node.body, parse_block("endfilter"));
    return Statement::Node(std::move(node));
  }

  Result<Statement::Node> parse_with() {
    With node;
    while (!cursor_.at(TokenKind::block_end) && !cursor_.at_symbol(":")) {
      if (!node.variables.empty()) TRY_OK(cursor_.expect_symbol(","));
      TRY(Target target, parse_target(Namespaces::forbidden));
      TRY_OK(cursor_.expect_symbol("="));
      TRY(ExpressionPtr value, expressions_.parse());
      node.variables.emplace_back(std::move(target), std::move(value));
    }
    TRY(node.body, parse_block("endwith"));
    return Statement::Node(std::move(node));
  }

  TokenCursor cursor_;
  ExpressionParser expressions_;
  std::set<std::string> block_names_;
  int block_depth_ = 0;
  int loop_depth_ = 0;
  int target_depth_ = 0;
};

}  // namespace

Result<Template> parse(std::string_view source) {
  if (source.size() > kMaxSourceBytes) {
    return base::error(base::ErrorCode::too_large, "the template has {} bytes, more than {}", source.size(),
                       kMaxSourceBytes);
  }
  TRY(auto tokens, tokenize(source));
  return Parser(std::move(tokens)).run();
}

}  // namespace kvasir::text::jinja
