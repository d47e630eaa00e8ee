# Find c-blosc 1 and define Blosc::blosc.
include(${CMAKE_CURRENT_LIST_DIR}/LobuleFindOne.cmake)
lobule_find_one(Blosc BLOSC Blosc::blosc blosc.h blosc libblosc-dev)
