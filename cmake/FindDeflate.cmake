# Find libdeflate and define Deflate::deflate.
include(${CMAKE_CURRENT_LIST_DIR}/LobuleFindOne.cmake)
lobule_find_one(Deflate DEFLATE Deflate::deflate libdeflate.h deflate libdeflate-dev)
