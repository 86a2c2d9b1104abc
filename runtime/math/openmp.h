/* openmp.h: settings of the OpenMP runtime. */
#ifndef LATHE_MATH_OPENMP_H
#define LATHE_MATH_OPENMP_H

void set_up_openmp(char **argv); /* may start the program once more */

#endif
