/* finalize.h: MPI_Finalize, which must end. */
#ifndef LATHE_RANKS_FINALIZE_H
#define LATHE_RANKS_FINALIZE_H

void note_inherited(void); /* connections, before MPI begins: those are not between ranks */
/* All ranks call it when nothing is on its way between them. */
void finalize_in_time(int (*finalize)(void));

#endif
