#include "grammar/string_formats.h"

#include <fmt/format.h>

namespace kvasir::grammar {
namespace {

const std::string kYear = "(?:[1-9]\\d{3}|0[1-9]\\d\\d|00[1-9]\\d|000[1-9])";
const std::string kLeapYear =
    "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)";
const std::string kDate =
    "(?:" + kYear +
    "-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|"
    "02-(?:0[1-9]|1\\d|2[0-8]))|" +
    kLeapYear + "-02-29)";
const std::string kTime =
    "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)";
// At most 61 and 29 characters in a label, so at most 247 in a name.
const std::string kLabel = "[a-zA-Z0-9](?:-?[a-zA-Z0-9]){0,30}";
const std::string kShortLabel = "[a-zA-Z0-9](?:-?[a-zA-Z0-9]){0,14}";
const std::string kHostname =
    kLabel + "(?:\\." + kLabel + "){0,3}|" + kShortLabel + "(?:\\." + kShortLabel + "){4,7}";
// The parts have no limits of their own; `maxLength` sets one.
const std::string kLocalChar = "[a-zA-Z0-9!#$%&'*+/=?^_~-]";
const std::string kPlainLabel = "[a-zA-Z0-9](?:-?[a-zA-Z0-9])*";
const std::string kEmail =
    kLocalChar + "(?:\\.?" + kLocalChar + ")*@" + kPlainLabel + "(?:\\." + kPlainLabel + ")+";
const std::string kOctet = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const std::string kIpv4 = kOctet + "(?:\\." + kOctet + "){3}";
const std::string kPort = "(?:6553[0-5]|655[0-2]\\d|65[0-4]\\d\\d|6[0-4]\\d{3}|[1-5]\\d{4}|[1-9]\\d{0,3})";
const std::string kJsonPointer = "(?:/(?:[^/~]|~[01])*)*";
const std::string kUuid = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}";
const std::string kDuration =
    "P(?:\\d{1,4}W|(?:\\d{1,4}Y(?:\\d{1,3}M(?:\\d{1,4}D)?)?|\\d{1,3}M(?:\\d{1,4}D)?|\\d{1,4}D)"
    "(?:T(?:\\d{1,4}H(?:\\d{1,4}M(?:\\d{1,4}S)?)?|\\d{1,4}M(?:\\d{1,4}S)?|\\d{1,4}S))?|"
    "T(?:\\d{1,4}H(?:\\d{1,4}M(?:\\d{1,4}S)?)?|\\d{1,4}M(?:\\d{1,4}S)?|\\d{1,4}S))";

// Eight groups, or fewer around one "::".
std::string ipv6() {
  const std::string group = "[0-9a-fA-F]{1,4}";
  std::string out = fmt::format("(?:{0}:){{7}}{0}", group);
  for (int before = 0; before <= 6; ++before) {
    const int after = 6 - before;
    const std::string left = before == 0 ? "" : fmt::format("{0}(?::{0}){{{1}}}", group, before - 1);
    const std::string right = after == 0 ? "" : fmt::format("(?:{0}(?::{0}){{0,{1}}})?", group, after - 1);
    out += fmt::format("|{}::{}", left, right);
  }
  return out + fmt::format("|{}::", fmt::format("{0}(?::{0}){{6}}", group));
}

// RFC 3986 without addresses in brackets, and without paths that begin with a slash after the scheme alone
// ("http:/x"). `more` are further characters, which an IRI may have.
struct UriParts {
  explicit UriParts(const std::string& more) {
    const std::string escape = "%[0-9A-Fa-f]{2}";
    const std::string plain = "a-zA-Z0-9._~!$&'()*+,;=" + more;
    const std::string segment_char = "(?:[" + plain + ":@-]|" + escape + ")";
    const std::string user = "(?:[" + plain + ":-]|" + escape + ")*@";
    const std::string host = "(?:[" + plain + "-]|" + escape + ")*";
    const std::string any_path = "(?:[" + plain + ":@/-]|" + escape + ")*";
    const std::string tail = "(?:[" + plain + ":@/?-]|" + escape + ")*";
    const std::string authority = "//(?:" + user + ")?" + host + "(?::" + kPort + ")?(?:/" + any_path + ")?";
    const std::string first_segment = "(?:[" + plain + "@-]|" + escape + ")+";
    const std::string ends = "(?:\\?" + tail + ")?(?:#" + tail + ")?";
    absolute = "[a-zA-Z][a-zA-Z0-9+.-]*:(?:" + authority + "|" + segment_char + any_path + ")" + ends;
    relative = "(?:" + authority + "|/(?:" + segment_char + any_path + ")?|" + first_segment + "(?:/" +
               any_path + ")?|)" + ends;
  }
  std::string absolute;
  std::string relative;
};

std::optional<std::string> regex_of_uri_format(std::string_view format) {
  const bool iri = format.starts_with("iri");
  const UriParts parts(iri ? "\\u00A0-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFEF" : "");
  if (format == "uri" || format == "url" || format == "iri") return parts.absolute;
  if (format == "uri-reference" || format == "iri-reference") return parts.absolute + "|" + parts.relative;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> regex_of_format(std::string_view format) {
  if (format == "date") return kDate;
  if (format == "time") return kTime;
  if (format == "date-time") return kDate + "T" + kTime;
  if (format == "duration") return kDuration;
  if (format == "email" || format == "idn-email") return kEmail;
  if (format == "hostname" || format == "idn-hostname") return kHostname;
  if (format == "ipv4") return kIpv4;
  if (format == "ipv6") return ipv6();
  if (format == "uuid") return kUuid;
  if (format == "json-pointer") return kJsonPointer;
  if (format == "relative-json-pointer") return "(?:0|[1-9]\\d{0,6})(?:#|" + kJsonPointer + ")";
  return regex_of_uri_format(format);
}

}  // namespace kvasir::grammar
