#pragma once

#include <cstddef>
#include <string_view>

#include "api/answer/question/question.h"
#include "api/http/service/service.h"
#include "tenancy/caller.h"

namespace kvasir::api {

// The name that lets the server choose the model. A model that really has this name takes precedence.
inline constexpr std::string_view kAutoModel = "auto";

// If the question is for "auto", sets its model by the question's difficulty: the small or the large one of
// the models that are ready and that the caller may use. A question too long for that model's context goes to
// the other one if its context is longer. `num_bytes` is the size of the whole request. Removes an effort
// that the chosen model does not take, since it has served its purpose. Fails with unavailable or not_found,
// as for a named model that is not ready or does not exist.
base::Status choose_model(const Service& service, const tenancy::Caller& caller, ChatRequest& chat,
                          std::size_t num_bytes);
base::Status choose_model(const Service& service, const tenancy::Caller& caller, QuestionText& text,
                          std::size_t num_bytes);

}  // namespace kvasir::api
