/* reading.h: a command's request for data. */
#ifndef LATHE_DATA_READING_H
#define LATHE_DATA_READING_H

#include "base/words.h"
#include "interface/lathe_model.h"

typedef struct Reading {
    const Lathe_model *model;
    const Lathe_recipe *recipe; /* of the run: the model's with --set applied */
    Words paths;                /* --data; only the pointers are kept */
    Words named;                /* settings that the command line names */
    const char *command;        /* for messages: "train" */
    const char *tokenizer;      /* file or folder of one; NULL: the one beside the weights, or as the recipe says */
    const char *weights;        /* those that a run starts from or uses; NULL: none */
    int64_t readers;            /* threads that encode; 0: one */
    int32_t seed;
    int gpus;             /* ranks: at least 1 */
    const int *rank;      /* this process', once it is settled */
    bool tokenizer_given; /* the command line names the kind */
    bool training;
    struct Schema *schema; /* of a table whose columns are known; NULL: those saved beside the weights */
    const Words *classes;  /* of pictures, if they are known; NULL: those saved beside the weights */
    bool own_classes;     /* of pictures: those of the data, whatever those beside the weights are */
    bool predicting;      /* targets are not needed */
    uint64_t inputs;      /* predicting: those that are needed, as Lathe_tensor.reads has them */
    bool every_window;    /* predicting: of series, forecasts from every stride-th row, not from the last alone */
    /* Called before data allocates `bytes`; grows: it fills them as steps are taken.  NULL: no check. */
    void (*check_memory)(const void *with, int64_t bytes, bool grows);
    const void *with;
} Reading;

bool names_setting(const Reading *r, const char *setting); /* whether the command line does; data/special.c */

#endif
