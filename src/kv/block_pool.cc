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

BlockId BlockPool::first_available() const {
  return free_.head != kNoBlock ? free_.head : cached_.head;
}

BlockId BlockPool::next_available(BlockId id) const {
  const Slot& slot = slots_[id];
  CHECK(slot.state == State::free || slot.state == State::cached, "block {} is in use", id);
  if (slot.next != kNoBlock) return slot.next;
  return slot.state == State::free ? cached_.head : kNoBlock;
}

WritableBlock BlockPool::take(BlockId id) {
  CHECK(is_free(id), "block {} is not free", id);
  remove(free_, id);
  slots_[id].state = State::writable;
  slots_[id].num_refs = 1;
  return WritableBlock(this, id);
}

BlockRef BlockPool::publish(WritableBlock block) {
  CHECK(block.pool_ == this, "block {} belongs to another pool", block.id_);
  const BlockId id = block.id_;
  block.pool_ = nullptr;
  slots_[id].state = State::shared;
  return BlockRef(this, id);
}

BlockRef BlockPool::share(BlockId id) {
  add_ref(id);
  return BlockRef(this, id);
}

void BlockPool::evict(BlockId id) {
  CHECK(is_cached(id), "block {} is not cached", id);
  remove(cached_, id);
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
  if (slot.state == State::cached) remove(cached_, id);
  slot.state = State::shared;
  ++slot.num_refs;
}

void BlockPool::drop_ref(BlockId id) {
  Slot& slot = slots_[id];
  if (--slot.num_refs > 0) return;
  slot.state = State::cached;
  push_back(cached_, id);
}

void BlockPool::drop_writable(BlockId id) {
  slots_[id].num_refs = 0;
  slots_[id].state = State::free;
  push_back(free_, id);
}

}  // namespace kvasir::kv
