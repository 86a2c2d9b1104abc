/* predict.h: predictions for rows of data, and the files that they are written into. */
#ifndef LATHE_TRAINER_PREDICT_H
#define LATHE_TRAINER_PREDICT_H

#include "data/data.h"
#include "interface/lathe_model.h"
#include "model/block.h"

typedef struct Predictions {
    const Lathe_entry *entry; /* predict */
    const Lathe_tensor **output;
    int outputs; /* those asked for */
    const Data *data;
    const Memory *memory;
    Lathe_call call;
    int64_t rows;
} Predictions;

/* Runs the entry over all rows, and gives each: out is the outputs of its batch, row its number there. */
void each_prediction(const Predictions *p, void (*give)(void *with, const char *out, int64_t row), void *with);
int64_t output_width(const Predictions *p, const Lathe_tensor *output); /* numbers of a row */

/* ---- trainer/predict_files.c: a file that cannot be written ends the program (1), and an old one stays as it was */

void write_csv(const Predictions *p, const char *path); /* -: standard output */
void write_jsonl(const Predictions *p, const char *path);
void write_npy(const Predictions *p, const char *path); /* one output */
void write_predicted_store(const Predictions *p, const char *path); /* safetensors; runs the model once per output */

#endif
