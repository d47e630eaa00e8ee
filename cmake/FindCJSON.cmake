# Find cJSON and define CJSON::cjson.
include(${CMAKE_CURRENT_LIST_DIR}/LobuleFindOne.cmake)
lobule_find_one(CJSON CJSON CJSON::cjson cjson/cJSON.h cjson libcjson-dev)
