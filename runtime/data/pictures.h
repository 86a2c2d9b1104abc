/* pictures.h: batches of pictures. */
#ifndef LATHE_DATA_PICTURES_H
#define LATHE_DATA_PICTURES_H

#include "data/files.h"

/* known: the classes of training; NULL: those of the data. */
Files *open_pictures(const Reading *reading, const Lathe_entry *e, const Words *known);

#endif
