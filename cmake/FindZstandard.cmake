# Find zstd and define Zstandard::zstd.
include(${CMAKE_CURRENT_LIST_DIR}/LobuleFindOne.cmake)
lobule_find_one(Zstandard ZSTD Zstandard::zstd zstd.h zstd libzstd-dev)
