#include "kv/block_pool.h"

#include "base/check.h"

namespace kvasir::kv {

WritableBlock& WritableBlock::operator=(WritableBlock&& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(id_, other.id_);
  return *this;
}

WritableBlock::~WritableBlock() {
  if (pool_) pool_->drop_writable(id_);
}

BlockRef::BlockRef(const BlockRef& other) : pool_(other.pool_), id_(other.id_) {
  if (pool_) pool_->add_ref(id_);
}

BlockRef& BlockRef::operator=(BlockRef other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(id_, other.id_);
  return *this;
}

BlockRef::~BlockRef() {
  if (pool_) pool_->drop_ref(id_);
}

BlockPool::BlockPool(int num_blocks) : slots_(num_blocks) {
  CHECK(num_blocks > 0, "a pool of {} blocks", num_blocks);
  for (BlockId id = 0; id < num_blocks; ++id) push_back(free_, id);
}

BlockPool::~BlockPool() {
  CHECK(num_available() == num_blocks(), "{} blocks outlive their pool", num_blocks() - num_available());
}

OwnerId BlockPool::add_owner() {
  if (unused_owners_.empty()) {
    owners_.emplace_back();
    unused_owners_.push_back(static_cast<OwnerId>(owners_.size()) - 1);
  }
  const OwnerId owner = unused_owners_.back();
  unused_owners_.pop_back();
  owners_[owner].last_used_s = now_s_;
  return owner;
}

void BlockPool::remove_owner(OwnerId owner) {
  CHECK(owners_[owner].cached.size == 0, "owner {} has cached blocks", owner);
  unused_owners_.push_back(owner);
}

WritableBlock BlockPool::take(BlockId id) {
  CHECK(is_free(id), "block {} is not free", id);
  remove(free_, id);
  slots_[id].state = State::writable;
  slots_[id].num_refs = 1;
  return WritableBlock(this, id);
}

BlockRef BlockPool::publish(WritableBlock block, OwnerId owner) {
  CHECK(block.pool_ == this, "block {} belongs to another pool", block.id_);
  const BlockId id = block.id_;
  block.pool_ = nullptr;
  slots_[id].state = State::shared;
  slots_[id].owner = owner;
  owners_[owner].last_used_s = now_s_;
  return BlockRef(this, id);
}

BlockRef BlockPool::share(BlockId id) {
  add_ref(id);
  return BlockRef(this, id);
}

void BlockPool::evict(BlockId id) {
  CHECK(is_cached(id), "block {} is not cached", id);
  remove(owners_[slots_[id].owner].cached, id);
  --num_cached_;
  slots_[id].state = State::free;
  push_back(free_, id);
}

void BlockPool::push_back(List& list, BlockId id) {
  slots_[id].prev = list.tail;
  slots_[id].next = kNoBlock;
  (list.tail == kNoBlock ? list.head : slots_[list.tail].next) = id;
  list.tail = id;
  ++list.size;
}

void BlockPool::remove(List& list, BlockId id) {
  const Slot& slot = slots_[id];
  (slot.prev == kNoBlock ? list.head : slots_[slot.prev].next) = slot.next;
  (slot.next == kNoBlock ? list.tail : slots_[slot.next].prev) = slot.prev;
  --list.size;
}

void BlockPool::add_ref(BlockId id) {
  Slot& slot = slots_[id];
  CHECK(slot.state == State::shared || slot.state == State::cached, "block {} is not published", id);
  Owner& owner = owners_[slot.owner];
  owner.last_used_s = now_s_;
  if (slot.state == State::cached) {
    remove(owner.cached, id);
    --num_cached_;
  }
  slot.state = State::shared;
  ++slot.num_refs;
}

void BlockPool::drop_ref(BlockId id) {
  Slot& slot = slots_[id];
  if (--slot.num_refs > 0) return;
  slot.state = State::cached;
  push_back(owners_[slot.owner].cached, id);
  ++num_cached_;
}

void BlockPool::drop_writable(BlockId id) {
  slots_[id].num_refs = 0;
  slots_[id].state = State::free;
  push_back(free_, id);
}

}  // namespace kvasir::kv
