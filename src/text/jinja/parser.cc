#include "text/jinja/parser.h"

#include <algorithm>
#include <initializer_list>
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
constexpr std::size_t kMaxSourceBytes = 1 << 20;

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : cursor_(std::move(tokens)), expressions_(cursor_) {}

  Result<Template> run() {
    TRY(Body body, parse_body({}));
    return Template{std::move(body)};
  }

 private:
  // Statements up to one of the tags `ends`, whose name is the next token then; or up to the end of the
  // template where there are none.
  Result<Body> parse_body(Names ends) {
    if (++block_depth_ > kMaxBlockDepth) return cursor_.failed("blocks nest too deep");
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
    return body;
  }

  bool at_one_of(Names names) const {
    return std::any_of(names.begin(), names.end(), [this](auto name) { return cursor_.at_name(name); });
  }

  // The rest of a tag that is only its name.
  Status finish_tag(std::string_view name) {
    if (!cursor_.skip_name(name)) return cursor_.unexpected(fmt::format("'{}'", name));
    return end_tag();
  }
  Status end_tag() { return cursor_.expect(TokenKind::block_end, "'%}'"); }

  // A block's body and its closing tag.
  Result<Body> parse_block(std::string_view end) {
    TRY_OK(end_tag());
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
    if (tag == "generation") {
      TRY(Body body, parse_block("endgeneration"));
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
    while (true) {
      TRY(ExpressionPtr test, expressions_.parse_tuple());
      TRY_OK(end_tag());
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
    return Statement::Node(std::move(node));
  }

  Result<Target> parse_target() {
    Target target;
    const bool parenthesis = cursor_.skip_symbol("(");
    do {
      TRY(target.names.emplace_back(), cursor_.expect_name());
    } while (cursor_.skip_symbol(",") && cursor_.at(TokenKind::name));
    if (parenthesis) TRY_OK(cursor_.expect_symbol(")"));
    return target;
  }

  Result<Statement::Node> parse_for() {
    For node;
    TRY(node.target, parse_target());
    if (!cursor_.skip_name("in")) return cursor_.unexpected("'in'");
    TRY(node.items, expressions_.parse_tuple_without_if());
    if (cursor_.skip_name("if")) {
      TRY(node.filter, expressions_.parse());
    }
    if (cursor_.at_name("recursive")) return cursor_.failed("recursive loops are not supported");
    TRY_OK(end_tag());
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

  Result<Statement::Node> parse_set() {
    TRY(Target target, parse_target());
    if (target.names.size() == 1 && cursor_.skip_symbol(".")) {
      TRY(target.attribute, cursor_.expect_name());
    }
    if (cursor_.skip_symbol("=")) {
      Set node{.target = std::move(target), .value = nullptr};
      TRY(node.value, expressions_.parse_tuple());
      TRY_OK(end_tag());
      return Statement::Node(std::move(node));
    }
    if (target.names.size() > 1) return cursor_.unexpected("'='");
    SetBlock node{.target = std::move(target), .filter = nullptr, .body = {}};
    if (cursor_.skip_symbol("|")) {
      TRY(node.filter, expressions_.parse_filter_chain());
    }
    TRY(node.body, parse_block("endset"));
    return Statement::Node(std::move(node));
  }

  Result<std::vector<Parameter>> parse_parameters() {
    std::vector<Parameter> parameters;
    TRY_OK(cursor_.expect_symbol("("));
    while (!cursor_.at_symbol(")")) {
      if (!parameters.empty()) TRY_OK(cursor_.expect_symbol(","));
      Parameter parameter;
      TRY(parameter.name, cursor_.expect_name());
      if (cursor_.skip_symbol("=")) {
        TRY(parameter.fallback, expressions_.parse());
      }
      parameters.push_back(std::move(parameter));
    }
    TRY_OK(cursor_.expect_symbol(")"));
    return parameters;
  }

  // A macro's body is no part of a loop around it.
  Result<Body> parse_macro_body(std::string_view end) {
    const int loop_depth = std::exchange(loop_depth_, 0);
    TRY(Body body, parse_block(end));
    loop_depth_ = loop_depth;
    return body;
  }

  Result<Statement::Node> parse_macro() {
    MacroStatement node;
    TRY(node.name, cursor_.expect_name());
    TRY(node.parameters, parse_parameters());
    TRY(node.body, parse_macro_body("endmacro"));
    return Statement::Node(std::move(node));
  }

  Result<Statement::Node> parse_call_block() {
    CallBlock node;
    node.caller.name = "caller";
    if (cursor_.at_symbol("(")) {
      TRY(node.caller.parameters, parse_parameters());
    }
    TRY(node.call, expressions_.parse());
    if (!std::holds_alternative<Call>(node.call->node)) return cursor_.failed("a call block needs a call");
    TRY(node.caller.body, parse_macro_body("endcall"));
    return Statement::Node(std::move(node));
  }

  Result<Statement::Node> parse_filter_block() {
    FilterBlock node;
    TRY(node.filter, expressions_.parse_filter_chain());
    TRY(node.body, parse_block("endfilter"));
    return Statement::Node(std::move(node));
  }

  Result<Statement::Node> parse_with() {
    With node;
    while (cursor_.at(TokenKind::name)) {
      std::string name = cursor_.take().text;
      TRY_OK(cursor_.expect_symbol("="));
      TRY(ExpressionPtr value, expressions_.parse());
      node.variables.emplace_back(std::move(name), std::move(value));
      if (!cursor_.skip_symbol(",")) break;
    }
    TRY(node.body, parse_block("endwith"));
    return Statement::Node(std::move(node));
  }

  TokenCursor cursor_;
  ExpressionParser expressions_;
  int block_depth_ = 0;
  int loop_depth_ = 0;
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
