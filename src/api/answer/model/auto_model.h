#pragma once

#include <cstddef>
#include <string_view>

#include "api/answer/question/question.h"
#include "api/http/service/service.h"
#include "tenancy/caller.h"

namespace kvasir::api {

// The name under which the server chooses the model. A model that is really called so takes precedence.
inline constexpr std::string_view kAutoModel = "auto";

// If the question is for "auto", sets its model to the small or the large one of those that are ready and
// that the caller may use, by the question's difficulty. A question too long for the chosen one's context
// goes to the other if that one has a longer context. `num_bytes`: of the whole request. An effort that the
// chosen model does not take has done its work and is removed. unavailable, not_found: as for a model that
// is not ready or not there.
base::Status choose_model(const Service& service, const tenancy::Caller& caller, ChatRequest& chat,
                          std::size_t num_bytes);
base::Status choose_model(const Service& service, const tenancy::Caller& caller, QuestionText& text,
                          std::size_t num_bytes);

}  // namespace kvasir::api
