#include "api/batches/batch_request.h"
#include "api/batches/endpoints.h"
#include "api/http/json/object_schema.h"
#include "api/http/json/page_query.h"
#include "api/http/service/route.h"

namespace kvasir::api {

namespace {

constexpr NamedSchema kFileSchemas[] = {
    {"File", R"({"type": "object", "required": ["id", "object", "bytes", "created_at", "filename", "purpose"],
        "properties": {
          "id": {"type": "string"}, "object": {"const": "file"}, "bytes": {"type": "integer", "minimum": 0},
          "created_at": {"type": "integer"}, "expires_at": {"type": ["integer", "null"]},
          "filename": {"type": "string"}, "purpose": {"type": "string"}, "status": {"const": "processed"}}})"},
    {"FileList", R"({"type": "object", "required": ["object", "data", "has_more"], "properties": {
        "object": {"const": "list"}, "first_id": {"type": ["string", "null"]},
        "last_id": {"type": ["string", "null"]}, "has_more": {"type": "boolean"},
        "data": {"type": "array", "items": {"$ref": "#/components/schemas/File"}}}})"},
    {"Batch", R"({"type": "object", "required": ["id", "object", "endpoint", "status", "request_counts"],
        "properties": {
          "id": {"type": "string"}, "object": {"const": "batch"}, "endpoint": {"type": "string"},
          "status": {"enum": ["validating", "in_progress", "finalizing", "completed", "failed", "cancelling",
                              "cancelled"]},
          "input_file_id": {"type": "string"}, "output_file_id": {"type": ["string", "null"]},
          "error_file_id": {"type": ["string", "null"]}, "created_at": {"type": "integer"},
          "request_counts": {"type": "object", "required": ["total", "completed", "failed"], "properties": {
            "total": {"type": "integer"}, "completed": {"type": "integer"}, "failed": {"type": "integer"}}}}})"},
    {"BatchList", R"({"type": "object", "required": ["object", "data", "has_more"], "properties": {
        "object": {"const": "list"}, "first_id": {"type": ["string", "null"]},
        "last_id": {"type": ["string", "null"]}, "has_more": {"type": "boolean"},
        "data": {"type": "array", "items": {"$ref": "#/components/schemas/Batch"}}}})"},
};

json::object upload_schema() {
  return schema_literal(R"({"type": "object", "required": ["file", "purpose"], "properties": {
      "file": {"type": "string", "format": "binary"},
      "purpose": {"enum": ["assistants", "batch", "evals", "fine-tune", "user_data", "vision"]}}})")
      .get_object();
}

constexpr Answer kFile[] = {{200, "The file.", "File"}};
constexpr Answer kFiles[] = {{200, "A page of them.", "FileList"}};
constexpr Answer kContent[] = {{200, "Its bytes.", {}, "application/octet-stream"}};
constexpr Answer kDeleted[] = {{200, "It is gone.", "Deleted"}};
constexpr Answer kBatch[] = {{200, "The batch.", "Batch"}};
constexpr Answer kBatches[] = {{200, "A page of them.", "BatchList"}};

constexpr Route kFileRoutes[] = {
    {.method = "POST",
     .path = "/v1/files",
     .kind = RouteKind::work,
     .handle = handle_create_file,
     .summary = "Uploads a file",
     .answers = kFile,
     .body = upload_schema,
     .body_media = "multipart/form-data"},
    {.method = "GET",
     .path = "/v1/files",
     .kind = RouteKind::view,
     .handle = handle_list_files,
     .summary = "The files",
     .answers = kFiles,
     .query = file_query_schema},
    {.method = "GET",
     .path = "/v1/files/{id}",
     .kind = RouteKind::view,
     .handle = handle_file,
     .summary = "One file",
     .answers = kFile},
    {.method = "DELETE",
     .path = "/v1/files/{id}",
     .kind = RouteKind::work,
     .handle = handle_delete_file,
     .summary = "Deletes a file",
     .answers = kDeleted},
    {.method = "GET",
     .path = "/v1/files/{id}/content",
     .kind = RouteKind::view,
     .handle = handle_file_content,
     .summary = "A file's bytes",
     .answers = kContent},
    {.method = "POST",
     .path = "/v1/batches",
     .kind = RouteKind::work,
     .handle = handle_create_batch,
     .summary = "Many requests in a file, to be answered in a file",
     .answers = kBatch,
     .body = batch_request_schema},
    {.method = "GET",
     .path = "/v1/batches",
     .kind = RouteKind::view,
     .handle = handle_list_batches,
     .summary = "The batches",
     .answers = kBatches,
     .query = list_query_schema},
    {.method = "GET",
     .path = "/v1/batches/{id}",
     .kind = RouteKind::view,
     .handle = handle_batch,
     .summary = "One batch",
     .answers = kBatch},
    {.method = "POST",
     .path = "/v1/batches/{id}/cancel",
     .kind = RouteKind::work,
     .handle = handle_cancel_batch,
     .summary = "Stops a batch; what was finished is in its output",
     .answers = kBatch},
};

}  // namespace

RouteGroup file_routes() {
  return {"Files and batches", kFileRoutes, kFileSchemas};
}

}  // namespace kvasir::api
