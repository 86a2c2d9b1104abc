# commit.cmake: writes OUT, the commit of FOLDER as C: COMMIT, else what git says, else nothing.
cmake_minimum_required(VERSION 3.20)
if(NOT COMMIT AND EXISTS ${FOLDER}/.git)
  execute_process(COMMAND git -C ${FOLDER} describe --always --dirty --abbrev=12 --exclude=* OUTPUT_VARIABLE COMMIT ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "extern const char lathe_commit[];\nconst char lathe_commit[] = \"@COMMIT@\";\n" @ONLY)
