# Write a C header with the bytes of files as texts: NAME of each is the file's name with '_' for '.'.
# usage: cmake -DOUT=HEADER -DFILES=FILE;FILE -P LobuleEmbed.cmake
set(text "/* Made by cmake/LobuleEmbed.cmake. */\n")
foreach(file IN LISTS FILES)
    get_filename_component(name ${file} NAME)
    string(REPLACE "." "_" name ${name})
    file(READ ${file} hex HEX)
    string(REGEX REPLACE "(................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
    string(APPEND text "static const char ${name}[] = {\n${hex}0x00};\n")
endforeach()
file(WRITE ${OUT} "${text}")
