# Write the man pages and completion scripts, as they are installed under share/, and put the recipes
# beside them, where the program looks for them.
# usage: cmake -DLOBULE=PROGRAM -DSHARE=FOLDER -DRECIPES=FOLDER -P LobuleManual.cmake
function(save path)
    get_filename_component(folder ${SHARE}/${path} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    execute_process(COMMAND ${LOBULE} ${ARGN} OUTPUT_FILE ${SHARE}/${path} RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "lobule ${ARGN} ends with ${result}")
    endif()
endfunction()

file(REMOVE_RECURSE ${SHARE})
file(COPY ${RECIPES}/ DESTINATION ${SHARE}/lobule/recipes)
save(man/man1/lobule.1 --man)
save(bash-completion/completions/lobule --completion bash)
save(zsh/site-functions/_lobule --completion zsh)
save(fish/vendor_completions.d/lobule.fish --completion fish)
execute_process(COMMAND ${LOBULE} --help OUTPUT_VARIABLE help)
string(REGEX MATCHALL "\n  [a-z]+ " lines "${help}")
foreach(line IN LISTS lines)
    string(STRIP "${line}" name)
    save(man/man1/lobule-${name}.1 --man ${name})
endforeach()
