#pragma once

#include <kvasir.pb.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "grammar/grammar_source.h"
#include "remote/text_assets.h"
#include "seam/worker_client.h"
#include "wire/block_changes.h"
#include "wire/embed_request.h"
#include "wire/worker_card.h"

// Turns values into messages and back. A message comes from another process, so its contents are checked
// before they are used. Only this folder includes this header.
namespace kvasir::remote {

// Encodes all but the grammar, which is the caller's task.
void encode(const wire::GenerateRequest& request, proto::Generate& out);
base::Result<wire::GenerateRequest> decode(const proto::Generate& in, int vocab_size);

void encode(const wire::Origin& origin, proto::Origin& out);
wire::Origin decode(const proto::Origin& in);

// Encodes the call to the worker that computes the prompt's blocks up to `end_block` for another worker. The
// caller adds the fingerprint and the form of KV.
void encode(const wire::GenerateRequest& request, int end_block, proto::PrefillRequest& out);
// The result computes the prompt and has no outlet yet.
base::Result<wire::GenerateRequest> decode(const proto::PrefillRequest& in, int vocab_size);

void encode(const grammar::GrammarSource& source, proto::Grammar& out);
base::Result<grammar::GrammarSource> decode(const proto::Grammar& in);

void encode(const wire::EmbedRequest& request, proto::EmbedRequest& out);
// Refuses sequences that are empty or longer than `context_length`.
base::Result<wire::EmbedRequest> decode(const proto::EmbedRequest& in, int vocab_size, int context_length);
void encode(const base::Result<std::vector<float>>& vectors, proto::EmbedReply& out);
// Returns the worker's error, or exactly `num_numbers` numbers.
base::Result<std::vector<float>> decode(const proto::EmbedReply& in, std::size_t num_numbers);

void encode(const base::Error& error, proto::Error& out);
base::Error decode(const proto::Error& in);

// `last` is the usage of the stream's previous event. Both sides keep it; the call sets it to this event's
// usage.
void encode(const wire::TokenEvent& event, wire::Usage& last, proto::Event& out);
base::Result<wire::TokenEvent> decode(const proto::Event& in, wire::Usage& last, int vocab_size);

void encode(const wire::WorkerReport& report, proto::Report& out);
wire::WorkerReport decode_report(const proto::Report& in);
void encode(const seam::Prospect& prospect, proto::Report& out);
base::Result<seam::Prospect> decode_prospect(const proto::Report& in);

void encode(const wire::BlockChanges& changes, proto::Blocks& out);
base::Result<wire::BlockChanges> decode(const proto::Blocks& in);

void encode(const wire::Activity& activity, proto::Activity& out);
wire::Activity decode(const proto::Activity& in);

void encode(const wire::WorkerCard& card, proto::Card& out);
wire::WorkerCard decode(const proto::Card& in);

// Encodes the assets without the files' bytes.
void encode(const TextAssets& assets, proto::TextHead& out);
TextAssets decode(const proto::TextHead& in);

}  // namespace kvasir::remote
