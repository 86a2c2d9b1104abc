/* openmp.h: settings of the OpenMP runtime, and the number of threads. */
#ifndef LATHE_MATH_OPENMP_H
#define LATHE_MATH_OPENMP_H

void set_up_openmp(char **argv); /* may start the program once more; OpenMP then has the number of threads for this process */

/* Threads for each of `ranks` processes of this machine: of its affinity, what control groups allow, and its share. */
int threads_here(int ranks);
int ranks_of_machine(void);     /* processes that mpirun, srun or torchrun started here together; 1: no launcher says so */

#endif
