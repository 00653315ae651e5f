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
    "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,6})?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)";
// At most 59 characters in a label and 239 in a name.
const std::string kLabel = "[a-zA-Z0-9]{1,14}(?:-[a-zA-Z0-9]{1,14}){0,3}";
const std::string kHostname = kLabel + "(?:\\." + kLabel + "){0,3}";
const std::string kLocalPart = "[a-zA-Z0-9_+-]{1,20}(?:\\.[a-zA-Z0-9_+-]{1,20}){0,2}";
const std::string kEmail = kLocalPart + "@" + kLabel + "(?:\\." + kLabel + "){1,3}";
const std::string kOctet = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const std::string kIpv4 = kOctet + "(?:\\." + kOctet + "){3}";
const std::string kPathChars = "[a-zA-Z0-9._~!$&'()*+,;=:@-]|%[0-9A-F]{2}";
const std::string kUri = "[a-z][a-z0-9+.-]{1,15}://" + kHostname + "(?::[1-9]\\d{0,3})?(?:/(?:" + kPathChars +
                         ")*)*(?:\\?(?:" + kPathChars + "|[/?])*)?(?:#(?:" + kPathChars + "|[/?])*)?";
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
  if (format == "uri" || format == "url" || format == "iri" || format == "uri-reference") return kUri;
  if (format == "uuid") return kUuid;
  return std::nullopt;
}

}  // namespace kvasir::grammar
