#include "ops/types/kv_layer.h"

namespace kvasir::ops {

std::string_view name(KvType type) {
  switch (type) {
    case KvType::f32:
      return "f32";
    case KvType::f16:
      return "f16";
    case KvType::bf16:
      return "bf16";
    case KvType::int8:
      return "int8";
  }
  return "unknown";
}

KvType kv_type_named(std::string_view wanted) {
  for (const KvType type : {KvType::f32, KvType::bf16, KvType::int8}) {
    if (name(type) == wanted) return type;
  }
  return KvType::f16;
}

}  // namespace kvasir::ops
