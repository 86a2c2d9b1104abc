/* no_label.h: what data.sentences says where a position has no label, which losses leave out; transformers' number. */
#ifndef LATHE_INTERFACE_NO_LABEL_H
#define LATHE_INTERFACE_NO_LABEL_H

enum { NO_LABEL = -100 };

#endif
