// The memory of large tables that their threads grew out of, kept for the next that grows: to clear it again takes a
// tenth of what the first touch of new pages does.
#pragma once

#include <cstddef>

namespace crayon {

// A block of std::calloc that was kept for tables of exactly `bytes`, or null. It is not zeroed.
void* take_spare_table(size_t bytes);
// Keeps a block, one of each size, or frees it.
void give_spare_table(void* block, size_t bytes);

size_t spare_table_bytes();
void free_spare_tables();

}  // namespace crayon
