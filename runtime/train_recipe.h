/* train_recipe.h: the settings of a recipe, a row each: for descriptions (front/recipe.c) and for --set (train_knobs.c)
 * alike.  To be included where these are defined:
 *
 *     NUMBER(name, type, least, most, table, key, meaning)     REAL or COUNT; the description's table and its word for it
 *     FIXED(name, type, least, most, table, key)               the same, not to be changed in a trainer
 *     CHOICE(name, words, meaning)                             an enum, a word for each value
 *     NAME(name, meaning)                                      text
 *
 * Values are finite; ANY is no limit beyond that, and a count is one that a double holds. */
#define ANY  INFINITY
#define MANY 0x1p53

CHOICE(optimizer, optimizers, "sgd, adamw, adam or lion")
NUMBER(lr, REAL, 0, ANY, "optimizer", "lr", "learning rate after the warm-up")
CHOICE(schedule, schedules, "constant, linear, cosine, one_cycle, step or inverse_sqrt")
NUMBER(final_lr, REAL, 0, ANY, "schedule", "final_lr", "learning rate at the end of linear, cosine and a cooldown")
NUMBER(warmup, COUNT, 0, MANY, "schedule", "warmup", "steps in which the learning rate grows to lr")
NUMBER(steps, COUNT, 0, MANY, "train", "steps", "optimizer steps of the whole training")
NUMBER(schedule_steps, COUNT, 0, MANY, "schedule", "steps", "steps in which the schedule ends; 0: those of the training")
NUMBER(cooldown, COUNT, 0, MANY, "schedule", "cooldown", "constant: last steps, in which the rate falls to final_lr")
NUMBER(warm_fraction, REAL, 0, 1, "schedule", "warm_fraction", "one_cycle: share of the steps that lead up to lr, if warmup is 0")
NUMBER(start_div, REAL, 1, ANY, "schedule", "start_div", "one_cycle: it starts from lr over this")
NUMBER(final_div, REAL, 1, ANY, "schedule", "final_div", "one_cycle: it ends at its start over this")
NUMBER(cycle_momentum, COUNT, 0, 1, "schedule", "cycle_momentum", "one_cycle: 1: momentum (beta1) goes from high to low and back")
NUMBER(low_momentum, REAL, 0, 1, "schedule", "low_momentum", "one_cycle: momentum where the rate is highest")
NUMBER(high_momentum, REAL, 0, 1, "schedule", "high_momentum", "one_cycle: momentum at both ends")
NUMBER(step_every, COUNT, 0, MANY, "schedule", "every", "step: steps after which the rate is multiplied, each time")
NUMBER(step_factor, REAL, 0, ANY, "schedule", "factor", "step: what it is multiplied by")
NAME(milestones, "step: the steps at which it is, instead of every: 1000,1500")
NUMBER(beta1, REAL, 0, 1, "optimizer", "beta1", "Adam, Lion: decay of the mean of the gradient; Lion: in its step")
NUMBER(beta2, REAL, 0, 1, "optimizer", "beta2", "Adam: decay of the mean of its square; Lion: of the mean kept")
NUMBER(eps, REAL, 0, ANY, "optimizer", "eps", "Adam: added to the root of that mean")
NUMBER(decay, REAL, 0, ANY, "optimizer", "decay", "weight decay; decoupled but for adam, which has L2")
NUMBER(momentum, REAL, 0, 1, "optimizer", "momentum", "SGD: of the velocity")
NUMBER(nesterov, COUNT, 0, 1, "optimizer", "nesterov", "SGD: 1: Nesterov's momentum")
NUMBER(clip, REAL, 0, ANY, "train", "clip", "largest norm of the gradient; 0: not clipped")
NUMBER(clip_value, REAL, 0, ANY, "train", "clip_value", "largest element of the gradient, either sign; 0: not clipped")
FIXED(accumulate, COUNT, 1, MANY, "train", "accumulate")
NUMBER(eval_every, COUNT, 0, MANY, "train", "eval_every", "steps between evaluations; 0: only at the end")
NUMBER(eval_epochs, COUNT, 0, MANY, "train", "eval_epochs", "epochs between evaluations, at their ends; 0: by eval_every")
NUMBER(eval_rows, COUNT, 0, MANY, "train", "eval_rows", "sequences or rows of an evaluation while training, spread evenly; 0: all")
NAME(best, "metric of the best checkpoint and of patience: loss, perplexity, or a scalar output")
CHOICE(best_mode, modes, "auto, min or max: which of its values is best")
NUMBER(patience, COUNT, 0, MANY, "train", "patience", "evaluations without a better one after which training stops; 0: never")
NAME(samples, "continued after each evaluation: a text, or a JSON array of them")
NUMBER(save_every, COUNT, 0, MANY, "train", "save_every", "steps between saves; 0: every quarter of an hour, and at the end")
NUMBER(keep_last, COUNT, 0, MANY, "train", "keep_last", "newest checkpoints kept, beside the best; 0: all")
NUMBER(log_every, COUNT, 0, MANY, "train", "log_every", "steps between progress lines; 0: by time")
CHOICE(tokenizer, tokenizers, "bytes, chars, or a file or folder of one")
NUMBER(val_fraction, REAL, 0, 1, "data", "val_fraction", "last part of the data, kept for evaluation")
CHOICE(order, orders, "auto, windows (of text, from anywhere), epochs (documents, shuffled) or contiguous (each row of the batch a stretch of the text)")
CHOICE(documents, documents, "epochs: what a document of plain text is: file, blank, line or whole")
NUMBER(shuffle_tokens, COUNT, 1, 1e9, "data", "shuffle_tokens", "epochs: tokens shuffled with each other")
NUMBER(eval_tokens, COUNT, 1, 1e9, "data", "eval_tokens", "epochs: the most that an evaluation reads")
NUMBER(stride, COUNT, 0, 1e9, "data", "stride", "epochs: from one sequence of a document to the next; 0: a sequence")
NAME(bos, "epochs: token before each document, by its text or id")
NAME(eos, "epochs: token after each document, or none; default <|endoftext|>, or a newline")
NAME(mix, "epochs: weights of the sources, each path of --data one, as 7,3; none: all are one source")
NAME(text_field, "epochs: of JSON lines and tables; of pairs the source's")
NAME(target_field, "pairs: of JSON lines and tables")
NAME(sep, "pairs in one sequence: token between source and target, or none; default a newline")
NAME(pad, "pairs: token behind sources and targets")
CHOICE(loss_on, losses, "pairs and chats in one sequence: auto, target (and what the assistant says) or all")
CHOICE(targets, target_lists, "pairs: a list as target: join, first, or each (so many pairs)")
CHOICE(on_long, long_pairs, "pairs that do not fit: cut or skip")
NUMBER(buckets, COUNT, 0, 1e6, "data", "buckets", "pairs: batches among which rows are sorted by length; 0: not sorted")
CHOICE(bad_utf8, bad_bytes, "epochs: replace or stop")
NUMBER(bad_records, COUNT, 0, MANY, "data", "bad_records", "epochs: malformed records that are skipped")
NUMBER(raw_id_size, COUNT, 0, 4, "data", "raw_id_size", "epochs: bytes of an id in .bin files without a header; 0: refused")
NAME(csv_target, "column of a CSV that holds the class")
NUMBER(temperature, REAL, 0, ANY, "sample", "temperature", "of generate; 0: always the likeliest token")
NUMBER(top_k, COUNT, 0, MANY, "sample", "top_k", "generate draws from so many likeliest tokens; 0: from all")
NUMBER(top_p, REAL, 0, 1, "sample", "top_p", "generate draws from the likeliest that reach this probability")
NUMBER(repetition_penalty, REAL, 1e-3, ANY, "sample", "repetition_penalty", "of tokens already there; 1: none")
FIXED(rows, COUNT, 1, 4096, "generate", "rows")
NUMBER(beams, COUNT, 0, 4096, "generate", "beams", "generate: texts that beam search keeps side by side; 0: tokens are drawn")
NUMBER(min_tokens, COUNT, 0, MANY, "generate", "min_tokens", "of a text before its end")
NUMBER(length_penalty, REAL, 0, 100, "generate", "length_penalty", "beam search: a text's score is its log probability over tokens to this power")
NUMBER(no_repeat_ngram, COUNT, 0, MANY, "generate", "no_repeat_ngram", "beam search: no so many tokens in a row twice in a text; 0: any")
NUMBER(eval_generate, COUNT, 0, MANY, "train", "eval_generate", "sources that evaluations write texts for, for rouge1, rouge2, rougeL; 0: none")
NUMBER(sample_tokens, COUNT, 0, 1e9, "sample", "tokens", "tokens that generate writes")

#undef NUMBER
#undef FIXED
#undef CHOICE
#undef NAME
#undef ANY
#undef MANY
